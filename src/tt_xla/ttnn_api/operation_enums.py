"""Enumerations that are parameters of single operations of TT-NN."""

from __future__ import annotations

from tt_xla.ttnn_api.enums import Named


class BcastOpMath(Named):
    """The function that ``ttnn.bcast`` computes."""

    ADD = 0
    SUB = 1
    MUL = 2


class BcastOpDim(Named):
    """The dimensions along which ``ttnn.bcast`` repeats its second operand."""

    H = 0
    W = 1
    HW = 2


class LossReductionMode(Named):
    """The reduction of a loss over all elements."""

    NONE = 0
    MEAN = 1
    SUM = 2


class MorehSoftmaxOp(Named):
    """The member of the softmax family that a moreh function computes."""

    SOFTMAX = 0
    SOFTMIN = 1
    LOGSOFTMAX = 2


class MorehSoftmaxOpParallelizationStrategy(Named):
    """How a moreh softmax divides its work among cores."""

    NONE = 0
    SMALL_W = 1
    SMALL_H = 2
    LARGE_W = 3
    LARGE_H = 4
    LARGE_C = 5


class ReduceType(Named):
    """The function of a reduction."""

    Sum = 0
    Mean = 1
    Max = 2
    Min = 3
    Std = 4
    Var = 5
    Prod = 6


class YUVColorSpace(Named):
    """The coefficients of ``ttnn.rgb_to_yuv``."""

    BT601 = 0
    BT709 = 1
    BT2020 = 2


class YUVFormat(Named):
    """The order of planes that ``ttnn.rgb_to_yuv`` writes."""

    YUV420Planar = 0


class YUVRange(Named):
    """The range of the luma and chroma that ``ttnn.rgb_to_yuv`` writes."""

    Full = 0
    Limited = 1


class RGBRange(Named):
    """The range of the colours that ``ttnn.rgb_to_yuv`` reads."""

    MinusOneToOne = 0
    ZeroToOne = 1


class SparseKVFormat(Named):
    """The numbers of the cache that ``ttnn.transformer.sparse_sdpa`` reads."""

    BF16 = 0
    FP8_E4M3 = 1
    SCALED_FP8 = 2


class ShardDistributionStrategy(Named):
    """How the shards of an n-dimensional shard spec are dealt to cores."""

    ROUND_ROBIN_1D = 0
    GRID_2D = 1
    CONTIGUOUS_1D = 2


class ChunkGdnWyInverse(Named):
    """How the chunks of a gated delta rule are inverted."""

    AUTO = 0
    HORNER = 1
    FORWARD_SUBSTITUTION = 2


class DispatchCoreType(Named):
    """The cores that dispatch work to the others."""

    WORKER = 0
    ETH = 1


class DispatchCoreAxis(Named):
    """Whether rows or columns of cores dispatch work."""

    ROW = 0
    COL = 1


class BinaryOpType(Named):
    """The function of an elementwise op of two tensors."""

    ADD = 0
    SUB = 1
    MUL = 2
    GT = 3
    LT = 4
    LE = 5
    GE = 6
    EQ = 7
    NE = 8
    SQUARED_DIFFERENCE = 9
    BIAS_GELU = 10
    LOGADDEXP = 11
    LOGICAL_AND = 12
    LOGICAL_OR = 13
    LOGICAL_XOR = 14
    LDEXP = 15
    LOGADDEXP2 = 16
    DIV = 17
    DIV_FLOOR = 18
    DIV_TRUNC = 19
    REMAINDER = 20
    FMOD = 21
    RSUB = 22
    POWER = 23
    BITWISE_XOR = 24
    BITWISE_AND = 25
    BITWISE_OR = 26
    LEFT_SHIFT = 27
    RIGHT_SHIFT = 28
    LOGICAL_RIGHT_SHIFT = 29
    QUANT = 30
    REQUANT = 31
    DEQUANT = 32
    MAXIMUM = 33
    MINIMUM = 34
    GCD = 35
    LCM = 36
    ADDALPHA = 37
    SUBALPHA = 38
    XLOGY = 39
    HYPOT = 40
    ATAN2 = 41
    NEXTAFTER = 42
    WHERE_TST = 43
    WHERE_TTS = 44
    ISCLOSE = 45
    SITU_GLU = 46


class ShardShapeAlignment(Named):
    """Whether the rows and columns of a shard fill tiles."""

    NONE = 0
    REQUIRED = 1
    RECOMMENDED = 2


class DispatchAlgorithm(Named):
    """How tokens are sent to the chips of their experts."""

    BROADCAST = 0
    SPARSE_UNICAST = 1
    SPARSE_MCAST_LINEAR = 2
    SPARSE_MCAST_SHORTEST_PATH = 3
    SPARSE_MCAST_SPLIT_BW = 4


class WorkerMode(Named):
    """The cores that send tokens to the chips of their experts."""

    DIRECT = 0
    MUX_TOKEN_SPLIT = 1
    MUX_PAYLOAD_SPLIT = 2


class CoreType(Named):
    """The kind of a core."""

    ARC = 0
    DRAM = 1
    ACTIVE_ETH = 2
    IDLE_ETH = 3
    PCIE = 4
    TENSIX = 5
    ROUTER_ONLY = 6
    SECURITY = 7
    L2CPU = 8
    DISPATCH = 9
    HARVESTED = 10
    ETH = 11
    WORKER = 12
    COUNT = 13
    UNSPECIFIED = 14


class NOC(Named):
    """The network on the chip that a core's processor uses."""

    RISCV_0_default = 0
    RISCV_1_default = 1
    NOC_0 = RISCV_0_default
    NOC_1 = RISCV_1_default


class LayerNormType(Named):
    """The member of the family of layer norms."""

    LAYERNORM = 0
    RMSNORM = 1


class DistributedLayerNormStage(Named):
    """The part of a norm over several chips."""

    NOT_DISTRIBUTED = 0
    PRE_ALL_GATHER = 1
    POST_ALL_GATHER = 2
