"""The subject of a search for precisions: a program's module, its arguments and its results in float32."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tt_xla.errors import ExecutionError, TTXLAError
from tt_xla.options import CompileOptions
from tt_xla.profiling.tune.reference import float32_results
from tt_xla.profiling.workload import MODULES

if TYPE_CHECKING:
    from tt_xla.ir.program import Program


@dataclass(frozen=True)
class Subject:
    """A program with the inputs that its accuracy is measured on."""

    source: str
    """Text of the StableHLO module."""
    name: str
    """Name of the program."""
    options: dict[str, Any]
    """Compile options that the program was compiled with."""
    arguments: list[Any]
    """Argument tensors of the program's first run."""
    expected: list[Any]
    """Result tensors in float32."""
    layers_elsewhere: list[str] = field(default_factory=list)
    """Names of layers that only other programs of the script have."""
    has_several_programs: bool = False
    """Whether some program of the script with layers lacks layers of another one."""
    sources: tuple[str, ...] = ()
    """Files that the script consists of."""
    inexact: str = ""
    """Reason why the expected results are of exact arithmetic in the program's own types; empty for float32."""

    def save(self, path: Path) -> None:
        """Writes the subject to a file; readers see the whole file or none."""
        import torch

        part = path.with_suffix(".part")
        torch.save(asdict(self), part)
        os.replace(part, path)

    @staticmethod
    def load(path: Path) -> Subject:
        """Reads the file that :meth:`save` wrote."""
        import torch

        return Subject(**torch.load(path))

    def compiled(self, options: CompileOptions) -> Program:
        """Compiles the program with other options."""
        from tt_xla.compiler import compile_module, parse_module
        from tt_xla.environment import selected_system
        from tt_xla.target import load_target

        return compile_module(parse_module(self.source), options, load_target(selected_system()), name=self.name)

    def results(self, program: Program) -> list[Any]:
        """Runs a program of :meth:`compiled` on the arguments and returns its result tensors."""
        from tt_xla.runtime import get_device

        arguments = [tensor.clone() for tensor in self.arguments]
        return get_device().load(program).run(arguments, [None] * len(arguments))


def recorded_subject(program: str, arguments: Sequence[str]) -> Subject:
    """Runs a script, or a module on random arguments, and returns the program that takes most device time.

    Args:
        program: Path of a script, of an experiment's YAML file or of a StableHLO module.
        arguments: The script's command-line arguments.

    Raises:
        ExecutionError: The script fails, or none of its programs has layers.
    """
    if program.endswith(MODULES):
        return _of_module(program)
    from tt_xla.profiling.precision.layer_times import layer_times
    from tt_xla.profiling.scripts import run_recorded
    from tt_xla.profiling.steps import Enough
    from tt_xla.profiling.tune.trial import STEPS, seed
    from tt_xla.profiling.tune.trial_log import sources_of
    from tt_xla.profiling.workload import resolve

    script, script_arguments = resolve(program, list(arguments))
    seed()
    recording = run_recorded(script, script_arguments, enough=Enough(STEPS), keep_arguments=True)
    if recording.error:
        raise ExecutionError(
            f"'{program}' does not run: {recording.error}.",
            hint="Run it by itself first. Options of this command come before the script.",
        )
    ran = {run.program for run in recording.runs}
    times = {number: layer_times(recording.programs[number].program) for number in ran}
    layers = {number: frozenset[str]().union(*found) for number, found in times.items() if found}
    if not layers:
        raise ExecutionError(
            f"No program of '{program}' has layers: no matrix product or convolution has a parameter as its weight.",
            hint="Compile a torch.nn.Module with backend 'tt', or mark the parameters of a JAX function with "
            "tt_jax.mark_parameters.",
        )
    number = recording.longest_program(layers)
    compiled, source = recording.programs[number].program, recording.source_of(number)
    if not source:
        raise ExecutionError(
            f"'{program}' loads a program that was compiled before, so its layers cannot be compiled anew.",
            hint="Run it without a cache of compiled programs.",
        )
    everything = frozenset[str]().union(*layers.values())
    return replace(
        _with_expected(source, compiled, recording.arguments[number]),
        sources=sources_of(script),
        layers_elsewhere=sorted(everything - layers[number]),
        has_several_programs=any(found != everything for found in layers.values()),
    )


def _of_module(path: str) -> Subject:
    from tt_xla.compiler import parse_module
    from tt_xla.compiler.stablehlo.untrusted import checked
    from tt_xla.profiling.tune.trial import random_arguments

    module = parse_module(checked(Path(path).read_bytes(), path), path)
    source = module.operation.get_asm(enable_debug_info=True)
    program = Subject(source, "main", {}, [], []).compiled(CompileOptions.parse())
    return _with_expected(source, program, random_arguments(program))


def _with_expected(source: str, program: Program, arguments: list[Any]) -> Subject:
    """Returns the subject of a program, with the results that XLA computes in float32 on the CPU."""
    subject = Subject(source, program.name, program.options, arguments, [])
    try:
        return replace(subject, expected=float32_results(source, program.name, arguments))
    except TTXLAError as error:
        options = replace(CompileOptions(**program.options), numerics="exact", enable_trace=False)
        exact = subject.results(subject.compiled(options))
        return replace(subject, expected=exact, inexact=str(error).splitlines()[0])
