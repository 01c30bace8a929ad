"""``torch_xla.distributed.spmd``, which scripts import as ``xs``: shardings of tensors over meshes."""

from __future__ import annotations

import ast
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch_xla

from tt_xla.frontends.torch import session as _session
from tt_xla.frontends.torch.custom_ops import mark_arguments as _mark_arguments
from tt_xla.frontends.torch.device import chips as _chips
from tt_xla.frontends.torch.device import marking as _marking
from tt_xla.frontends.torch.device import placements as _placements
from tt_xla.frontends.torch.device.chips import DEVICE_TYPE as _DEVICE_TYPE
from tt_xla.frontends.torch.device.placements import Placement as _Placement
from tt_xla.frontends.torch.trees import tree_flatten as _tree_flatten
from tt_xla.frontends.torch.trees import tree_unflatten as _tree_unflatten
from tt_xla.frontends.torch.xla_api import finder as _finder
from tt_xla.frontends.torch.xla_api.spmd_linear import (
    EinsumLinear,
    XLAPatchedLinear,
    apply_xla_patch_to_nn_linear,
    xla_patched_nn_linear_forward,
)
from tt_xla.frontends.torch.xla_api.spmd_meshes import (
    HybridMesh,
    Mesh,
    OpSharding,
    PartitionSpec,
    ShardingType,
    get_1d_mesh,
    get_global_mesh,
    set_global_mesh,
)
from tt_xla.frontends.torch.xla_api.spmd_meshes import SpecError as _SpecError
from tt_xla.ir import mesh as _mesh
from tt_xla.ir.hlo_sharding import REPLICATED as _REPLICATED
from tt_xla.ir.hlo_sharding import hlo_sharding as _hlo_sharding

_MANUAL = "{manual}"


def mark_sharding(t: torch.Tensor, mesh: Mesh, partition_spec: PartitionSpec) -> torch.Tensor:
    """Splits a tensor over a mesh: programs that take it run on all devices of the mesh, each on its part.

    Of a tensor that is not computed yet, the program that computes it splits it, and later ops take the split one. In a
    function that ``torch.compile`` compiles, an argument is split before each run, and an intermediate tensor is split
    from there on.

    Args:
        t: the tensor, on device ``tt``.
        mesh: the mesh.
        partition_spec: for each dimension, the axis or axes that split it, major first, or None.

    Returns:
        The tensor as an ``XLAShardedTensor``; in a compiled or traced function (``assume_pure``), a plain tensor.

    Raises:
        TypeError: ``t`` is no tensor, or ``mesh`` no mesh.
        AssertionError: the spec does not have one entry per dimension.
        ValueError: the spec uses an axis twice, or names an unknown axis; or the mesh has several devices and the
            tensor is on the CPU or on a chip other than the first.
    """
    if not (isinstance(t, torch.Tensor) and isinstance(mesh, Mesh)):
        raise TypeError(f"mark_sharding takes a tensor and a Mesh, got {type(t).__name__} and {type(mesh).__name__}.")
    dims = _spec_axes(tuple(t.shape), mesh, partition_spec)
    if mesh.size() == 1:
        if torch.compiler.is_compiling():
            return t
        if t.device.type == _DEVICE_TYPE:
            _placements.replicate(t)
        return wrap_as_sharded_tensor(t, mesh.mesh_shape, spec_of(dims))
    if t.device.type != _DEVICE_TYPE:
        raise ValueError(
            f"mark_sharding takes a tensor on device 'tt', got one on '{t.device}'. Move it with .to('tt') first."
        )
    if t.device.index:
        raise ValueError(
            f"mark_sharding takes a tensor on tt:0, which stands for all chips of a mesh, got one on '{t.device}', a "
            "single chip. Move it with .to('tt:0') first."
        )
    if torch.compiler.is_compiling() or not _marking.has_contents(t):
        return _marked(t, mesh, dims, gradient=False)
    plain, chips = mesh.chip_mesh()
    _marking.mark(t, _Placement(plain, chips, _mesh.Sharding(dims), tuple(t.shape)))
    return wrap_as_sharded_tensor(t)


