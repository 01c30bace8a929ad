"""Checks Programs with TT-NN: which calls it accepts, which it refuses, and why.

Another process makes every call on TT-NN's mock device. The results of a refused call are replaced by tensors as the
Program declares them, so that one refusal does not hide the next.
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
from tt_xla.codegen.expressions import Data, Name
from tt_xla.codegen.formatting import flat, node_of
from tt_xla.codegen.layouts import dtype, layout, memory_config
from tt_xla.codegen.meshes import DeviceMesh, device_mesh
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
"""Bytes of each core's L1 that are reserved for the small tables of convolutions and pooling."""

SECONDS_PER_RUN = 3600
"""Time limit for one run of the worker, in seconds."""

_CALLING = (LOAD_CACHED, CALL)
"""Ops that call one function."""

_CAPTURE = "ttnn.begin_trace_capture"


@dataclass(frozen=True)
class Verdict:
    """TT-NN's answer to the call of one instruction."""

    instruction: Instruction
    function: str
    """Name of the function that the instruction is in."""
    inputs: tuple[TensorSpec, ...]
    """Specs of the operands."""
    source: str
    """The call as Python source."""
    refused: str = ""
    """TT-NN's reason for refusing the call; empty if it accepted it."""
    differs: tuple[str, ...] = ()
    """Differences between the results and the Program's declarations."""

    @property
    def accepted(self) -> bool:
        """Whether TT-NN accepted the call and its results are as declared."""
        return not self.refused and not self.differs


@dataclass(frozen=True)
class Judgement:
    """TT-NN's answers to all calls of a Program."""

    program: Program
    verdicts: tuple[Verdict, ...]
    """One verdict for each call, in order."""
    dram_peak_bytes_per_bank: int = 0
    l1_peak_bytes_per_core: int = 0
    """Peak of tensors alone; TT-NN checks them against the circular buffers of each op."""
    version: str = ""
    """Version of TT-NN."""

    @property
    def refusals(self) -> tuple[Verdict, ...]:
        """The verdicts of calls that TT-NN refused or answered with other results than declared."""
        return tuple(verdict for verdict in self.verdicts if not verdict.accepted)


