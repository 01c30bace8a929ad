"""Compares each TTNN instruction of a program on the emulated card with what TT-NN computes for it.

The program runs on both with its intermediate values among its results. Each instruction also runs on the emulated card
on the operands that TT-NN had, so that its own deviation is told from that of the instructions before it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec
import torch

from tt_xla.compiler import compile_module
from tt_xla.cost.residency import Residency, walk
from tt_xla.environment import selected_system
from tt_xla.errors import OptionError
from tt_xla.ir.element_types import ElementType
from tt_xla.ir.program import DEALLOCATE, MemoryPlan, Program, Result
from tt_xla.options import CompileOptions
from tt_xla.runtime import get_device
from tt_xla.runtime.emulator.bind import bind
from tt_xla.runtime.emulator.context import Weighted
from tt_xla.runtime.executable import Executable
from tt_xla.runtime.steps import CONTROL, context_of
from tt_xla.runtime.ttnn.executable import TTNNExecutable
from tt_xla.target import load_target
from tt_xla.testing.divergence.distances import Deviation, deviation
from tt_xla.testing.divergence.float32 import as_sequence, type_text
from tt_xla.testing.divergence.modules import Source
from tt_xla.testing.divergence.runs import Array, tensors_of

_WATCHED = 32
"""Values that one run returns besides the results, at most; each stays on the device until the end of the run."""

_PREPARES = "ttnn.prepare_"
"""Beginning of ops whose results TT-NN lays out as it likes; they are not compared."""

Values = Mapping[int, torch.Tensor]
"""Tensors by the number of their value in the entry function."""


@dataclass(frozen=True)
class Step:
    """One instruction of the entry function, and how far the emulated card's result lies from TT-NN's."""

    index: int
    op: str
    result: str
    """Shape and type."""
    location: str
    alone: Deviation | None
    """On the operands that TT-NN had; None for calls of const-eval functions and for
    operands that TT-NN prepared."""
    running: Deviation
    """The result that includes the deviations of the instructions before."""


@dataclass(frozen=True)
class Tolerance:
    """The deviation from TT-NN's values that counts as agreement."""

    pcc: float
    """Smallest correlation."""
    ulp: int | None = None
    """Largest distance in values of their type, instead of the correlation; 0 asks for the same bits, signs of zero
    aside."""

    def allows(self, deviation: Deviation) -> bool:
        """Returns whether a deviation counts as agreement."""
        return deviation.pcc >= self.pcc if self.ulp is None else deviation.largest <= self.ulp

    def __str__(self) -> str:
        if self.ulp is None:
            return f"PCC {self.pcc:g}"
        return f"{self.ulp} ULP" if self.ulp else "the same bits"


@dataclass(frozen=True)
class Verdict:
    """The instructions of a program, in their order, and the deviation of its results."""

    steps: list[Step]
    results: Deviation
    tolerance: Tolerance

    @property
    def passed(self) -> bool:
        """Whether the program's results agree with TT-NN's."""
        return self.tolerance.allows(self.results)

    @property
    def first(self) -> Step | None:
        """The first instruction whose values do not agree with TT-NN's; None if there is none."""
        return next((step for step in self.steps if not self.tolerance.allows(step.running)), None)

    @property
    def worst(self) -> Step | None:
        """The instruction that deviates most by itself; None if none deviates."""
        found = [(step, step.alone.pcc) for step in self.steps if step.alone is not None and step.alone.largest]
        return min(found, key=lambda each: each[1], default=(None, 0.0))[0]