def annotate_custom_sharding(t: torch.Tensor, mesh: Mesh, partition_spec: PartitionSpec) -> torch.Tensor:
    """Same as :func:`mark_sharding`, which replaces an earlier mark."""
    return mark_sharding(t, mesh, partition_spec)


def mark_sharding_with_gradients(t: torch.Tensor, mesh: Mesh, partition_spec: PartitionSpec) -> torch.Tensor:
    """Returns a tensor with the contents of ``t`` that is split over a mesh. Its gradient is split in the same way.

    Args:
        t: the tensor.
        mesh: the mesh.
        partition_spec: for each dimension, the axis or axes that split it, major first, or None.

    Raises:
        AssertionError: the spec does not have one entry per dimension.
        ValueError: the spec uses an axis twice, or names an unknown axis.
    """
    dims = _spec_axes(tuple(t.shape), mesh, partition_spec)
    return t if mesh.size() == 1 else _marked(t, mesh, dims, gradient=True)


def shard_as(a: Any, b: Any) -> tuple[Any, Any]:
    """Returns tensors with the same contents, of which each of ``a`` is split as that of ``b`` in its place.

    How is found by propagation: a mark of one of them, or of a tensor that they depend on, counts for both.

    Args:
        a: tensors in nested lists, tuples and dictionaries, or None in place of a tensor.
        b: tensors of the same shapes in the same structure.

    Raises:
        AssertionError: the structures differ, or there is None in one of them alone.
    """
    leaves, structure = _tree_flatten(a)
    others, other_structure = _tree_flatten(b)
    assert structure == other_structure, f"shard_as takes equal structures, got {structure} and {other_structure}"
    pairs: list[tuple[Any, Any]] = []
    for own, other in zip(leaves, others, strict=True):
        assert (own is None) == (other is None), "shard_as got a tensor for None"
        pairs.append((None, None) if own is None else torch.ops.tt.shard_alike(own, other))
    first, second = ([pair[position] for pair in pairs] for position in (0, 1))
    return _tree_unflatten(first, structure), _tree_unflatten(second, structure)


class MarkShardingFunction:
    """The name under which scripts of ``torch_xla`` call :func:`mark_sharding_with_gradients`."""

    apply = staticmethod(mark_sharding_with_gradients)


def _marked(t: torch.Tensor, mesh: Mesh, dims: tuple[tuple[int, ...], ...], *, gradient: bool) -> torch.Tensor:
    """Returns the result of the op that marks a tensor in a graph."""
    arguments = _mark_arguments(mesh.chips, mesh.mesh_shape, mesh.axes, dims)
    return torch.ops.tt.mark_sharding(t, *arguments, gradient)


