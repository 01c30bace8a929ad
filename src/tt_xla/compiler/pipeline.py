"""The compiler: from StableHLO to a Program.

StableHLO --> TTIR --> TTNN --> Program

Modules of TTIR and TTNN enter it where they are.
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import logging
import math
import time
from collections.abc import Container, Iterable, Sequence
from typing import Any, TypeAlias

import msgspec
from jaxlib.mlir import ir
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import DiagnosticException, VerifyException

from tt_xla.collector import collector_paused
from tt_xla.compiler import (
    auto_sharding,
    emit_program,
    importing,
    plan_memory,
    stablehlo,
    ttir_to_ttnn,
)
from tt_xla.compiler.device_module import wrapped
from tt_xla.compiler.dumps import dumper
from tt_xla.compiler.mlir_context import module_text
from tt_xla.compiler.recording import RECORDERS, Compilation
from tt_xla.compiler.rewriting import Change, Changes
from tt_xla.compiler.sharding import Localised
from tt_xla.compiler.stablehlo.graph_key import graph_key
from tt_xla.compiler.stages import TTIR_STAGES, TTNN_STAGES, Stage, always, choose_op_layouts, is_exact
from tt_xla.compiler.ttnn.layouts.explain import Choice
from tt_xla.errors import OptionError, TTXLAError, VerificationError
from tt_xla.ir.program import Program
from tt_xla.ir.text import print_module
from tt_xla.ir.ttnn.memory import DeallocateOp
from tt_xla.log import VERBOSE, logger
from tt_xla.options import CompileOptions
from tt_xla.progress import show_progress
from tt_xla.stage_times import COMPILING, note
from tt_xla.stage_times import stage as timed_stage
from tt_xla.target import Target

Menus: TypeAlias = dict[str, list[dict[str, Any]]]
"""The layouts and configs that an override may choose for each op, as plain data, by the name of the op."""


def _explaining(stages: Iterable[Stage], choices: list[Choice] | None, menus: Menus | None) -> list[Stage]:
    """Returns the stages, with ttnn-choose-layouts changed to tell its choices with their reasons, and the menus.

    For the menus it runs at every level; below level 2 it changes no layout.
    """
    run = functools.partial(choose_op_layouts, choices=choices, menus=menus)
    changes: dict[str, Any] = {"run": run} if menus is None else {"run": run, "when": always}
    return [dataclasses.replace(stage, **changes) if stage.run is choose_op_layouts else stage for stage in stages]


LOWERING = "ttir-to-ttnn"
"""Name of the step between TTIR and TTNN stages."""


def stage_named(name: str) -> Stage:
    """Returns the stage with a name. If several stages have the name, returns the last, which does the most.

    Raises:
        OptionError: no stage has the name; the hint lists similar names.
    """
    known = {stage.name: stage for stage in (*TTIR_STAGES, *TTNN_STAGES)}
    if name not in known:
        near = difflib.get_close_matches(name, [*known, LOWERING], n=3, cutoff=0.5)
        hint = f"Similar names are {', '.join(near)}." if near else f"Known are {', '.join([*known, LOWERING])}."
        raise OptionError(f"No pass is named '{name}'.", hint=hint)
    return known[name]


def lower(module: ModuleOp, options: CompileOptions) -> ModuleOp:
    """Lowers a TTIR module to TTNN.

    A program with a trace prepares its weights beforehand, because a trace holds work of the device only.
    """
    prepare = options.optimization_level >= 1 or options.enable_trace
    return ttir_to_ttnn.run(module, prepare_weights=prepare, exact=is_exact(options))


_BY_PATTERNS = (
    *("ttir-fold", "ttir-join-collectives", "ttir-move-through-collectives", "ttir-fuse", "ttir-sink-permutes"),
    "ttnn-fuse",
)
"""Stages that apply patterns one by one, so that a limit on changes can stop them between two changes."""

OPTIONAL = (
    *("ttir-fold", "ttir-join-collectives", "ttir-move-through-collectives", "ttir-fuse", "ttir-sink-permutes"),
    *("ttir-add-bias-before-all-reduce", "ttir-merge-all-reduces", "ttir-cse", "ttnn-fuse", "ttnn-propagate-row-major"),
    *("ttnn-hoist-loop-invariants", "ttnn-hoist-const-eval", "ttnn-reshape-row-major", "ttnn-choose-layouts"),
)
"""Stages without which most programs still compile."""


def run_stages(
    module: ModuleOp,
    stages: Iterable[Stage],
    options: CompileOptions,
    target: Target,
    *,
    verify: bool = False,
    changes: Changes | None = None,
) -> None:
    """Runs the stages that the options ask for.

    Args:
        module: the module, which is changed in place.
        verify: whether to check the module after each stage. Log level VERBOSE also checks it, and logs its text.
        changes: counts the changes by stages of ``OPTIONAL``, and limits them.

    Raises:
        TTXLAError: a stage fails, or leaves a module that breaks a rule of its dialect.
    """
    log = logger()
    for stage in stages:
        if not stage.when(options):
            continue
        note(stage.name)
        try:
            _run_stage(stage, module, options, target, changes)
        except DiagnosticException as error:
            raise _cause(error) from None
        verbose = log.isEnabledFor(VERBOSE)
        if verify or verbose:
            verify_module(module, stage.name)
        if verbose:
            log.log(VERBOSE, "MLIR Module after %s:\n%s", stage.name, print_module(module))


def _run_stage(
    stage: Stage, module: ModuleOp, options: CompileOptions, target: Target, changes: Changes | None
) -> None:
    if changes is None or stage.name not in OPTIONAL:
        stage.run(module, options, target)
    elif stage.name in _BY_PATTERNS:
        with changes.counting(stage.name):
            stage.run(module, options, target)
    elif not changes.exhausted:
        changes.applied.append(Change(stage.name))
        stage.run(module, options, target)


def compile_module(
    module: ir.Module | Localised | ModuleOp,
    options: CompileOptions,
    target: Target,
    *,
    name: str = "main",
    dumps: dict[str, str] | None = None,
    choices: list[Choice] | None = None,
    menus: Menus | None = None,
    without: Container[str] = (),
    changes: Changes | None = None,
    devices: Sequence[int] = (),
) -> Program:
    """Compiles a module.

    Args:
        module: the module, which is left unchanged: StableHLO, or what the localiser made of it, or TTIR or TTNN.
        options: the compile options.
        target: the system to compile for.
        name: name of the Program.
        dumps: receives the text of the module at each of the stages vhlo, shlo, ttir and ttnn, from its own dialect on.
        choices: receives the layout of each op at level 2, and the reason for it.
        menus: receives, by name of an op, the layouts and configs that an override may choose for it.
        without: names of stages to leave out.
        changes: counts the changes by optional stages and limits them, to find the change that makes a program wrong.
        devices: number of the device at each position of the module's mesh; by default the first ones, in order.

    Raises:
        CompileError: the module cannot become a Program; with the user's source line where it is known.
        ResourceExhaustedError: the Program does not fit in the target's memory.
    """
    show_progress()
    with collector_paused(), timed_stage(COMPILING):
        if not RECORDERS:
            return _compile(module, options, target, name, dumps, choices, menus, without, changes, devices)
        return _compile_recorded(module, options, target, name, dumps, choices, menus, without, changes, devices)


def _compile_recorded(
    module: ir.Module | Localised | ModuleOp,
    options: CompileOptions,
    target: Target,
    name: str,
    dumps: dict[str, str] | None,
    choices: list[Choice] | None,
    menus: Menus | None,
    without: Container[str],
    changes: Changes | None,
    devices: Sequence[int],
) -> Program:
    needs_texts = any(recorder.texts for recorder in RECORDERS)
    if dumps is None and needs_texts:
        dumps = {}
    compilation = Compilation(name, {} if dumps is None else dumps, options=options)
    if needs_texts:
        compilation.source = _source_text(module)
    for recorder in RECORDERS:
        recorder.compilations.append(compilation)
    try:
        compilation.program = _compile(module, options, target, name, dumps, choices, menus, without, changes, devices)
    except BaseException as error:
        compilation.error = error
        raise
    finally:
        compilation.ended = time.perf_counter_ns()
    return compilation.program


def _compile(
    module: ir.Module | Localised | ModuleOp,
    options: CompileOptions,
    target: Target,
    name: str,
    dumps: dict[str, str] | None,
    choices: list[Choice] | None,
    menus: Menus | None,
    without: Container[str],
    changes: Changes | None,
    devices: Sequence[int],
) -> Program:
    log = logger()
    started = time.perf_counter()
    if options.auto_sharding and not isinstance(module, Localised | ModuleOp):
        module = split_arguments(module, options, target, name, devices)
    program = _program(module, options, target, name, dumps, choices, menus, without, changes, devices)
    for host_op in program.host_ops:
        log.info("%s runs %s on the host", name, host_op)
    log.info("compiled %s for %s in %.1f ms", name, target.name, (time.perf_counter() - started) * 1e3)
    return program


def _program(
    module: ir.Module | Localised | ModuleOp,
    options: CompileOptions,
    target: Target,
    name: str = "main",
    dumps: dict[str, str] | None = None,
    choices: list[Choice] | None = None,
    menus: Menus | None = None,
    without: Container[str] = (),
    changes: Changes | None = None,
    devices: Sequence[int] = (),
) -> Program:
    """Runs the pipeline."""
    record = dumper(options, dumps, logger())
    if not isinstance(module, ModuleOp):
        record("vhlo", lambda: stablehlo.print_vhlo(_source(module)))
        record("shlo", lambda: str(_source(module)))
    imported = importing.run(module, options, target, devices)
    if isinstance(module, ModuleOp) or logger().isEnabledFor(VERBOSE):  # a user's text, or somebody looks for a fault
        verify_module(imported.module, "import")
    if imported.in_ttnn:
        ttnn_module, ttnn_stages = imported.module, stages_after_layouts(imported.module)
    else:
        ttir_module, ttnn_stages = imported.module, _explaining(TTNN_STAGES, choices, menus)
        record("ttir", lambda: print_module(wrapped(ttir_module, target), locations=True))
        ttir_stages = [stage for stage in TTIR_STAGES if stage.name not in without]
        run_stages(ttir_module, ttir_stages, options, target, changes=changes)
        ttnn_module = lower(ttir_module, options)
    chosen_stages = [stage for stage in ttnn_stages if stage.name not in without]
    run_stages(ttnn_module, chosen_stages, options, target, changes=changes)
    verify_module(ttnn_module, "the TTNN stages")
    record("ttnn", lambda: print_module(wrapped(ttnn_module, target), locations=True))
    program = emit_program.emit(ttnn_module, name, imported.arguments, imported.results, options, target, imported.mesh)
    graph = None
    if (options.generates_source or options.loads_source) and not isinstance(module, ModuleOp):
        graph = graph_key(_source(module))
    return msgspec.structs.replace(program, memory=plan_memory.run(program, target), graph=graph)


def split_arguments(
    module: ir.Module, options: CompileOptions, target: Target, name: str, devices: Sequence[int] = ()
) -> ir.Module:
    """Returns a module with the shardings that ``auto_sharding`` chooses for the arguments that have none.

    For a system of one chip that is the module itself.

    Args:
        module: a StableHLO module, which is left unchanged.
        options: the compile options.
        target: the system.
        name: name of the program, for the log.
        devices: number of the device at each position of the mesh; by default the first ones, in order.

    Raises:
        TTXLAError: the module is for another mesh than the option's, the system cannot form the mesh, or no choice of
            shardings compiles and fits.
    """
    shape = options.auto_sharding_shape
    if math.prod(shape or (target.chips,)) == 1:
        return module
    outcome = search_shardings(module, shape, options, target, devices).run()
    log = logger()
    if log.isEnabledFor(logging.INFO):
        log.info("auto_sharding of %s: %s", name, outcome.summary())
    return outcome.module


def search_shardings(
    module: ir.Module, shape: Sequence[int], options: CompileOptions, target: Target, devices: Sequence[int] = ()
) -> auto_sharding.Search:
    """Returns a search for the shardings with which a module is predicted to be fastest.

    Args:
        module: a StableHLO module, for one chip or several. Shardings that it states stay as they are.
        shape: shape of the mesh; empty for that of the module, or for one of all chips of the system.
        options: the compile options.
        target: the system.
        devices: number of the device at each position of the mesh; by default the first ones, in order.
    """
    plain = dataclasses.replace(options, auto_sharding="")

    def compiled(candidate: ir.Module) -> Program:
        return _program(candidate, plain, target, devices=devices)

    return auto_sharding.Search(module, shape, target, compiled, devices)


def stages_after_layouts(module: ModuleOp) -> list[Stage]:
    """Returns the stages for a module that is TTNN already, whose layouts, weights and traces are decided.

    They free tensors after their last use if the module frees none itself.
    """
    frees = any(isinstance(op, DeallocateOp) for op in module.walk())
    return [] if frees else [stage_named("ttnn-deallocate")]


def _source_text(module: ir.Module | Localised | ModuleOp) -> str:
    """Returns the text of a module with its locations, of StableHLO as the front end wrote it."""
    if isinstance(module, ModuleOp):
        return print_module(module, locations=True)
    return module_text(_source(module), locations=True)


def _source(module: ir.Module | Localised) -> ir.Module:
    """Returns the StableHLO module as the front end wrote it, as far as it is known."""
    return (module.source or module.module) if isinstance(module, Localised) else module


def _cause(error: BaseException) -> Exception:
    """Returns our own error inside one that xDSL wraps around it, or a VerificationError if there is none."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, TTXLAError):
            return cause
        cause = cause.__cause__
    return VerificationError(f"A pass failed: {error}.", hint="This is a fault of tt-xla; please report it.")


def verify_module(module: ModuleOp, stage: str) -> None:
    """Checks that a module follows the rules of its dialects.

    Args:
        stage: name of the last stage that changed the module, for the message.

    Raises:
        VerificationError: the module breaks a rule.
    """
    try:
        module.verify()
    except (VerifyException, DiagnosticException) as error:
        logger().debug("verification failed", exc_info=error)
        reason = " ".join(str(error).partition("\n\n")[0].split())
        raise VerificationError(
            f"After {stage} the module breaks a rule: {reason}.",
            hint="This is a fault of tt-xla; please report it with the module (TTXLA_LOGGER_LEVEL=DEBUG prints it).",
        ) from None
