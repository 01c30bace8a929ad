"""The module from which JAX reads the shardings of a program for several chips.

XLA's optimized programs have the shapes of one chip, and name the shardings of parameters and results in attributes of
the module. JAX derives ``compiled.output_shardings`` and the shapes of results from them.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

from tt_xla.ir.mesh import Mesh, Sharding

if TYPE_CHECKING:
    from tt_xla.compiler.sharding import Localized

REPLICATED = "{replicated}"
UNREDUCED = "{unreduced}"


def hlo_sharding(sharding: Sharding, mesh: Mesh) -> str:
    """Returns a sharding in the notation of XLA's HLO, such as ``{devices=[2,1,4]<=[2,4] last_tile_dim_replicate}``.

    The list of devices is the mesh with its axes in the order in which they split the tensor, then the axes along which
    it is replicated, and then those along which chips hold partial sums. Source of the notation:
    ``HloSharding::ToString`` of openxla/xla.
    """
    counts = sharding.counts(mesh)
    splitting = [axis for axes in sharding.dims for axis in axes]
    replicating = [axis for axis in range(len(mesh.shape)) if axis not in sharding.axes]
    order = [*splitting, *replicating, *sharding.unreduced]
    terms = math.prod(mesh.shape[axis] for axis in sharding.unreduced)
    copies = mesh.size // (math.prod(counts) * terms)
    if copies == mesh.size:
        return REPLICATED
    if terms == mesh.size:
        return UNREDUCED
    kinds = {kind: count for kind, count in (("replicated", copies), ("unreduced", terms)) if count > 1}
    tiles = [*counts, *kinds.values()]
    devices = f"[{mesh.size}]" if order == sorted(order) else f"[{_listed(mesh.shape)}]T({_listed(order)})"
    suffix = f" last_tile_dims={{{', '.join(kinds)}}}" if terms > 1 else " last_tile_dim_replicate" if kinds else ""
    return f"{{devices=[{_listed(tiles)}]<={devices}{suffix}}}"


def partitioned_module(localized: Localized) -> bytes:
    """Returns the StableHLO module of one chip, with the shardings of its arguments and results, as MLIR bytecode."""
    from jaxlib.mlir import ir

    mesh, source = localized.mesh, localized.module
    arguments, results = (
        [hlo_sharding(sharding, mesh) for sharding, _ in values] for values in (localized.arguments, localized.results)
    )
    # The sharding of an empty tuple has one element, as its shape counts as one leaf.
    output = results[0] if len(results) == 1 else f"{{{', '.join(results or [REPLICATED])}}}"
    with source.context, ir.Location.unknown():
        module = source.operation.clone()
        count = ir.IntegerType.get_signless(32)
        module.attributes["mhlo.num_partitions"] = ir.IntegerAttr.get(count, mesh.size)
        module.attributes["mhlo.num_replicas"] = ir.IntegerAttr.get(count, 1)
        module.attributes["mhlo.spmd_output_sharding"] = ir.StringAttr.get(output)
        module.attributes["mhlo.spmd_parameters_shardings"] = ir.ArrayAttr.get(list(map(ir.StringAttr.get, arguments)))
        code = io.BytesIO()
        module.write_bytecode(code)
    return code.getvalue()


def _listed(numbers: Iterable[int]) -> str:
    return ",".join(map(str, numbers))
