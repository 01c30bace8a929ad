"""Enumerations that are parameters of single operations of TT-NN."""

from __future__ import annotations

from tt_xla.ttnn_api.enums import Named

BcastOpMath = Named("BcastOpMath", "ADD SUB MUL", module=__name__, start=0)
"""The function that ``ttnn.bcast`` computes."""

BcastOpDim = Named("BcastOpDim", "H W HW", module=__name__, start=0)
"""The dimensions along which ``ttnn.bcast`` repeats its second operand."""

LossReductionMode = Named("LossReductionMode", "NONE MEAN SUM", module=__name__, start=0)
"""The reduction of a loss over all elements."""

MorehSoftmaxOp = Named("MorehSoftmaxOp", "SOFTMAX SOFTMIN LOGSOFTMAX", module=__name__, start=0)
"""The member of the softmax family that a moreh function computes."""

MorehSoftmaxOpParallelizationStrategy = Named(
    "MorehSoftmaxOpParallelizationStrategy",
    "NONE SMALL_W SMALL_H LARGE_W LARGE_H LARGE_C",
    module=__name__,
    start=0,
)
"""How a moreh softmax divides its work among cores."""

ReduceType = Named("ReduceType", "Sum Mean Max Min Std Var Prod", module=__name__, start=0)
"""The function of a reduction."""

YUVColorSpace = Named("YUVColorSpace", "BT601 BT709 BT2020", module=__name__, start=0)
"""The coefficients of ``ttnn.rgb_to_yuv``."""

YUVFormat = Named("YUVFormat", "YUV420Planar", module=__name__, start=0)
"""The order of planes that ``ttnn.rgb_to_yuv`` writes."""

YUVRange = Named("YUVRange", "Full Limited", module=__name__, start=0)
"""The range of the luma and chroma that ``ttnn.rgb_to_yuv`` writes."""

RGBRange = Named("RGBRange", "MinusOneToOne ZeroToOne", module=__name__, start=0)
"""The range of the colours that ``ttnn.rgb_to_yuv`` reads."""

SparseKVFormat = Named("SparseKVFormat", "BF16 FP8_E4M3 SCALED_FP8", module=__name__, start=0)
"""The numbers of the cache that ``ttnn.transformer.sparse_sdpa`` reads."""

ShardDistributionStrategy = Named(
    "ShardDistributionStrategy",
    "ROUND_ROBIN_1D GRID_2D CONTIGUOUS_1D",
    module=__name__,
    start=0,
)
"""How the shards of an n-dimensional shard spec are dealt to cores."""

ChunkGdnWyInverse = Named("ChunkGdnWyInverse", "AUTO HORNER FORWARD_SUBSTITUTION", module=__name__, start=0)
"""How the chunks of a gated delta rule are inverted."""

DispatchCoreType = Named("DispatchCoreType", "WORKER ETH", module=__name__, start=0)
"""The cores that dispatch work to the others."""

DispatchCoreAxis = Named("DispatchCoreAxis", "ROW COL", module=__name__, start=0)
"""Whether rows or columns of cores dispatch work."""

BinaryOpType = Named(
    "BinaryOpType",
    "ADD SUB MUL GT LT LE GE EQ NE SQUARED_DIFFERENCE BIAS_GELU LOGADDEXP LOGICAL_AND LOGICAL_OR LOGICAL_XOR LDEXP "
    "LOGADDEXP2 DIV DIV_FLOOR DIV_TRUNC REMAINDER FMOD RSUB POWER BITWISE_XOR BITWISE_AND BITWISE_OR LEFT_SHIFT "
    "RIGHT_SHIFT LOGICAL_RIGHT_SHIFT QUANT REQUANT DEQUANT MAXIMUM MINIMUM GCD LCM ADDALPHA SUBALPHA XLOGY HYPOT "
    "ATAN2 NEXTAFTER WHERE_TST WHERE_TTS ISCLOSE SITU_GLU",
    module=__name__,
    start=0,
)
"""The function of an elementwise op of two tensors."""

ShardShapeAlignment = Named("ShardShapeAlignment", "NONE REQUIRED RECOMMENDED", module=__name__, start=0)
"""Whether the rows and columns of a shard fill tiles."""

DispatchAlgorithm = Named(
    "DispatchAlgorithm",
    "BROADCAST SPARSE_UNICAST SPARSE_MCAST_LINEAR SPARSE_MCAST_SHORTEST_PATH SPARSE_MCAST_SPLIT_BW",
    module=__name__,
    start=0,
)
"""How tokens are sent to the chips of their experts."""

WorkerMode = Named("WorkerMode", "DIRECT MUX_TOKEN_SPLIT MUX_PAYLOAD_SPLIT", module=__name__, start=0)
"""The cores that send tokens to the chips of their experts."""

CoreType = Named(
    "CoreType",
    "ARC DRAM ACTIVE_ETH IDLE_ETH PCIE TENSIX ROUTER_ONLY SECURITY L2CPU DISPATCH HARVESTED ETH WORKER COUNT "
    "UNSPECIFIED",
    module=__name__,
    start=0,
)
"""The kind of a core."""


class NOC(Named):
    """The network on the chip that a core's processor uses."""

    RISCV_0_default = 0
    RISCV_1_default = 1
    NOC_0 = RISCV_0_default
    NOC_1 = RISCV_1_default


LayerNormType = Named("LayerNormType", "LAYERNORM RMSNORM", module=__name__, start=0)
"""The member of the family of layer norms."""

DistributedLayerNormStage = Named(
    "DistributedLayerNormStage",
    "NOT_DISTRIBUTED PRE_ALL_GATHER POST_ALL_GATHER",
    module=__name__,
    start=0,
)
"""The part of a norm over several chips."""
