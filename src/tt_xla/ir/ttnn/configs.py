"""Compute, program and convolution configs of TT-NN's kernels. Source: tt-mlir ``TTNNOpsAttrs.td``."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Any, ClassVar

from xdsl.dialects.builtin import ArrayAttr, FloatAttr, f32
from xdsl.ir import Attribute, Data, OpaqueSyntaxAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from tt_xla.ir.attributes import LabelAttr, RawAttr, StructAttr, bare, nested, parse_label
from tt_xla.ir.layout import BufferType, CoreRange, DataType, MemoryLayout
from tt_xla.ir.properties import PropertyKind, enumeration


class Layout(enum.StrEnum):
    """The order of a tensor's elements in memory."""

    TILE = "tile"
    ROW_MAJOR = "row_major"


class MathFidelity(enum.StrEnum):
    """The number of passes of the matrix unit over the bits of its sources."""

    LOFI = "lofi"
    HIFI2 = "hifi2"
    HIFI3 = "hifi3"
    HIFI4 = "hifi4"


class Orientation(enum.StrEnum):
    """The order in which shards follow each other over the cores of a range."""

    ROW_MAJOR = "row_major"
    COL_MAJOR = "col_major"


class Conv2dSlice(enum.StrEnum):
    """The dimension along which a convolution is cut to fit in L1."""

    DRAM_HEIGHT = "dram_height"
    DRAM_WIDTH = "dram_width"
    L1_FULL = "l1_full"


class Activation(enum.StrEnum):
    """Elementwise functions that a convolution or matrix product applies to its result."""

    RELU = "relu"
    RELU6 = "relu6"
    SILU = "silu"
    SIGMOID = "sigmoid"
    GELU = "gelu"
    GELU_APPROX = "gelu_approx"
    TANH = "tanh"


@irdl_attr_definition
class BufferTypeAttr(LabelAttr[BufferType]):
    """A :class:`BufferType` as an attribute."""

    name = "ttnn.buffer_type"
    LABELS = BufferType


@irdl_attr_definition
class LayoutAttr(LabelAttr[Layout]):
    """A :class:`Layout` as an attribute."""

    name = "ttnn.layout"
    LABELS = Layout


@irdl_attr_definition
class MemoryLayoutAttr(LabelAttr[MemoryLayout]):
    """A :class:`MemoryLayout` as an attribute."""

    name = "ttnn.tensor_memory_layout"
    LABELS = MemoryLayout


@irdl_attr_definition
class ShardOrientationAttr(LabelAttr[Orientation]):
    """An :class:`Orientation` as an attribute."""

    name = "ttnn.shard_orientation"
    LABELS = Orientation


@irdl_attr_definition
class ShapeAttr(Data[tuple[int, ...]]):
    """The sizes of a tensor, ``#ttnn.shape<1x2x3>``."""

    name = "ttnn.shape"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> tuple[int, ...]:
        with parser.in_angle_brackets():
            return tuple(parser.parse_dimension_list())

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{'x'.join(map(str, self.data))}>")


class _MeshSizes(Data[tuple[int, int]], OpaqueSyntaxAttribute):
    """Rows and columns within a mesh, ``#ttnn<mesh_shape 1x2>``."""

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> tuple[int, int]:
        position = parser.pos
        sizes = parser.parse_dimension_list()
        if len(sizes) != 2:
            parser.raise_error("expected rows and columns such as 1x2", position, parser.pos)
        return (sizes[0], sizes[1])

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f" {self.data[0]}x{self.data[1]}")


@irdl_attr_definition
class MeshShapeAttr(_MeshSizes):
    """The size of a mesh, ``#ttnn<mesh_shape 1x2>``."""

    name = "ttnn.mesh_shape"


@irdl_attr_definition
class MeshOffsetAttr(_MeshSizes):
    """The position of a mesh within a larger one, ``#ttnn<mesh_offset 0x1>``."""

    name = "ttnn.mesh_offset"


