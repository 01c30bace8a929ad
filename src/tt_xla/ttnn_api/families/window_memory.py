"""Finds where TT-NN puts results of convolutions and poolings: in shards in L1, unless the call says otherwise."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from tt_xla.cost.sharding import BLOCK, HEIGHT, WIDTH
from tt_xla.cost.window_shards import (
    STICK,
    ConvolutionBytes,
    ConvolutionSetting,
    Cores,
    PoolingSetting,
    Windows,
    chosen_for_convolution,
    chosen_for_pooling,
    convolution_bytes,
    convolution_result,
    pooling_input,
)
from tt_xla.ir import layout as ir
from tt_xla.ir.layout import FACE
from tt_xla.target import Target
from tt_xla.ttnn_api.configs import Config, SliceTypeEnum, compute_config
from tt_xla.ttnn_api.devices import MeshDevice
from tt_xla.ttnn_api.enums import BufferType, DataType, Layout, ShardOrientation, TensorMemoryLayout
from tt_xla.ttnn_api.errors import TTFatal
from tt_xla.ttnn_api.families.window_sizes import borders
from tt_xla.ttnn_api.families.window_slices import check_convolution
from tt_xla.ttnn_api.geometry import (
    DRAM_MEMORY_CONFIG,
    TILE_SIZE,
    CoreCoord,
    CoreRange,
    CoreRangeSet,
    MemoryConfig,
    ShardSpec,
)
from tt_xla.ttnn_api.layouts import ranges_of
from tt_xla.ttnn_api.plan import Operand
from tt_xla.ttnn_api.shards import grid_of

_TILE = (TILE_SIZE, TILE_SIZE)
_SCRATCH = 64
"""Bytes of a convolution's smallest buffer, which TT-NN's estimates leave out."""


def _cores(memory: MemoryConfig) -> Cores:
    """Returns the cores of a sharded memory config."""
    assert memory.shard_spec is not None
    rows, columns = grid_of(memory.memory_layout, memory.shard_spec)
    turned = memory.shard_spec.orientation is ShardOrientation.COL_MAJOR
    return Cores(memory.memory_layout.layout, rows, columns, ranges_of(memory.shard_spec.grid), turned)


def _sharded(cores: Cores, shard: tuple[int, int]) -> MemoryConfig:
    """Returns the memory config of shards on cores."""
    ranges = [CoreRange(CoreCoord(*start), CoreCoord(*end)) for start, end in cores.ranges]
    turned = ShardOrientation.COL_MAJOR if cores.column_major else ShardOrientation.ROW_MAJOR
    layout = TensorMemoryLayout[cores.memory.name]
    return MemoryConfig(layout, BufferType.L1, ShardSpec(CoreRangeSet(ranges), shard, turned))


class ConvolutionPlace:
    """The cores on which a convolution computes, and the memory of its result.

    Args:
        source: the input.
        windows: its sizes.
        setting: its types and options.
        config: its ``Conv2dConfig``.
        slices: its ``slice_config``.
        device: the device.

    Raises:
        TTFatal: TT-NN refuses the config, or the input has to be sharded in another way and nothing says how.
    """

    def __init__(
        self,
        source: Operand,
        windows: Windows,
        setting: ConvolutionSetting,
        config: Config | None,
        slices: Config | None,
        device: MeshDevice,
    ) -> None:
        self._source, self._windows, self._setting = source, windows, setting
        self._config, self._device = config, device
        full = slices is not None and slices.slice_type is SliceTypeEnum.L1Full
        in_dram = not source.type.on_device or source.memory.buffer_type is BufferType.DRAM
        self.is_sliced = in_dram and not full and not setting.product
        """Whether the input lies in DRAM, from which TT-NN takes slices to L1, and the result too."""
        self.layout: Layout = Layout.TILE if config is None or setting.product else config.output_layout
        """Layout of the result."""
        self.memory = DRAM_MEMORY_CONFIG
        """Memory of the result."""
        self.table_banks = 0
        """Cores with a table of the windows in L1_SMALL."""
        self._check_layout()
        by_user = not setting.product and check_convolution(slices, in_dram, windows.output, self.layout)
        if setting.product and self._chosen is None and not self._is_sharded:
            return
        source_cores = self._input_cores()
        if not setting.product and not self._option("config_tensors_in_dram"):
            self.table_banks = source_cores.rows * source_cores.columns
        cores = self._result_cores(source_cores)
        buffers = convolution_bytes(source_cores.memory, windows, setting, device.target.grid, source_cores)
        self._check_blocks(source_cores, buffers)
        if not self.is_sliced:
            self.memory = _sharded(cores, cores.shard(windows.positions, windows.out_channels, _TILE))
        elif not by_user and buffers.all <= device.memory.l1.end - device.memory.l1.base:
            self.layout = Layout.TILE  # one slice, whose result is copied to DRAM as it is

    def _check_layout(self) -> None:
        """Refuses rows of block floats."""
        block_float = self._setting.result.is_block_float
        if self.layout is Layout.ROW_MAJOR and block_float:
            raise TTFatal(
                "Conv output can't be in Row Major if output dtype is BFloat8_B.",
                hint="Pass dtype=ttnn.bfloat16, or leave output_layout of the Conv2dConfig out.",
            )

    def _check_blocks(self, source: Cores, needed: ConvolutionBytes) -> None:
        """Refuses blocks of windows that TT-NN finds higher than shards, or whose buffers are larger than L1.

        Shards of columns have all positions, of which TT-NN counts whole tiles, where it tries or uses them.
        """
        if self._setting.product:
            if source.memory is WIDTH:
                raise TTFatal(
                    "MatmulMultiCoreReuseMultiCastProgramConfig: Unsupported memory layout "
                    "TensorMemoryLayout::WIDTH_SHARDED.",
                    hint="Shard the input by rows or in blocks.",
                )
            return
        block, positions = self._setting.block_height // TILE_SIZE, self._windows.positions
        tries_columns = source.memory is WIDTH or not (self._is_sharded or self._chosen)
        if block > 1 and positions < TILE_SIZE and tries_columns:
            raise TTFatal(
                f"Conv2d output block size {block} exceeds the per-core output size 1",
                hint=f"act_block_h_override is {self._setting.block_height}; the result has {positions} rows.",
            )
        target = self._device.target
        end = target.l1_unreserved_base + needed.buffers + _SCRATCH
        if end > target.l1_size and not self.is_sliced:
            cores = ", ".join(f"{first[0]}-{first[1]} - {last[0]}-{last[1]}" for first, last in source.ranges)
            raise TTFatal(
                f"Statically allocated circular buffers on core range [{cores}] grow to {end} B which is beyond max L1 "
                f"size of {target.l1_size} B",
                hint="Set a smaller act_block_h_override in the Conv2dConfig, shard the input over more cores, or put "
                "it into DRAM.",
            )

    @property
    def _is_sharded(self) -> bool:
        return self._source.type.on_device and self._source.memory.is_sharded()

    @property
    def _chosen(self) -> ir.MemoryLayout | None:
        """The way of sharding that the config names."""
        layout = None if self._config is None else self._config.shard_layout
        return None if layout is None else layout.layout

    def _option(self, name: str) -> Any:
        return None if self._config is None else getattr(self._config, name)

    def _input_cores(self) -> Cores:
        """Returns the cores between which the input is divided."""
        chosen = self._chosen
        own = _cores(self._source.memory) if self._is_sharded else None
        if own is not None:
            resharded = self._is_unfit(own)
            if self._setting.product and own.memory is BLOCK and resharded:
                chosen = BLOCK
            if not resharded and not self._option("reshard_if_not_optimal"):
                return own
            if chosen is None:
                raise TTFatal(
                    "Conv2d supports Height, Block or Width Sharded Layouts but got TensorMemoryLayout::INTERLEAVED",
                    hint="Name the way of sharding in Conv2dConfig(shard_layout=...).",
                )
        if chosen is None:
            chosen = chosen_for_convolution(self._windows, self._setting, self._device.target.grid)
        if self._option("override_sharding_config"):
            return self._named_cores(chosen)
        layout = own.memory if own is not None else None
        return self._setting.input(chosen, self._windows, self._device.target.grid, self._setting.alignment(layout))

    def _is_unfit(self, own: Cores) -> bool:
        """Returns whether an input has to be sharded anew: its channels are not aligned, or its cores are not those
        that the config names."""
        assert self._source.memory.shard_spec is not None
        columns = self._source.memory.shard_spec.shape[1]
        setting = self._setting
        aligned = TILE_SIZE
        if not setting.tiled and not setting.product and own.memory is not WIDTH:
            aligned = next((each for each in (TILE_SIZE, 16, 8) if columns % each == 0), TILE_SIZE)
        unfit = columns % aligned != 0 or (own.memory is not BLOCK and own.column_major)
        if setting.product:
            unfit |= self._rows_of_shard() % TILE_SIZE != 0
            unfit |= own.memory is BLOCK and self._windows.in_channels != own.columns * columns
        if self._option("override_sharding_config"):
            if self._option("core_grid") is None or self._chosen is None:
                missing = "core_grid" if self._option("core_grid") is None else "shard_layout"
                raise TTFatal(
                    f"If override_sharding_config is set, {missing} must be set as well.",
                    hint=f"Set {missing} in the Conv2dConfig.",
                )
            unfit |= ranges_of(self._option("core_grid")) != own.ranges or self._chosen is not own.memory
            unfit |= self._chosen is BLOCK and bool(self._option("transpose_shards")) != own.column_major
        return unfit

    def _rows_of_shard(self) -> int:
        """Returns the positions in a shard of the input, of which a convolution that is folded makes one of several."""
        assert self._source.memory.shard_spec is not None
        rows, positions = self._source.memory.shard_spec.shape[0], math.prod(self._source.shape[:-1])
        return rows * self._windows.positions // positions

    def _named_cores(self, memory: ir.MemoryLayout) -> Cores:
        """Returns the cores that the config names."""
        grid: CoreRangeSet | None = self._option("core_grid")
        if grid is None:
            raise TTFatal(
                "Core grid must be provided when overriding sharding config",
                hint="Set core_grid in the Conv2dConfig.",
            )
        turned = memory is BLOCK and self._setting.column_major
        orientation = ShardOrientation.COL_MAJOR if turned else ShardOrientation.ROW_MAJOR
        rows, columns = grid_of(memory, ShardSpec(grid, _TILE, orientation))
        return Cores(memory, rows, columns, ranges_of(grid), turned)

    def _result_cores(self, source: Cores) -> Cores:
        setting = self._setting
        if self._option("override_output_sharding_config") and self._option("core_grid") is not None:
            return self._named_cores(source.memory)
        return convolution_result(source, self._windows.out_channels, setting.product, self._device.target.grid)


def pooling_memory(
    op: str,
    source: Operand,
    attributes: Mapping[str, Any],
    output: tuple[int, int],
    result: tuple[DataType, Layout],
    scheme: TensorMemoryLayout | None,
    target: Target,
) -> MemoryConfig:
    """Returns the memory of a pooling's result: shards on the cores of its input.

    Args:
        op: its op.
        source: the input.
        attributes: attributes of the op.
        output: height and width of the result.
        result: data type and layout of the result.
        scheme: how to shard an input that is not sharded; None for TT-NN's choice.
        target: the chip.

    Raises:
        TTFatal: a scheme for an input that is sharded, or another one than the three of TT-NN.
    """
    channels = {"in_channels": attributes["channels"], "out_channels": attributes["channels"]}
    images = (attributes["batch_size"], attributes["input_height"], attributes["input_width"])
    windows = windows_of(images, output, {**attributes, **channels})
    tiled, indices = source.layout is Layout.TILE, op == "ttnn.max_pool2d_with_indices"
    dtype, layout = result
    setting = PoolingSetting(tiled, layout is Layout.TILE, dtype.element, op == "ttnn.avg_pool2d", indices)
    if source.memory.is_sharded():
        if scheme is not None:
            raise TTFatal(
                "A sharding scheme should not be specified for a sharded input tensor.",
                hint="Leave applied_shard_scheme out.",
            )
        cores = _cores(source.memory)
        if cores.column_major:
            raise TTFatal(
                "Only row major orientation is supported.", hint="Shard the input with ttnn.ShardOrientation.ROW_MAJOR."
            )
    else:
        memory = chosen_for_pooling(windows, setting, target.grid) if scheme is None else scheme.layout
        if memory not in (HEIGHT, WIDTH, BLOCK):
            raise TTFatal(
                "Only height, width, or block sharding strategies are supported.",
                hint="Pass one of them as applied_shard_scheme.",
            )
        cores = pooling_input(
            memory, windows, setting, target.grid, TILE_SIZE if scheme is None or setting.tiled else STICK
        )
    each = -(-windows.in_channels // cores.columns)
    face = FACE if each <= FACE or each % FACE == 0 else TILE_SIZE
    return _sharded(
        cores, cores.shard(windows.positions, windows.in_channels, _TILE if setting.result_tiled else (1, face))
    )


def windows_of(images: tuple[int, int, int], output: tuple[int, int], geometry: Mapping[str, Any]) -> Windows:
    """Returns the sizes of a convolution or pooling.

    Args:
        images: their number, height and width.
        output: height and width of the result.
        geometry: attributes of the op.
    """
    batch, height, width = images
    kernel, stride, padding, dilation = (
        tuple(geometry[name]) for name in ("kernel_size", "stride", "padding", "dilation")
    )
    channels = geometry["in_channels"], geometry["out_channels"]
    return Windows(batch, (height, width), output, kernel, stride, padding, dilation, *channels)


def convolution_place(
    tensors: tuple[Operand, Operand, Operand | None],
    geometry: dict[str, Any],
    output: tuple[int, int],
    output_padding: Sequence[int] | None,
    dtype: DataType,
    configs_: tuple[Config | None, Config | None, Config | None],
    device: MeshDevice,
) -> ConvolutionPlace:
    """Returns the place of a convolution; a transposed one reads an input with zeros in between and around."""
    source, weight, bias = tensors
    config, compute, slices = configs_
    fields = {} if config is None else dict(config.fields())
    windows, is_point = _windows(source, geometry, output, output_padding, fields.get("enable_kernel_stride_folding"))
    by_width = fields.get("shard_layout") is TensorMemoryLayout.WIDTH_SHARDED
    is_column = windows.kernel[1] == windows.input[1] == 1
    weights = fields.get("weights_dtype") or weight.dtype
    setting = ConvolutionSetting(
        source.dtype.element,
        weights.element,
        dtype.element,
        bias is not None,
        source.layout is Layout.TILE,
        product=is_point and not by_width,
        depthwise_rows=is_column and bias is None and geometry["groups"] == windows.in_channels,
        block_height=fields.get("act_block_h_override", 0),
        column_major=fields.get("transpose_shards", False),
        compute=compute_config(compute),
    )
    return ConvolutionPlace(source, windows, setting, config, slices, device)


def _windows(
    source: Operand,
    geometry: dict[str, Any],
    output: tuple[int, int],
    output_padding: Sequence[int] | None,
    folding: bool | None,
) -> tuple[Windows, bool]:
    """Returns the sizes that a convolution computes with, and whether it is a product of single positions.

    A transposed one reads an input with zeros in between. One whose windows do not overlap is folded into a product.
    """
    images = (geometry["batch_size"], geometry["input_height"], geometry["input_width"])
    kernel, stride, dilation = (tuple(geometry[name]) for name in ("kernel_size", "stride", "dilation"))
    is_point = math.prod((*kernel, *stride, *dilation)) == 1 and not any(geometry["padding"])
    changed: dict[str, Any] = {}
    if output_padding is not None:
        height, width = (size + dilation[axis] * (kernel[axis] - 1) for axis, size in enumerate(output))
        images, is_point = (images[0], height, width), is_point and not any(output_padding)
        changed = {"stride": (1, 1), "padding": (0, 0)}
    elif _is_folded(source, geometry) if folding is None else folding:
        images, is_point = (images[0], *output), True
        changed = {"kernel_size": (1, 1), "stride": (1, 1), "padding": (0, 0)}
        changed["in_channels"] = geometry["in_channels"] * math.prod(stride)
    return windows_of(images, output, geometry | changed), is_point


def _is_folded(source: Operand, geometry: dict[str, Any]) -> bool:
    """Returns whether TT-NN folds the windows of a convolution into channels (``auto_enable_kernel_folding``)."""
    stride = tuple(geometry["stride"])
    if stride != tuple(geometry["kernel_size"]) or stride == (1, 1) or tuple(geometry["dilation"]) != (1, 1):
        return False
    top, bottom, left, right = borders(geometry["padding"])
    if (geometry["input_height"] + top + bottom) % stride[0] or (geometry["input_width"] + left + right) % stride[1]:
        return False
    if source.memory.memory_layout is TensorMemoryLayout.HEIGHT_SHARDED:
        return True
    in_dram = not source.type.on_device or source.memory.buffer_type is BufferType.DRAM
    return in_dram and (source.layout is Layout.ROW_MAJOR or not any(geometry["padding"]))
