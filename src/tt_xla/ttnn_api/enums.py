"""TT-NN's enumerations, as ``ttnn`` prints them: ``DataType.BFLOAT16``."""

from __future__ import annotations

import enum

from tt_xla.ir.element_types import DataType as ElementType
from tt_xla.ir.layout import BufferType as Memory
from tt_xla.ir.layout import MemoryLayout
from tt_xla.ttnn_api.errors import no_tensors_of


class Named(enum.Enum):
    """An enumeration whose members print as TT-NN's."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}.{self.name}"

    __str__ = __repr__
    __hash__ = object.__hash__  # each member exists once


class DataType(Named):
    """The element type of a tensor."""

    BFLOAT16 = 0
    FLOAT32 = 1
    UINT32 = 2
    BFLOAT8_B = 3
    BFLOAT4_B = 4
    UINT8 = 5
    UINT16 = 6
    INT32 = 7
    FP8_E4M3 = 8
    INT8 = 9
    INVALID = 10

    @property
    def element(self) -> ElementType:
        """The element type in TTNN.

        Raises:
            TTFatal: the emulated card lacks it.
        """
        if self not in _ELEMENTS:
            raise no_tensors_of(self)
        return _ELEMENTS[self]

    @staticmethod
    def of(element: ElementType) -> DataType:
        """Returns TT-NN's data type of an element type in TTNN."""
        return _DATA_TYPES[element]


_ELEMENTS = {DataType(element.ttnn_code): element for element in ElementType if element.ttnn_code >= 0}
_ELEMENTS[DataType.INT8] = ElementType.SI8  # on the host alone
_DATA_TYPES = {element: dtype for dtype, element in _ELEMENTS.items()}


Layout = Named("Layout", "ROW_MAJOR TILE INVALID", module=__name__, start=0)
"""The order of a tensor's elements in memory."""


class BufferType(Named):
    """The memory of a tensor on the device."""

    DRAM = 0
    L1 = 1
    L1_SMALL = 3
    TRACE = 4

    @property
    def memory(self) -> Memory:
        """The memory in TTNN."""
        return Memory[self.name]


class TensorMemoryLayout(Named):
    """The distribution of a tensor over banks or cores."""

    INTERLEAVED = 0
    HEIGHT_SHARDED = 2
    WIDTH_SHARDED = 3
    BLOCK_SHARDED = 4
    ND_SHARDED = 5

    @property
    def layout(self) -> MemoryLayout:
        """The distribution in TTNN."""
        return MemoryLayout[self.name]


ShardOrientation = Named("ShardOrientation", "ROW_MAJOR COL_MAJOR", module=__name__, start=0)
"""The order in which shards are placed on cores."""


class ShardStrategy(Named):
    """The distribution that :func:`create_sharded_memory_config` makes."""

    HEIGHT = 1
    WIDTH = 2
    BLOCK = 3


StorageType = Named("StorageType", "HOST DEVICE", module=__name__, start=0)
"""Whether a tensor lies on the host or on a device."""


class MathFidelity(Named):
    """The number of phases in which the matrix unit multiplies."""

    LoFi = 0
    HiFi2 = 2
    HiFi3 = 3
    HiFi4 = 4
    Invalid = 255


FabricConfig = Named(
    "FabricConfig",
    "DISABLED FABRIC_1D_NEIGHBOR_EXCHANGE FABRIC_1D FABRIC_1D_RING FABRIC_2D FABRIC_2D_TORUS_X FABRIC_2D_TORUS_Y "
    "FABRIC_2D_TORUS_XY CUSTOM",
    module=__name__,
    start=0,
)
"""The network between chips."""


class Topology(Named):
    """The shape of the network that a collective uses."""

    Linear = 1
    Ring = 2
    Mesh = 3
    Torus = 4


PaddingMode = Named("PaddingMode", "Zeros Replicate", module=__name__, start=0)
"""The values around the image of a convolution."""


ThrottleLevel = Named("ThrottleLevel", "NO_THROTTLE LEVEL_1 LEVEL_2 LEVEL_3 LEVEL_4 LEVEL_5", module=__name__, start=0)
"""The limit of the matrix unit's rate."""


EmbeddingsType = Named("EmbeddingsType", "GENERIC PADDED BINARY", module=__name__, start=0)
"""The kind of an embedding table."""


TileReshapeMapMode = Named("TileReshapeMapMode", "CACHE RECREATE", module=__name__, start=0)
"""Whether a reshape of tiles keeps its table of moves."""


GeluVariant = Named("GeluVariant", "Accurate FastLut Tanh", module=__name__, start=0)
"""The formula of a gelu."""


SigmoidMode = Named("SigmoidMode", "FastApproximate AccurateWithFastExp Accurate", module=__name__, start=0)
"""The formula of a sigmoid."""


DumpTensorMode = Named("DumpTensorMode", "DISTRIBUTED_GATHER LOCAL", module=__name__, start=0)
"""Whether the shards of a mesh are gathered into one file."""


class Arch(Named):
    """The generation of a chip."""

    WORMHOLE_B0 = 2
    BLACKHOLE = 3


_UNARY = (
    "EXP RECIP GELU GELU_TANH RELU SQRT SIGMOID LOG LOG1P TANH LOG2 LOG10 SIN COS COSH SINH ABS ABS_INT32 SIGN SQUARE "
    "EQZ NEZ GTZ LTZ GEZ LEZ RELU_MAX RELU_MIN POWER POWER_ITERATIVE LEAKY_RELU ELU EXP2 HEAVISIDE EXPM1 SIGNBIT ASIN "
    "ACOS ACOSH RSQRT RELU6 ATAN ASINH ATANH ERF ERFC ISINF ISPOSINF ISNEGINF ISNAN LOGICAL_NOT_UNARY ISFINITE ERFINV "
    "I0 I1 TAN RSUB RDIV SILU SOFTPLUS IDENTITY NEG ADD_UNARY_SFPU SUB_UNARY_SFPU MUL_UNARY_SFPU DIV_UNARY_SFPU "
    "UNARY_NE UNARY_EQ UNARY_GT UNARY_LT UNARY_GE UNARY_LE TILED_PROD TYPECAST BITCAST BITWISE_XOR BITWISE_NOT "
    "BITWISE_AND BITWISE_OR RIGHT_SHIFT FLOOR CEIL TRUNC FRAC ROUND LEFT_SHIFT REMAINDER FMOD DROPOUT FILL PRELU_SFPU "
    "ZERO_POINT ALT_COMPLEX_ROTATE90 MISH HARDMISH MAXIMUM MINIMUM TANHSHRINK THRESHOLD SOFTSHRINK HARDSHRINK HARDTANH "
    "HARDSIGMOID HARDSWISH WHERE_TSS MAC_TSS SOFTSIGN CELU CLAMP_TSS SELU RPOW CBRT LOGSIGMOID LOGIT XIELU LGAMMA "
    "DIGAMMA POLYGAMMA SOFTCAP"
)

UnaryOpType = Named("UnaryOpType", _UNARY, module=__name__, start=0)
"""A function of one number that other ops can apply."""