@dataclass
class ShardingSpec:
    """A sharding for the tensors of a rank, such as those of batches that ``MpDeviceLoader`` moves to the device.

    Attributes:
        mesh: the mesh.
        partition_spec: for each dimension, the axis or axes that split it, major first, or None.
        minibatch: whether a tensor is the part of a batch that this process has. There is one process, so it has all of
            the batch, whose size then has to be divisible by the number of chips.
    """

    mesh: Mesh
    partition_spec: PartitionSpec
    minibatch: bool | None = False

    def __post_init__(self) -> None:
        self.mesh.get_op_sharding(self.partition_spec)  # raises ValueError for axes that the mesh lacks

    def can_apply(self, t: torch.Tensor) -> bool:
        """Returns whether the spec has an entry for each dimension of a tensor."""
        return len(t.shape) == len(self.partition_spec)

    def xla_spec(self, t: torch.Tensor) -> OpSharding | None:
        """Returns how the spec splits a tensor; None for a tensor of another rank.

        Raises:
            RuntimeError: ``minibatch`` is set, and the batch does not divide evenly.
        """
        if not self.can_apply(t):
            return None
        if self.minibatch and t.dim() and t.shape[0] % _chips.chip_count():
            raise RuntimeError(
                "When minibatch is configured, the per-host batch size must be divisible by local runtime device "
                f"count. Per host input data shape {list(t.shape)}, {_chips.chip_count()} devices. Use another batch "
                "size, or drop_last=True of the data loader."
            )
        return self.mesh.get_op_sharding(self.partition_spec)

    def apply(self, t: torch.Tensor) -> None:
        """Marks a tensor with the sharding.

        Raises:
            AssertionError: the tensor is not on the device, or has another rank.
            RuntimeError: ``minibatch`` is set, and the batch does not divide evenly.
        """
        assert t.device == torch_xla.device(), f"a ShardingSpec applies to tensors on the device, got one on {t.device}"
        self.xla_spec(t)
        mark_sharding(t, self.mesh, self.partition_spec)


_XLA = torch.library.Library("xla", "FRAGMENT")
_XLA.define(
    "dynamo_mark_sharding(Tensor input, int[] device_ids, int[] mesh_shape, str axis_names, str partition_spec)"
    " -> Tensor"
)


@torch.library.impl(_XLA, "dynamo_mark_sharding", "CompositeImplicitAutograd")
def _dynamo_mark_sharding(
    input: torch.Tensor, device_ids: list[int], mesh_shape: list[int], axis_names: str, partition_spec: str
) -> torch.Tensor:
    """Marks a tensor of the device, as :func:`mark_sharding` does; any other tensor is returned as it is.

    Args:
        axis_names: tuple of the names as Python writes it, such as ``"('data', 'model')"``.
        partition_spec: the spec as Python writes it.
    """
    if input.device.type != _DEVICE_TYPE:
        return input
    mesh = Mesh(device_ids, mesh_shape, ast.literal_eval(axis_names))
    return unwrap_sharded_tensor(mark_sharding(input, mesh, ast.literal_eval(partition_spec)))


def _spec_axes(shape: tuple[int, ...], mesh: Mesh, partition_spec: PartitionSpec) -> tuple[tuple[int, ...], ...]:
    """Returns the indices of the mesh axes that split each dimension.

    Raises:
        SpecError: the spec does not have one entry per dimension.
        ValueError: the spec uses an axis twice, or names an unknown axis.
    """
    if len(partition_spec) != len(shape):
        raise _SpecError(
            f"The partition spec {partition_spec} has {len(partition_spec)} entries, the tensor has shape "
            f"{list(shape)}. Give one entry, an axis or None, for each dimension."
        )
    return _mesh.spec_axes(partition_spec, mesh.axis_names or (), len(mesh.mesh_shape))


def spec_of(dims: Sequence[tuple[int, ...]]) -> tuple[int | tuple[int, ...] | None, ...]:
    """Returns the partition spec of the indices of the mesh axes that split each dimension."""
    return tuple(axes[0] if len(axes) == 1 else axes or None for axes in dims)


def clear_sharding(t: torch.Tensor) -> torch.Tensor:
    """Removes the sharding of a tensor and returns the tensor, a plain one for an ``XLAShardedTensor``."""
    _marking.unmark(t)
    return unwrap_sharded_tensor(t)


def sharding_of(t: torch.Tensor) -> str:
    """Returns the sharding of a tensor in XLA's notation, or an empty string for a tensor without one.

    Results of programs have the sharding that the program gave them; in SPMD mode, those of programs for one chip are
    replicated. A tensor that was neither marked nor computed has none; one of :func:`enable_manual_sharding`, of which
    each chip has its own part, has ``{manual}``.
    """
    placement = _marking.placement_of(t)
    if placement is not None:
        return _hlo_sharding(placement.sharding, placement.mesh, placement.chips)
    if _marking.is_replicated(t):
        return _REPLICATED
    return _MANUAL if _marking.has_parts(t) else ""


