"""The type of a tensor: shape, data type, layout and memory, in TT-NN's values and in TTNN's."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

from tt_xla.ir.layout import TILE as TILE_SIZE
from tt_xla.ir.layout import BufferType as Memory
from tt_xla.ir.layout import CoreRange, MemoryLayout, TensorLayout
from tt_xla.ir.program import TensorSpec
from tt_xla.ttnn_api import shards
from tt_xla.ttnn_api.enums import DataType, Layout
from tt_xla.ttnn_api.errors import TTFatal, no_tensors_of
from tt_xla.ttnn_api.geometry import DRAM_MEMORY_CONFIG, CoreRangeSet, MemoryConfig, NdShardSpec
from tt_xla.ttnn_api.nd_shards import resolved, units_per_core
from tt_xla.ttnn_api.shapes import Sizes


class Type:
    """The type of a tensor. Equal types are one object (see :func:`type_of`)."""

    __slots__ = ("dtype", "layout", "memory", "on_device", "shape", "spec")

    def __init__(self, shape: Sizes, dtype: DataType, layout: Layout, memory: MemoryConfig, on_device: bool) -> None:
        self.shape, self.dtype, self.layout, self.on_device = shape, dtype, layout, on_device
        self.memory = resolved(shape, layout, memory) if on_device else memory
        self.spec = TensorSpec(tuple(shape), _layout(shape, dtype, layout, self.memory if on_device else None))

    def with_(self, **changes: Any) -> Type:
        """Returns this type with some of its fields changed; None keeps a field."""
        fields = {name: getattr(self, name) for name in ("shape", "dtype", "layout", "memory", "on_device")}
        return type_of(**(fields | {name: value for name, value in changes.items() if value is not None}))


_types: dict[tuple[Any, ...], Type] = {}


def type_of(
    shape: Sequence[int],
    dtype: DataType,
    layout: Layout,
    memory: MemoryConfig | None = None,
    on_device: bool = True,
) -> Type:
    """Returns the type of a tensor.

    Args:
        shape: its shape.
        dtype: its data type.
        layout: tiles or rows.
        memory: where it lies on the device; DRAM by default.
        on_device: whether it lies on a device.

    Raises:
        TTFatal: a block float in rows, or a sharded tensor without a shard spec.
    """
    key = (tuple(shape), dtype, layout, memory, on_device)
    known = _types.get(key)
    if known is None:
        known = _types[key] = Type(Sizes(shape), dtype, layout, memory or DRAM_MEMORY_CONFIG, on_device)
    return known


def _layout(shape: Sequence[int], dtype: DataType, layout: Layout, memory: MemoryConfig | None) -> TensorLayout:
    """Returns the layout in TTNN; ``memory`` is None for a tensor on the host."""
    element, tiled = dtype.element, layout is Layout.TILE
    if element.is_block_float and not tiled:
        raise TTFatal(f"Only TILE layout is supported for {dtype.name} dtype!", hint="Pass layout=ttnn.TILE_LAYOUT.")
    if memory is None:
        return TensorLayout.of(shape, element, tiled=tiled, buffer=Memory.SYSTEM_MEMORY)
    if element.is_host_only:
        raise no_tensors_of(dtype)
    buffer, kind = memory.buffer_type.memory, memory.memory_layout.layout
    if not memory.is_sharded():
        return TensorLayout.of(shape, element, tiled=tiled, buffer=buffer)
    if memory.nd_shard_spec is not None:
        return _cut(shape, layout, memory.nd_shard_spec, TensorLayout.of(shape, element, tiled=tiled, buffer=buffer))
    if memory.shard_spec is None:
        raise TTFatal(
            "Sharded memory config must have a shard spec",
            hint="Make the memory config with ttnn.create_sharded_memory_config.",
        )
    unit = TILE_SIZE if tiled else 1
    if any(size % unit for size in memory.shard_spec.shape):
        raise TTFatal(
            f"Physical shard shape {tuple(memory.shard_spec.shape)} must be tile {{{unit}, {unit}}} sized!",
            hint="Round the shard's rows and columns up to tiles.",
        )
    if tiled:
        shards.check(shape, memory)
    ranges = ranges_of(memory.shard_spec.grid)
    grid = shards.grid_of(memory.memory_layout, memory.shard_spec)
    made = TensorLayout.of(shape, element, tiled=tiled, buffer=buffer, memory=kind, grid=grid, core_ranges=ranges)
    rows, columns = memory.shard_spec.shape
    return dataclasses.replace(made, shard=(rows // unit, columns // unit))


def _cut(shape: Sequence[int], layout: Layout, spec: NdShardSpec, whole: TensorLayout) -> TensorLayout:
    """Returns the layout of a tensor that is cut along several dimensions: what a core holds counts as one shard."""
    unit = TILE_SIZE if layout is Layout.TILE else 1
    rows, columns = units_per_core(Sizes(shape), layout, spec)
    return dataclasses.replace(
        whole,
        memory=MemoryLayout.ND_SHARDED,
        grid=(spec.num_cores(), 1),
        core_ranges=ranges_of(spec.grid),
        shard=(-(-rows // unit), -(-columns // unit)),
    )


def ranges_of(cores: CoreRangeSet) -> tuple[CoreRange, ...]:
    """Returns the ranges of cores as TTNN has them."""
    return tuple(CoreRange((each.start.x, each.start.y), (each.end.x, each.end.y)) for each in cores.ranges())


def volume(shape: Sequence[int]) -> int:
    """Returns the number of elements of a shape."""
    return math.prod(shape)
