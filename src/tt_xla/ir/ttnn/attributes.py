"""Types and attributes of the TTNN dialect; labels and spelling are upstream's (``TTNNOpsAttrs.td``)."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache
from typing import Any

from xdsl.dialects.builtin import MemRefType, TensorType
from xdsl.ir import Attribute, Data, ParametrizedAttribute, SSAValue, TypeAttribute
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from tt_xla.ir.attributes import bare, nested
from tt_xla.ir.base import DATA_TYPES, ELEMENT_TYPES, Tensor, tensor_type
from tt_xla.ir.layout import BufferType, CoreRange, MemoryLayout, TensorLayout
from tt_xla.ir.ttcore import TensorMeshAttr, TileType
from tt_xla.ir.ttnn.configs import COMPUTE_CONFIG as COMPUTE_CONFIG
from tt_xla.ir.ttnn.configs import CONV2D_CONFIG as CONV2D_CONFIG
from tt_xla.ir.ttnn.configs import LAYOUT as LAYOUT
from tt_xla.ir.ttnn.configs import SHAPE as SHAPE
from tt_xla.ir.ttnn.configs import Activation as Activation
from tt_xla.ir.ttnn.configs import BufferTypeAttr, CoreRangeSetAttr, MemoryLayoutAttr
from tt_xla.ir.ttnn.configs import ComputeConfigAttr as ComputeConfigAttr
from tt_xla.ir.ttnn.configs import Conv2dConfigAttr as Conv2dConfigAttr
from tt_xla.ir.ttnn.configs import Layout as Layout
from tt_xla.ir.ttnn.configs import MathFidelity as MathFidelity


@irdl_attr_definition
class DeviceType(ParametrizedAttribute, TypeAttribute):
    """Type of the device that a program runs on."""

    name = "ttnn.device"


@irdl_attr_definition
class TraceIdAttr(ParametrizedAttribute):
    """Encoding of a tensor that holds the number of a captured trace, ``tensor<ui32, #ttnn.trace_id>``."""

    name = "ttnn.trace_id"


@irdl_attr_definition
class TTNNLayoutAttr(Data[TensorLayout]):
    """The layout of a tensor: affine map to a matrix, shard grid, shard, buffer and memory layout.

    ``#ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<2x4x!ttcore.tile<32x32, bf16>, #ttnn.buffer_type<dram>>,
    <interleaved>>``. Source: tt-mlir ``TTNN_TTNNLayoutAttr``.
    """

    name = "ttnn.ttnn_layout"

    def print_parameter(self, printer: Printer) -> None:
        layout = self.data
        element = str(TileType(layout.dtype)) if layout.tiled else str(ELEMENT_TYPES[layout.dtype])
        rows, columns = _written_shard(layout)
        fields = [
            _linear_map(layout),
            f"<{layout.grid[0]}x{layout.grid[1]}>",
            *([f'mesh = <"{layout.mesh}">'] if layout.mesh else []),
            f"memref<{rows}x{columns}x{element}, {BufferTypeAttr(layout.buffer)}>",
            *([f"<{layout.memory.value}>"] if layout.memory else []),
            *([f"core_ranges = {bare(CoreRangeSetAttr(layout.core_ranges))}"] if layout.core_ranges else []),
            *(["ignorePhysicalLayout = true"] if layout.ignore_physical else []),
        ]
        printer.print_string(f"<{', '.join(fields)}>")

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> TensorLayout:
        with parser.in_angle_brackets():
            strides = _row_strides(parser)
            parser.parse_punctuation(",")
            with parser.in_angle_brackets():
                grid = _pair(parser, parser.parse_dimension_list(), "a grid such as 8x8")
            parser.parse_punctuation(",")
            mesh = _mesh(parser)
            position = parser.pos
            memref = parser.parse_type()
            if not isinstance(memref, MemRefType):
                parser.raise_error(f"expected a memref of the shard, got {memref}", position, parser.pos)
            shard = _pair(parser, memref.get_shape(), "a memref of two dimensions")
            memory: MemoryLayout | None = None
            cores: tuple[CoreRange, ...] = ()
            ignore_physical = False
            while parser.parse_optional_punctuation(","):
                if parser.parse_optional_keyword("core_ranges"):
                    parser.parse_punctuation("=")
                    cores = nested(parser, CoreRangeSetAttr).data
                elif parser.parse_optional_keyword("ignorePhysicalLayout"):
                    parser.parse_punctuation("=")
                    ignore_physical = parser.parse_boolean()
                else:
                    memory = nested(parser, MemoryLayoutAttr).data
        element: Attribute = memref.element_type  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        tiled = isinstance(element, TileType)
        dtype = element.data if isinstance(element, TileType) else DATA_TYPES.get(element)
        if dtype is None:
            parser.raise_error(f"{element} is no data type of the chip", position, parser.pos)
        buffer = memref.memory_space
        if not isinstance(buffer, BufferTypeAttr):
            parser.raise_error(f"expected #ttnn.buffer_type<...>, got {buffer}", position, parser.pos)
        if dtype.is_host_only and buffer.data is not BufferType.SYSTEM_MEMORY:
            parser.raise_error(f"{element} is no data type of the chip", position, parser.pos)
        return TensorLayout(strides, grid, shard, dtype, tiled, buffer.data, memory, cores, mesh, ignore_physical)


