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
