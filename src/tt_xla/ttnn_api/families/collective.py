"""Collectives: ops in which the chips of a mesh exchange tensors, along ``cluster_axis`` or between all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tt_xla.spmd.collectives import ALL_BROADCAST, BROADCAST
from tt_xla.target import arrange
from tt_xla.ttnn_api.configs import Config, compute_config
from tt_xla.ttnn_api.devices import MeshDevice
from tt_xla.ttnn_api.enums import FabricConfig, Layout, Topology
from tt_xla.ttnn_api.errors import TTFatal
from tt_xla.ttnn_api.geometry import TILE_SIZE, MemoryConfig
from tt_xla.ttnn_api.layouts import Type
from tt_xla.ttnn_api.operation import operation
from tt_xla.ttnn_api.plan import Operand, Step
from tt_xla.ttnn_api.shapes import MeshCoordinate
from tt_xla.ttnn_api.tensor import Tensor
from tt_xla.ttnn_api.topology import REPLICATE, Placement, PlacementShard, TensorTopology, along_axis, replicated

_ONE_DIMENSIONAL = (
    FabricConfig.FABRIC_1D,
    FabricConfig.FABRIC_1D_RING,
    FabricConfig.FABRIC_1D_NEIGHBOR_EXCHANGE,
)


def mesh_of_operand(source: Operand, name: str) -> MeshDevice:
    """Returns the mesh on whose chips a tensor lies.

    Raises:
        TTFatal: it lies on the host, or the chips have no network.
    """
    device = source.device
    if device is None:
        raise TTFatal(f"{name}: Input tensor must be on device", hint="Move it there with ttnn.to_device.")
    if device.fabric is FabricConfig.DISABLED and len(device.chips) > 1:
        raise _without_network()
    return device


def _without_network() -> TTFatal:
    return TTFatal(
        "Trying to get un-initialized fabric context",
        hint="Call ttnn.set_fabric_config(ttnn.FabricConfig.FABRIC_1D) before the mesh device is opened.",
    )


_RINGS = {Topology.Ring: Topology.Linear, Topology.Torus: Topology.Mesh}
"""The topology that takes the place of another where the chips of an axis do not form a ring."""

_OF_FABRIC = {
    FabricConfig.FABRIC_1D_RING: Topology.Ring,
    FabricConfig.FABRIC_2D: Topology.Mesh,
    FabricConfig.FABRIC_2D_TORUS_X: Topology.Torus,
    FabricConfig.FABRIC_2D_TORUS_Y: Topology.Torus,
    FabricConfig.FABRIC_2D_TORUS_XY: Topology.Torus,
}
"""Topology of each network between chips; of any other one, a line."""


@operation("ttnn.get_usable_topology", composite=True)
def get_usable_topology(tensor: Tensor, topology: Topology | None, cluster_axis: int | None) -> Topology:
    """Returns the topology in which a collective can use the chips of a tensor.

    Raises:
        TTFatal: the tensor lies on the host, or the chips have no network.
    """
    device = tensor.device()
    if device is None or device.fabric is FabricConfig.DISABLED:
        raise _without_network()
    wanted = _OF_FABRIC.get(device.fabric, Topology.Linear) if topology is None else topology
    if wanted not in _RINGS:
        return wanted
    axes = arrange(device.target, tuple(device.shape)).axes
    used = axes if cluster_axis is None else [axes[cluster_axis]]
    return wanted if all(axis.ring for axis in used) else _RINGS[wanted]


def _dim(source: Operand, dim: int, word: str) -> int:
    return source.dim(dim, f"Invalid {word} dim {{dim}} for {{rank}}D input tensor")


def _placed(device: MeshDevice, axis: int | None, placement: Placement) -> Any:
    """Returns the change that an exchange along an axis makes to the topology of a tensor."""

    def placed(own: TensorTopology | None) -> TensorTopology:
        return along_axis(own or replicated(device.shape), device.shape, axis, placement)

    return placed


def _replicated_along(device: MeshDevice, axis: int | None) -> Any:
    """Returns the change of a topology to replicas along an axis, or along rows and columns."""
    axes = range(device.shape.dims()) if axis is None else [axis]

    def placed(own: TensorTopology | None) -> TensorTopology:
        after = own or replicated(device.shape)
        for each in axes:
            after = along_axis(after, device.shape, each, REPLICATE)
        return after

    return placed


_SHARED = ("cluster_axis", "memory_config", "num_links", "topology")
"""Parameters of all collectives: the axis of the mesh along which chips exchange, the memory of the result, and the
links."""


def _attributes(values: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the attributes that all collectives have."""
    topology = values["topology"]
    links = {"topology": None if topology is None else topology.name.lower(), "num_links": values["num_links"]}
    return {"cluster_axis": values["cluster_axis"]} | links


