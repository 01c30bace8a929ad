"""The program that a module of TTIR or TTNN text contains."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from tt_xla.compiler.locations import describe
from tt_xla.compiler.meshes import mesh_of
from tt_xla.compiler.tt_modules import calls, element_types, shards, signature
from tt_xla.compiler.tt_modules.entry import isolate
from tt_xla.errors import CompileError, MalformedModuleError
from tt_xla.ir.mesh import Mesh
from tt_xla.ir.program import Argument, Result
from tt_xla.ir.ttcore import device_module
from tt_xla.ir.ttnn.attributes import TTNNLayoutAttr


@dataclass(frozen=True)
class TTProgram:
    """A program of TTIR or TTNN.

    Attributes:
        module: the functions that the program runs, outside ``ttcore.device_module``.
        arguments: arguments of its entry function.
        results: results of its entry function.
        in_ttnn: whether the module is TTNN, whose ops have their layouts already.
        mesh: the chips that the program is for; None for one chip.
    """

    module: ModuleOp
    arguments: tuple[Argument, ...]
    results: tuple[Result, ...]
    in_ttnn: bool
    mesh: Mesh | None


def program_of(module: ModuleOp) -> TTProgram:
    """Returns the program of a module of TTIR or TTNN, which is left unchanged.

    Calls in TTIR are inlined, and its element types become those that the chip holds, as in the import of StableHLO.

    Raises:
        MalformedModuleError: the module has no entry function, or several, or mixes TTIR and TTNN, or an op between
            chips does not fit the mesh.
        UnsupportedOpError: an element type is none that chip or host hold, or a function runs on upstream's host.
        CompileError: the module is TTNN for several chips.
    """
    copy = module.clone()
    inner = device_module(copy)
    if inner is not copy:
        inner.detach()
    in_ttnn, mesh = _is_ttnn(inner), mesh_of(inner)
    if in_ttnn and mesh is not None:
        raise CompileError(
            f"The module is for a mesh {mesh.shape} of {mesh.size} chips; TTNN text is for one chip.",
            hint="Compile the TTIR or StableHLO that it was made from, or predict its time with tt-xla estimate.",
        )
    entry = isolate(inner, keep_calls=in_ttnn)
    if in_ttnn:
        signature.request_devices(entry)
        signature.check_layouts(inner)
        arguments, results = signature.of_ttnn(entry)
    else:
        calls.inline(inner, entry)
        arguments, results = signature.of_ttir(entry)
        element_types.convert(inner)
        if mesh is not None:
            shards.check_collectives(inner, mesh)
            shards.replace_mesh_shards(inner, mesh)
            arguments, results = shards.sharded(entry, arguments, results, mesh)
    signature.declare(entry, arguments)
    return TTProgram(inner, arguments, results, in_ttnn, mesh)


def _is_ttnn(module: ModuleOp) -> bool:
    """Returns whether a module is TTNN; one without ops of either dialect is TTNN if its tensors have layouts.

    Raises:
        MalformedModuleError: the module has ops of both dialects.
    """
    first = {"ttir": "", "ttnn": ""}
    for op in module.walk():
        dialect = op.name.partition(".")[0]
        if not first.get(dialect, "-"):
            first[dialect] = describe(op.location) or op.name
    if first["ttir"] and first["ttnn"]:
        raise MalformedModuleError(
            f"The module mixes TTIR and TTNN: the first ops are at {first['ttir']} and at {first['ttnn']}.",
            hint="Give a module of one dialect.",
        )
    return bool(first["ttnn"]) or (not first["ttir"] and _has_layouts(module))


def _has_layouts(module: ModuleOp) -> bool:
    blocks = (block for op in module.walk() for region in op.regions for block in region.blocks)
    types = (argument.type for block in blocks for argument in block.args)
    return any(isinstance(getattr(type_, "encoding", None), TTNNLayoutAttr) for type_ in types)
