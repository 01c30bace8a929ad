"""The module from which JAX reads what became of a program: ``compiled.as_text()``, output shardings and layouts.

XLA's optimized programs have the shapes of one chip, with collectives. Attributes of the module name the shardings of
parameters and results, and their layouts; JAX derives ``compiled.output_shardings`` and the shapes of results from
them.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from tt_xla.compiler.sharding import Localized
from tt_xla.frontends.jax.pjrt.buffer import Order
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


def optimized_module(
    module: ir.Module | Localized, parameter_layouts: Sequence[Order], output_layouts: Sequence[Order]
) -> bytes:
    """Returns the StableHLO of one chip as MLIR bytecode, with attributes about the arguments and results of ``main``.

    Args:
        module: the module that the compiler has imported, or what the localiser made of it; it gets the attributes.
        parameter_layouts: layout of each argument.
        output_layouts: layout of each result.
    """
    local = module.module if isinstance(module, Localized) else module
    with local.context, ir.Location.unknown():
        attributes: Any = local.operation.attributes
        # jaxlib would give a transposed result the layout in which nothing is moved.
        attributes["mhlo.xla_entry_computation_parameter_layouts"] = _layouts(parameter_layouts)
        attributes["mhlo.xla_entry_computation_result_layout"] = _layouts(output_layouts)
        if isinstance(module, Localized):
            _set_shardings(attributes, module)
    bytecode = io.BytesIO()
    local.operation.write_bytecode(bytecode)
    return bytecode.getvalue()


def _set_shardings(attributes: Any, localized: Localized) -> None:
    """Sets the attributes of a module with the number of chips and the shardings of arguments and results."""
    mesh = localized.mesh
    arguments, results = (
        [hlo_sharding(sharding, mesh) for sharding, _ in values] for values in (localized.arguments, localized.results)
    )
    for index, (sharding, order) in localized.moved.items():
        arguments[index] = hlo_sharding(sharding, mesh, order)
    # The sharding of an empty tuple has one element, as its shape counts as one leaf.
    output = results[0] if len(results) == 1 else f"{{{', '.join(results or [REPLICATED])}}}"
    attributes["mhlo.num_partitions"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), mesh.size)
    attributes["mhlo.spmd_output_sharding"] = ir.StringAttr.get(output)
    attributes["mhlo.spmd_parameters_shardings"] = ir.ArrayAttr.get(list(map(ir.StringAttr.get, arguments)))


def _layouts(orders: Iterable[Order]) -> ir.Attribute:
    dense = [f"dense<{list(order) if order else ''}> : tensor<{len(order)}xindex>" for order in orders]
    return ir.Attribute.parse(f"[{', '.join(dense)}]")


def _listed(numbers: Iterable[int]) -> str:
    return ",".join(map(str, numbers))
