"""Functions that say how a device's memory is used, that allocate tensors, and events between command queues."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tt_xla import environment
from tt_xla.ttnn_api.devices import MeshDevice
from tt_xla.ttnn_api.enums import BufferType, DataType, Layout, ShardOrientation
from tt_xla.ttnn_api.errors import TTFatal
from tt_xla.ttnn_api.geometry import CoreCoord, CoreRangeSet, MemoryConfig, ShardSpec
from tt_xla.ttnn_api.identifiers import MeshEvent
from tt_xla.ttnn_api.operation import OPERATIONS, operation, parameters_of
from tt_xla.ttnn_api.shards import grid_of
from tt_xla.ttnn_api.specs import TensorSpec
from tt_xla.ttnn_api.tensor import Tensor
from tt_xla.ttnn_api.topology import MeshCoordinateRange

_NO_BLOCK = str(2**64 - 1)


@dataclass(frozen=True)
class MemoryView:
    """The use of one kind of memory. All banks are used alike."""

    num_banks: int
    total_bytes_per_bank: int
    total_bytes_allocated_per_bank: int
    total_bytes_free_per_bank: int
    largest_contiguous_bytes_free_per_bank: int
    block_table: list[dict[str, str]]
    """Address, size and state of each block, by ascending address from the start of the bank's free part."""


@operation("ttnn.get_memory_view", composite=True)
def get_memory_view(device: MeshDevice, buffer_type: BufferType) -> MemoryView:
    """Returns the use of a device's DRAM or L1."""
    space, banks = _space(device, buffer_type)
    blocks = sorted(
        [(start, stop, "no") for start, stop in space.gaps] + [(start, stop, "yes") for start, stop in _taken(space)]
    )
    table = [
        {
            "blockID": str(number),
            "address": str(start - space.base),
            "size": str(stop - start),
            "prevID": str(number - 1) if number else _NO_BLOCK,
            "nextID": str(number + 1) if number + 1 < len(blocks) else _NO_BLOCK,
            "allocated": state,
        }
        for number, (start, stop, state) in enumerate(blocks)
    ]
    total = space.end - space.base
    taken = sum(stop - start for start, stop in _taken(space))
    largest = max((stop - start for start, stop in space.gaps), default=0)
    return MemoryView(banks, total, taken, total - taken, largest, table)


def _space(device: MeshDevice, kind: BufferType) -> tuple[Any, int]:
    """Returns the addresses of a kind of memory, and its number of banks."""
    if kind is BufferType.DRAM:
        return device.memory.dram, device.target.dram_banks
    if kind is BufferType.L1:
        return device.memory.l1, device.target.cores
    raise TTFatal(f"The emulated card keeps no account of {kind}", hint="Ask for BufferType.DRAM or BufferType.L1.")


def _taken(space: Any) -> list[tuple[int, int]]:
    """Returns start and end of the parts between the gaps."""
    edges = [space.base, *itertools.chain.from_iterable(sorted(space.gaps)), space.end]
    return [(start, stop) for start, stop in zip(edges[::2], edges[1::2], strict=True) if stop > start]


@operation("ttnn.dump_device_memory_state", composite=True)
def dump_device_memory_state(device: MeshDevice, prefix: str) -> None:
    """Writes the blocks of DRAM and L1 into ``<prefix>memory_usage.csv``."""
    lines = ["memory,banks,address,size,allocated"]
    for kind in (BufferType.DRAM, BufferType.L1):
        view = get_memory_view(device, kind)
        lines += [
            f"{kind.name},{view.num_banks},{block['address']},{block['size']},{block['allocated']}"
            for block in view.block_table
        ]
    path = Path(f"{prefix}memory_usage.csv")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n")


@operation("ttnn.get_allocator_base_address", composite=True)
def get_allocator_base_address(device: MeshDevice, buffer_type: BufferType) -> int:
    """Returns the first address that tensors get."""
    return _space(device, buffer_type)[0].base


def _target() -> Any:
    from tt_xla.target import load_target

    return load_target(environment.selected_system())


@operation("ttnn.get_dram_alignment", composite=True)
def get_dram_alignment() -> int:
    """Returns the multiple of bytes at which tensors in DRAM start."""
    return _target().dram_align


@operation("ttnn.get_l1_alignment", composite=True)
def get_l1_alignment() -> int:
    """Returns the multiple of bytes at which tensors in L1 start."""
    return _target().noc_l1_align


@operation("ttnn.allocate_tensor_on_device", composite=True)
def allocate_tensor_on_device(
    tensor_spec: TensorSpec | None,
    shape: Sequence[int] | None,
    dtype: DataType | None,
    layout: Layout | None,
    mesh_device: MeshDevice,
    memory_config: MemoryConfig | None,
) -> Tensor:
    """Returns a tensor on a device whose elements the caller writes; they are zeros on the emulated card."""
    spec = tensor_spec
    if spec is not None:
        shape, dtype, layout, memory_config = [*spec.shape], spec.dtype, spec.layout, spec.memory_config
    options = {} if memory_config is None else {"memory_config": memory_config}
    return OPERATIONS["ttnn.empty"](list(shape or ()), dtype, layout=layout, device=mesh_device, **options)


@operation("ttnn.allocate_tensor_on_host", composite=True, also=parameters_of(allocate_tensor_on_device))
def allocate_tensor_on_host(**values: Any) -> Tensor:
    """Returns a tensor of zeros on the host, with a shard for each chip of a device."""
    return OPERATIONS["ttnn.from_device"](allocate_tensor_on_device(**values))


