"""Traps: checks of each kernel call that stop a program at the first op that makes a NaN, and the like.

Option ``trap`` asks for them. They are part of a call from when it is bound, so a program without traps pays nothing.
"""

from __future__ import annotations

from tt_xla.ir.program import Function, Program
from tt_xla.ir.sources import line_of, weight_names
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


class Trapping:
    """Adds checks to the calls of a program.

    Args:
        traps: the faults to check for.
        program: the program, or the expansion of one with a mesh.
        on_mesh: whether it is an expansion.
    """

    def __init__(self, traps: Traps, program: Program, *, on_mesh: bool) -> None:
        self._traps, self._program, self._on_mesh = traps, program, on_mesh
        self._names = {} if on_mesh else weight_names(program)

    def checked(self, function: Function, step: Step, call: Call) -> Call:
        """Returns the call of a step of a function with the checks that it needs; the call itself if it needs none."""
        context, instruction, traps = step.context, step.instruction, self._traps
        if context is None:  # it runs other functions, whose calls are checked
            return call
        names = self._names.get(function.name, {})
        site = Site(
            context,
            instruction,
            function.kind,
            step.chip if self._on_mesh else None,
            instruction.location or line_of(self._program, function, instruction.results),
            tuple(dict.fromkeys(names[value] for value in step.inputs if value in names)),
        )
        if traps.precision:
            call = with_precision_check(site, call, traps.bits)
        if traps.nan or traps.inf:
            call = with_number_check(site, call, nan=traps.nan, inf=traps.inf)
        return with_index_check(site, call) if traps.index else call


__all__ = ["Trapping", "traps_of"]
