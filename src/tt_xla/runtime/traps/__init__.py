"""Traps: checks of each kernel call that stop a program at the first op that makes a NaN, and the like.

Option ``trap`` asks for them. They are part of a call from when it is bound, so a program without traps pays nothing.
"""

from __future__ import annotations

from tt_xla.ir.program import Function, Program
from tt_xla.runtime.binding import Step
from tt_xla.runtime.emulator.context import Call
from tt_xla.runtime.traps.indices import with_index_check
from tt_xla.runtime.traps.numbers import with_number_check
from tt_xla.runtime.traps.precision import with_precision_check
from tt_xla.runtime.traps.site import Site
from tt_xla.traps import Traps


def traps_of(program: Program) -> Traps:
    """Returns the faults that a program's options forbid."""
    return Traps.parse(str(program.options.get("trap", "")))


def trapped(traps: Traps, program: Program, function: Function, step: Step, call: Call) -> Call:
    """Returns the call of a step with the checks that it needs; the call itself if it needs none.

    Args:
        traps: the faults to check for.
        program: the program as it was loaded.
        function: the function that has the step.
        step: the step.
        call: its call.
    """
    if step.context is None:  # it runs other functions, whose calls are checked
        return call
    site = Site(step.context, step.instruction, function.kind, step.chip if program.mesh is not None else None)
    if traps.precision:
        call = with_precision_check(site, call, traps.bits)
    if traps.nan or traps.inf:
        call = with_number_check(site, call, nan=traps.nan, inf=traps.inf)
    return with_index_check(site, call) if traps.index else call


__all__ = ["trapped", "traps_of"]