@irdl_attr_definition
class CoreCoordAttr(Data[tuple[int, int]]):
    """A core, or the size of a grid of cores, as x and y: ``#ttnn.core_coord<11, 10>``."""

    name = "ttnn.core_coord"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> tuple[int, int]:
        with parser.in_angle_brackets():
            x = parser.parse_integer()
            parser.parse_punctuation(",")
            return (x, parser.parse_integer())

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{self.data[0]}, {self.data[1]}>")


@irdl_attr_definition
class CoreRangeAttr(Data[CoreRange]):
    """A rectangle of cores, ``#ttnn.core_range<(0,0), (7,0)>``."""

    name = "ttnn.core_range"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> CoreRange:
        position = parser.pos
        with parser.in_angle_brackets():
            start = _core(parser)
            parser.parse_punctuation(",")
            end = _core(parser)
        if end[0] < start[0] or end[1] < start[1]:
            parser.raise_error(f"a range of cores from {start} to {end} is empty", position, parser.pos)
        return CoreRange(start, end)

    def print_parameter(self, printer: Printer) -> None:
        (x0, y0), (x1, y1) = self.data
        printer.print_string(f"<({x0},{y0}), ({x1},{y1})>")


def _core(parser: AttrParser) -> tuple[int, int]:
    with parser.in_parens():
        x = parser.parse_integer()
        parser.parse_punctuation(",")
        return (x, parser.parse_integer())


@irdl_attr_definition
class CoreRangeSetAttr(Data[tuple[CoreRange, ...]]):
    """A set of cores as rectangles, ``#ttnn.core_range_set<[#ttnn.core_range<(0,0), (7,0)>]>``; ``<>`` for none."""

    name = "ttnn.core_range_set"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> tuple[CoreRange, ...]:
        with parser.in_angle_brackets():
            ranges = parser.parse_optional_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_attribute)
        for core_range in ranges or ():
            if not isinstance(core_range, CoreRangeAttr):
                parser.raise_error(f"expected #ttnn.core_range<...>, got {core_range}")
        return tuple(core_range.data for core_range in ranges or () if isinstance(core_range, CoreRangeAttr))

    def print_parameter(self, printer: Printer) -> None:
        ranges = ", ".join(str(CoreRangeAttr(item)) for item in self.data)
        printer.print_string(f"<[{ranges}]>" if ranges else "<>")


@irdl_attr_definition
class ShardSpecAttr(Data[tuple[tuple[CoreRange, ...], tuple[int, ...], Orientation]]):
    """Cores, shard shape in elements, and order of shards: ``#ttnn.shard_spec<<[...]>, <32x64>, <row_major>>``."""

    name = "ttnn.shard_spec"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> tuple[tuple[CoreRange, ...], tuple[int, ...], Orientation]:
        with parser.in_angle_brackets():
            cores = nested(parser, CoreRangeSetAttr).data
            parser.parse_punctuation(",")
            sizes = nested(parser, ShapeAttr).data
            parser.parse_punctuation(",")
            return cores, sizes, nested(parser, ShardOrientationAttr).data

    def print_parameter(self, printer: Printer) -> None:
        cores, sizes, orientation = self.data
        parts = (CoreRangeSetAttr(cores), ShapeAttr(sizes), ShardOrientationAttr(orientation))
        printer.print_string("<" + ", ".join(bare(part) for part in parts) + ">")


MemoryConfigData = tuple[BufferType, MemoryLayout | None, ShardSpecAttr | None]


@irdl_attr_definition
class MemoryConfigAttr(Data[MemoryConfigData]):
    """The memory of a tensor: ``#ttnn.memory_config<#ttnn.buffer_type<l1>, <height_sharded>, ...>``."""

    name = "ttnn.memory_config"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> MemoryConfigData:
        memory: MemoryLayout | None = None
        spec: ShardSpecAttr | None = None
        with parser.in_angle_brackets():
            buffer: BufferType = nested(parser, BufferTypeAttr).data
            if parser.parse_optional_punctuation(","):
                memory = nested(parser, MemoryLayoutAttr).data
            if parser.parse_optional_punctuation(","):
                spec = nested(parser, ShardSpecAttr)
        return buffer, memory, spec

    def print_parameter(self, printer: Printer) -> None:
        buffer, memory, spec = self.data
        parts = [str(BufferTypeAttr(buffer)), *([f"<{memory}>"] if memory else []), *([bare(spec)] if spec else [])]
        printer.print_string(f"<{', '.join(parts)}>")


