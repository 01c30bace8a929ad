"""The report of a fault in fused kernels."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Sequence

from tt_xla import environment
from tt_xla.runtime.binding import Step
from tt_xla.runtime.emulator import report as faults
from tt_xla.runtime.emulator.fused.build import compiler


def report(error: Exception, doing: str, steps: Sequence[Step], source: str) -> None:
    """Logs a fault, the first time in this process, with the path of a file that says what is needed to repeat it.

    Args:
        error: the fault.
        doing: what failed, as in "compiling".
        steps: instructions of the program.
        source: the generated C++, as far as it was written.
    """
    faults.report(
        error,
        name="fused-kernels",
        failed=f"Fused kernels failed while {doing}",
        outcome="the program goes on without them, with the same results",
        details=lambda: _details(error, steps, source),
    )


def _details(error: Exception, steps: Sequence[Step], source: str) -> Iterable[str]:
    said = error.stderr if isinstance(error, subprocess.CalledProcessError) else b""
    return [
        f"compiler {compiler()}, TTXLA_EMULATOR_CHAINS={environment.emulator_chains()}",
        "Output of the compiler",
        said.decode(errors="replace") if isinstance(said, bytes) else str(said),
        "Instructions",
        *map(_instruction, steps),
        "",
        "C++",
        source,
    ]


def _instruction(step: Step) -> str:
    if step.context is None:
        return f"  {step.instruction.op}"
    specs = ", ".join(f"{spec.layout.dtype.value}{list(spec.shape)}" for spec in step.context.specs)
    return f"  {step.instruction.results} = {step.instruction.op}{step.inputs} {step.instruction.attributes} [{specs}]"
