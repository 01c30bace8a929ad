"""Sharding constraints on intermediate tensors, which say how the chips of a mesh share a result.

module.register_forward_hook(sharding_constraint_hook(module, mesh, ("batch", None, None)))
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch

from tt_xla.ir.mesh import spec_axes


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
        ValueError: the spec has another rank than the tensor, names an unknown axis, or uses an axis twice.
    """
    spec = tuple(partition_spec)
    if len(spec) != input.dim() and any(axis is not None for axis in spec):
        raise ValueError(
            f"partition_spec rank ({len(spec)}) does not match tensor rank ({input.dim()}); cannot resize a spec with "
            f"non-replicated dims: {spec}"
        )
    if mesh.size() == 1:
        return input
    entries = spec if len(spec) == input.dim() else (None,) * input.dim()
    names, count = mesh.axis_names or (), len(mesh.mesh_shape)
    sharding = f"[{', '.join(map(_axes, spec_axes(entries, names, count)))}]"
    if unreduced:
        sharding += f", unreduced={_axes(*spec_axes([tuple(unreduced)], names, count))}"
    return torch.ops.tt.sharding_constraint(input, f"#sdy.sharding_per_value<[<@mesh, {sharding}>]>")


def _axes(axes: Iterable[int]) -> str:
    """Returns axes of the mesh in the text of a constraint, such as ``{"mesh_idx_0"}``."""
    names = [f'"mesh_idx_{axis}"' for axis in axes]
    return f"{{{', '.join(names)}}}"


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