@irdl_attr_definition
class UnaryAttr(Data[tuple[tuple[str, Any], ...]]):
    """An elementwise function and its parameters as named fields, ``#ttnn.unary_with_param<op_type = relu>``."""

    name = "ttnn.unary_with_param"

    @classmethod
    def of(cls, function: str, *params: float) -> UnaryAttr:
        """Returns the attribute of a function, such as "relu", and its parameters."""
        return cls((("op_type", function), *([("params", params)] if params else [])))

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> tuple[tuple[str, Any], ...]:
        with parser.in_angle_brackets():
            _keyword(parser, "op_type")
            function = parser.parse_identifier()
            if not parser.parse_optional_punctuation(","):
                return (("op_type", function),)
            _keyword(parser, "params")
            items = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_attribute)
        return ("op_type", function), (
            "params",
            tuple(item.value.data for item in items if isinstance(item, FloatAttr)),
        )

    def print_parameter(self, printer: Printer) -> None:
        fields = dict(self.data)
        params = ", ".join(str(FloatAttr(value, f32)) for value in fields.get("params", ()))
        printer.print_string(f"<op_type = {fields['op_type']}{f', params = [{params}]' if params else ''}>")


def _keyword(parser: AttrParser, name: str) -> None:
    """Reads ``name =``."""
    parser.parse_keyword(name)
    parser.parse_punctuation("=")


@irdl_attr_definition
class ComputeConfigAttr(StructAttr):
    """The precision of the matrix unit; absent fields are left to TT-NN."""

    name = "ttnn.device_compute_kernel_config"
    FIELDS: ClassVar[Mapping[str, type]] = {
        "math_fidelity": MathFidelity,
        "math_approx_mode": bool,
        "fp32_dest_acc_en": bool,
        "packer_l1_acc": bool,
        "dst_full_sync_en": bool,
    }


@irdl_attr_definition
class Conv2dConfigAttr(StructAttr):
    """The config of a 2-D convolution; absent fields are left to TT-NN."""

    name = "ttnn.conv2d_config"
    QUALIFIED = False
    FIELDS: ClassVar[Mapping[str, type]] = {
        "weights_dtype": DataType,
        "activation": UnaryAttr,
        "deallocate_activation": bool,
        "reallocate_halo_output": bool,
        "act_block_h_override": int,
        "act_block_w_div": int,
        "reshard_if_not_optimal": bool,
        "override_sharding_config": bool,
        "override_output_sharding_config": bool,
        "shard_layout": MemoryLayout,
        "core_grid": CoreRangeSetAttr,
        "transpose_shards": bool,
        "output_layout": Layout,
        "enable_act_double_buffer": bool,
        "enable_weights_double_buffer": bool,
        "enable_kernel_stride_folding": bool,
        "config_tensors_in_dram": bool,
    }


@irdl_attr_definition
class Conv2dSliceConfigAttr(Data[tuple[Conv2dSlice, int]]):
    """The cut of a convolution that has to fit in L1, ``#ttnn.conv2d_slice_config<dram_height, 4>``."""

    name = "ttnn.conv2d_slice_config"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> tuple[Conv2dSlice, int]:
        with parser.in_angle_brackets():
            kind = parse_label(parser, Conv2dSlice)
            parser.parse_punctuation(",")
            return kind, parser.parse_integer()

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{self.data[0]}, {self.data[1]}>")


@irdl_attr_definition
class Conv3dConfigAttr(StructAttr):
    """The config of a 3-D convolution; absent fields are left to TT-NN."""

    name = "ttnn.conv3d_config"
    QUALIFIED = False
    FIELDS: ClassVar[Mapping[str, type]] = {
        "weights_dtype": DataType,
        "t_out_block": int,
        "w_out_block": int,
        "h_out_block": int,
        "c_out_block": int,
        "c_in_block": int,
    }


