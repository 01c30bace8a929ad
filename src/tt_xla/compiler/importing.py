"""The first step of the compiler: StableHLO, for one chip or several, becomes TTIR. TTIR and TTNN stay as they are."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import msgspec
from jaxlib.mlir import ir
from xdsl.dialects.builtin import ModuleOp

from tt_xla.compiler import refine_mesh, stablehlo
from tt_xla.compiler.sharding import Localised, localise
from tt_xla.compiler.stablehlo.signature import declares_roles, entry_function
from tt_xla.compiler.tt_modules import program_of
from tt_xla.errors import CompileError
from tt_xla.ir.mesh import Mesh, Shape, Sharding
from tt_xla.ir.program import Argument, Result
from tt_xla.log import logger
from tt_xla.options import CompileOptions
from tt_xla.target import Target, bound_devices


@dataclass(frozen=True)
class Imported:
    """A module as TTIR, or as TTNN if it is that already, and what its entry function declares."""

    module: ModuleOp
    arguments: tuple[Argument, ...]
    results: tuple[Result, ...]
    mesh: Mesh | None
    """The chips that the module is for; None for one chip."""
    in_ttnn: bool = False
    """Whether the module is TTNN."""


def run(
    module: ir.Module | Localised | ModuleOp, options: CompileOptions, target: Target, devices: Sequence[int] = ()
) -> Imported:
    """Imports a StableHLO module into TTIR; a module for several chips as the program of each of them.

    Args:
        module: the module, or what the localiser made of one; or a module of TTIR or TTNN.
        options: the compile options.
        target: the system to compile for.
        devices: number of the device at each position of the module's mesh. The system chooses the chips of a mesh
            of its first devices in order, which is the default, where its links allow that.

    Raises:
        CompileError: the module cannot become TTIR, or is for more chips than the target has. TTNN is for one chip.
        MeshError: the chosen devices do not fill the mesh, or there are no links between them.
    """
    if isinstance(module, ModuleOp):
        program = program_of(module)
        mesh = None if program.mesh is None else _placed(program.mesh, devices, target)
        return Imported(program.module, program.arguments, program.results, mesh, program.in_ttnn)
    localised = module if isinstance(module, Localised) else localise(module, target.chips)
    if localised is not None:
        localised = refine_mesh.run(localised)
        localised = dataclasses.replace(localised, mesh=_placed(localised.mesh, devices, target))
        module = localised.module
    assert not isinstance(module, Localised)
    mesh = None if localised is None else localised.mesh
    if options.experimental_weight_dtype not in ("", "bf16") and not declares_roles(entry_function(module)):
        logger().warning(
            "experimental_weight_dtype=%s changes no weight: the module declares none of its arguments as one. Give "
            'them {ttcore.argument_type = "parameter"} in StableHLO, or use tt_jax.mark_parameters in JAX.',
            options.experimental_weight_dtype,
        )
    ttir_module, arguments, results = stablehlo.import_module(
        module,
        mesh=mesh,
        shardings=None if localised is None else [sharding for sharding, _ in localised.arguments],
        host_fallback=options.host_fallback,
        approximate=options.numerics != "exact",
        checks_indices=options.traps.index,
    )
    if localised is not None:
        arguments = _sharded(arguments, localised.arguments)
        results = _sharded(results, localised.results)
    return Imported(ttir_module, arguments, results, mesh)


def _placed(mesh: Mesh, devices: Sequence[int], target: Target) -> Mesh:
    """Returns a mesh on the devices that it is bound to, if any.

    Raises:
        CompileError: the mesh has more chips than the target.
        MeshError: the devices do not fill the mesh, or there are no links between them.
    """
    if mesh.size > target.chips:
        raise CompileError(
            f"The module is for a mesh {mesh.shape} of {mesh.size} chips; {target.name} has {target.chips}.",
            hint="Use a smaller mesh, or a system with more chips (TTXLA_SYSTEM).",
        )
    return msgspec.structs.replace(mesh, devices=bound_devices(target, mesh.shape, devices))


Declared = TypeVar("Declared", Argument, Result)


def _sharded(declared: tuple[Declared, ...], shardings: Iterable[tuple[Sharding, Shape]]) -> tuple[Declared, ...]:
    """Returns arguments or results with their shardings and global shapes."""
    return tuple(
        msgspec.structs.replace(one, sharding=sharding, global_shape=shape)
        for one, (sharding, shape) in zip(declared, shardings, strict=True)
    )
