"""Types and attributes of the TTNN dialect; labels and spelling are upstream's (``TTNNOpsAttrs.td``)."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, ClassVar

from xdsl.dialects.builtin import MemRefType, TensorType
from xdsl.ir import Attribute, Data, ParametrizedAttribute, SSAValue, TypeAttribute
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from tt_xla.ir.attributes import LabelAttr, StructAttr, parse_label
from tt_xla.ir.base import DATA_TYPES, ELEMENT_TYPES, Kind, Tensor, enumeration, tensor_type
from tt_xla.ir.layout import BufferType, DataType, MemoryLayout, TensorLayout
from tt_xla.ir.ttcore import DataTypeAttr, TileType


class Layout(enum.StrEnum):
    TILE = "tile"
    ROW_MAJOR = "row_major"


class MathFidelity(enum.StrEnum):
    LOFI = "lofi"
    HIFI2 = "hifi2"
    HIFI3 = "hifi3"
    HIFI4 = "hifi4"


class Activation(enum.StrEnum):
    """Elementwise functions that a convolution or matrix product applies to its result."""

    RELU = "relu"
    RELU6 = "relu6"
    SILU = "silu"
    SIGMOID = "sigmoid"
    GELU = "gelu"
    TANH = "tanh"


@irdl_attr_definition
class DeviceType(ParametrizedAttribute, TypeAttribute):
    """The device that a program runs on."""

    name = "ttnn.device"


@irdl_attr_definition
class BufferTypeAttr(LabelAttr[BufferType]):
    name = "ttnn.buffer_type"
    LABELS = BufferType


@irdl_attr_definition
class LayoutAttr(LabelAttr[Layout]):
    name = "ttnn.layout"
    LABELS = Layout


@irdl_attr_definition
class ComputeConfigAttr(StructAttr):
    """How the matrix unit computes; what is absent is left to TT-NN."""

    name = "ttnn.device_compute_kernel_config"
    FIELDS: ClassVar[Mapping[str, type]] = {
        "math_fidelity": MathFidelity,
        "math_approx_mode": bool,
        "fp32_dest_acc_en": bool,
        "packer_l1_acc": bool,
    }


@irdl_attr_definition
class Conv2dConfigAttr(StructAttr):
    name = "ttnn.conv2d_config"
    FIELDS: ClassVar[Mapping[str, type]] = {
        "weights_dtype": DataType,
        "activation": Activation,
        "deallocate_activation": bool,
        "reallocate_halo_output": bool,
        "act_block_h_override": int,
        "enable_kernel_stride_folding": bool,
        "config_tensors_in_dram": bool,
    }


@irdl_attr_definition
class ShapeAttr(Data[tuple[int, ...]]):
    """Sizes, ``#ttnn.shape<1x2x3>``."""

    name = "ttnn.shape"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> tuple[int, ...]:
        with parser.in_angle_brackets():
            return tuple(parser.parse_dimension_list())

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{'x'.join(map(str, self.data))}>")


@irdl_attr_definition
class TTNNLayoutAttr(Data[TensorLayout]):
    """Where and how a tensor lies: affine map to a matrix, shard grid, shard, buffer and memory layout.

    ``#ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<2x4x!ttcore.tile<32x32, bf16>, #ttnn.buffer_type<dram>>,
    <interleaved>>``. Source: tt-mlir ``TTNN_TTNNLayoutAttr``.
    """

    name = "ttnn.ttnn_layout"

    def print_parameter(self, printer: Printer) -> None:
        layout = self.data
        element = str(TileType(layout.dtype)) if layout.tiled else str(ELEMENT_TYPES[layout.dtype])
        rows, columns = layout.shard
        memory = f", <{layout.memory.value}>" if layout.memory else ""
        printer.print_string(
            f"<{_linear_map(layout)}, <{layout.grid[0]}x{layout.grid[1]}>, "
            f"memref<{rows}x{columns}x{element}, {BufferTypeAttr(layout.buffer)}>{memory}>"
        )

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> TensorLayout:
        with parser.in_angle_brackets():
            strides = _row_strides(parser)
            parser.parse_punctuation(",")
            with parser.in_angle_brackets():
                grid = _pair(parser, parser.parse_dimension_list(), "a grid such as 8x8")
            parser.parse_punctuation(",")
            position = parser.pos
            memref = parser.parse_type()
            if not isinstance(memref, MemRefType):
                parser.raise_error(f"expected a memref of the shard, got {memref}", position, parser.pos)
            shard = _pair(parser, memref.get_shape(), "a memref of two dimensions")
            memory = None
            if parser.parse_optional_punctuation(","):
                with parser.in_angle_brackets():
                    memory = parse_label(parser, MemoryLayout)
        element: Attribute = memref.element_type  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        tiled = isinstance(element, TileType)
        dtype = element.data if isinstance(element, TileType) else DATA_TYPES.get(element)
        if dtype is None:
            parser.raise_error(f"{element} is not a data type of the chip", position, parser.pos)
        buffer = memref.memory_space
        if not isinstance(buffer, BufferTypeAttr):
            parser.raise_error(f"expected #ttnn.buffer_type<...>, got {buffer}", position, parser.pos)
        if dtype.is_host_only and buffer.data is not BufferType.SYSTEM_MEMORY:
            parser.raise_error(f"{element} is not a data type of the chip", position, parser.pos)
        return TensorLayout(strides, grid, shard, dtype, tiled, buffer.data, memory)