def _written_shard(layout: TensorLayout) -> tuple[int, int]:
    """Returns rows and columns of the memref in the text.

    They are the shard, or one core's share of a tensor that is interleaved over the L1 of many cores.
    """
    cores = math.prod(layout.grid)
    if layout.is_sharded or layout.buffer is not BufferType.L1 or cores == 1:
        return layout.shard
    return 1, -(-math.prod(layout.shard) // cores)


def placed(type_: Tensor) -> Tensor:
    """Returns a tensor type that was read from text, with the full shard where the text has one core's share."""
    encoding = type_.encoding
    if not isinstance(encoding, TTNNLayoutAttr):
        return type_
    layout = encoding.data
    if layout.is_sharded or layout.buffer is not BufferType.L1 or math.prod(layout.grid) == 1:
        return type_
    full = replace(layout.with_(type_.get_shape()), row_strides=layout.row_strides)
    is_share = _written_shard(full) == layout.shard
    return TensorType(type_.element_type, type_.get_shape(), TTNNLayoutAttr(full)) if is_share else type_


def _mesh(parser: AttrParser) -> str:
    """Reads an optional ``mesh = <"name">,`` and returns the name; empty where it is absent."""
    if not parser.parse_optional_keyword("mesh"):
        return ""
    parser.parse_punctuation("=")
    name: str = nested(parser, TensorMeshAttr).data
    parser.parse_punctuation(",")
    return name


def _pair(parser: AttrParser, sizes: Any, what: str) -> tuple[int, int]:
    """Returns two sizes; the error about another number of them says that ``what`` was expected."""
    if len(sizes) != 2:
        parser.raise_error(f"expected {what}, got {'x'.join(map(str, sizes))}")
    return (sizes[0], sizes[1])


def _linear_map(layout: TensorLayout) -> str:
    """Returns the affine map from a tensor's indices to rows and columns, as text."""
    if layout.row_strides is None:
        return "() -> (0, 0)"
    rank = len(layout.row_strides) + 1
    names = [f"d{dim}" for dim in range(rank)]
    terms = [
        name if stride == 1 else f"{name} * {stride}" for name, stride in zip(names, layout.row_strides, strict=False)
    ]
    rows = " + ".join(terms) if terms else "0"
    return f"({', '.join(names)}) -> ({rows}, {names[-1]})"


def _row_strides(parser: AttrParser) -> tuple[int, ...] | None:
    """Reads an affine map of the form (d0, d1) -> (d0 * stride + ..., d1) and returns its strides."""
    position = parser.pos
    mapping: AffineMap = parser.parse_affine_map()
    rank = mapping.num_dims
    if not rank and mapping.results == (AffineExpr.constant(0),) * 2:
        return None
    zero = [0] * rank
    origin = mapping.eval(zero, [])[0] if len(mapping.results) == 2 else -1
    if origin != 0 or mapping.results[1] != AffineExpr.dimension(rank - 1):
        parser.raise_error(f"expected a map to rows and columns, got {mapping}", position, parser.pos)
    units = ([*zero[:dim], 1, *zero[dim + 1 :]] for dim in range(rank - 1))
    return tuple(mapping.eval(unit, [])[0] for unit in units)


def layout_of(value: SSAValue) -> TensorLayout:
    """Returns the layout of a value of the TTNN dialect.

    Raises:
        VerifyException: the value's type has no layout.
    """
    encoding = tensor_type(value).encoding
    if not isinstance(encoding, TTNNLayoutAttr):
        raise VerifyException(f"expected a tensor with a #ttnn.ttnn_layout, got {value.type}")
    return encoding.data


@lru_cache(maxsize=4096)
def laid_out(shape: tuple[int, ...], layout: TensorLayout) -> Tensor:
    """Returns the tensor type of a shape under a layout."""
    return TensorType(ELEMENT_TYPES[layout.dtype], shape, TTNNLayoutAttr(layout))


def _rank(layout: TensorLayout) -> int:
    return 0 if layout.row_strides is None else len(layout.row_strides) + 1


def _same_rows(layout: TensorLayout, expected: TensorLayout, shape: tuple[int, ...]) -> bool:
    """Whether two layouts place the rows of a tensor alike, although their strides may be written differently.

    Upstream keeps a layout through changes of rank that move no element, and a dimension of one element may have any
    stride.
    """
    if _rank(layout) != _rank(expected):
        return True
    strides = zip(shape, layout.row_strides or (), expected.row_strides or (), strict=False)
    return all(size == 1 or one == other for size, one, other in strides)


def check_layout(value: SSAValue) -> None:
    """Checks that a value's layout fits its shape and element type.

    Raises:
        VerifyException: it does not.
    """
    type_, layout = tensor_type(value), layout_of(value)
    if (layout.memory is None) != (layout.buffer is BufferType.SYSTEM_MEMORY):
        raise VerifyException(
            f"memory layout is {layout.memory or 'absent'} in {layout.buffer}: a buffer on the device needs one, "
            "system memory has none"
        )
    expected = layout.with_(type_.get_shape())
    if _same_rows(layout, expected, type_.get_shape()):
        expected = replace(expected, row_strides=layout.row_strides)
    if expected != layout:
        raise VerifyException(
            f"layout {TTNNLayoutAttr(layout)} does not fit shape {type_.get_shape()}, "
            f"expected {TTNNLayoutAttr(expected)}"
        )
    if ELEMENT_TYPES[layout.dtype] != type_.element_type:
        raise VerifyException(f"layout has data type {layout.dtype}, expected that of {type_.element_type} elements")
    if layout.dtype.is_block_float and not layout.tiled:
        raise VerifyException(f"{layout.dtype} tensor is row-major, expected tiles: block floats exist in tiles only")