_GRID: dict[str, type] = {"compute_with_storage_grid_size": CoreCoordAttr}
_SUBBLOCK: dict[str, type] = {"in0_block_w": int, "out_subblock_h": int, "out_subblock_w": int}
_OUT_BLOCK: dict[str, type] = {"out_block_h": int, "out_block_w": int}
_PER_CORE: dict[str, type] = {"per_core_m": int, "per_core_n": int}


@irdl_attr_definition
class MatmulReuseConfigAttr(StructAttr):
    """Config of a batched matrix product in which each core computes entire products. Counts are in tiles."""

    name = "ttnn.matmul_multi_core_reuse_program_config"
    TAG = "reuse"
    FIELDS: ClassVar[Mapping[str, type]] = {**_GRID, **_SUBBLOCK, **_PER_CORE}
    REQUIRED = frozenset(FIELDS)


@irdl_attr_definition
class MatmulMultiCastConfigAttr(StructAttr):
    """Config of a matrix product whose blocks of rows and columns lie on a grid of cores.

    Both operands are sent along the axes of the grid. Counts are in tiles.
    """

    name = "ttnn.matmul_multi_core_reuse_multi_cast_program_config"
    TAG = "multi_cast"
    FIELDS: ClassVar[Mapping[str, type]] = {
        **_GRID,
        **_SUBBLOCK,
        **_OUT_BLOCK,
        **_PER_CORE,
        "transpose_mcast": bool,
        "fused_activation": UnaryAttr,
        "fuse_batch": bool,
    }
    REQUIRED = frozenset(FIELDS.keys() - {"fused_activation"})


@irdl_attr_definition
class MatmulMultiCast1DConfigAttr(StructAttr):
    """Config of a matrix product whose cores form a line.

    Each core computes some columns and receives the left operand, or computes some rows and receives the right one.
    """

    name = "ttnn.matmul_multi_core_reuse_multi_cast_1d_program_config"
    TAG = "multi_cast_1d"
    FIELDS: ClassVar[Mapping[str, type]] = {
        **_GRID,
        **_SUBBLOCK,
        **_OUT_BLOCK,
        **_PER_CORE,
        "fuse_batch": bool,
        "fused_activation": UnaryAttr,
        "mcast_in0": bool,
        "gather_in0": bool,
        "hop_cores": CoreRangeSetAttr,
        "num_global_cb_receivers": int,
        "untilize_out": bool,
    }
    REQUIRED = frozenset(FIELDS.keys() - {"fused_activation"})


@irdl_attr_definition
class MatmulDRAMShardedConfigAttr(StructAttr):
    """Config of a matrix product of few rows with weights that lie width-sharded in DRAM."""

    name = "ttnn.matmul_multi_core_reuse_multi_cast_dram_sharded_program_config"
    TAG = "dram_sharded"
    FIELDS: ClassVar[Mapping[str, type]] = {"in0_block_w": int, **_PER_CORE, "fused_activation": UnaryAttr}
    REQUIRED = frozenset(FIELDS.keys() - {"fused_activation"})


@irdl_attr_definition
class SDPAConfigAttr(StructAttr):
    """The program config of scaled dot product attention."""

    name = "ttnn.sdpa_program_config"
    QUALIFIED = False
    FIELDS: ClassVar[Mapping[str, type]] = {
        **_GRID,
        "sub_core_grids": CoreRangeSetAttr,
        "q_chunk_size": int,
        "k_chunk_size": int,
        "exp_approx_mode": bool,
        "max_cores_per_head_batch": int,
    }
    REQUIRED = frozenset({"compute_with_storage_grid_size", "q_chunk_size", "k_chunk_size"})


@irdl_attr_definition
class LayerNormConfigAttr(StructAttr):
    """Config of a normalisation over a tensor that is sharded in L1. Counts are in tiles."""

    name = "ttnn.layernorm_sharded_multicore_program_config"
    QUALIFIED = False
    FIELDS: ClassVar[Mapping[str, type]] = {**_GRID, "subblock_w": int, "block_h": int, "block_w": int, "inplace": bool}
    REQUIRED = frozenset(FIELDS)


