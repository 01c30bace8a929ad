"""``torch_xla.distributed.spmd.api``: PyTorch's ``distribute_tensor`` and ``distribute_module`` on all chips."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch_xla.distributed.spmd as _spmd
import torch_xla.runtime as _runtime
from torch import nn
from torch.distributed.tensor import DTensor, Replicate
from torch.distributed.tensor.parallel import SequenceParallel
from torch_xla.distributed.spmd.xla_sharded_tensor import XLAShardedTensor as _XLAShardedTensor

_MESH_TYPE = "xla"
"""Device type of meshes for which PyTorch's own functions call the ones here. Meshes of type ``tt`` get it too."""


def auto_policy(mod_name: str, mod: nn.Module, mesh: Any) -> None:
    """Leaves the shardings of a module to the compiler, and moves it to the device.

    Args:
        mod_name: name of the module, which is not needed.
        mod: the module.
        mesh: the mesh to split over, a ``DeviceMesh`` of type ``xla``; None for the global mesh, or for all chips.
    """
    _runtime.use_spmd(auto=True)
    if mesh is not None:
        _spmd.set_global_mesh(convert_to_xla_mesh(mesh))
    mod.to("tt")


def convert_to_xla_mesh(dt_mesh: Any) -> _spmd.Mesh:
    """Returns a mesh of PyTorch's (``DeviceMesh``) as a mesh of this package.

    For a slice of a mesh (``mesh["model"]``) it is the whole mesh, along whose other axes tensors are replicated.

    Raises:
        ValueError: the mesh is not of type ``xla``, or names a chip that is not there.
    """
    if dt_mesh.device_type != _MESH_TYPE:
        raise ValueError(
            f"A DeviceMesh of device type '{dt_mesh.device_type}' stands for several processes. All chips are in this "
            f"one: make the mesh with DeviceMesh('{_MESH_TYPE}', torch.arange(8).reshape(2, 4))."
        )
    whole = dt_mesh._get_root_mesh()
    return _spmd.Mesh(whole.mesh.flatten().tolist(), tuple(whole.mesh.shape), whole.mesh_dim_names)


def _axes(dt_mesh: Any) -> list[int]:
    """Returns the index of each axis of a mesh in the whole mesh that it is a slice of.

    Raises:
        ValueError: an axis joins several axes of the whole mesh.
    """
    whole = dt_mesh._get_root_mesh()
    if whole is dt_mesh:
        return list(range(dt_mesh.ndim))
    missing = [name for name in dt_mesh.mesh_dim_names if name not in whole.mesh_dim_names]
    if missing:
        raise ValueError(
            f"The axes {missing} are not axes of the whole mesh, which has {list(whole.mesh_dim_names)}. Use a slice "
            "of the mesh by its own axes, with a placement for each."
        )
    return [whole.mesh_dim_names.index(name) for name in dt_mesh.mesh_dim_names]


def convert_to_xla_partition_spec(tensor: torch.Tensor, placements: Sequence[Any]) -> tuple[Any, ...]:
    """Returns the partition spec that says the same as PyTorch's placements: one ``Shard`` or ``Replicate`` an axis.

    Raises:
        ValueError: a placement is of another kind, or names a dimension that the tensor lacks.
    """
    axes: list[list[int]] = [[] for _ in tensor.shape]
    for axis, placement in enumerate(placements):
        if placement.is_shard():
            if not -tensor.dim() <= placement.dim < tensor.dim():
                raise ValueError(f"{placement} names a dimension that a tensor of shape {list(tensor.shape)} lacks.")
            axes[placement.dim].append(axis)
        elif not placement.is_replicate():
            raise ValueError(f"Unsupported placement {placement}: expected Shard or Replicate.")
    return tuple(dim[0] if len(dim) == 1 else tuple(dim) or None for dim in axes)


