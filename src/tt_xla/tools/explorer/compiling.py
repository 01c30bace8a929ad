"""The explorer's long work: compiles a program, converts its stages to nodes, and runs it beside float32.

It runs in the process of :mod:`worker`, which can be ended at any time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tt_xla.compiler import compile_module, read_module
from tt_xla.errors import TTXLAError
from tt_xla.ir.program import Argument, Function, MemoryPlan, Program, Role
from tt_xla.options import CompileOptions
from tt_xla.target import load_target
from tt_xla.tools.explorer import converting, converting_stablehlo
from tt_xla.tools.explorer.nodes import ARGUMENT, FunctionNodes
from tt_xla.tools.explorer.results import Compiled
from tt_xla.tools.explorer.subjects import Subject

Progress = Callable[[str], None]
"""Receives a line about what happens at the moment."""


class _Reported(dict[str, str]):
    """The texts of stages, each of which is reported as progress when it arrives."""

    def __init__(self, progress: Progress) -> None:
        super().__init__()
        self._progress = progress

    def __setitem__(self, stage: str, text: str) -> None:
        super().__setitem__(stage, text)
        self._progress(f"compiled to {stage}")


def known(subject: Subject, arch: str) -> Compiled | None:
    """Returns the outcome of a program that has dumps or is compiled; None if it has to be compiled."""
    stages: dict[str, str | bytes] = dict(subject.stages)
    if subject.error:
        return Compiled(stages, error=subject.error, error_location=subject.error_location)
    program = subject.program
    if program is None and "ttnn" in stages:
        program = _of_ttnn_text(subject, arch)
    return Compiled(stages, program, converting.of_program(program)) if program is not None else None


def _of_ttnn_text(subject: Subject, arch: str) -> Program:
    """Returns a Program with the functions of a dump, which may be for several chips and may have unknown ops."""
    from tt_xla.cost import predicted_device_us
    from tt_xla.tools.estimate import arch_of, ttnn_functions

    text = subject.stages["ttnn"]
    target = load_target(arch or arch_of(text))
    functions, mesh = ttnn_functions(text, subject.name, target)
    try:
        return compile_module(read_module(text, subject.name), CompileOptions.parse(), target, name=subject.name)
    except TTXLAError:  # the runtime cannot run it; its graph and its times are known
        total = predicted_device_us(functions[0], target, functions, mesh)
        arguments = _arguments(converted("ttnn", text, subject.name), functions[0])
        return Program(subject.name, target.name, {}, arguments, (), tuple(functions), MemoryPlan(), total, mesh=mesh)


def _arguments(written: Sequence[FunctionNodes], entry: Function) -> tuple[Argument, ...]:
    """Returns the arguments of a program's entry with the names and roles that its text has."""
    nodes = next(function.nodes for function in written if function.name == entry.name)
    named = [node for node in nodes if node.op == ARGUMENT]
    return tuple(
        Argument(node.argument, Role.PARAMETER if node.is_weight else Role.INPUT, spec.shape, spec.layout.dtype.value)
        for node, spec in zip(named, (entry.values[value] for value in entry.arguments), strict=True)
    )


def compiled(subject: Subject, options: Mapping[str, Any], arch: str, progress: Progress) -> Compiled:
    """Compiles a program. An error of the compiler is part of the outcome.

    Args:
        subject: the program, with its source.
        options: compile options by name.
        arch: system to compile for.
        progress: receives a line at each stage.
    """
    assert subject.source is not None
    texts = _Reported(progress)
    progress("reading the module")
    started = time.perf_counter()
    program, message, location = None, "", ""
    menus: dict[str, list[dict[str, Any]]] = {}
    try:
        module = read_module(subject.source, subject.name)
        parsed, target = CompileOptions.parse(dict(options)), load_target(arch)
        program = compile_module(module, parsed, target, name=subject.name, dumps=texts, menus=menus)
    except TTXLAError as error:
        message, location = " ".join(str(error).split()), error.location
    seconds = time.perf_counter() - started
    stages: dict[str, str | bytes] = {key: texts[key] for key in ("ttir", "ttnn") if key in texts}
    if "shlo" in texts:
        stages["stablehlo"] = subject.source  # with its locations, which the dump lacks
    elif not stages:
        stages["ttir"] = subject.source
    functions = converting.of_program(program) if program is not None else []
    return Compiled(stages, program, functions, seconds, message, location, menus)


def converted(stage: str, text: str | bytes, name: str) -> list[FunctionNodes]:
    """Returns the nodes of a module of StableHLO, TTIR or TTNN."""
    from jaxlib.mlir import ir

    from tt_xla.ir.ttcore import device_module

    module = read_module(text, name)
    if isinstance(module, ir.Module):
        return converting_stablehlo.of_stablehlo(module)
    return converting.of_xdsl(device_module(module))