def _check_axis(device: MeshDevice, axis: int | None, words: str) -> None:
    """Refuses an exchange between the rows and columns of a mesh at once."""
    if axis is None and all(each > 1 for each in device.shape):
        raise TTFatal(words, hint="Pass cluster_axis=0 for the chips of a column, or 1 for those of a row.")


def _result(source: Operand, shape: Sequence[int], memory: MemoryConfig | None, output: Operand | None) -> Type:
    return source.type.with_(shape=shape, memory=memory) if output is None else output.type


@operation(
    "ttnn.all_gather",
    "ttnn.experimental.all_gather_async",
    "ttnn.experimental.strided_all_gather_async",
    "ttnn.experimental.ring_attention_all_gather_async",
    also=_SHARED,
)
def all_gather(
    input_tensor: Operand,
    dim: int,
    output_tensor: Operand | None,
    persistent_output_buffer: Operand | None,
    persistent_output_tensor: Operand | None,
    **values: Any,
) -> Step:
    """Joins the tensors of all chips of a group along a dimension."""
    device = mesh_of_operand(input_tensor, "all_gather")
    axis, cluster_axis = _dim(input_tensor, dim, "gather"), values["cluster_axis"]
    shape = list(input_tensor.shape)
    shape[axis] *= device.group_size(cluster_axis)
    if device.fabric in _ONE_DIMENSIONAL and _whole(input_tensor, axis):
        _check_axis(device, cluster_axis, "1D fabric on a 2D mesh_device requires cluster_axis to be set")
    output = output_tensor or persistent_output_buffer or persistent_output_tensor
    return Step(
        "ttnn.all_gather",
        {"input": input_tensor},
        [_result(input_tensor, shape, values["memory_config"], output)],
        {"all_gather_dim": axis, **_attributes(values)},
        into=output,
        topology=_placed(device, cluster_axis, REPLICATE),
    )


def _whole(source: Operand, dim: int) -> bool:
    """Returns whether the tensors end with whole tiles along a dimension, or are rows."""
    tiled = source.layout is Layout.TILE and dim >= source.rank - 2
    return not tiled or source.shape[dim] % TILE_SIZE == 0


@operation("ttnn.reduce_scatter", "ttnn.experimental.reduce_scatter_minimal_async", also=_SHARED)
def reduce_scatter(
    input_tensor: Operand,
    dim: int,
    output_tensor: Operand | None,
    persistent_output_buffers: Sequence[Operand] | None,
    compute_kernel_config: Config | None,
    **values: Any,
) -> Step:
    """Adds the tensors of all chips of a group; each chip keeps its part of the sum along a dimension."""
    device = mesh_of_operand(input_tensor, "reduce_scatter")
    axis, cluster_axis = _dim(input_tensor, dim, "scatter"), values["cluster_axis"]
    shape = _divided(input_tensor, axis, device.group_size(cluster_axis), "reduce_scatter")
    output = output_tensor or (persistent_output_buffers[-1] if persistent_output_buffers else None)
    config = compute_config(compute_kernel_config)
    return Step(
        "ttnn.reduce_scatter",
        {"input": input_tensor},
        [_result(input_tensor, shape, values["memory_config"], output)],
        {"reduce_type": "sum", "scatter_dim": axis, "compute_config": config, **_attributes(values)},
        into=output,
        topology=_placed(device, cluster_axis, PlacementShard(axis)),
    )


def _divided(source: Operand, axis: int, size: int, name: str) -> list[int]:
    """Returns the shape of a part along a dimension.

    Raises:
        TTFatal: the chips do not divide it.
    """
    shape = list(source.shape)
    if shape[axis] % size:
        raise TTFatal(
            f"{name}: dimension {axis} of size {shape[axis]} must be divisible by the number of devices {size}",
            hint="Pad the tensor to a multiple of the number of chips.",
        )
    shape[axis] //= size
    return shape


@operation("ttnn.all_reduce", "ttnn.experimental.all_reduce_async", also=_SHARED)
def all_reduce(input_tensor: Operand, math_op: Any, **values: Any) -> Step:
    """Adds the tensors of all chips of a group; each chip gets the sum."""
    device = mesh_of_operand(input_tensor, "all_reduce")
    device.group_size(values["cluster_axis"])
    if math_op not in (None, ...) and math_op.name != "Sum":
        raise TTFatal(f"all_reduce_async: math_op {math_op} is not supported", hint="Pass ttnn.ReduceType.Sum.")
    return Step(
        "ttnn.all_reduce",
        {"input": input_tensor},
        [input_tensor.type.with_(memory=values["memory_config"])],
        {"reduce_type": "sum", **_attributes(values)},
        topology=_replicated_along(device, values["cluster_axis"]),
    )