def sharding_type_of(t: torch.Tensor) -> ShardingType | None:
    """Returns the kind of sharding of a tensor, or None for a tensor without one."""
    placement = _marking.placement_of(t)
    if placement is not None:
        return OpSharding(placement.mesh, placement.chips, placement.sharding).type
    if _marking.is_replicated(t):
        return ShardingType.REPLICATED
    return ShardingType.MANUAL if _marking.has_parts(t) else None


def wrap_as_sharded_tensor(
    t: torch.Tensor, mesh_shape: Sequence[int] | None = None, partition_spec: PartitionSpec | None = None
) -> Any:
    """Returns the tensor as an ``XLAShardedTensor``, which shows its sharding and its shards.

    Args:
        t: the tensor.
        mesh_shape: mesh shape that the result shows instead of that of the tensor's mark.
        partition_spec: partition spec that it shows, with indices of axes.
    """
    sharded_tensor = __getattr__("XLAShardedTensor")
    if not isinstance(t, sharded_tensor):
        return sharded_tensor(t, mesh_shape, partition_spec)
    t.show(mesh_shape, partition_spec)
    return t


def unwrap_sharded_tensor(t: torch.Tensor) -> torch.Tensor:
    """Returns the tensor that an ``XLAShardedTensor`` shows; any other tensor as it is."""
    return t.full_tensor() if isinstance(t, __getattr__("XLAShardedTensor")) else t


def wrap_if_sharded(x: Any) -> Any:
    """Returns a tensor that has a sharding as an ``XLAShardedTensor``, and anything else as it is."""
    return wrap_as_sharded_tensor(x) if isinstance(x, torch.Tensor) and sharding_of(x) else x


def apply_backward_optimization_barrier(m: torch.nn.Module) -> None:
    """Does nothing: the compiler fuses no gradients across layers."""


def enable_manual_sharding(t: torch.Tensor, partition_spec: PartitionSpec, *, mesh: Mesh | None = None) -> torch.Tensor:
    """Replaces a tensor by every chip's part of it: ops on the result, collectives among them, are those of one chip.

    The result has no contents that could be read; :func:`disable_manual_sharding` makes a tensor of the parts again.
    There are no gradients.

    Args:
        t: the tensor, on device ``tt``.
        partition_spec: for each dimension, the axis or axes that split it, major first, or None. They divide it evenly.
        mesh: the mesh; by default the global one.

    Raises:
        AssertionError: the spec does not fit the tensor, or does not divide it evenly.
        ValueError: there is no mesh; or as of :func:`mark_sharding`.
    """
    mesh = _given(mesh, "enable_manual_sharding")
    marked = mark_sharding(t, mesh, partition_spec)
    local = _local_shape(tuple(t.shape), mesh, partition_spec)
    if not torch.compiler.is_compiling():
        _session.current.chips.holds_parts = True
    return _between(torch.ops.tt.full_to_shard, marked, mesh, partition_spec, local)


def disable_manual_sharding(
    t: torch.Tensor, partition_spec: PartitionSpec, full_shape: Sequence[int], *, mesh: Mesh | None = None
) -> torch.Tensor:
    """Makes a tensor of every chip's part, which ops on results of :func:`enable_manual_sharding` have computed.

    Args:
        t: the parts.
        partition_spec: for each dimension, the axis or axes along which chips have different parts, major first, or
            None. Along other axes, the chips have to have the same part.
        full_shape: shape of the tensor.
        mesh: the mesh; by default the global one.

    Raises:
        AssertionError: the parts do not have the shape of those of such a tensor.
        ValueError: there is no mesh, or the spec names an unknown axis or uses one twice.
    """
    mesh = _given(mesh, "disable_manual_sharding")
    local = _local_shape(tuple(full_shape), mesh, partition_spec)
    if tuple(t.shape) != local:
        raise _SpecError(
            f"disable_manual_sharding got parts of shape {list(t.shape)}; those of a tensor of shape "
            f"{list(full_shape)} with the spec {partition_spec} have shape {list(local)}."
        )
    return _between(torch.ops.tt.shard_to_full, t, mesh, partition_spec, full_shape)


