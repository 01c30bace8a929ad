"""Meshes and shardings of torch tests. The functions have the names of upstream's ``torch_multichip_utils``."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from tt_xla.errors import TTXLAError

PartitionSpec = Sequence[Any]
ShardSpecFunction = Callable[..., Mapping[torch.Tensor, PartitionSpec] | None]

# An import hook serves these modules, so type checkers do not find them.
xs = importlib.import_module("torch_xla.distributed.spmd")
xr = importlib.import_module("torch_xla.runtime")


def enable_spmd() -> None:
    """Makes all chips of the system act as one device. Shardings always have Shardy's form here."""
    xr.use_spmd()


def get_mesh(mesh_shape: Sequence[int] | None, mesh_names: Sequence[str]) -> Any:
    """Returns a mesh of all chips of the system, or None if the shape is None.

    Args:
        mesh_shape: number of chips along each axis.
        mesh_names: name of each axis.

    Raises:
        ValueError: the shape does not hold the system's chips.
    """
    if mesh_shape is None:
        return None
    return xs.Mesh(np.arange(xr.global_runtime_device_count()), tuple(mesh_shape), tuple(mesh_names))


def mark_shardings(
    mesh: Any,
    shard_spec_fn: ShardSpecFunction | None,
    model: Any,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
) -> None:
    """Splits tensors on ``tt`` over a mesh, as a test's ``shard_spec_fn`` says.

    Args:
        mesh: the mesh; nothing is split without one, or on a mesh of one chip.
        shard_spec_fn: returns the partition spec of each tensor that is split. Its parameters are ``model``, or
            ``args`` and ``kwargs``, or all three.
        model: the model on ``tt``, or a function.
        args: the call's positional arguments, on ``tt``.
        kwargs: the call's keyword arguments, on ``tt``.

    Raises:
        TTXLAError: the function asks for a model, and a function is tested.
    """
    if mesh is None or mesh.size() == 1 or shard_spec_fn is None:
        return
    names = list(inspect.signature(shard_spec_fn).parameters)
    takes_inputs = {"args", "kwargs"} <= set(names)
    if takes_inputs and len(names) == 2:
        specs = shard_spec_fn(args, kwargs)
    elif not isinstance(model, torch.nn.Module):
        raise TTXLAError(
            f"shard_spec_fn has the parameters ({', '.join(names)}), but the test has no torch.nn.Module.",
            hint="To split the inputs of a function, give it the parameters (args, kwargs).",
        )
    else:
        specs = shard_spec_fn(model, args, kwargs) if takes_inputs else shard_spec_fn(model)
    for tensor, spec in (specs or {}).items():
        xs.mark_sharding(tensor, mesh, tuple(spec))


def batch_shard_specs(args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[torch.Tensor, PartitionSpec]:
    """Returns the partition specs of data parallelism: the first dimension of every input is split over ``data``."""
    tensors = [value for value in (*args, *kwargs.values()) if isinstance(value, torch.Tensor) and value.dim() > 0]
    return {tensor: ("data", *[None] * (tensor.dim() - 1)) for tensor in tensors}


def constrain_activations(mesh: Any, specs: Mapping[torch.nn.Module, PartitionSpec | None]) -> None:
    """Constrains the sharding of modules' outputs, with forward hooks.

    Args:
        mesh: the mesh; without one nothing is constrained.
        specs: partition spec of each module's output; None for an output that every chip has in full.
    """
    from tt_torch import sharding_constraint_tensor

    def hook_for(spec: PartitionSpec | None) -> Callable[..., Any]:
        def hook(_module: torch.nn.Module, _inputs: Any, output: Any) -> Any:
            if not isinstance(output, torch.Tensor):
                return output
            return sharding_constraint_tensor(output, mesh, (None,) * output.dim() if spec is None else tuple(spec))

        return hook

    if mesh is None or mesh.size() == 1:
        return
    for module, spec in specs.items():
        module.register_forward_hook(hook_for(spec))
