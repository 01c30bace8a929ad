"""Sharding constraints on intermediate tensors, which say how the chips of a mesh share a result.

module.register_forward_hook(sharding_constraint_hook(module, mesh, ("batch", None, None)))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch


def sharding_constraint_tensor(
    input: torch.Tensor, mesh: Any, partition_spec: Sequence[Any], unreduced: Sequence[Any] | None = None
) -> torch.Tensor:
    """Returns the tensor with a constraint: the chips of the mesh split it as the spec says.

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
    if mesh.size() == 1:
        return input
    entries = spec if len(spec) == input.dim() else [None] * input.dim()
    dims = ", ".join(f"{{{', '.join(_axes(mesh, entry))}}}" for entry in entries)
    partial = f", unreduced={{{', '.join(_axes(mesh, tuple(unreduced)))}}}" if unreduced else ""
    text = f"#sdy.sharding_per_value<[<@mesh, [{dims}]{partial}>]>"
    return torch.ops.tt.sharding_constraint(input, text)


def _axes(mesh: Any, entry: Any) -> list[str]:
    """Returns the names, in a constraint's text, of the mesh axes in one entry of a spec.

    Raises:
        ValueError: the mesh lacks an axis.
    """
    names: list[str] = []
    for axis in () if entry is None else entry if isinstance(entry, tuple | list) else (entry,):
        known = [*(mesh.axis_names or ()), *range(len(mesh.mesh_shape))]
        if axis not in known:
            raise ValueError(f"The partition spec names {axis!r}; the mesh has the axes {known}.")
        index = mesh.axis_names.index(axis) if isinstance(axis, str) else int(axis)
        names.append(f'"mesh_idx_{index}"')
    return names


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
