"""Lays Programs before TT-NN: which ops it takes, which it refuses and in which words.

Every call is made on the mock device of another process. A refused op's results are replaced by tensors as the Program
says they should be, so one refusal does not hide the next.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tt_xla.codegen.calls import call_of
from tt_xla.codegen.expressions import Data, Names, python
from tt_xla.codegen.layouts import dtype, layout, memory_config
from tt_xla.codegen.mock import Mock
from tt_xla.errors import RuntimeUnavailableError
from tt_xla.ir.program import (
    CALL,
    CASE,
    DEALLOCATE,
    HOST_OPS,
    LOAD_CACHED,
    TRACE,
    WHILE_LOOP,
    Function,
    FunctionKind,
    Instruction,
    Program,
    TensorSpec,
    loop_of,
    subprograms_of,
)
from tt_xla.target import Target, load_target

L1_SMALL_BYTES = 1 << 15
"""What a runtime keeps of each core's L1 for the small tables of convolutions and pooling."""

SECONDS_PER_RUN = 3600

_WORKER = Path(__file__).with_name("worker.py")

_CALLING = (LOAD_CACHED, CALL)
_CAPTURE = "ttnn.begin_trace_capture"


@dataclass(frozen=True)
class Verdict:
    """What TT-NN said about one instruction."""

    instruction: Instruction
    function: str
    inputs: tuple[TensorSpec, ...]
    source: str
    refused: str = ""
    """TT-NN's reason; empty where it took the call."""
    differs: tuple[str, ...] = ()
    """In what a result is not as the Program says."""

    @property
    def accepted(self) -> bool:
        return not self.refused and not self.differs


@dataclass(frozen=True)
class Judgement:
    program: Program
    verdicts: tuple[Verdict, ...]
    dram_peak_bytes_per_bank: int = 0
    l1_peak_bytes_per_core: int = 0
    """Of tensors alone; TT-NN checks them against the circular buffers of each op."""
    version: str = ""
    """Of TT-NN."""

    @property
    def refusals(self) -> tuple[Verdict, ...]:
        return tuple(verdict for verdict in self.verdicts if not verdict.accepted)


@dataclass
class _Plan:
    """A Program's functions laid out as one list of steps over one list of values."""

    program: Program
    target: Target
    blob: bytearray
    values: list[TensorSpec] = field(default_factory=lambda: [])
    steps: list[tuple[Instruction, str, tuple[int, ...], str, int | None]] = field(default_factory=lambda: [])
    """Instruction, function, results, source, and the value that it frees."""

    unsized: set[int] = field(default_factory=lambda: set())
    """Values that TT-NN pads in a way of its own: the rows of prepared weights, for each place of the kernel."""

    def new(self, spec: TensorSpec) -> int:
        self.values.append(spec)
        return len(self.values) - 1

    def function(self, function: Function, arguments: Sequence[int]) -> list[int]:
        """Lays out a function; its result values."""
        numbers = dict(zip(function.arguments, arguments, strict=True))
        for instruction in function.body:
            if instruction.op in HOST_OPS:
                numbers |= {number: self.new(function.values[number]) for number in instruction.results}
            elif instruction.op == _CAPTURE:
                break  # mock mode records no traces; what is recorded ran plainly just before
            elif instruction.op in (WHILE_LOOP, CASE):
                numbers |= zip(instruction.results, self.control(instruction, numbers), strict=True)
            elif instruction.op in (*_CALLING, TRACE):
                given = [numbers[number] for number in instruction.operand_values()]
                found = self.traced(instruction, given) if instruction.op == TRACE else self.called(instruction, given)
                numbers |= zip(instruction.results, found, strict=True)
            else:
                numbers |= {number: self.new(function.values[number]) for number in instruction.results}
                self.step(function, instruction, numbers)
        return [] if function.kind is FunctionKind.TRACE_CAPTURE else [numbers[number] for number in function.results]

    def control(self, instruction: Instruction, numbers: dict[int, int]) -> list[int]:
        """One round of a loop, as all are alike; every branch of a case. The results of the last one."""
        given = instruction.operands["inputs"]
        assert isinstance(given, tuple)
        arguments = [numbers[number] for number in given]
        returned: list[int] = []
        for name in subprograms_of(instruction):
            returned = self.function(self.program.function(name), arguments)
        return returned if instruction.op == CASE else [returned[index] for index in loop_of(instruction).outputs]

    def called(self, instruction: Instruction, given: Sequence[int], callee: str = "callee") -> list[int]:
        return self.function(self.program.function(instruction.attributes[callee]), given)

    def traced(self, instruction: Instruction, given: Sequence[int]) -> list[int]:
        """A trace's first run; its results lie in the last slots."""
        slots = self.called(instruction, [], "allocate_slots_callee")
        self.called(instruction, [*given, *slots], "capture_callee")
        return slots[len(slots) - len(instruction.results) :]

    def step(self, function: Function, instruction: Instruction, numbers: dict[int, int]) -> None:
        call = call_of(instruction, function.values, self.target)
        names = Names(value=lambda number: f"v[{numbers[number]}]", data=self.data)
        results = tuple(numbers[number] for number in instruction.results)
        if instruction.op in ("ttnn.prepare_conv2d_weights", "ttnn.prepare_conv_transpose2d_weights"):
            self.unsized.update(results)
        frees = instruction.operands["input"] if instruction.op == DEALLOCATE else None
        freed = numbers[frees] if isinstance(frees, int) else None
        self.steps.append((instruction, function.name, results, python(call, names), freed))

    def data(self, data: Data) -> str:
        offset = len(self.blob)
        self.blob.extend(data.elements)
        kind, shape = data.spec.layout.dtype, list(data.spec.shape)
        rest = f"{dtype(kind).text}, {layout(data.spec.layout.tiled).text}"
        return f"data({offset}, {len(data.elements)}, {kind.value!r}, {shape}, {rest})"

    def inputs(self, instruction: Instruction, function: Function) -> tuple[TensorSpec, ...]:
        return tuple(function.values[number] for number in instruction.operand_values())

    def as_job(self, arguments: Sequence[int]) -> dict[str, Any]:
        return {
            "arguments": [number for number in arguments if not self.values[number].layout.dtype.is_host_only],
            "values": [self._spec(number) for number in range(len(self.values))],
            "steps": [
                {"source": source, "results": list(results), "frees": freed}
                for _, _, results, source, freed in self.steps
            ],
        }

    def _spec(self, number: int) -> dict[str, Any] | None:
        """A value in TT-NN's terms; None for element types that stay on the host."""
        spec = self.values[number]
        if spec.layout.dtype.is_host_only:
            return None
        memory = memory_config(spec.layout, self.target.grid)
        return {
            "shape": list(spec.shape),
            "dtype": dtype(spec.layout.dtype).text,
            "layout": layout(spec.layout.tiled).text,
            "memory": python(memory, Names(value=str)),
            "bytes": spec.layout.bytes if number not in self.unsized else None,
        }


