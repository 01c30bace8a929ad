"""Modules whose sizes are symbols, as JAX exports them: without its checks, and made for the sizes of a call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jaxlib.mlir import ir
from jaxlib.mlir.passmanager import PassManager

from tt_xla.compiler.stablehlo.expand import register_passes
from tt_xla.errors import MalformedModuleError

_ASSERTION = "shape_assertion"
"""Target of custom calls with which JAX checks the sizes of a call."""


def drop_assertions(module: ir.Module) -> None:
    """Removes JAX's checks of sizes, which other readers of the module do not know."""
    operations: list[Any] = list(_main(module).entry_block.operations)
    for op in operations:
        if op.operation.name == "stablehlo.custom_call" and op.attributes["call_target_name"].value == _ASSERTION:
            op.operation.erase()


def _main(module: ir.Module) -> Any:
    functions: list[Any] = list(module.body.operations)
    return next(function for function in functions if function.name.value == "main")


def specialize(module: ir.Module, shapes: Sequence[Sequence[int]]) -> ir.Module:
    """Makes a module one for arguments of given shapes, in which every size is fixed.

    Args:
        module: the module, which is changed.
        shapes: shapes of the arguments of ``main``.

    Raises:
        MalformedModuleError: the shapes contradict each other.
    """
    from jax._src.interpreters import mlir

    register_passes()
    with module.context, ir.Location.unknown():
        types = [
            str(ir.RankedTensorType.get(list(shape), ir.RankedTensorType(argument.type).element_type))
            for shape, argument in zip(shapes, _main(module).arguments, strict=True)
        ]
        PassManager.parse(f"builtin.module(stablehlo-refine-arguments{{types={','.join(types)}}})").run(
            module.operation
        )
    try:
        return mlir.refine_polymorphic_shapes(module)  # unlike StableHLO's pass alone, it inlines functions
    except ValueError as error:
        raise MalformedModuleError(f"The module has no sizes for arguments of the shapes {shapes}: {error}") from error
