"""Compiles and loads StableHLO modules: the one place where the frontend meets compiler and runtime.

Compiled graphs (:mod:`.executor`) and recorded ops (:mod:`.device.programs`) share the programs that this module keeps.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Container, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import torch

from tt_xla.environment import selected_system
from tt_xla.frontends.torch import program_cache, session, settings
from tt_xla.frontends.torch.custom_ops import COLLECTIVE, FULL_TO_SHARD, MARK, SHARD_TO_FULL
from tt_xla.frontends.torch.device.placements import ChipMesh, Placement, default_mesh, meshes_of
from tt_xla.frontends.torch.saved_module import SavedModule, saved
from tt_xla.ir.mesh import Mesh
from tt_xla.ir.program import Program
from tt_xla.options import CompileOptions
from tt_xla.stage_times import LOADING, stage

if TYPE_CHECKING:
    from tt_xla.codegen.export import GraphProgram
    from tt_xla.runtime.executable import Executable
    from tt_xla.target import Target

Callee = Callable[..., list[torch.Tensor]]
"""Runs a program. Takes argument tensors, their content versions and, optionally, the arguments that it may write to by
position. Returns the results."""


class Keeping(Protocol):
    """A loaded program whose results may stay in the memory of a card."""

    def run_keeping(self, tensors: Sequence[Any], versions: Sequence[int | None], donated: Container[int]) -> list[Any]:
        """Runs the program and returns a handle for each result."""
        ...

    def takes(self, position: int, tensor: object) -> bool:
        """Returns whether a handle can be passed for an argument."""
        ...


class Loaded(NamedTuple):
    """A program that can be run.

    Attributes:
        run: runs it.
        written: positions of the arguments that it writes to.
        executable: the runtime's object, which may keep parameters in a form of its own; None in tests and for programs
            for several chips.
        placements: placement of each result of a program for several chips; None for other programs.
        keeping: runs it and leaves the results on a card; None if they come to the host.
        chosen: placement of each argument if the compiler chose those of some; else empty.
    """

    run: Callee
    written: frozenset[int] = frozenset()
    executable: Executable | None = None
    placements: Sequence[Placement | None] | None = None
    chosen: Sequence[Placement | None] = ()
    keeping: Keeping | None = None

    @property
    def call(self) -> Callee:
        """The function that runs it; results stay on a card where they can."""
        return self.run if self.keeping is None else self.keeping.run_keeping


class _Programs(dict[tuple[str, CompileOptions, str], Program]):
    """The session's programs by hash of the module, options and system, the least recently requested first."""


MOST_PROGRAMS = 512
"""Number of compiled programs that are kept; the least recently requested end first."""


@stage(LOADING)
def compile_and_load(
    module: Any,
    options: CompileOptions,
    part: GraphProgram | None = None,
    placements: Sequence[Placement | None] = (),
    chip: int = 0,
) -> Loaded:
    """Compiles a StableHLO module, or finds its program in a cache, and loads it on a chip or on those of a mesh.

    Args:
        module: StableHLO module of ``jaxlib.mlir``, or a :class:`SavedModule` without marks or collectives.
        options: compile options.
        part: place of the program in the source of a model that is exported in several programs.
        placements: placement of each argument on a mesh; an empty sequence or Nones where there is none.
        chip: number of the chip that runs a program without a mesh.

    Raises:
        CompileError: the module cannot be compiled, or tensors are on different chips.
        ResourceExhaustedError: the program does not fit on the device.
    """
    from tt_xla.codegen.export import exporting
    from tt_xla.frontends.torch.lanes import show_chips_if_built
    from tt_xla.runtime import get_device
    from tt_xla.target import load_target

    show_chips_if_built()
    text = module.digest if isinstance(module, SavedModule) else str(module)
    system = selected_system()
    names_meshes = any(target in text for target in (MARK, FULL_TO_SHARD, SHARD_TO_FULL))
    meshes = meshes_of(placements, _marked_meshes(module) if names_meshes else ())
    if not meshes and COLLECTIVE in text:
        meshes = _listed(default_mesh())
    if not meshes and chip:
        options = replace(options, auto_sharding="")
    if not meshes and options.auto_sharding:
        meshes = _listed(_mesh_to_split_over(options, load_target(system)))
    if meshes:
        from tt_xla.frontends.torch.partitioning import partitioned

        module = partitioned(module, placements, meshes, open_arguments=bool(options.auto_sharding))
        text = str(module)
    devices = meshes[0][1] if meshes else ()
    digest = text if isinstance(module, SavedModule) else hashlib.sha256(text.encode()).hexdigest()
    key = (f"{devices}{digest}", options.of_program, system)
    modules: dict[str, str] = {}
    cache = None if options.export_path else program_cache.current()  # an export needs the modules of a compilation
    programs = session.current.part(_Programs)
    program = None if options.generates_source else programs.pop(key, None)
    if program is None and cache is not None:
        program = cache.load(key)
    if program is None:
        program = _found_or_compiled(module, options, devices, modules, cache is not None)
        if cache is not None:
            cache.store(key, program, modules)
    programs[key] = program
    while len(programs) > MOST_PROGRAMS:
        del programs[next(iter(programs))]
    program = program.with_trap(options.trap)
    device = get_device(chip=chip)
    device.count_tensors("torch", partial(_tensor_bytes, chip))
    written = frozenset(position for position, argument in enumerate(program.arguments) if argument.written)
    if program.mesh is not None and meshes:
        from tt_xla.frontends.torch.partitioning import PartitionedRun
        from tt_xla.runtime.mesh.shards import join

        partitions = device.load_mesh(program, devices)
        exported = exporting(program, modules, partitions.run, part, join)
        run = PartitionedRun(partitions, exported, meshes)
        chosen = run.argument_placements if options.auto_sharding else ()
        if partitions.keeps_results and exported == partitions.run:
            return Loaded(run, written, None, run.placements, chosen, run)
        return Loaded(run, frozenset(), None, run.placements, chosen)
    executable = device.load(program)
    run = exporting(program, modules, executable.run, part)
    keeps = executable.keeps_results and run == executable.run
    return Loaded(run, written, executable, keeping=executable if keeps else None)