def judge(programs: Sequence[Program], mock: Mock) -> list[Judgement]:
    """Makes every call of every Program in TT-NN's mock mode.

    Raises:
        RuntimeUnavailableError: TT-NN does not start, or stops outside of a call.
        UnsupportedOpError: an op has no row in the table of calls.
    """
    blob = bytearray()
    plans: list[_Plan] = []
    jobs: list[dict[str, Any]] = []
    for program in programs:
        plan = _Plan(program, load_target(program.target), blob)
        entry = program.functions[0]
        arguments = [plan.new(entry.values[number]) for number in entry.arguments]
        plan.function(entry, arguments)
        plans.append(plan)
        jobs.append(plan.as_job(arguments))
    with tempfile.TemporaryDirectory(prefix="tt-xla-judge-") as folder:
        lines = _run(Path(folder), blob, jobs, mock)
    by_program: dict[int, list[dict[str, Any]]] = {}
    for line in lines:
        by_program.setdefault(line.get("program", -1), []).append(line)
    version = by_program[-1][0]["ttnn"]
    return [_judgement(plan, by_program.get(index, []), version) for index, plan in enumerate(plans)]


def _run(folder: Path, blob: bytearray, jobs: list[dict[str, Any]], mock: Mock) -> list[dict[str, Any]]:
    """Runs the worker, again after a crash from the step that follows; the lines of its reports."""
    job, data, report = folder / "job.json", folder / "blob", folder / "report"
    data.write_bytes(blob)
    job.write_text(json.dumps({"blob": str(data), "l1_small_size": L1_SMALL_BYTES, "programs": jobs}))
    report.touch()
    lines: list[dict[str, Any]] = []
    first = (0, 0)
    while True:
        seen = len(lines)
        command = [mock.python, _WORKER, job, report, *map(str, first)]
        done = subprocess.run(
            command, env=mock.environment, cwd=folder, capture_output=True, timeout=SECONDS_PER_RUN, check=False
        )
        lines = [json.loads(line) for line in report.read_text().splitlines()]
        if lines and "done" in lines[-1]:
            return lines
        if len(lines) == seen or "step" not in lines[-1]:
            said = done.stderr.decode(errors="replace").strip()[-1000:]
            raise RuntimeUnavailableError(f"TT-NN stopped with status {done.returncode}: {said or 'it said nothing'}.")
        last = lines[-1]
        last["refused"] = f"TT-NN crashed with status {done.returncode}"
        report.write_text("".join(json.dumps(line) + "\n" for line in lines))
        first = (last["program"], last["step"] + 1)


def _judgement(plan: _Plan, lines: list[dict[str, Any]], version: str) -> Judgement:
    found: dict[int, dict[str, Any]] = {}
    for line in lines:
        found.setdefault(line["step"], {}).update(line)
    verdicts: list[Verdict] = []
    by_name = {function.name: function for function in plan.program.functions}
    for index, (instruction, name, _, source, _) in enumerate(plan.steps):
        said = found[index]
        verdicts.append(
            Verdict(
                instruction,
                name,
                plan.inputs(instruction, by_name[name]),
                source,
                said.get("refused", ""),
                tuple(said.get("differs", ())),
            )
        )
    used = [line["used"] for line in lines if "used" in line]
    dram, l1 = (max((at[space] for at in used), default=0) for space in ("dram", "l1"))
    return Judgement(plan.program, tuple(verdicts), dram, l1, version)