@dataclass
class _Plan:
    """The functions of a Program, flattened into one list of steps over one list of values."""

    program: Program
    target: Target
    mesh: DeviceMesh | None
    blob: bytearray
    values: list[TensorSpec] = field(default_factory=lambda: [])
    steps: list[tuple[Instruction, str, tuple[int, ...], str, int | None]] = field(default_factory=lambda: [])
    """Instruction, function, results, source, and freed value of each step."""
    unsized: set[int] = field(default_factory=lambda: set())
    """Values whose bytes are not compared.

    TT-NN pads the rows of prepared weights for each position of the kernel, and the columns of weights and bias to
    whole blocks of the cores.
    """

    def new(self, spec: TensorSpec) -> int:
        """Adds a value and returns its number."""
        self.values.append(spec)
        return len(self.values) - 1

    def function(self, function: Function, arguments: Sequence[int]) -> list[int]:
        """Adds the steps of a function and returns the numbers of its results."""
        numbers = dict(zip(function.arguments, arguments, strict=True))
        for instruction in function.body:
            if instruction.op in HOST_OPS:
                numbers |= {number: self.new(function.values[number]) for number in instruction.results}
            elif instruction.op == _CAPTURE:
                break  # mock mode records no traces; the traced function ran just before
            elif instruction.op in (WHILE_LOOP, CASE):
                numbers |= zip(instruction.results, self.control(instruction, numbers), strict=True)
            elif instruction.op in (*_CALLING, TRACE):
                operands = [numbers[number] for number in instruction.operand_values()]
                run = self.traced if instruction.op == TRACE else self.called
                numbers |= zip(instruction.results, run(instruction, operands), strict=True)
            else:
                numbers |= {number: self.new(function.values[number]) for number in instruction.results}
                self.step(function, instruction, numbers)
        return [] if function.kind is FunctionKind.TRACE_CAPTURE else [numbers[number] for number in function.results]

    def control(self, instruction: Instruction, numbers: dict[int, int]) -> list[int]:
        """Adds one round of a loop, or every branch of a case, and returns the results of the last function."""
        operands = instruction.operands["inputs"]
        assert isinstance(operands, tuple)
        arguments = [numbers[number] for number in operands]
        returned: list[int] = []
        for name in subprograms_of(instruction):
            returned = self.function(self.program.function(name), arguments)
        return returned if instruction.op == CASE else [returned[index] for index in loop_of(instruction).outputs]

    def called(self, instruction: Instruction, arguments: Sequence[int], callee: str = "callee") -> list[int]:
        """Adds the function that an attribute of a call names, and returns its results."""
        return self.function(self.program.function(instruction.attributes[callee]), arguments)

    def traced(self, instruction: Instruction, arguments: Sequence[int]) -> list[int]:
        """Adds the first run of a trace and returns its results, which are in the last slots."""
        slots = self.called(instruction, [], "allocate_slots_callee")
        self.called(instruction, [*arguments, *slots], "capture_callee")
        return slots[len(slots) - len(instruction.results) :]

    def step(self, function: Function, instruction: Instruction, numbers: dict[int, int]) -> None:
        """Adds the step of one instruction; ``numbers`` maps values of the function to values of the plan.

        A deallocation of what TT-NN has no data type for is none of its calls.
        """
        frees = instruction.operands["input"] if instruction.op == DEALLOCATE else None
        if isinstance(frees, int) and function.values[frees].layout.dtype.is_host_only:
            return
        call = call_of(instruction, function.values, self.target, self.mesh)
        source = flat(node_of(call, lambda number: f"v[{numbers[number]}]", self.data))
        results = tuple(numbers[number] for number in instruction.results)
        if instruction.op.startswith("ttnn.prepare_"):
            self.unsized.update(results)
        freed = numbers[frees] if isinstance(frees, int) else None
        self.steps.append((instruction, function.name, results, source, freed))

    def data(self, data: Data) -> Name:
        """Stores a constant in the blob and returns the expression that reads it."""
        offset = len(self.blob)
        self.blob.extend(data.elements)
        kind, shape = data.spec.layout.dtype, list(data.spec.shape)
        rest = f"{dtype(kind).text}, {layout(data.spec.layout.tiled).text}"
        return Name(f"data({offset}, {len(data.elements)}, {kind.value!r}, {shape}, {rest})")

    def as_job(self, arguments: Sequence[int]) -> dict[str, Any]:
        """Returns the plan as JSON data for the worker."""
        return {
            "arguments": [number for number in arguments if not self.values[number].layout.dtype.is_host_only],
            "values": [self._spec(number) for number in range(len(self.values))],
            "steps": [
                {"source": source, "results": list(results), "frees": freed}
                for _, _, results, source, freed in self.steps
            ],
        }

    def _spec(self, number: int) -> dict[str, Any] | None:
        """Returns a value's spec in TT-NN's names; None for element types that stay on the host."""
        spec = self.values[number]
        if spec.layout.dtype.is_host_only:
            return None
        memory = memory_config(spec.layout, self.target.grid)
        return {
            "shape": list(spec.shape),
            "dtype": dtype(spec.layout.dtype).text,
            "layout": layout(spec.layout.tiled).text,
            "memory": flat(node_of(memory, str, self.data)),
            "bytes": spec.layout.bytes if number not in self.unsized else None,
        }


def judge(programs: Sequence[Program], mock: Mock) -> list[Judgement]:
    """Makes every call of every Program in TT-NN's mock mode.

    Args:
        programs: the Programs.
        mock: interpreter, environment and script of the worker.

    Returns:
        One judgement for each Program.

    Raises:
        RuntimeUnavailableError: TT-NN does not start, or crashes outside of a call.
        UnsupportedOpError: the table of calls has no row for an op, or TT-NN has no mesh device for a program's mesh.
        MeshError: a program's mesh does not fit the links of its system.
    """
    meshes = [device_mesh(program) for program in programs]
    judgements: dict[int, Judgement] = {}
    for mesh in dict.fromkeys(meshes):
        indices = [index for index, other in enumerate(meshes) if other == mesh]
        judgements |= zip(indices, _judge_on([programs[index] for index in indices], mesh, mock), strict=True)
    return [judgements[index] for index in range(len(programs))]


