"""Sharding constraints on intermediate tensors. On a mesh of one device, each shard is the entire tensor.

module.register_forward_hook(sharding_constraint_hook(module, mesh, ("batch", None, None)))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch


def sharding_constraint_tensor(
    input: torch.Tensor, mesh: Any, partition_spec: Sequence[Any], unreduced: Sequence[Any] | None = None
) -> torch.Tensor:
    """Returns the tensor itself, because a mesh has one device so far; larger meshes are refused on creation.

    Args:
        input: the tensor.
        mesh: the mesh.
        partition_spec: an axis or None for each dimension; a spec that is all None fits any rank.
        unreduced: axes over which the tensor is a partial sum.

    Raises:
        ValueError: the spec has another rank than the tensor.
    """
    spec = tuple(partition_spec)
    if len(spec) != input.dim() and any(axis is not None for axis in spec):
        raise ValueError(
            f"partition_spec rank ({len(spec)}) does not match tensor rank ({input.dim()}); cannot resize a spec with "
            f"non-replicated dims: {spec}"
        )
    return input


def sharding_constraint_hook(
    module: torch.nn.Module, mesh: Any, partition_spec: Sequence[Any]
) -> Callable[[torch.nn.Module, Any, Any], torch.Tensor]:
    """Returns a forward hook that constrains the sharding of a module's result.

    Raises:
        TypeError: ``module`` is no module. The hook itself raises it for a result that is no tensor.
        ValueError: mesh or spec is None, or the mesh has no axis names.
    """
    if not isinstance(module, torch.nn.Module):
        raise TypeError(f"Expected nn.Module, got {type(module).__name__}")
    if mesh is None:
        raise ValueError("mesh cannot be None")
    if partition_spec is None:
        raise ValueError("partition_spec cannot be None")
    if not hasattr(mesh, "axis_names"):
        raise ValueError("mesh must have 'axis_names' attribute")

    def hook(_module: torch.nn.Module, _inputs: Any, output: Any) -> torch.Tensor:
        if not isinstance(output, torch.Tensor):
            raise TypeError(f"Expected the module to return a tensor, got {type(output).__name__}")
        return sharding_constraint_tensor(output, mesh, partition_spec)

    return hook


__all__ = ["sharding_constraint_hook", "sharding_constraint_tensor"]