@operation("ttnn.all_broadcast", also=_SHARED)
def all_broadcast(input_tensor: Operand, **values: Any) -> Step:
    """Returns a list with the tensor of each chip of a group; all its chips get all of them."""
    device = mesh_of_operand(input_tensor, "all_broadcast")
    return Step(
        ALL_BROADCAST,
        {"input": input_tensor},
        [input_tensor.type.with_(memory=values["memory_config"])] * device.group_size(values["cluster_axis"]),
        _attributes(values),
        topology=_replicated_along(device, values["cluster_axis"]),
        returns=list,
    )


@operation("ttnn.broadcast", also=_SHARED)
def broadcast(input_tensor: Operand, sender_coord: MeshCoordinate, **values: Any) -> Step:
    """Gives all chips of a group the tensor of the chip that has the sender's place in its own group."""
    device, cluster_axis = mesh_of_operand(input_tensor, "broadcast"), values["cluster_axis"]
    device.group_size(cluster_axis)
    _check_axis(device, cluster_axis, "broadcast op is only supported for a linear tensor topology shape")
    device.get_device_id(sender_coord)
    return Step(
        BROADCAST,
        {"input": input_tensor},
        [input_tensor.type.with_(memory=values["memory_config"])],
        {"sender_coord": list(sender_coord), **_attributes(values)},
        topology=_placed(device, cluster_axis, REPLICATE),
    )


@operation("ttnn.mesh_partition")
def mesh_partition(
    input_tensor: Operand, dim: int, cluster_axis: int | None, memory_config: MemoryConfig | None
) -> Step:
    """Keeps on each chip of a group its part of its tensor along a dimension."""
    device = input_tensor.device
    if device is None:
        raise TTFatal("mesh_partition: Input tensor must be on device", hint="Move it there with ttnn.to_device.")
    axis = _dim(input_tensor, dim, "partition")
    shape = _divided(input_tensor, axis, device.group_size(cluster_axis), "mesh_partition")
    return Step(
        "ttnn.mesh_partition",
        {"input": input_tensor},
        [input_tensor.type.with_(shape=shape, memory=memory_config)],
        {"dim": axis, "cluster_axis": cluster_axis},
        topology=_placed(device, cluster_axis, PlacementShard(axis)),
    )


@operation("ttnn.point_to_point")
def point_to_point(
    input_tensor: Operand,
    sender_coord: MeshCoordinate,
    receiver_coord: MeshCoordinate,
    output_tensor: Operand | None,
    topology: Topology | None,
) -> Step:
    """Sends the tensor of one chip to another; the other chips keep what the output has, or their input."""
    device = mesh_of_operand(input_tensor, "point_to_point")
    for place in (sender_coord, receiver_coord):
        device.get_device_id(place)
    differing = sum(one != other for one, other in zip(sender_coord, receiver_coord, strict=True))
    if differing == 0:
        raise TTFatal("Can't send/receive to the same device", hint="Name another receiver.")
    if differing > 1 and device.fabric in _ONE_DIMENSIONAL:
        raise TTFatal(
            f"Routing coordinates {sender_coord} and {receiver_coord} invalid for 1D fabric",
            hint="Send along the row first, then along the column, or use FabricConfig.FABRIC_2D.",
        )
    return Step(
        "ttnn.point_to_point",
        {"input": input_tensor},
        [input_tensor.type if output_tensor is None else output_tensor.type],
        {"sender_coord": list(sender_coord), "receiver_coord": list(receiver_coord)},
        into=output_tensor,
    )


@operation("ttnn.experimental.all_to_all_async_generic", "ttnn.experimental.all_to_all_async", also=_SHARED)
def all_to_all(
    input_tensor: Operand, in_dim: int, out_dim: int, persistent_output_buffer: Operand | None, **values: Any
) -> Step:
    """Sends the n-th part of each tensor along ``out_dim`` to the n-th chip, which joins its parts along ``in_dim``."""
    device = mesh_of_operand(input_tensor, "all_to_all")
    join, split = _dim(input_tensor, in_dim, "concat"), _dim(input_tensor, out_dim, "split")
    if device.fabric in _ONE_DIMENSIONAL:
        words = "Could not find any forwarding direction between chips that share no row or column"
        _check_axis(device, values["cluster_axis"], words)
    size = device.group_size(values["cluster_axis"])
    shape = _divided(input_tensor, split, size, "all_to_all")
    shape[join] *= size
    return Step(
        "ttnn.all_to_all",
        {"input": input_tensor},
        [_result(input_tensor, shape, values["memory_config"], persistent_output_buffer)],
        {"split_dim": split, "concat_dim": join, **_attributes(values)},
        into=persistent_output_buffer,
    )