def compare_with_ttnn(
    source: Source, inputs: Sequence[Array], options: CompileOptions, tolerance: Tolerance
) -> Verdict:
    """Runs a program on the emulated card and on TT-NN.

    Args:
        source: the program.
        inputs: arguments of its ``@main``.
        options: compile options; a trace is left out.
        tolerance: what counts as agreement.

    Raises:
        OptionError: the program is for several chips.
        TTXLAError: TT-NN is not available, or refuses the program.
    """
    module, values = source.module_returning(source.returned)
    untraced = dataclasses.replace(options, enable_trace=False)
    program = compile_module(module, untraced, load_target(selected_system()))
    if program.mesh is not None:
        raise OptionError("compare --against ttnn takes programs for one chip; this one is for several.")
    given = dict(zip(source.arguments, inputs, strict=True))
    tensors = tensors_of([given[value] for value in values], program)
    on_ttnn, emulated = (_values(program, tensors, kind) for kind in (TTNNExecutable, Executable))
    results = _largest([(emulated[value], on_ttnn[value]) for value in program.functions[0].results])
    return Verdict(_steps(program, emulated, on_ttnn), results, tolerance)


def _values(program: Program, tensors: Sequence[torch.Tensor], kind: type[Executable | TTNNExecutable]) -> Values:
    """Returns the values of the entry function, from as many runs as they need."""
    entry = program.functions[0]
    computed = [
        value for instruction in entry.body if not instruction.op.startswith(_PREPARES) for value in instruction.results
    ]
    values: dict[int, torch.Tensor] = dict(zip(entry.arguments, tensors, strict=True))
    for start in range(0, len(computed), _WATCHED):
        watched = computed[start : start + _WATCHED]
        numbers = tuple(dict.fromkeys((*entry.results, *watched)))
        executable = kind(get_device(program.target), _watching(program, numbers))
        results = executable.run([tensor.clone() for tensor in tensors], [None] * len(tensors))
        values |= zip(numbers, results, strict=True)
    return values


def _watching(program: Program, values: Sequence[int]) -> Program:
    """Returns the program with other results: values of its entry function, which stay until its end."""
    entry = program.functions[0]
    kept = set(values)
    body = tuple(
        instruction
        for instruction in entry.body
        if instruction.op != DEALLOCATE or kept.isdisjoint(instruction.operand_values())
    )
    specs = [entry.values[value] for value in values]
    declared = {element.numpy: element.value for element in reversed(ElementType)}  # bfloat16 for block floats
    results = tuple(Result(spec.shape, declared[spec.layout.dtype.numpy]) for spec in specs)
    entry = msgspec.structs.replace(entry, results=tuple(values), body=body)
    watching = msgspec.structs.replace(program, results=results, functions=(entry, *program.functions[1:]))
    use = Residency(load_target(program.target), program.mesh)
    walk(watching, use)
    plan = MemoryPlan(use.dram_peak_bytes, use.l1.peak, program.memory.trace_bytes)
    return msgspec.structs.replace(watching, memory=plan)


def _steps(program: Program, emulated: Values, on_ttnn: Values) -> list[Step]:
    entry = program.functions[0]
    steps: list[Step] = []
    for instruction in entry.body:
        if not all(value in on_ttnn for value in instruction.results) or not instruction.results:
            continue
        (value, *_) = instruction.results
        spec = entry.values[value]
        alone = None
        known = all(value in on_ttnn for value in instruction.operand_values())
        if known and not instruction.op.startswith("ttcore.") and instruction.op not in CONTROL:
            call = bind(context_of(program, entry, instruction), instruction.attributes, instruction.location)
            call = call.call if isinstance(call, Weighted) else call
            returned = call(*(on_ttnn[operand].clone() for operand in instruction.operand_values()))
            pairs = zip(as_sequence(returned), instruction.results, strict=True)
            alone = _largest([(one, on_ttnn[each]) for one, each in pairs])
        running = _largest([(emulated[each], on_ttnn[each]) for each in instruction.results])
        steps.append(Step(len(steps), instruction.op, type_text(spec), instruction.location, alone, running))
    return steps


def _largest(pairs: Sequence[tuple[torch.Tensor, torch.Tensor]]) -> Deviation:
    """Returns the largest of each measure among the deviations of pairs."""
    found = [deviation(one.reshape(other.shape).to(other.dtype), other) for one, other in pairs]
    return Deviation(
        max(each.largest for each in found),
        max(each.mean for each in found),
        max(each.beyond_one for each in found),
        min(each.pcc for each in found),
    )
