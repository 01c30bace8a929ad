"""Functions on tensors that are distributed over the chips of a mesh."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Generator, Sequence
from typing import Any

from tt_xla.ttnn_api.devices import MeshDevice, linked_chips, system_shape
from tt_xla.ttnn_api.distribution import (
    DEFAULTS,
    CppMeshToTensor,
    CppTensorToMesh,
    DistributedHostBuffer,
    MeshComposerConfig,
    MeshMapperConfig,
    ReplicateTensorToMeshWrapper,
)
from tt_xla.ttnn_api.enums import DataType, Layout
from tt_xla.ttnn_api.errors import TTFatal
from tt_xla.ttnn_api.geometry import L1_MEMORY_CONFIG
from tt_xla.ttnn_api.layouts import type_of
from tt_xla.ttnn_api.operation import OPERATIONS, operation
from tt_xla.ttnn_api.shapes import MeshCoordinate, MeshShape
from tt_xla.ttnn_api.tensor import Contents, Tensor
from tt_xla.ttnn_api.topology import (
    REPLICATE,
    Placement,
    PlacementShard,
    TensorTopology,
    mesh_places,
)


@operation("ttnn.create_mesh_mapper", composite=True)
def create_mesh_mapper(mesh_device: MeshDevice | None, mesh_shape: MeshShape | None, config: Any) -> CppTensorToMesh:
    """Returns a mapper with a placement for each axis of a mesh."""
    return CppTensorToMesh(_shape_of(mesh_device, mesh_shape), config)


def _shape_of(device: MeshDevice | MeshShape | None, shape: MeshShape | None) -> MeshShape:
    source = device if device is not None else shape
    return source.shape if isinstance(source, MeshDevice) else MeshShape(source)


def _over_all_chips(device: MeshDevice, placement: Placement) -> CppTensorToMesh:
    """Returns the mapper that takes all chips as one row."""
    row = MeshShape([device.shape.mesh_size()])
    return CppTensorToMesh(device.shape, MeshMapperConfig([placement], row))


@operation("ttnn.replicate_tensor_to_mesh_mapper", composite=True)
def replicate_tensor_to_mesh_mapper(mesh_device: MeshDevice) -> CppTensorToMesh:
    """Returns a mapper that copies a tensor to every chip."""
    return _over_all_chips(mesh_device, REPLICATE)


@operation("ttnn.shard_tensor_to_mesh_mapper", "ttnn.ShardTensorToMesh", composite=True)
def shard_tensor_to_mesh_mapper(mesh_device: MeshDevice, dim: int) -> CppTensorToMesh:
    """Returns a mapper that splits a dimension over all chips."""
    return _over_all_chips(mesh_device, PlacementShard(dim))


@operation("ttnn.ReplicateTensorToMesh", composite=True)
def replicate_tensor_to_mesh(mesh_device: MeshDevice) -> ReplicateTensorToMeshWrapper:
    """Returns a mapper that copies a tensor to every chip."""
    return ReplicateTensorToMeshWrapper(_over_all_chips(mesh_device, REPLICATE))


@operation("ttnn.ShardTensor2dMesh", composite=True)
def shard_tensor_2d_mesh(
    mesh_device: MeshDevice, mesh_shape: Sequence[int], dims: Sequence[int | None]
) -> CppTensorToMesh:
    """Returns a mapper that splits a dimension over the rows of chips and one over the columns; None splits none."""
    placements = [REPLICATE if dim is None else PlacementShard(dim) for dim in dims]
    return CppTensorToMesh(mesh_device.shape, MeshMapperConfig(placements, MeshShape(mesh_shape)))


@operation("ttnn.create_mesh_composer", composite=True)
def create_mesh_composer(mesh_device: MeshDevice, config: Any) -> CppMeshToTensor:
    """Returns a composer that joins the shards of each axis of a mesh along a dimension."""
    return CppMeshToTensor(mesh_device.shape, config)


@operation("ttnn.concat_mesh_to_tensor_composer", "ttnn.ConcatMeshToTensor", composite=True)
def concat_mesh_to_tensor_composer(mesh_device: MeshDevice, dim: int) -> CppMeshToTensor:
    """Returns a composer that joins the shards of all chips along a dimension."""
    row = MeshShape([mesh_device.shape.mesh_size()])
    return CppMeshToTensor(mesh_device.shape, MeshComposerConfig([dim], row))


@operation("ttnn.ConcatMesh2dToTensor", composite=True)
def concat_mesh_2d_to_tensor(
    mesh_device: MeshDevice, mesh_shape: Sequence[int], dims: Sequence[int]
) -> CppMeshToTensor:
    """Returns a composer that joins the rows of chips along one dimension and the columns along another."""
    return CppMeshToTensor(mesh_device.shape, MeshComposerConfig(list(dims), MeshShape(mesh_shape)))


@operation("ttnn.distribute_tensor", composite=True)
def distribute_tensor(tensor: Tensor, mapper: CppTensorToMesh, mesh_device: MeshDevice | None) -> Tensor:
    """Splits a host tensor over the chips of a mesh, and moves the shards there if a device is passed."""
    made = mapper.split(OPERATIONS["ttnn.from_device"](tensor) if tensor.type.on_device else tensor)
    return made if mesh_device is None else OPERATIONS["ttnn.to_device"](made, mesh_device)


@operation("ttnn.aggregate_tensor", composite=True)
def aggregate_tensor(tensor: Tensor, composer: CppMeshToTensor) -> Tensor:
    """Returns the joined shards of a tensor, on the host."""
    return composer.join(tensor)


@operation("ttnn.get_device_tensors", composite=True)
def get_device_tensors(tensor: Tensor) -> list[Tensor]:
    """Returns the tensor of each chip."""
    contents, device = tensor.contents, tensor.device()
    if len(contents.shards) == 1:
        return [tensor]
    if device is None:
        return [Tensor.of(tensor.type, Contents([shard], None), None) for shard in contents.shards]
    parts = zip(contents.shards, tensor.coords(), strict=True)
    return [
        Tensor.of(tensor.type, Contents([shard], contents.buffer, (place,)), device, tensor.topology)
        for shard, place in parts
    ]


@operation("ttnn.from_host_shards", composite=True)
def from_host_shards(tensors: Sequence[Tensor], mesh_shape: Any) -> Tensor:
    """Returns the host tensor whose shards are the tensors of the chips of a mesh."""
    shape = MeshShape(mesh_shape)
    if len(tensors) != shape.mesh_size():
        raise TTFatal("Number of tensor shards must match mesh size", hint=f"{shape} has {shape.mesh_size()} chips.")
    if any(each.type.on_device for each in tensors):
        raise TTFatal("All tensor shards must be on host", hint="Move them there with ttnn.from_device.")
    return _combined(tensors, mesh_places(MeshShape([len(tensors)]), shape))


@operation("ttnn.combine_device_tensors", composite=True)
def combine_device_tensors(tensors: Sequence[Tensor]) -> Tensor:
    """Returns the tensor whose shards are those of tensors that each lie on one chip of the same mesh."""
    if not all(each.type.on_device for each in tensors):
        raise TTFatal("All tensor shards must be on device", hint="Move them there with ttnn.to_device.")
    places = [place for each in tensors for place in each.coords()]
    if len({*places}) != len(tensors):
        raise TTFatal("Found a tensor shard at duplicate coordinate", hint="Pass one tensor for each chip.")
    return _combined(tensors, places)


def _combined(tensors: Sequence[Tensor], places: Sequence[MeshCoordinate]) -> Tensor:
    """Returns the tensor of shards in the order of their places."""
    first = tensors[0]
    if any(each.type is not first.type for each in tensors):
        raise TTFatal(
            "All tensor shards must have the same tensor spec",
            hint="Make shape, data type, layout and memory of the shards alike.",
        )
    topology = TensorTopology(MeshShape([len(places)]), (PlacementShard(0),), tuple(places))
    shards = [each.contents.shards[0] for each in tensors]
    device = first.device()
    buffer = first.contents.buffer
    if device is not None and any(each.contents.buffer is not buffer for each in tensors):
        buffer = device.memory.allocate(first.type.spec)
    return Tensor.of(first.type, Contents(shards, buffer), device, topology)


@operation("ttnn.distribute", "ttnn.distributed.distribute", composite=True)
@contextlib.contextmanager
def distribute(default: Any) -> Generator[None]:
    """Makes a mapper or composer the default of ``from_torch`` or ``to_torch`` for the body of the context."""
    if isinstance(default, (CppTensorToMesh, ReplicateTensorToMeshWrapper)):
        key = "mesh_mapper"
    elif isinstance(default, CppMeshToTensor):
        key = "mesh_composer"
    else:
        raise ValueError("Argument must be an instance of either TensorToMesh or MeshToTensor.")
    before = DEFAULTS.get(key)
    DEFAULTS[key] = default
    try:
        yield
    finally:
        DEFAULTS[key] = before


@operation("ttnn.get_physical_mesh_shapes", composite=True)
def get_physical_mesh_shapes() -> dict[int, list[int]]:
    """Returns the shape of the mesh of all chips of the system, by the number 0 of its only process."""
    return {0: list(system_shape())}


@operation("ttnn.get_num_links", composite=True)
def get_num_links(mesh_device: MeshDevice, cluster_axis: int | None) -> int:
    """Returns the number of links between neighbours, along an axis of the mesh or along all."""
    from tt_xla.target import arrange

    axes = [axis for axis in arrange(mesh_device.target, tuple(mesh_device.shape)).axes if axis.size > 1]
    chosen = axes if cluster_axis is None or len(axes) < 2 else [axes[cluster_axis]]
    return min((axis.links for axis in chosen), default=0)


@operation("ttnn.compute_distribution_to_mesh_mapping", composite=True)
def compute_distribution_to_mesh_mapping(distribution_shape: Any, mesh_shape: Any) -> list[MeshCoordinate]:
    """Returns the place in the mesh of each coordinate of a distribution."""
    return mesh_places(distribution_shape, mesh_shape)


class GlobalSemaphore:
    """A counter in the L1 of cores, by which kernels of collectives would wait. The emulated ones need not wait."""

    def __init__(self, device: MeshDevice, cores: Any, value: int) -> None:
        self.device, self.cores, self.value = device, cores, value
        self.buffer = device.memory.allocate(type_of((1, 1), DataType.UINT32, Layout.ROW_MAJOR, L1_MEMORY_CONFIG).spec)

    def __repr__(self) -> str:
        return f"GlobalSemaphore(address={self.buffer.address}, value={self.value})"


@operation("ttnn.create_global_semaphore", composite=True)
def create_global_semaphore(mesh_device: MeshDevice, cores: Any, initial_value: int) -> GlobalSemaphore:
    """Returns a counter for collectives."""
    return GlobalSemaphore(mesh_device, cores, initial_value)


@operation("ttnn.get_global_semaphore_address", composite=True)
def get_global_semaphore_address(global_semaphore: GlobalSemaphore) -> int:
    """Returns the address of a counter in the L1 of each core."""
    return global_semaphore.buffer.address


@operation("ttnn.reset_global_semaphore_value", composite=True)
def reset_global_semaphore_value(global_semaphore: GlobalSemaphore, reset_value: int) -> None:
    """Gives a counter a value."""
    global_semaphore.value = reset_value


def _table(title: str, rows: int, columns: int, cell: Callable[[int, int], str]) -> Any:
    from rich import box
    from rich.table import Table

    table = Table(title=title, show_header=False, show_lines=True, box=box.SQUARE)
    for row in range(rows):
        table.add_row(*(cell(row, column) for column in range(columns)))
    return table


def _printed(table: Any) -> None:
    from rich.console import Console

    Console().print(table)


@operation("ttnn.visualize_mesh_device", composite=True)
def visualize_mesh_device(mesh_device: MeshDevice) -> None:
    """Prints the chip at each place of a mesh."""
    rows, columns = mesh_device.shape
    title = f"MeshDevice(rows={rows}, cols={columns})"
    _printed(
        _table(
            title, rows, columns, lambda row, column: f"Dev. ID: {_chip(mesh_device, row, column)}\n({row}, {column})"
        )
    )


def _chip(device: MeshDevice, row: int, column: int) -> int:
    return device.get_device_id(MeshCoordinate(row, column))


@operation("ttnn.distributed.create_system_mesh_table", composite=True)
def create_system_mesh_table() -> Any:
    """Returns a table of all chips of the system, for rich."""
    from tt_xla.environment import selected_system
    from tt_xla.target import load_target, natural_shape

    target = load_target(selected_system())
    rows, columns = natural_shape(target, target.chips)
    chips = linked_chips(target, MeshShape(rows, columns))
    title = f"SystemMesh Global Shape: ({rows}, {columns}) | Local Shape: ({rows}, {columns})"
    return _table(
        title, rows, columns, lambda row, column: f"Dev. ID: {chips[row * columns + column]}\n({row}, {column})"
    )


@operation("ttnn.visualize_system_mesh", composite=True)
def visualize_system_mesh() -> None:
    """Prints all chips of the system."""
    _printed(create_system_mesh_table())


@operation("ttnn.visualize_tensor", composite=True)
def visualize_tensor(tensor: Tensor) -> None:
    """Prints what part of a tensor each chip holds."""
    device, topology = tensor.device(), tensor.tensor_topology()
    shape = device.shape if device is not None else DistributedHostBuffer(tensor).shape()
    places = tensor.coords()
    counts = [*itertools.product(*map(range, topology.distribution_shape()))]

    def part(row: int, column: int) -> str:
        place = MeshCoordinate(row, column)
        if place not in places:
            return ""
        bounds = [":"] * len(tensor.shape)
        for at, kind in zip(counts[places.index(place)], topology.placements(), strict=True):
            if isinstance(kind, PlacementShard):
                size = tensor.shape[kind.dim]
                bounds[kind.dim] = f"{at * size}:{(at + 1) * size}"
        kinds = f"Dtype: {tensor.dtype.name}\nLayout: {tensor.layout.name}"
        chip = "" if device is None else f"Dev. ID: {_chip(device, row, column)}\n"
        return f"{chip}({row}, {column})\n\\[{', '.join(bounds)}]\nShape: {list(tensor.shape)}\n{kinds}"

    _printed(_table(f"Placements: {topology.placements()}", shape[0], shape[1], part))