@operation("ttnn.copy_device_to_host_tensor", composite=True)
def copy_device_to_host_tensor(device_tensor: Tensor, host_tensor: Tensor) -> None:
    """Copies the elements of a tensor on a device into one on the host.

    Raises:
        TTFatal: the tensors differ in shape or data type.
    """
    source = OPERATIONS["ttnn.from_device"](device_tensor)
    if (source.shape, source.dtype, source.layout) != (host_tensor.shape, host_tensor.dtype, host_tensor.layout):
        raise TTFatal(
            f"Host tensor has different shape, data type or layout: {host_tensor.shape} {host_tensor.dtype} "
            f"{host_tensor.layout} and {source.shape} {source.dtype} {source.layout}",
            hint="Make it with ttnn.allocate_tensor_on_host.",
        )
    host_tensor.contents.shards = source.contents.shards
    host_tensor.topology = source.topology


_events = itertools.count()


@operation("ttnn.record_event", composite=True)
def record_event(mesh_device: MeshDevice, cq_id: int | None, device_range: MeshCoordinateRange | None) -> MeshEvent:
    """Returns an event of a command queue."""
    chips = device_range or MeshCoordinateRange(mesh_device.shape)
    return MeshEvent(next(_events), mesh_device.id(), int(cq_id or 0), chips)


@operation("ttnn.wait_for_event", composite=True)
def wait_for_event(cq_id: int | None, mesh_event: MeshEvent) -> None:
    """Returns at once: calls are executed in the order in which they are made."""


@operation("ttnn.event_synchronize", composite=True)
def event_synchronize(mesh_event: MeshEvent) -> None:
    """Returns at once: a call's results are there when it returns."""


@operation("ttnn.is_trace_capture_active", composite=True)
def is_trace_capture_active(device: MeshDevice) -> bool:
    """Returns whether a trace is being captured."""
    return device.recording is not None


@operation("ttnn.get_max_worker_l1_unreserved_size", composite=True)
def get_max_worker_l1_unreserved_size() -> int:
    """Returns the bytes of a core's L1 that tensors get."""
    target = _target()
    return target.l1_end - target.l1_unreserved_base


@operation("ttnn.get_optimal_dram_bank_to_logical_worker_assignment", composite=True)
def get_optimal_dram_bank_to_logical_worker_assignment(device: MeshDevice, noc: Any) -> list[CoreCoord]:
    """Returns the core next to each bank of DRAM: that of the first network, also for the second."""
    return device.bank_workers


@operation("ttnn.get_optimal_worker_cores_for_sharded_tensor", composite=True)
def get_optimal_worker_cores_for_sharded_tensor(tensor: Tensor, noc: Any) -> list[CoreCoord]:
    """Returns the cores of a tensor's shards, or those next to the banks of DRAM that hold them.

    Raises:
        TTFatal: the tensor is not sharded on a device.
    """
    memory, device = tensor.memory_config(), tensor.device()
    spec = memory.shard_spec or memory.nd_shard_spec
    if device is None or spec is None:
        raise TTFatal("Tensor must be sharded", hint="Move it with ttnn.to_memory_config.")
    cores = [core for part in spec.grid.ranges() for core in part.cores()]
    if memory.buffer_type is not BufferType.DRAM:
        return cores
    return [device.bank_workers[core.x] for core in cores]


@operation("ttnn.copy_host_to_device_tensor_partial", composite=True)
def copy_host_to_device_tensor_partial(
    host_tensor: Tensor, device_tensor: Tensor, logical_core_filter: CoreRangeSet
) -> None:
    """Copies those shards of a host tensor into a device tensor that lie on the cores of a set.

    Raises:
        TTFatal: the tensor on the device is not sharded into rows or columns of a matrix.
    """
    if logical_core_filter.empty():
        return
    spec = device_tensor.memory_config().shard_spec
    if spec is None:
        raise TTFatal(
            "A core filter requires a sharded buffer layout", hint="Use ttnn.copy_host_to_device_tensor for all of it."
        )
    _, across = grid_of(device_tensor.memory_config().memory_layout, spec)
    columns, rows = device_tensor.shape[-1], math.prod(device_tensor.type.shape[:-1])
    host = host_tensor.contents.shards
    for chip, own in enumerate(device_tensor.contents.shards):
        copied = own.clone().reshape(rows, columns)
        source = host[chip if len(host) > 1 else 0].reshape(rows, columns)
        for number, core in enumerate(_in_shard_order(spec)):
            if not logical_core_filter.contains(core):
                continue
            down, right = divmod(number, across)
            part = (
                slice(down * spec.shape[0], (down + 1) * spec.shape[0]),
                slice(right * spec.shape[1], (right + 1) * spec.shape[1]),
            )
            copied[part] = source[part]
        device_tensor.contents.shards = [
            copied.reshape(own.shape) if place == chip else each
            for place, each in enumerate(device_tensor.contents.shards)
        ]


def _in_shard_order(spec: ShardSpec) -> list[CoreCoord]:
    """Returns the cores in the order in which they take shards."""
    cores = [core for part in spec.grid.ranges() for core in part.cores()]
    return cores if spec.orientation is ShardOrientation.ROW_MAJOR else sorted(cores, key=lambda core: (core.x, core.y))
