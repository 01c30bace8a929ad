"""The programs that a function compiles while it runs, with the arguments of their first runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tt_xla.compiler.recording import Compilation, recorded_compilations
from tt_xla.errors import TTXLAError
from tt_xla.options import COMPILE_OPTIONS
from tt_xla.runtime import recorded_runs


@dataclass(frozen=True)
class RecordedProgram:
    """A program that was compiled.

    Attributes:
        compilation: its texts, options and outcome.
        inputs: tensors of its first run; None if it did not run.
    """

    compilation: Compilation
    inputs: list[Any] | None

    @property
    def options(self) -> dict[str, Any]:
        """The compile options that differ from their defaults."""
        program = self.compilation.program
        if program is None:
            return {}
        return {name: value for name, value in program.options.items() if value != COMPILE_OPTIONS[name].default}


def recorded_programs(run: Callable[[], object]) -> list[RecordedProgram]:
    """Runs a function and returns the programs that it compiled, in order.

    Raises:
        TTXLAError: the function raised it before it compiled a program. A later one is part of a compilation, or ends
            the function early.
    """
    with recorded_compilations(texts=True) as compilations, recorded_runs() as runs:
        try:
            run()
        except TTXLAError:
            if not compilations:
                raise
    return [
        RecordedProgram(
            compilation,
            next((list(inputs) for program, inputs in runs if program == compilation.program), None),
        )
        for compilation in compilations
    ]


__all__ = ["RecordedProgram", "recorded_programs"]
