"""Shardings of arguments as code that users can copy."""

from __future__ import annotations

from collections.abc import Sequence

from tt_xla.ir.mesh import Mesh, Sharding
from tt_xla.ir.program import Argument, Role


def partition_spec(sharding: Sharding, mesh: Mesh) -> str:
    """Returns a sharding as a partition spec, such as ``("x", None)``: an axis, several or None for each dimension."""
    entries = [_entry(tuple(mesh.axes[axis] for axis in axes)) for axes in sharding.dims]
    return f"({', '.join(entries)}{',' if len(entries) == 1 else ''})"


def _entry(names: tuple[str, ...]) -> str:
    if not names:
        return "None"
    return _quoted(names[0]) if len(names) == 1 else _names(names)


def _quoted(name: str) -> str:
    return f'"{name}"'


def jax_code(arguments: Sequence[Argument], shardings: Sequence[Sharding], mesh: Mesh) -> str:
    """Returns Python code with the mesh and a ``PartitionSpec`` for each flattened argument."""
    lines = [
        "from jax.sharding import PartitionSpec as P",
        "",
        f"mesh = jax.make_mesh({mesh.shape}, {_names(mesh.axes)})",
        "specs = [  # of the arguments as jax.tree.leaves lists them",
    ]
    for argument, sharding in zip(arguments, shardings, strict=True):
        spec = "P()" if sharding.is_replicated else f"P{partition_spec(sharding, mesh)}"
        lines.append(f"    {spec},  # {argument.name} {list(argument.shape)}")
    return "\n".join([*lines, "]", ""])


def torch_code(arguments: Sequence[Argument], shardings: Sequence[Sharding], mesh: Mesh) -> str:
    """Returns Python code that makes the mesh and marks each argument that is split."""
    lines = [
        "xr.use_spmd()",
        f"mesh = xs.Mesh(range({mesh.size}), {mesh.shape}, {_names(mesh.axes)})",
    ]
    for argument, sharding in zip(arguments, shardings, strict=True):
        if not sharding.is_replicated:
            named = argument.name if argument.role is Role.INPUT else f'model.get_parameter("{argument.name}")'
            lines.append(f"xs.mark_sharding({named}, mesh, {partition_spec(sharding, mesh)})")
    return "\n".join([*lines, ""])


def _names(names: Sequence[str]) -> str:
    """Returns a tuple of names as code."""
    return f"({', '.join(map(_quoted, names))}{',' if len(names) == 1 else ''})"