@irdl_attr_definition
class MeshMapperAttr(RawAttr):
    """The placement of a tensor on each axis of a mesh, ``<placements = [<replicate>, <shard, 1>]>``."""

    name = "ttnn.mesh_mapper_config"


@irdl_attr_definition
class MeshComposerAttr(RawAttr):
    """The dimension along which the shards on each axis of a mesh are joined, ``<dims = [0 : i32, 1 : i32]>``."""

    name = "ttnn.mesh_composer_config"


MATMUL_CONFIGS = (
    MatmulReuseConfigAttr,
    MatmulMultiCastConfigAttr,
    MatmulMultiCast1DConfigAttr,
    MatmulDRAMShardedConfigAttr,
)

ATTRIBUTES: tuple[type[Attribute], ...] = (
    BufferTypeAttr,
    LayoutAttr,
    MemoryLayoutAttr,
    ShardOrientationAttr,
    ShapeAttr,
    MeshShapeAttr,
    MeshOffsetAttr,
    CoreCoordAttr,
    CoreRangeAttr,
    CoreRangeSetAttr,
    ShardSpecAttr,
    MemoryConfigAttr,
    UnaryAttr,
    ComputeConfigAttr,
    Conv2dConfigAttr,
    Conv2dSliceConfigAttr,
    Conv3dConfigAttr,
    *MATMUL_CONFIGS,
    SDPAConfigAttr,
    LayerNormConfigAttr,
    MeshMapperAttr,
    MeshComposerAttr,
)


def _struct(cls: type[StructAttr]) -> PropertyKind[Any]:
    """Returns the kind of properties that hold a config of one class; its value is a tuple of fields."""
    return PropertyKind(f"#{cls.name}<...>", lambda fields: cls(fields), lambda attr: attr.data, cls)


COMPUTE_CONFIG = _struct(ComputeConfigAttr)
CONV2D_CONFIG = _struct(Conv2dConfigAttr)
CONV3D_CONFIG = _struct(Conv3dConfigAttr)
SDPA_CONFIG = _struct(SDPAConfigAttr)
LAYERNORM_CONFIG = _struct(LayerNormConfigAttr)
MATMUL_1D_CONFIG = _struct(MatmulMultiCast1DConfigAttr)
MATMUL_CONFIG: PropertyKind[Any] = PropertyKind(
    "a matmul program config such as #ttnn.matmul_multi_core_reuse_multi_cast_1d_program_config<...>",
    lambda config: config,
    lambda attr: attr,
    MATMUL_CONFIGS,  # pyright: ignore[reportArgumentType]
)
CONV2D_SLICE = enumeration("#ttnn.conv2d_slice_config<...>", Conv2dSliceConfigAttr)
SHAPE = enumeration("#ttnn.shape<...>", ShapeAttr)
LAYOUT = enumeration("#ttnn.layout<...>", LayoutAttr)
MEMORY_LAYOUT = enumeration("#ttnn.tensor_memory_layout<...>", MemoryLayoutAttr)
MEMORY_CONFIG = enumeration("#ttnn.memory_config<...>", MemoryConfigAttr)
MESH_SHAPE = enumeration("#ttnn.mesh_shape<...>", MeshShapeAttr)
MESH_OFFSET = enumeration("#ttnn.mesh_offset<...>", MeshOffsetAttr)
CORE_RANGE_SET = enumeration("#ttnn.core_range_set<...>", CoreRangeSetAttr)
MESH_MAPPER = enumeration("#ttnn.mesh_mapper_config<...>", MeshMapperAttr)
MESH_COMPOSER = enumeration("#ttnn.mesh_composer_config<...>", MeshComposerAttr)
UNARIES: PropertyKind[Any] = PropertyKind(
    "a list of #ttnn.unary_with_param<...>",
    lambda items: ArrayAttr([UnaryAttr(item) for item in items]),
    lambda attr: tuple(item.data for item in attr.data),
    ArrayAttr,
)