def _tensor_bytes(chip: int) -> int:
    """Returns the bytes that the current session's tensors have on a chip."""
    return session.current.memory[chip].allocated


def _found_or_compiled(
    module: Any, options: CompileOptions, devices: Sequence[int], modules: dict[str, str], needs_texts: bool
) -> Program:
    """Returns the program of a module, from the cache on disk if it has it.

    Args:
        module: StableHLO module.
        options: compile options.
        devices: number of the device at each position of the module's mesh.
        modules: receives the text of the module at each stage if somebody needs it.
        needs_texts: whether somebody does who is not named by the options.
    """
    from tt_xla.compiler import compile_module
    from tt_xla.frontends import stored_programs
    from tt_xla.frontends.torch.private.names import optional
    from tt_xla.target import load_target

    artifacts = optional("artifacts")
    record_program = artifacts.record_program if artifacts else _record_nothing
    target = load_target(selected_system())
    stores = stored_programs.is_used(options)
    key = (
        stored_programs.program_key(saved(module).located_digest, options.of_program, target, devices) if stores else ""
    )
    if stores and not needs_texts and (program := stored_programs.stored(key, record_program)) is not None:
        return program
    dumps = modules if options.generates_source or needs_texts else None
    parsed = module.parsed() if isinstance(module, SavedModule) else module
    program = compile_module(parsed, options, target, dumps=dumps, devices=devices)
    if stores:
        stored_programs.store(key, program, record_program)
    return program


def _record_nothing(key: str, contents: bytes) -> None:
    """Takes the place of PyTorch's record of artifacts where it has none."""


def _listed(mesh: ChipMesh | None) -> list[ChipMesh]:
    return [] if mesh is None else [mesh]


def _marked_meshes(module: Any) -> Sequence[ChipMesh]:
    from tt_xla.frontends.torch.partitioning import marked_meshes

    return marked_meshes(module)


def _mesh_to_split_over(options: CompileOptions, target: Target) -> ChipMesh | None:
    """Returns the mesh of ``auto_sharding`` for a program without placements, and the chip at each position.

    It is the global mesh, unless the option asks for another shape; without one, a mesh of all chips. None for one
    chip.

    Raises:
        MeshError: the system cannot form the mesh.
    """
    from tt_xla.compiler.auto_sharding import axis_names
    from tt_xla.target import bound_devices, natural_shape

    mesh, shape = default_mesh(), options.auto_sharding_shape
    if mesh is not None and shape in ((), mesh[0].shape):
        return mesh
    shape = shape or natural_shape(target, target.chips)
    bound_devices(target, shape)
    return (Mesh(shape, axis_names(len(shape))), tuple(range(math.prod(shape)))) if max(shape) > 1 else None


def compiled_programs() -> list[Program]:
    """Returns the programs compiled in this session. The one requested last is at the end."""
    return list(session.current.part(_Programs).values())


def clear_programs() -> None:
    """Forgets every compiled program. Models compile again at their next call."""
    session.current.part(_Programs).clear()
    settings.renew()


__all__ = ["Callee", "Keeping", "Loaded", "clear_programs", "compile_and_load", "compiled_programs"]
