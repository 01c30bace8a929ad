"""Import of StableHLO modules into TTIR: a walk over jaxlib's operations without text in between."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jaxlib.mlir import ir
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region

from tt_xla.compiler.meshes import mesh_attributes
from tt_xla.compiler.stablehlo import signature
from tt_xla.compiler.stablehlo.annotations import check_one_device, replicas
from tt_xla.compiler.stablehlo.context import CONVERTERS, ImportContext, ModuleContext, ValueTable, on_host
from tt_xla.compiler.stablehlo.conversion import inline
from tt_xla.compiler.stablehlo.expand import refine
from tt_xla.compiler.stablehlo.subprograms import set_roles
from tt_xla.compiler.stablehlo.types import DynamicShapeError, convert_type, forget_types
from tt_xla.ir.mesh import Mesh, Sharding
from tt_xla.ir.program import Argument, Result, Role

ImportedModule = tuple[ModuleOp, tuple[Argument, ...], tuple[Result, ...]]
"""A TTIR module, and the arguments and results that its entry function declares."""


def import_module(
    module: ir.Module,
    *,
    mesh: Mesh | None = None,
    shardings: Sequence[Sharding] | None = None,
    host_fallback: bool = True,
    approximate: bool = True,
    checks_indices: bool = False,
) -> ImportedModule:
    """Converts a StableHLO module to TTIR. Function calls are inlined.

    Args:
        module: the module, which is left unchanged.
        mesh: the chips that the module is for, each with the shapes of its shards; None for one chip.
        shardings: how each argument is split over the mesh; None where nothing is known.
        host_fallback: whether an op without lowering becomes a call of the host; otherwise it is an error.
        approximate: whether converters may use forms in which infinities and NaN spread, or float32 is rounded to 19
            bits.
        checks_indices: whether the limits of indices are marked, so that the card can check the indices.

    Returns:
        The TTIR module, and the arguments and results that the one public function declares.

    Raises:
        MalformedModuleError: there is not exactly one public function.
        UnsupportedOpError: an op, or this use of it, has no lowering; with the user's source line.
        CompileError: the module is for several devices, and ``mesh`` is None.
    """
    flags = {"host_fallback": host_fallback, "approximate": approximate, "checks_indices": checks_indices}
    try:
        return _import(module, mesh, shardings, **flags)
    except DynamicShapeError:
        return _import(refine(module), mesh, shardings, **flags)
    finally:
        forget_types()


def _import(
    module: Any,
    mesh: Mesh | None,
    shardings: Sequence[Sharding] | None,
    *,
    host_fallback: bool,
    approximate: bool,
    checks_indices: bool,
) -> ImportedModule:
    entry = signature.entry_function(module)
    if mesh is None:
        check_one_device(module, entry)
    arguments, results = signature.arguments(entry), signature.results(entry)
    block = Block(arg_types=[convert_type(argument.type) for argument in entry.regions[0].blocks[0].arguments])
    for value, argument in zip(block.args, arguments, strict=True):
        value.name_hint = signature.name_hint(argument.name)
    donated = {position for position in signature.donated_positions(entry) if arguments[position].role is Role.INPUT}
    context = ImportContext(
        ModuleContext(
            functions=signature.functions(module),
            approximate=approximate,
            donated=frozenset(block.args[position] for position in donated),
            mesh=mesh,
            replicas=1 if mesh is None else replicas(module, mesh.size),
            checks_indices=checks_indices,
        ),
        ValueTable(all_on_chip=not any(on_host(argument) for argument in block.args)),
        block,
        host_fallback=host_fallback,
    )
    returned = inline(context, entry, block.args)
    block.add_op(ReturnOp(*returned))
    main = FuncOp(
        "main",
        ([argument.type for argument in block.args], [value.type for value in returned]),
        Region(block),
        visibility="public",
        arg_attrs=signature.ttir_attributes(entry, arguments, donated, mesh, shardings),
    )
    functions = [main, *filter(None, context.module.subprograms.values())]
    set_roles(functions)
    attributes = {} if mesh is None else mesh_attributes(mesh.shape, mesh.devices)
    return ModuleOp(functions, attributes), arguments, results


__all__ = ["CONVERTERS", "ImportedModule", "import_module"]
