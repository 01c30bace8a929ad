"""Shardings in the notation of XLA's HLO, which JAX's ``as_text()`` and ``sharding_of`` of torch_xla print."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from tt_xla.ir.mesh import Mesh, Sharding

REPLICATED = "{replicated}"
UNREDUCED = "{unreduced}"


def hlo_sharding(sharding: Sharding, mesh: Mesh, order: Sequence[int] | None = None) -> str:
    """Returns a sharding in the notation of XLA's HLO, such as ``{devices=[2,1,4]<=[2,4] last_tile_dim_replicate}``.

    The list of devices is the mesh with its axes in the order in which they split the tensor, then the axes along which
    it is replicated, and then those along which chips hold partial sums. Source of the notation:
    ``HloSharding::ToString`` of openxla/xla.

    Args:
        sharding: the sharding.
        mesh: its mesh.
        order: the chip at each position of the mesh, unless the chips are in order.
    """
    counts = sharding.counts(mesh)
    splitting = [axis for axes in sharding.dims for axis in axes]
    replicating = [axis for axis in range(len(mesh.shape)) if axis not in sharding.axes]
    axes = [*splitting, *replicating, *sharding.unreduced]
    terms = math.prod(mesh.shape[axis] for axis in sharding.unreduced)
    copies = mesh.size // (math.prod(counts) * terms)
    if copies == mesh.size:
        return REPLICATED
    if terms == mesh.size:
        return UNREDUCED
    kinds = {kind: count for kind, count in (("replicated", copies), ("unreduced", terms)) if count > 1}
    tiles = [*counts, *kinds.values()]
    devices = f"<=[{mesh.size}]" if axes == sorted(axes) else f"<=[{_listed(mesh.shape)}]T({_listed(axes)})"
    if order is not None:
        devices = _listed(np.array(order).reshape(mesh.shape).transpose(axes).ravel())
    suffix = f" last_tile_dims={{{', '.join(kinds)}}}" if terms > 1 else " last_tile_dim_replicate" if kinds else ""
    return f"{{devices=[{_listed(tiles)}]{devices}{suffix}}}"


def _listed(numbers: Iterable[int]) -> str:
    return ",".join(map(str, numbers))
