"""Functions that exchange positions and channels: ``fold``, ``convert_to_hwc`` and ``convert_to_chw``.

Their conditions, and the types and memories of their results, are those of TT-NN's ``data_movement/fold`` and
``experimental/cnn``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tt_xla.ttnn_api.chosen_shards import cores_in_order, divided, is_open
from tt_xla.ttnn_api.devices import MeshDevice
from tt_xla.ttnn_api.enums import BufferType, DataType, Layout, ShardOrientation, TensorMemoryLayout
from tt_xla.ttnn_api.errors import TTFatal
from tt_xla.ttnn_api.geometry import (
    L1_MEMORY_CONFIG,
    TILE_SIZE,
    CoreCoord,
    CoreRange,
    CoreRangeSet,
    MemoryConfig,
    ShardSpec,
)
from tt_xla.ttnn_api.inferred import from_kernel
from tt_xla.ttnn_api.plan import Operand
from tt_xla.ttnn_api.shards import of_shape, replace_shards

_ALIGNMENT = 16
"""Bytes to which L1 addresses are aligned."""

_READ = 8
"""Elements of a row that ``reshape_on_device`` reads at once."""


def _six_sides(padding: Sequence[int]) -> list[int]:
    """Returns the padding of rows, columns and channels, each in front and behind."""
    sides = list(padding)
    if len(sides) == 2:
        sides = [sides[0], sides[0], sides[1], sides[1]]
    return [*sides, 0, 0][:6]


def _to_tiles(size: int) -> int:
    return -(-size // TILE_SIZE) * TILE_SIZE


def _by_transposing(values: dict[str, Any], source: Operand, sides: Sequence[int]) -> dict[str, Any]:
    """Returns the fold of ``use_transpose_as_fold`` of [N, C, H, W]: rows and columns are padded to whole tiles.

    TT-NN takes the padding in front for both sides of shards, and for the side behind of interleaved tensors.
    """
    if values["collapse_output"]:
        raise TTFatal(
            "Fold: collapse_output=True is not supported with use_transpose_as_fold=True (legacy path bypasses "
            "prim::fold).",
            hint="Drop use_transpose_as_fold to use collapse_output.",
        )
    if source.dtype.element.is_block_float:
        raise TTFatal(
            f"Input tensor dtype must be BFLOAT16 or FLOAT32 but got {source.dtype}",
            hint="Convert the input with ttnn.typecast.",
        )
    stride_h, stride_w = values["stride_h"], values["stride_w"]
    batch, channels, rows, columns = source.shape
    channels += sides[5]
    _check_whole_reads(source, channels * stride_w, stride_h)
    if not source.memory.is_sharded():
        taken = [0, _to_tiles(rows + sides[0]) - rows, 0, _to_tiles(columns + sides[2]) - columns, 0, sides[5]]
        return {"padding": taken, "override_memory_config": L1_MEMORY_CONFIG}
    _check_rows_are_sharded(source)
    high, wide = rows + 2 * sides[0], columns + 2 * sides[2]
    shape = values["output_shape"] or [batch, high // stride_h, wide // stride_w, channels * stride_h * stride_w]
    cores = values["grid_size"] or CoreRangeSet([CoreRange(CoreCoord(0, 0), CoreCoord(1, 1))])
    spec = source.memory.shard_spec
    orientation = ShardOrientation.ROW_MAJOR if spec is None else spec.orientation
    shard = ShardSpec(cores, (-(-math.prod(list(shape)[:3]) // cores.num_cores()), shape[3]), orientation)
    memory = MemoryConfig(TensorMemoryLayout.HEIGHT_SHARDED, BufferType.L1, shard)
    bottom, right = _to_tiles(high) - rows - sides[0], _to_tiles(wide) - columns - sides[2]
    return {
        "padding": [sides[0], bottom, sides[2], right, 0, sides[5]],
        "output_shape": list(shape),
        "override_memory_config": values["override_memory_config"] or memory,
    }


def _check_whole_reads(source: Operand, width: int, stride_h: int) -> None:
    """Refuses rows that TT-NN's ``reshape_on_device`` takes to the host, which it does for bfloat16 alone."""
    as_is = source.memory.is_sharded() or source.layout is Layout.TILE or stride_h == 1
    if source.dtype is not DataType.BFLOAT16 and not as_is and width % _READ:
        raise TTFatal(
            f"Input tensor dtype must be BFLOAT16 for this reshape operation but got {source.dtype}",
            hint="Convert the input with ttnn.typecast, or pad its channels.",
        )


def _check_rows_are_sharded(source: Operand) -> None:
    if source.memory.memory_layout is not TensorMemoryLayout.HEIGHT_SHARDED:
        raise TTFatal(
            "fold op does not support non height-sharding!", hint="Move the input with ttnn.to_memory_config."
        )