def _judge_on(programs: Sequence[Program], mesh: DeviceMesh | None, mock: Mock) -> list[Judgement]:
    """Judges Programs that run on the same device: a mesh device, or one chip if ``mesh`` is None."""
    blob = bytearray()
    plans: list[_Plan] = []
    jobs: list[dict[str, Any]] = []
    for program in programs:
        plan = _Plan(program, load_target(program.target), mesh, blob)
        entry = program.functions[0]
        arguments = [plan.new(entry.values[number]) for number in entry.arguments]
        plan.function(entry, arguments)
        plans.append(plan)
        jobs.append(plan.as_job(arguments))
    with tempfile.TemporaryDirectory(prefix="tt-xla-judge-") as folder:
        lines = _run(Path(folder), blob, jobs, mesh, mock)
    by_program: dict[int, list[dict[str, Any]]] = {}
    for line in lines:
        by_program.setdefault(line.get("program", -1), []).append(line)
    version = by_program[-1][0]["ttnn"]
    return [_judgement(plan, by_program.get(index, []), version) for index, plan in enumerate(plans)]


def _run(
    folder: Path, blob: bytearray, jobs: list[dict[str, Any]], mesh: DeviceMesh | None, mock: Mock
) -> list[dict[str, Any]]:
    """Runs the worker and returns the lines of its report. After a crash it runs again from the next step."""
    job, data, report = folder / "job.json", folder / "blob", folder / "report"
    data.write_bytes(blob)
    device = None if mesh is None else {"shape": mesh.shape, "fabric": mesh.fabric}
    description = {"blob": str(data), "l1_small_size": L1_SMALL_BYTES, "mesh": device, "programs": jobs}
    job.write_text(json.dumps(description))
    report.touch()
    lines: list[dict[str, Any]] = []
    first = (0, 0)
    while True:
        line_count = len(lines)
        command = [mock.python, mock.worker, job, report, *map(str, first)]
        done = subprocess.run(
            command, env=mock.environment, cwd=folder, capture_output=True, timeout=SECONDS_PER_RUN, check=False
        )
        lines = [json.loads(line) for line in report.read_text().splitlines()]
        if lines and "done" in lines[-1]:
            return lines
        if len(lines) == line_count or "step" not in lines[-1]:
            output = done.stderr.decode(errors="replace").strip()[-1000:]
            raise RuntimeUnavailableError(f"TT-NN stopped with status {done.returncode}: {output or 'no output'}.")
        last = lines[-1]
        last["refused"] = f"TT-NN crashed with status {done.returncode}"
        report.write_text("".join(json.dumps(line) + "\n" for line in lines))
        first = (last["program"], last["step"] + 1)


def _judgement(plan: _Plan, lines: list[dict[str, Any]], version: str) -> Judgement:
    """Returns the judgement of a Program from the worker's report."""
    reports: dict[int, dict[str, Any]] = {}
    for line in lines:
        reports.setdefault(line["step"], {}).update(line)
    verdicts: list[Verdict] = []
    by_name = {function.name: function for function in plan.program.functions}
    for index, (instruction, name, _, source, _) in enumerate(plan.steps):
        report, values = reports[index], by_name[name].values
        inputs = tuple(values[number] for number in instruction.operand_values())
        refused, differs = report.get("refused", ""), tuple(report.get("differs", ()))
        verdicts.append(Verdict(instruction, name, inputs, source, refused, differs))
    used = [line["used"] for line in lines if "used" in line]
    dram, l1 = (max((memory[space] for memory in used), default=0) for space in ("dram", "l1"))
    return Judgement(plan.program, tuple(verdicts), dram, l1, version)