def xla_distribute_tensor(
    tensor: torch.Tensor, device_mesh: Any, placements: Sequence[Any] | None = None
) -> torch.Tensor:
    """Moves a tensor to the device and splits it over a mesh. PyTorch's ``distribute_tensor`` calls this.

    Args:
        tensor: the whole tensor.
        device_mesh: a ``DeviceMesh`` of type ``xla``.
        placements: one for each axis of the mesh; by default every chip has the tensor in full.

    Returns:
        An ``XLAShardedTensor``, a leaf that requires gradients if the tensor does.

    Raises:
        ValueError: the tensor is a DTensor, or mesh or placements do not fit.
    """
    if isinstance(tensor, DTensor) and not isinstance(tensor, _XLAShardedTensor):
        raise ValueError("xla_distribute_tensor takes a whole tensor, got a DTensor, which is the part of one process.")
    mesh, axes = convert_to_xla_mesh(device_mesh), _axes(device_mesh)
    if placements is not None and len(placements) != len(axes):
        raise ValueError(f"{len(placements)} placements for a mesh of {len(axes)} axes: give one per axis.")
    _runtime.use_spmd()
    moved = tensor.to("tt:0")
    by_axis: list[Any] = [Replicate()] * len(mesh.mesh_shape)
    for axis, placement in zip(axes, placements or (), strict=False):
        by_axis[axis] = placement
    spec = convert_to_xla_partition_spec(moved, by_axis)
    return _XLAShardedTensor(_spmd.mark_sharding(moved, mesh, spec), requires_grad=tensor.requires_grad)


def xla_distribute_module(
    module: nn.Module,
    device_mesh: Any = None,
    partition_fn: Callable[[str, nn.Module, Any], None] | None = None,
    input_fn: Callable[..., Any] | None = None,
    output_fn: Callable[..., Any] | None = None,
) -> nn.Module:
    """Splits the parameters of a module. ``torch.distributed.tensor.distribute_module`` calls this.

    ``parallelize_module`` calls it for each style of its plan. A style's layouts of inputs and outputs say which part
    of them a process has; here tensors are whole, and propagation decides how chips share them.

    Args:
        module: the module.
        device_mesh: a ``DeviceMesh`` of type ``xla``.
        partition_fn: splits the parameters of one submodule, which it gets with its name and the mesh.
        input_fn: called with the module, its inputs and the mesh before each forward pass.
        output_fn: called with the module, its outputs and the mesh after each forward pass.

    Returns:
        The module.

    Raises:
        ValueError: ``input_fn`` or ``output_fn`` does not take three arguments.
    """
    _runtime.use_spmd()
    for name, function in (("input_fn", input_fn), ("output_fn", output_fn)):
        if function is not None and len(inspect.signature(function).parameters) != 3:
            raise ValueError(f"{name} takes three arguments: the module, its inputs or outputs, and the mesh.")
    if _is_of_a_style(input_fn):
        input_fn = None
    if _is_of_a_style(output_fn):
        output_fn = None
    if isinstance(getattr(partition_fn, "__self__", None), SequenceParallel):
        partition_fn = _replicate
    if partition_fn is not None:
        for name, submodule in module.named_modules():
            partition_fn(name, submodule, device_mesh)
    if input_fn is not None:
        module.register_forward_pre_hook(lambda module, inputs: input_fn(module, inputs, device_mesh))
    if output_fn is not None:
        module.register_forward_hook(lambda module, _inputs, outputs: output_fn(module, outputs, device_mesh))
    return module


def _replicate(_name: str, module: nn.Module, device_mesh: Any) -> None:
    """Gives every chip all parameters of a module."""
    for name, parameter in module.named_parameters(recurse=False):
        replicated = xla_distribute_tensor(parameter.detach(), device_mesh)
        module.register_parameter(name, nn.Parameter(replicated, requires_grad=parameter.requires_grad))


def _is_of_a_style(function: Any) -> bool:
    """Returns whether a function converts inputs or outputs between the parts and the tensor of a ``ParallelStyle``."""
    module = getattr(getattr(function, "func", None), "__module__", "")
    return module == "torch.distributed.tensor.parallel.style"
