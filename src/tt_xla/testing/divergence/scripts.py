"""Runs a script, and compares the programs that it compiles and each call of ``ttnn`` with float32."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tt_xla.errors import ExecutionError
from tt_xla.runtime.emulator.float32 import float32_call_of
from tt_xla.runtime.observation import CALLS, ObservedCall
from tt_xla.testing.divergence.float32 import Float32Copies, type_text, worse
from tt_xla.testing.divergence.parts import Comparison, Error, Line, Row
from tt_xla.testing.divergence.runs import to_array
from tt_xla.testing.divergence.subjects import Subject, recorded_subjects
from tt_xla.testing.recorded import recorded_programs
from tt_xla.testing.scripts import run_to_end, script_line

if TYPE_CHECKING:
    import torch

    from tt_xla.runtime.emulator.context import Call


@dataclass(frozen=True)
class ComparedScript:
    """Outcome of a script that was run to be compared.

    Attributes:
        calls: comparison of its calls of ``ttnn``; None if it made none.
        programs: the programs that it compiled, with the arguments of their first runs.
        error: the error that ended it early; empty without one.
    """

    calls: Comparison | None
    programs: list[Subject]
    error: str


def compare_script(script: Path, arguments: Sequence[str] = (), *, required: float = 0.99) -> ComparedScript:
    """Runs a script as ``python script.py`` does, and each of its calls of ``ttnn`` in float32 as well.

    A row's ``alone`` is the error of a call on the operands that the card computed. A row's ``running`` also has the
    errors of the calls before. Calls of one line with operands of the same types count once, with the worst of them.
    The results are the tensors whose elements the script reads. Exchanges between chips have no float32 counterpart.

    Args:
        script: path of the script.
        arguments: its command-line arguments.
        required: the least correlation that counts as agreement.

    Raises:
        ExecutionError: the script compiles no program and calls no op of ``ttnn`` on the emulated card.
    """
    observer = _CallComparer()
    ending: list[str] = []
    with CALLS.added(observer):
        recorded = recorded_programs(lambda: ending.append(run_to_end(str(script), arguments)))
    if not observer.errors and not recorded:
        raise ExecutionError(
            f"'{script}' ended with {ending[0]} before it computed anything on the card."
            if ending[0]
            else f"'{script}' compiles no program and calls no op of ttnn on the emulated card.",
            hint="It needs a call of a model compiled with torch.compile(backend='tt'), a jitted function on tt, or "
            "ops of ttnn.",
        )
    rows = [Row(Line(index, *key), *errors) for index, (key, errors) in enumerate(observer.errors.items())]
    calls = Comparison(rows, observer.results, required) if rows else None
    return ComparedScript(calls, recorded_subjects(script.name, recorded), ending[0])


class _CallComparer:
    """Runs a float32 copy of each call, and keeps the errors of both kinds."""

    def __init__(self) -> None:
        self.errors: dict[tuple[str, str, str], tuple[Error | None, Error | None]] = {}
        """Errors `alone` and `running`, by the op, the types of its results, and the line."""
        self.results: Error | None = None
        """Error of the tensors that the script read."""
        self._copies = Float32Copies()
        self._calls: dict[int, tuple[Any, Call | None]] = {}
        """Plans and their float32 kernels by ``id``; the plan is kept so that no other object gets its ``id``."""

    def called(self, call: ObservedCall) -> None:
        instruction, values = call.plan.instruction, call.plan.values
        made = ", ".join(type_text(values[index]) for index in instruction.results)
        name = instruction.op, made, script_line()
        errors = self.errors.get(name, (None, None))
        seen: set[tuple[int, ...]] = set()
        for chip in range(max(len(shards) for shards in call.results)):
            results = [_on_chip(shards, chip) for shards in call.results]
            key = tuple(map(id, results))
            if key in seen:
                continue
            seen.add(key)
            operands = [_on_chip(call.tensors[each], chip) if isinstance(each, int) else each for each in call.operands]
            alone, running = self._copies.called(self._float32_call(call.plan), operands)
            actual = [to_array(tensor) for tensor in results]
            self._copies.keep(results, running)
            errors = worse(errors[0], actual, alone), worse(errors[1], actual, running)
        self.errors[name] = errors

    def read_back(self, shards: Sequence[torch.Tensor]) -> None:
        for shard in shards:
            self.results = worse(self.results, [to_array(shard)], self._copies.of(shard))

    def _float32_call(self, plan: Any) -> Call | None:
        """Returns the float32 kernel of a call; None for an exchange between chips."""
        from tt_xla.ttnn_api.engine import Plan, context_of

        known = self._calls.get(id(plan))
        if known is None:
            alone = type(plan) is Plan
            call = float32_call_of(context_of(plan.instruction, plan.values), plan.instruction) if alone else None
            known = self._calls[id(plan)] = plan, call
        return known[1]


def _on_chip(shards: Sequence[torch.Tensor], chip: int) -> torch.Tensor:
    """Returns the shard of a chip; a single one is that of all chips."""
    return shards[chip if len(shards) > 1 else 0]