def _mark_manual_sharding(t: torch.Tensor) -> torch.Tensor:
    """Returns parts as an ``XLAShardedTensor``. Scripts call it before they make a tensor of parts.

    Raises:
        RuntimeError: the tensor is whole.
    """
    if not _marking.has_parts(t) and _chips.chip_count() > 1:
        raise RuntimeError(
            "_mark_manual_sharding takes a result of ops on enable_manual_sharding's, got a whole tensor."
        )
    return wrap_as_sharded_tensor(t)


def _between(op: Any, t: torch.Tensor, mesh: Mesh, partition_spec: PartitionSpec, shape: Sequence[int]) -> torch.Tensor:
    """Returns the result of an op between tensors and their parts."""
    if mesh.size() == 1:
        return t
    dims = _spec_axes(tuple(shape), mesh, partition_spec)
    result = op(t, *_mark_arguments(mesh.chips, mesh.mesh_shape, mesh.axes, dims), list(shape))
    return result if torch.compiler.is_compiling() else wrap_as_sharded_tensor(result)


def _given(mesh: Mesh | None, function: str) -> Mesh:
    mesh = get_global_mesh() if mesh is None else mesh
    if mesh is None:
        raise ValueError(f"{function} needs a mesh: pass mesh=, or call xs.set_global_mesh.")
    return mesh


def _local_shape(shape: tuple[int, ...], mesh: Mesh, partition_spec: PartitionSpec) -> tuple[int, ...]:
    """Returns the shape of every chip's part of a tensor.

    Raises:
        SpecError: the parts are of different sizes, or the spec does not have one entry per dimension.
    """
    dims = _spec_axes(shape, mesh, partition_spec)
    counts = [math.prod([mesh.mesh_shape[axis] for axis in axes]) for axes in dims]  # lists, which dynamo traces
    local = [size // count for size, count in zip(shape, counts, strict=True)]
    if [size * count for size, count in zip(local, counts, strict=True)] != list(shape):
        raise _SpecError(f"Manual sharding needs equal parts: a tensor of shape {list(shape)} is cut into {counts}.")
    return tuple(local)


_SUBMODULES = {
    "XLAShard": "xla_sharded_tensor",
    "XLAShardedTensor": "xla_sharded_tensor",
    "auto_policy": "api",
    "convert_to_xla_mesh": "api",
    "convert_to_xla_partition_spec": "api",
    "xla_distribute_module": "api",
    "xla_distribute_tensor": "api",
}
"""Submodules that define further names of this module, and import it."""


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return getattr(_finder.attribute(__name__, _SUBMODULES[name]), name)
    return _finder.attribute(__name__, name)


__all__ = [
    "EinsumLinear",
    "HybridMesh",
    "MarkShardingFunction",
    "Mesh",
    "OpSharding",
    "PartitionSpec",
    "ShardingSpec",
    "ShardingType",
    "XLAPatchedLinear",
    "annotate_custom_sharding",
    "apply_backward_optimization_barrier",
    "apply_xla_patch_to_nn_linear",
    "clear_sharding",
    "disable_manual_sharding",
    "enable_manual_sharding",
    "get_1d_mesh",
    "get_global_mesh",
    "mark_sharding",
    "mark_sharding_with_gradients",
    "set_global_mesh",
    "shard_as",
    "sharding_of",
    "sharding_type_of",
    "unwrap_sharded_tensor",
    "wrap_as_sharded_tensor",
    "wrap_if_sharded",
    "xla_patched_nn_linear_forward",
]
