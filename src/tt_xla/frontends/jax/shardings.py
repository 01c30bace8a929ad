"""Shardings that the compiler chose for a function's arguments, over the user's mesh."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import jax
from jax.sharding import Mesh, NamedSharding, PartitionSpec, Sharding


def input_shardings(compiled: Any, mesh: Mesh) -> Any:
    """Returns the sharding of each argument of a compiled function, over a mesh with names.

    JAX names no axes in ``compiled.input_shardings`` for arguments whose sharding the compiler chose, as with the
    compile option ``auto_sharding``. ``jax.device_put(args, input_shardings(compiled, mesh)[0])`` places the arguments
    once, and ``print(jax.tree.map(lambda s: s.spec, ...))`` shows specs that can be copied.

    Args:
        compiled: the result of ``jax.jit(f).lower(...).compile()``.
        mesh: the mesh under which it was lowered.

    Returns:
        A tree like ``compiled.input_shardings``: of the positional arguments, and of those by name. An argument that
        the function does not use is replicated.

    Raises:
        ValueError: an argument is split in a way that no partition spec of the mesh says.
    """

    def named(sharding: Any, argument: Any) -> NamedSharding:
        if sharding is None:  # JAX leaves out what the function does not use
            return NamedSharding(mesh, PartitionSpec())
        return _named(sharding, len(argument.shape), mesh)

    return jax.tree.map(named, compiled.input_shardings, compiled.args_info, is_leaf=lambda leaf: leaf is None)


def _named(sharding: Sharding, rank: int, mesh: Mesh) -> NamedSharding:
    for spec in _specs(rank, mesh):
        named = NamedSharding(mesh, spec)
        if named.is_equivalent_to(sharding, rank):
            return named
    raise ValueError(
        f"No partition spec of the mesh {dict(mesh.shape)} says how {sharding} splits an argument. If JAX told the "
        f"compiler of no mesh, name its shape: auto_sharding='{'x'.join(map(str, mesh.shape.values()))}'."
    )


def _specs(rank: int, mesh: Mesh) -> Iterator[PartitionSpec]:
    """Yields the partition specs of a mesh for arrays of a rank, those that use few axes first."""
    axes = [name for name, size in mesh.shape.items() if size > 1]
    for count in range(len(axes) + 1):
        for used in itertools.permutations(axes, count):
            for dims in itertools.product(range(rank), repeat=count):
                entries = [tuple(axis for axis, at in zip(used, dims, strict=True) if at == dim) for dim in range(rank)]
                yield PartitionSpec(*(entry[0] if len(entry) == 1 else entry or None for entry in entries))
