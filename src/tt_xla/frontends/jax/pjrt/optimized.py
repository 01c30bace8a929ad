"""The module from which JAX reads what became of a program: ``compiled.as_text()``, output shardings and layouts.

XLA's optimized programs have the shapes of one chip, with collectives. Attributes of the module name the shardings of
parameters and results, and their layouts; JAX derives ``compiled.output_shardings`` and the shapes of results from
them.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from typing import Any

from jaxlib.mlir import ir

from tt_xla.compiler.sharding import Localised
from tt_xla.frontends.jax.pjrt.buffer import Order
from tt_xla.ir.hlo_sharding import REPLICATED, hlo_sharding


def optimized_module(
    module: ir.Module | Localised, parameter_layouts: Sequence[Order], output_layouts: Sequence[Order]
) -> bytes:
    """Returns the StableHLO of one chip as MLIR bytecode, with attributes about the arguments and results of ``main``.

    Args:
        module: the module that the compiler has imported, or what the localiser made of it; it gets the attributes.
        parameter_layouts: layout of each argument.
        output_layouts: layout of each result.
    """
    local = module.module if isinstance(module, Localised) else module
    with local.context, ir.Location.unknown():
        attributes: Any = local.operation.attributes
        # jaxlib would give a transposed result the layout in which nothing is moved.
        attributes["mhlo.xla_entry_computation_parameter_layouts"] = _layouts(parameter_layouts)
        attributes["mhlo.xla_entry_computation_result_layout"] = _layouts(output_layouts)
        if isinstance(module, Localised):
            _set_shardings(attributes, module)
    bytecode = io.BytesIO()
    local.operation.write_bytecode(bytecode)
    return bytecode.getvalue()


def _set_shardings(attributes: Any, localised: Localised) -> None:
    """Sets the attributes of a module with the number of chips and the shardings of arguments and results."""
    mesh = localised.mesh
    arguments, results = (
        [hlo_sharding(sharding, mesh) for sharding, _ in values] for values in (localised.arguments, localised.results)
    )
    for index, (sharding, order) in localised.moved.items():
        arguments[index] = hlo_sharding(sharding, mesh, order)
    # The sharding of an empty tuple has one element, as its shape counts as one leaf.
    output = results[0] if len(results) == 1 else f"{{{', '.join(results or [REPLICATED])}}}"
    attributes["mhlo.num_partitions"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), mesh.size)
    attributes["mhlo.spmd_output_sharding"] = ir.StringAttr.get(output)
    attributes["mhlo.spmd_parameters_shardings"] = ir.ArrayAttr.get(list(map(ir.StringAttr.get, arguments)))


def _layouts(orders: Iterable[Order]) -> ir.Attribute:
    dense = [f"dense<{list(order) if order else ''}> : tensor<{len(order)}xindex>" for order in orders]
    return ir.Attribute.parse(f"[{', '.join(dense)}]")