def _check_strides(shape: Sequence[int], stride_h: int, stride_w: int) -> None:
    """Raises a TTFatal for strides that do not divide the padded rows and columns."""
    for name, size, stride in (("H", shape[1], stride_h), ("W", shape[2], stride_w)):
        if size % stride:
            raise TTFatal(
                f"Fold: logical {name} ({size}) must be divisible by stride_{name.lower()} ({stride}).",
                hint="Pad the input, by the argument padding.",
            )


def _shards_of_whole_rows(
    spec: ShardSpec, shape: Sequence[int], stride_h: int, device: MeshDevice | None, *, padded: bool
) -> ShardSpec:
    """Returns the shards that ``fold`` reads: each has whole groups of ``stride_h`` rows.

    Args:
        spec: the shards of the input.
        shape: the padded input, [N, H, W, C].
        stride_h: rows of a group.
        device: whose grid is taken where the input's shards cut a group.
        padded: whether padding has divided the positions anew among the same cores.
    """
    pixels, group = math.prod(list(shape)[:3]), stride_h * shape[2]
    height = -(-pixels // spec.num_cores()) if padded else spec.shape[0]
    spec = of_shape(spec, (height, shape[3]))
    if height % group == 0 or device is None:
        return spec
    grid = device.compute_with_storage_grid_size()
    count = next(each for each in range(grid.x * grid.y, 0, -1) if pixels // group % each == 0)
    rows = -(-(pixels // count) // group) * group
    return ShardSpec(cores_in_order(count, grid.x, grid.y), (rows, shape[3]), spec.orientation)


def _read_memory(source: Operand, shape: Sequence[int], stride_h: int, *, padded: bool) -> MemoryConfig:
    """Returns the memory of the tensor that the kernel reads: padded, and moved where shards do not suit it."""
    memory, spec = source.memory, source.memory.shard_spec
    if spec is None:
        return memory
    if memory.memory_layout is TensorMemoryLayout.HEIGHT_SHARDED and memory.buffer_type is BufferType.L1:
        return replace_shards(memory, _shards_of_whole_rows(spec, shape, stride_h, source.device, padded=padded))
    if memory.memory_layout is not TensorMemoryLayout.HEIGHT_SHARDED and source.layout is Layout.ROW_MAJOR:
        size = source.dtype.element.element_bytes
        alignment = 64 if memory.buffer_type is BufferType.DRAM else _ALIGNMENT
        if spec.shape[1] * size % alignment:
            return L1_MEMORY_CONFIG
    return memory


def _folded(memory: MemoryConfig, patch: int) -> MemoryConfig:
    """Returns the memory of positions that were joined by ``patch``, in the shards of the tensor that was read."""
    spec = memory.shard_spec
    if spec is None:
        return memory
    if spec.shape[0] % patch:
        raise TTFatal(
            f"Fold: sharded input shard height ({spec.shape[0]}) must be divisible by patch_size ({patch}).",
            hint="Divide the input into shards of whole blocks with ttnn.to_memory_config.",
        )
    return replace_shards(memory, of_shape(spec, (spec.shape[0] // patch, spec.shape[1] * patch)))


def _wanted(
    memory: MemoryConfig | None, own: MemoryConfig, shape: Sequence[int], device: MeshDevice | None
) -> MemoryConfig:
    """Returns the memory of the result: the one that the call names, completed where it is open, or its own."""
    if memory is None or device is None or not is_open(memory):
        return memory or own
    if own.shard_spec is not None and own.memory_layout is memory.memory_layout:
        return replace_shards(memory, own.shard_spec)
    return divided(memory, shape, Layout.ROW_MAJOR, device.compute_with_storage_grid_size())


def _as_fold(values: dict[str, Any]) -> dict[str, Any]:
    """Returns the padding, the type and the memory with which TT-NN folds."""
    source, sides = values["input"], _six_sides(values["padding"])
    stride_h, stride_w = values["stride_h"], values["stride_w"]
    if source.rank != 4:
        raise TTFatal(
            f"Fold op only supports 4D tensors, got {source.shape}",
            hint="Give the input four dimensions: [N, H, W, C].",
        )
    if stride_h <= 0 or stride_w <= 0:
        raise TTFatal(
            f"Fold: stride_h ({stride_h}) and stride_w ({stride_w}) must be > 0.", hint="Pass strides of 1 or more."
        )
    if values["use_transpose_as_fold"]:
        return _by_transposing(values, source, sides)
    if source.layout is Layout.TILE and any(sides[::2]):
        raise TTFatal(
            "ttnn.pad: on device tile padding does not support front padding",
            hint="Move the input with ttnn.to_layout to rows, or pad behind only.",
        )
    batch, rows, columns, channels = source.shape
    shape = [batch, rows + sides[0] + sides[1], columns + sides[2] + sides[3], channels + sides[4] + sides[5]]
    _check_strides(shape, stride_h, stride_w)
    read = _read_memory(source, shape, stride_h, padded=any(sides[:4]))
    patch, wanted = stride_h * stride_w, values["override_memory_config"]
    positions = [batch, shape[1] // stride_h, shape[2] // stride_w, shape[3] * patch]
    dtype = DataType.BFLOAT16 if source.dtype.element.is_block_float else source.dtype
    return {
        "padding": sides,
        "output_shape": None,
        "override_memory_config": _wanted(wanted, _folded(read, patch), positions, source.device),
        "layout": Layout.ROW_MAJOR,
        "dtype": dtype,
    }


def _as_channels_first(values: dict[str, Any]) -> dict[str, Any]:
    """Returns the memory of [1, 1, C, H * W]: each core keeps its positions."""
    source = values["input"]
    spec = source.memory.shard_spec
    if spec is None:
        raise TTFatal(
            "Input tensor must be sharded to infer output memory config",
            hint="Move the input with ttnn.to_memory_config.",
        )
    if source.memory.memory_layout is not TensorMemoryLayout.HEIGHT_SHARDED:
        raise TTFatal("Input tensor must be height sharded", hint="Move the input with ttnn.to_memory_config.")
    if source.rank != 4 or list(source.shape[:2]) != [1, 1]:
        raise TTFatal(
            f"Expected input tensor to be shape [1, 1, HW, C] (was {source.shape})", hint="Reshape the input."
        )
    _check_channels(source.shape[3])
    for name, size in (("HW", source.shape[2]), ("Shard height", spec.shape[0])):
        if size % TILE_SIZE:
            raise TTFatal(
                f"{name} must be divisible by tile size (was {size})", hint="Pad the positions with ttnn.pad."
            )
    shards = of_shape(spec, (source.shape[3], spec.shape[0]))
    memory = MemoryConfig(TensorMemoryLayout.WIDTH_SHARDED, source.memory.buffer_type, shards)
    return {"memory_config": memory, "layout": Layout.ROW_MAJOR}


def _check_channels(count: int) -> None:
    if count > TILE_SIZE:
        raise TTFatal(f"C must be less than or equal to 32 (was {count})", hint="Divide the channels with ttnn.slice.")


def _as_channels_last(values: dict[str, Any]) -> dict[str, Any]:
    """Returns the memory of [1, 1, B * H * W, C], whose channels fill whole multiples of 16 bytes."""
    source, memory = values["input"], values["memory_config"]
    unit = _ALIGNMENT // source.dtype.element.element_bytes
    if source.memory.buffer_type is BufferType.DRAM and memory is None:
        raise TTFatal(
            "When input tensor is in DRAM, output memory_config must be explicitly specified",
            hint="Pass a height-sharded memory_config.",
        )
    if source.rank != 4 or source.shape[0] != 1:
        raise TTFatal(f"Expected input tensor to be shape [1, B, C, HW] (shape was {source.shape})", hint="Reshape it.")
    _check_channels(source.shape[2])
    if source.layout is not Layout.ROW_MAJOR:
        raise TTFatal("Input tensor must be in row-major layout", hint="Move it with ttnn.to_layout.")
    spec = source.memory.shard_spec
    if spec is None or source.memory.memory_layout is not TensorMemoryLayout.WIDTH_SHARDED:
        raise TTFatal("Input tensor must be width sharded", hint="Move the input with ttnn.to_memory_config.")
    channels = -(-source.shape[2] // unit) * unit
    if memory is None:
        shards = of_shape(spec, (source.shape[1] * spec.shape[1], channels))
        memory = MemoryConfig(TensorMemoryLayout.HEIGHT_SHARDED, source.memory.buffer_type, shards)
    if memory.shard_spec is None or memory.memory_layout is not TensorMemoryLayout.HEIGHT_SHARDED:
        raise TTFatal("Output tensor must be height sharded", hint="Pass a height-sharded memory_config.")
    if memory.shard_spec.shape[1] % unit:
        raise TTFatal(
            f"Output shard width must be rounded up to next multiple of {unit} to satisfy alignment constraints (width "
            f"was {memory.shard_spec.shape[1]})",
            hint="Pass a memory_config with wider shards.",
        )
    return {"memory_config": memory, "layout": Layout.ROW_MAJOR, "channels": channels}


from_kernel(
    "ttnn.fold",
    memory=("override_memory_config",),
    prepare=_as_fold,
    also_takes=("output_shape", "grid_size", "padding"),
)
from_kernel("ttnn.experimental.convert_to_chw", memory=("memory_config",), prepare=_as_channels_first)
from_kernel("ttnn.experimental.convert_to_hwc", prepare=_as_channels_last)
