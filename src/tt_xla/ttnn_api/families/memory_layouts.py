"""Functions that change between tiles and rows, between shards and interleaved memory, and that split and join."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tt_xla.ttnn_api import conditions
from tt_xla.ttnn_api.enums import BufferType, DataType, Layout, ShardOrientation, TensorMemoryLayout
from tt_xla.ttnn_api.errors import TTFatal
from tt_xla.ttnn_api.geometry import (
    DRAM_MEMORY_CONFIG,
    TILE_SIZE,
    CoreCoord,
    CoreRange,
    CoreRangeSet,
    MemoryConfig,
    ShardSpec,
)
from tt_xla.ttnn_api.operation import OPERATIONS, operation
from tt_xla.ttnn_api.plan import NO_DIMENSION, Operand, Step
from tt_xla.ttnn_api.tensor import Tensor


@operation("ttnn.tilize")
def tilize(input_tensor: Operand, memory_config: MemoryConfig | None, dtype: DataType | None) -> Step:
    """Turns rows into tiles.

    Raises:
        TTFatal: the rows do not fill tiles.
    """
    for name, size in zip(("width", "height"), reversed((1, *input_tensor.shape)[-2:]), strict=False):
        if size % TILE_SIZE:
            raise TTFatal(
                f"Input tensor {name} ({size}) must be divisible by tile {name} ({TILE_SIZE})",
                hint="Pad it with ttnn.tilize_with_zero_padding, or use ttnn.to_layout.",
            )
    return tilize_with_zero_padding(input_tensor, memory_config, dtype)


@operation("ttnn.tilize_with_zero_padding")
def tilize_with_zero_padding(
    input_tensor: Operand, memory_config: MemoryConfig | None, output_dtype: DataType | None
) -> Step:
    """Turns rows into tiles; zeros fill them up."""
    result = input_tensor.type.with_(layout=Layout.TILE, dtype=output_dtype, memory=memory_config)
    return Step("ttnn.to_layout", {"input": input_tensor}, [result])


@operation("ttnn.untilize")
def untilize(input_tensor: Operand, memory_config: MemoryConfig | None) -> Step:
    """Turns tiles into rows.

    Raises:
        TTFatal: the tensor has more than four dimensions, and padding.
    """
    if input_tensor.rank > 4 and any(size % TILE_SIZE for size in input_tensor.shape[-2:]):
        raise TTFatal(
            "MeshBuffer must be large enough to hold the tensor.",
            hint="Reshape the tensor to four dimensions, or use ttnn.to_layout.",
        )
    dtype = DataType.BFLOAT16 if input_tensor.dtype.element.is_block_float else None
    result = input_tensor.type.with_(layout=Layout.ROW_MAJOR, dtype=dtype, memory=memory_config)
    return Step("ttnn.to_layout", {"input": input_tensor}, [result])


def _whole(grid: Any) -> CoreRangeSet:
    """Returns all cores of a grid, which is a core coordinate or a pair of sizes; of ranges, those."""
    if isinstance(grid, CoreRangeSet):
        return grid
    corner = grid if isinstance(grid, CoreCoord) else CoreCoord(*grid)
    return CoreRangeSet([CoreRange(CoreCoord(0, 0), CoreCoord(corner.x - 1, corner.y - 1))])


@operation("ttnn.interleaved_to_sharded")
def interleaved_to_sharded(
    input_tensor: Operand,
    grid: Any,
    shard_shape: Sequence[int] | None,
    shard_scheme: Any,
    shard_orientation: ShardOrientation | None,
    sharded_memory_config: MemoryConfig | None,
    output_dtype: DataType | None,
) -> Step:
    """Moves a tensor into the L1 of cores, a shard each."""
    if sharded_memory_config is None:
        assert shard_shape is not None
        shards = ShardSpec(_whole(grid), shard_shape, shard_orientation or ShardOrientation.ROW_MAJOR)
        sharded_memory_config = MemoryConfig(shard_scheme, BufferType.L1, shards)
    result = input_tensor.type.with_(memory=sharded_memory_config, dtype=output_dtype)
    return Step("ttnn.to_memory_config", {"input": input_tensor}, [result])


@operation("ttnn.sharded_to_interleaved")
def sharded_to_interleaved(
    input_tensor: Operand, memory_config: MemoryConfig | None, output_dtype: DataType | None
) -> Step:
    """Moves a sharded tensor into interleaved memory, DRAM by default."""
    result = input_tensor.type.with_(memory=memory_config or DRAM_MEMORY_CONFIG, dtype=output_dtype)
    return Step("ttnn.to_memory_config", {"input": input_tensor}, [result])


@operation("ttnn.view")
def view(input_tensor: Operand, shape: Sequence[int]) -> Step:
    """Gives a tensor another shape without moving elements.

    Raises:
        TTFatal: rows, or tiles, would have another size.
    """
    step: Step = OPERATIONS["ttnn.reshape"].rule(input_tensor, shape, None, None)
    before, after = ((1, 1, *each)[-2:] for each in (input_tensor.shape, step.results[0].shape))
    if before[1] != after[1]:
        raise TTFatal(
            f"The last dimension can not change in view, attempting to change last dimension from {before[1]} to "
            f"{after[1]}",
            hint="Use ttnn.reshape.",
        )
    if input_tensor.layout is Layout.TILE and before[0] != after[0] and (before[0] % TILE_SIZE or after[0] % TILE_SIZE):
        raise TTFatal(
            f"Invalid second last dims for TILED reshape, from {before[0]} to {after[0]}", hint="Use ttnn.reshape."
        )
    return step


@operation("ttnn.narrow", composite=True)
def narrow(input_tensor: Tensor, dim: int, start: int, length: int) -> Tensor:
    """Takes a part of a tensor along a dimension."""
    begins, ends = [0] * len(input_tensor.shape), list(input_tensor.shape)
    begins[dim], ends[dim] = start, start + length
    return OPERATIONS["ttnn.slice"](input_tensor, begins, ends, [1] * len(begins))


def _check_parts(size: int | Sequence[int]) -> None:
    """Refuses parts without elements, and no parts at all."""
    words = None
    if isinstance(size, int):
        words = f"split_size must be greater than 0, but got: {size}" if size <= 0 else None
    elif not size:
        words = "split_sizes must not be empty"
    elif min(size) <= 0:
        words = f"split_size should be greater than 0, instead got: {{{', '.join(map(str, size))}}}"
    if words is not None:
        raise TTFatal(words, hint="Give each part one element or more.")


@operation("ttnn.split", composite=True)
def split(
    input_tensor: Tensor, split_size: int | Sequence[int], dim: int, memory_config: MemoryConfig | None
) -> list[Tensor]:
    """Cuts a tensor along a dimension into parts of given sizes; the last part may be smaller."""
    dim = conditions.place_of(dim, len(input_tensor.shape), NO_DIMENSION, input_tensor.shape)
    _check_parts(split_size)
    total = input_tensor.shape[dim]
    sizes = [split_size] * -(-total // split_size) if isinstance(split_size, int) else list(split_size)
    if sum(sizes) != total and not isinstance(split_size, int):
        side = "over-cover it" if sum(sizes) > total else f"under-cover it by {total - sum(sizes)}"
        raise TTFatal(
            f"split_sizes must sum exactly to the size of dimension {dim} ({total}), but "
            f"sizes {{{', '.join(map(str, sizes))}}} {side}",
            hint="Pass a size for each part.",
        )
    if len(sizes) == 1 and memory_config is None:
        return [input_tensor]
    begins, ends = [0] * len(input_tensor.shape), list(input_tensor.shape)
    kind = input_tensor.memory_config().memory_layout
    if memory_config is None and kind in (TensorMemoryLayout.WIDTH_SHARDED, TensorMemoryLayout.BLOCK_SHARDED):
        memory_config = DRAM_MEMORY_CONFIG
    parts: list[Tensor] = []
    start = 0
    for size in sizes:
        begins[dim], ends[dim] = start, min(start + size, total)
        keywords = {} if memory_config is None else {"memory_config": memory_config}
        parts.append(OPERATIONS["ttnn.slice"](input_tensor, begins, ends, [1] * len(begins), **keywords))
        start += size
    return parts


@operation("ttnn.chunk", composite=True)
def chunk(input_tensor: Tensor, chunks: int, dim: int) -> list[Tensor]:
    """Cuts a tensor along a dimension into a number of parts."""
    conditions.check_unsigned("ttnn.chunk", "chunks", chunks)
    if not chunks:
        raise TTFatal("Number of chunks must be greater than zero", hint="Pass 1 or more.")
    words = "Invalid dimension for chunk operation, {rank} needs to be greater than {dim}"
    dim = conditions.place_of(dim, len(input_tensor.shape), words, input_tensor.shape)
    return split(input_tensor, -(-input_tensor.shape[dim] // chunks), dim, None)


@operation("ttnn.stack", composite=True)
def stack(input_tensors: Sequence[Tensor], dim: int) -> Tensor:
    """Joins tensors along a new dimension."""
    if not input_tensors:
        raise TTFatal("Stack expects at least one tensor", hint="Pass the tensors in a list.")
    place = conditions.place_of(dim, len(input_tensors[0].shape) + 1)
    expanded = [OPERATIONS["ttnn.unsqueeze"](each, place) for each in input_tensors]
    return OPERATIONS["ttnn.concat"](expanded, place, memory_config=DRAM_MEMORY_CONFIG)


@operation("ttnn.empty_like")
def empty_like(
    tensor: Operand, dtype: DataType | None, layout: Layout | None, memory_config: MemoryConfig | None
) -> Step:
    """Creates a tensor with the type of another one, of zeros on the emulated card."""
    result = tensor.type.with_(dtype=dtype, layout=layout, memory=memory_config)
    return Step("ttnn.empty", {}, [result], {"shape": list(result.shape)})


@operation("ttnn.get_memory_config", composite=True)
def get_memory_config(arg: Tensor) -> MemoryConfig:
    """Returns the place of a tensor."""
    return arg.memory_config()


@operation("ttnn.is_sharded", composite=True)
def is_sharded(tensor: Tensor) -> bool:
    """Returns whether each core holds one shard of a tensor."""
    return tensor.is_sharded()