def _pair(parser: AttrParser, sizes: Any, what: str) -> tuple[int, int]:
    if len(sizes) != 2:
        parser.raise_error(f"expected {what}, got {'x'.join(map(str, sizes))}")
    return (sizes[0], sizes[1])


def _linear_map(layout: TensorLayout) -> str:
    rank = len(layout.row_strides) + 1
    names = [f"d{dim}" for dim in range(rank)]
    terms = [
        name if stride == 1 else f"{name} * {stride}" for name, stride in zip(names, layout.row_strides, strict=False)
    ]
    rows = " + ".join(terms) if terms else "0"
    return f"({', '.join(names)}) -> ({rows}, {names[-1]})"


def _row_strides(parser: AttrParser) -> tuple[int, ...]:
    """Reads an affine map of the form (d0, d1) -> (d0 * stride + ..., d1) back into strides."""
    position = parser.pos
    mapping: AffineMap = parser.parse_affine_map()
    rank = mapping.num_dims
    zero = [0] * rank
    origin = mapping.eval(zero, [])[0] if len(mapping.results) == 2 else -1
    if origin != 0 or mapping.results[1] != AffineExpr.dimension(rank - 1):
        parser.raise_error(f"expected a map to rows and columns, got {mapping}", position, parser.pos)
    units = ([*zero[:dim], 1, *zero[dim + 1 :]] for dim in range(rank - 1))
    return tuple(mapping.eval(unit, [])[0] for unit in units)


COMPUTE_CONFIG: Kind[Any] = Kind(
    "#ttnn.device_compute_kernel_config<...>",
    lambda fields: ComputeConfigAttr(fields),
    lambda attr: attr.data,
    ComputeConfigAttr,
)
CONV2D_CONFIG: Kind[Any] = Kind(
    "#ttnn.conv2d_config<...>", lambda fields: Conv2dConfigAttr(fields), lambda attr: attr.data, Conv2dConfigAttr
)
SHAPE = enumeration("#ttnn.shape<...>", ShapeAttr)
LAYOUT = enumeration("#ttnn.layout<...>", LayoutAttr)
DTYPE = enumeration("#ttcore.supportedDataTypes<...>", DataTypeAttr)


def layout_of(value: SSAValue) -> TensorLayout:
    """The layout of a value of the TTNN dialect.

    Raises:
        VerifyException: the value's type carries none.
    """
    encoding = tensor_type(value).encoding
    if not isinstance(encoding, TTNNLayoutAttr):
        raise VerifyException(f"expected a tensor with a #ttnn.ttnn_layout, got {value.type}")
    return encoding.data


@lru_cache(maxsize=4096)
def laid_out(shape: tuple[int, ...], layout: TensorLayout) -> Tensor:
    """The tensor type of a shape under a layout."""
    return TensorType(ELEMENT_TYPES[layout.dtype], shape, TTNNLayoutAttr(layout))


def check_layout(value: SSAValue) -> None:
    """That a layout belongs to its tensor's shape and element type.

    Raises:
        VerifyException: it does not.
    """
    type_, layout = tensor_type(value), layout_of(value)
    if (layout.memory is None) != (layout.buffer is BufferType.SYSTEM_MEMORY):
        raise VerifyException("a memory layout goes with a buffer on the device, and only with one")
    expected = layout.with_(type_.get_shape())
    if expected != layout:
        raise VerifyException(
            f"layout {TTNNLayoutAttr(layout)} does not fit shape {type_.get_shape()}, "
            f"expected {TTNNLayoutAttr(expected)}"
        )
    if ELEMENT_TYPES[layout.dtype] != type_.element_type:
        raise VerifyException(f"layout holds {layout.dtype}, the tensor's elements are {type_.element_type}")
    if layout.dtype.is_block_float and not layout.tiled:
        raise VerifyException(f"{layout.dtype} exists in tiles only")
