"""Chooses the steps of a function that become fused kernels, and links the function with a call for each of them.

A fused kernel is a run of steps, one after another, over one shape (:mod:`.rows`), or of small tensors of any shapes
(:mod:`.block`). It is written for the strides that its tensors had in one run of the program, and its results have the
strides they had there, so that what comes after computes on the same bits in the same places. With other strides the
steps are called one by one.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from tt_xla.ir.program import Instruction
from tt_xla.log import logger
from tt_xla.runtime.binding import Code, Linked, Step
from tt_xla.runtime.emulator.bind import bind
from tt_xla.runtime.emulator.context import Call, Context, Weighted
from tt_xla.runtime.emulator.fused import block
from tt_xla.runtime.emulator.fused.background import COMPUTING
from tt_xla.runtime.emulator.fused.block import BlockWriter
from tt_xla.runtime.emulator.fused.build import Build
from tt_xla.runtime.emulator.fused.calls import FUSED, fused_call, in_rows
from tt_xla.runtime.emulator.fused.comparison import Part
from tt_xla.runtime.emulator.fused.cpp import Operand, Shape, contiguous
from tt_xla.runtime.emulator.fused.families import family_of
from tt_xla.runtime.emulator.fused.forms import PROBED_FUNCTIONS, Family, find_functions, form_of
from tt_xla.runtime.emulator.fused.rows import MOVES, RowWriter, calls_of, domain_of, functions_of
from tt_xla.runtime.emulator.fused.verify import identical, operands_of
from tt_xla.runtime.emulator.nans import is_arithmetic, with_one_nan

_SMALL = ()
"""The key of steps on small tensors, where steps over one shape have that shape; no shape is empty there."""

_REACH = 64
"""Steps that another step may be moved over, to stand beside those it is fused with."""

_LEAST_CALLS = 2
"""Calls of torch from which one fused kernel is quicker."""


@dataclass
class Fusion:
    """Steps ``start`` to ``end`` of a function, which one fused kernel computes."""

    start: int
    end: int
    domain: Shape | None
    """The shape of all steps; None for small tensors of any shapes."""
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    index: int = 0
    """Number of the C++ function among those of the plan. Fused kernels with the same text share one."""
    scratch_bytes: int | None = None
    """Bytes of scratch memory that the function takes, once it is written; None if it takes numbers of rows."""
    function: Callable[..., None] | None = None
    """The compiled function of pointers to inputs, outputs, and scratch memory or numbers of rows."""

    def load(self, build: Build, prefix: str) -> None:
        """Takes the compiled function from a library, where its name begins with ``prefix``."""
        self.function = build.fused_kernel(f"{prefix}_{self.index}", len(self.inputs) + len(self.outputs) + 1)

    @property
    def memory(self) -> torch.Tensor:
        """New scratch memory, or the numbers of rows along each dimension of the shape but the last."""
        if self.domain is None:
            return torch.empty(self.scratch_bytes or 0, dtype=torch.uint8, device="cpu")
        return torch.tensor(self.domain[:-1], dtype=torch.int64, device="cpu")


class Grouping:
    """Finds the steps of a function that can be fused.

    Args:
        steps: the function's steps.
        forms: forms of ops that have several, by the value that each makes.
    """

    def __init__(self, steps: Sequence[Step], forms: Mapping[int, str]) -> None:
        self._steps = steps
        self._forms = forms
        self._keys = [self._key(position) for position in range(len(steps))]
        """Key of each step: steps of one fused kernel share it. None for steps that cannot be fused."""

    def _key(self, position: int) -> Shape | None:
        if position and _fills_up(self._steps, position - 1):  # a slice, which stays with its rotary embedding
            return self._key(position - 1)
        step = self._steps[position]
        results = step.instruction.results
        form = self._forms.get(results[0]) if len(results) == 1 else None
        return _SMALL if block.takes(step, form) else _domain(self._steps, position)

    def order(self) -> list[int]:
        """Returns the positions of the steps in another order, in which those that can be fused follow one another.

        A step moves up if it waits for none of the steps between, and none of them writes to a tensor.
        """
        order, moved = list[int](), set[int]()
        for start, key in enumerate(self._keys):
            if start in moved:
                continue
            order.append(start)
            passed: set[int] = set()
            end = min(start + _REACH, len(self._steps)) if key is not None else 0
            for position in range(start + 1, end):
                step = self._steps[position]
                if step.context is None or not step.instruction.results:
                    break
                moves = step.instruction.op in MOVES and key is not _SMALL  # moves cost nothing where they stand
                if position in moved:
                    continue
                alike = self._keys[position] == key and step.chip == self._steps[start].chip
                if alike and not moves and passed.isdisjoint(step.inputs):
                    order.append(position)
                    moved.add(position)
                else:
                    passed.update(step.instruction.results)
        return order

    def fusions(self, results: Sequence[int]) -> list[Fusion]:
        """Returns the runs of steps that are worth a fused kernel; ``results`` are the function's."""
        fusions: list[Fusion] = []
        start = 0
        # Chips have kernels of their own, whose text is then the same.
        for (key, _), group in itertools.groupby(zip(self._keys, (step.chip for step in self._steps), strict=True)):
            end = start + len([*group])
            if key is not None:
                fusion = _fusion(self._steps, start, end, None if key is _SMALL else key, results)
                fusions += [fusion] if fusion is not None else []
            start = end
        return fusions


def _reordered(code: Code, order: Sequence[int]) -> Code:
    """Returns the function with its steps in another order, and values dropped after their last use."""
    steps = [code.steps[position] for position in order]
    last = {
        value: position for position, step in enumerate(steps) for value in (*step.instruction.results, *step.inputs)
    }
    drops: list[list[int]] = [[] for _ in steps]
    for position, step in enumerate(steps):
        for value in step.drops:
            drops[last.get(value, position)].append(value)
    steps = [replace(step, drops=dropped) for step, dropped in zip(steps, drops, strict=True)]
    return Code(code.name, steps, code.arguments, code.results)


def _domain(steps: Sequence[Step], position: int) -> Shape | None:
    """Returns the shape that a step goes over row by row; None for steps that do not."""
    step = steps[position]
    if step.context is None:
        return None
    if _fills_up(steps, position):  # together with the slice after it
        return domain_of(step.context, step.instruction.attributes)
    rotary = step.context.op == "ttnn.rotary_embedding"
    padded = rotary and step.context.result.shape[-2] != step.context.spec("input").shape[-2]
    return None if padded else domain_of(step.context, step.instruction.attributes)


def _fills_up(steps: Sequence[Step], position: int) -> bool:
    """Whether a rotary embedding adds rows to fill a tile, which the next step, and no other, cuts off again."""
    if position + 1 >= len(steps):
        return False
    step, after = steps[position], steps[position + 1]
    if step.context is None or after.context is None or step.context.op != "ttnn.rotary_embedding":
        return False
    if after.context.op != "ttnn.slice_static" or after.inputs != step.instruction.results:
        return False
    padded = step.instruction.results[0]
    one_use = padded in after.drops and not any(padded in other.inputs for other in steps[position + 2 :])
    from_start = not any(after.instruction.attributes["begins"]) and set(after.instruction.attributes["step"]) <= {1}
    return one_use and from_start and after.context.result.shape == step.context.spec("input").shape


def _fusion(steps: Sequence[Step], start: int, end: int, domain: Shape | None, results: Sequence[int]) -> Fusion | None:
    """Returns the fused kernel of a run of steps; None where it is not worth a call."""
    later = {value for step in steps[end:] for value in step.inputs} | {*results}
    while start < end and _moves(steps[start], domain) and steps[start].instruction.results[0] in later:
        start += 1  # a view of an earlier value that later steps read: nothing is computed here
    inside = steps[start:end]
    if sum(map(block.calls if domain is None else _calls, inside)) < _LEAST_CALLS:
        return None
    computed = [value for step in inside for value in step.instruction.results]
    inputs = dict.fromkeys(value for step in inside for value in step.inputs if value not in computed)
    outputs = tuple(value for value in computed if value in later)
    return Fusion(start, end, domain, tuple(inputs), outputs) if outputs else None


def may_be_fused(steps: Iterable[Step]) -> bool:
    """Whether C++ might compute so many of the steps that a fused kernel is worth it, on whatever machine."""
    return sum(block.calls(step) for step in steps if block.has_cpp(step)) >= _LEAST_CALLS


def _moves(step: Step, domain: Shape | None) -> bool:
    return block.is_view(step) if domain is None else step.instruction.op in MOVES


def _calls(step: Step) -> int:
    if step.context is None or step.context.op == "ttnn.slice_static":
        return 0
    return calls_of(step.context, step.instruction.attributes)


class Plan:
    """The fused kernels of one function, from when its tensors are recorded until they are called.

    Args:
        code: the function.
        calls: the bound calls of its steps.
        failed: takes an error of a fused kernel's call, after which its steps are called one by one.
    """

    def __init__(self, code: Code, calls: Sequence[Call], failed: Callable[[Exception], None]) -> None:
        self._code, self._calls, self._failed = code, list(calls), failed
        self._operands: dict[int, Operand] = {}
        """How values lay in the recorded run."""
        self._forms: dict[int, str] = {}
        """Forms of ops that have several, by the value that each makes."""
        self._order = [*range(len(code.steps))]
        """Positions that the steps had in the function, in their present order."""
        self.fusions: list[Fusion] = []
        """Fused kernels that are written or, later, in use."""
        self.fault: Exception | None = None
        """The error that was raised while the function was recorded, if any."""

    @property
    def name(self) -> str:
        """Name of the function."""
        return self._code.name

    @property
    def steps(self) -> Sequence[Step]:
        """Steps of the function."""
        return self._code.steps

    @property
    def has_candidates(self) -> bool:
        """Whether some steps could be fused, if forms are found for all ops that have several."""
        forms = {step.instruction.results[0]: "" for step, _, _ in self._formed()}
        return bool(Grouping(self._code.steps, forms).fusions(self._code.results))

    @property
    def needs_probe(self) -> bool:
        """Whether forms of ops are to be found, or whether functions have the bits of torch's."""
        return bool(self._formed() or self._functions())

    def _formed(self) -> list[tuple[Step, Context, Family]]:
        """Returns the steps on small tensors whose ops have several forms."""
        small = (step for step in self._code.steps if block.takes(step, ""))
        steps = ((step, step.context) for step in small if step.context is not None)
        families = ((step, context, family_of(context, step.instruction.attributes)) for step, context in steps)
        return [(step, context, family) for step, context, family in families if family is not None]

    def _functions(self) -> list[str]:
        """Returns the functions of one number in the program whose C++ is to be tried."""
        steps = ((step.context, step.instruction.attributes) for step in self._code.steps if step.context is not None)
        used = {name for context, attributes in steps for name in functions_of(context, attributes)}
        return [name for name in PROBED_FUNCTIONS if name in used]

    def recording(self, calls: Sequence[Call] | None = None) -> Linked:
        """Returns the function, which notes how the tensors of its steps lie while it runs.

        Args:
            calls: what the steps call; by default their bound calls.
        """
        pairs = zip(self._code.steps, self._calls if calls is None else calls, strict=True)
        return self._code.link([call if step.context is None else self._recorder(step, call) for step, call in pairs])

    def _recorder(self, step: Step, call: Call) -> Call:
        results = step.instruction.results

        def record(*tensors: torch.Tensor) -> Any:
            outcome = call(*tensors)
            try:
                self._operands.update(zip(step.inputs, map(_operand, tensors), strict=True))
                if len(results) == 1:
                    self._operands[results[0]] = _operand(outcome)
            except Exception as error:  # reported by the engine: the run goes on
                self.fault = error
            return outcome

        return record

    def find_forms(self, probe: Build) -> None:
        """Finds, for each op with several forms that was recorded, the one that C++ has to follow."""
        library = probe.library
        with COMPUTING:
            find_functions(self._functions(), library)
        known: dict[tuple[bytes, tuple[Operand, ...]], str | None] = {}
        for step, context, family in self._formed():
            if not all(value in self._operands for value in step.inputs):
                continue
            operands = tuple(self._operands[value] for value in step.inputs)
            key = step.key, operands
            if key not in known:
                attributes = step.instruction.attributes
                with COMPUTING:
                    call = _unprepared(step)
                    known[key] = form_of(family, call, context, attributes, operands, library)
            form = known[key]
            if form is not None:
                self._forms[step.instruction.results[0]] = form

    def source(self, prefix: str) -> str:
        """Returns the C++ of the fused kernels, whose functions have names that begin with ``prefix``."""
        self._reorder(Grouping(self._code.steps, self._forms).order())
        indices: dict[str, int] = {}
        for fusion in Grouping(self._code.steps, self._forms).fusions(self._code.results):
            text = self._text(fusion)
            if text is not None:
                fusion.index = indices.setdefault(text, len(indices))
                self.fusions.append(fusion)
        return "".join(f'extern "C" void {prefix}_{index}{text}' for text, index in indices.items())

    def _reorder(self, order: Sequence[int]) -> None:
        self._order = [*order]
        self._code, self._calls = _reordered(self._code, order), [self._calls[position] for position in order]

    def compiled(self, build: Build, prefix: str) -> Linked:
        """Returns the function with one call for each fused kernel that has the bits of its steps."""
        verified: list[Fusion] = []
        outcomes: dict[object, bool] = {}
        for fusion in self.fusions:
            fusion.load(build, prefix)
            same = self._identity(fusion)
            if same not in outcomes:
                outcomes[same] = self.has_the_bits(fusion)
            if outcomes[same]:
                verified.append(fusion)
        self.fusions = verified
        return self._linked()

    @property
    def recorded(self) -> object:
        """The steps, and how values lay in the recorded run: all of a program that the finished plan depends on."""
        steps = [
            (step.key, step.inputs, step.instruction.results, step.drops, step.chip, step.instruction.op)
            for step in self._code.steps
        ]
        return steps, self._code.results, sorted(self._operands.items())

    @property
    def finished(self) -> dict[str, Any]:
        """The order of the steps and the fused kernels in use, as numbers and lists, for :meth:`finished_before`."""
        fields = [name for name in Fusion.__dataclass_fields__ if name != "function"]
        fusions = [{name: getattr(fusion, name) for name in fields} for fusion in self.fusions]
        return {"order": self._order, "fusions": fusions}

    def finished_before(self, finished: Mapping[str, Any], build: Build, prefix: str) -> Linked:
        """Returns the function with calls of the fused kernels that an earlier process made and compared.

        Args:
            finished: that plan's :attr:`finished`, which had the same :attr:`recorded`.
            build: its library.
            prefix: beginning of the names of its functions.
        """
        self._reorder(finished["order"])
        self.fusions = [Fusion(**fields) for fields in finished["fusions"]]
        for fusion in self.fusions:
            fusion.load(build, prefix)
        return self._linked()

    def _identity(self, fusion: Fusion) -> object:
        """Returns the cache key of a fused kernel: everything that its bits and those of its steps depend on."""
        keys = tuple(step.key for step in self._code.steps[fusion.start : fusion.end])
        return fusion.index, keys, tuple(self._operands[value] for value in (*fusion.inputs, *fusion.outputs))

    def has_the_bits(self, fusion: Fusion) -> bool:
        """Whether a fused kernel has the bits of its steps on drawn operands; one of many rows, on a part of them."""
        assert fusion.function is not None
        with COMPUTING:
            steps, inputs, results, memory = self._compared(fusion)
            calls = [with_one_nan(_unprepared(step)) if is_arithmetic(step) else _unprepared(step) for step in steps]
            expected = _one_by_one(fusion, steps, calls)
            call = fused_call(fusion.function, inputs, results, memory, expected, _raise)
        drawn = operands_of(inputs)
        while True:
            with COMPUTING:  # one turn for each of them, so that nobody waits long
                tensors = next(drawn, None)
                if tensors is None:
                    return True
                if not identical(call(*tensors), expected(*tensors)):
                    ops = ", ".join(step.instruction.op for step in steps)
                    logger().info("A fused kernel of %s has other bits than its calls; it is not used.", ops)
                    return False

    def _compared(self, fusion: Fusion) -> tuple[Sequence[Step], list[Operand], list[Operand], torch.Tensor]:
        """Returns the steps, inputs, results and numbers of rows, or scratch memory, on which a fused kernel is
        compared."""
        steps = self._code.steps[fusion.start : fusion.end]
        inputs, results = ([self._operands[value] for value in group] for group in (fusion.inputs, fusion.outputs))
        domain = fusion.domain
        if domain is None:
            return steps, inputs, results, fusion.memory
        in_cpp = [[*map(in_rows, operands)] for operands in (inputs, results)]
        cuts_rows = any(step.instruction.op == "ttnn.slice_static" for step in steps)  # of a rotary embedding
        part = Part(domain, [*in_cpp[0], *in_cpp[1]], [len(domain) - 2] if cuts_rows else [])
        if part.rows == [*domain[:-1]]:
            return steps, inputs, results, fusion.memory
        inputs, results = ([*map(part.operand, operands)] for operands in in_cpp)
        return [*map(part.step, steps)], inputs, results, torch.tensor(part.rows, dtype=torch.int64, device="cpu")

    @property
    def fresh(self) -> frozenset[int]:
        """Values that fused kernels make in memory of their own, with their elements side by side."""
        values = (value for fusion in self.fusions for value in fusion.outputs)
        return frozenset(
            value for value in values if self._operands[value].stride == contiguous(self._operands[value].shape)
        )

    def _if_needed(self, fusion: Fusion) -> Call:
        """Returns a function that makes the calls of a fusion's steps, and is written when it is first called."""
        inside = slice(fusion.start, fusion.end)
        one_by_one = functools.cache(lambda: _one_by_one(fusion, self._code.steps[inside], self._calls[inside]))
        return lambda *tensors: one_by_one()(*tensors)

    def _linked(self) -> Linked:
        """Returns the function with one call for each fused kernel."""
        steps: list[Step] = []
        calls: list[Call] = []
        position = 0
        for fusion in self.fusions:
            with COMPUTING:
                call = self._call(fusion, self._if_needed(fusion), self._failed)
            steps += [*self._code.steps[position : fusion.start], _step(fusion, self._code.steps)]
            calls += [*self._calls[position : fusion.start], call]
            position = fusion.end
        steps += self._code.steps[position:]
        code = Code(self._code.name, steps, self._code.arguments, self._code.results)
        return code.link([*calls, *self._calls[position:]])

    def _text(self, fusion: Fusion) -> str | None:
        """Returns the C++ of a fusion after the function's name.

        Values are numbered within the fusion, so that equal runs of steps have one text. Returns None where tensors of
        the fusion were not recorded, or C++ cannot be written for them.
        """
        values = (*fusion.inputs, *fusion.outputs)
        if not all(value in self._operands for value in values):
            return None
        if not all(_has_room(self._operands[value]) for value in fusion.outputs):
            return None
        parameters = [f"const void* a{position}" for position in range(len(fusion.inputs))]
        parameters += [f"void* o{position}" for position in range(len(fusion.outputs))]
        inside = self._code.steps[fusion.start : fusion.end]
        results = (value for step in inside for value in step.instruction.results)
        numbers = {value: number for number, value in enumerate(dict.fromkeys((*fusion.inputs, *results)))}
        inputs, outputs = (
            [(numbers[value], in_rows(self._operands[value])) for value in group]
            for group in (fusion.inputs, fusion.outputs)
        )
        steps = [_renumbered(step, numbers) for step in inside]
        if fusion.domain is None:
            forms = {numbers[value]: form for value, form in self._forms.items() if value in numbers}
            writer = BlockWriter(steps, forms, inputs, outputs)
            lines = writer.lines()
            fusion.scratch_bytes = writer.scratch_bytes
            parameters.append("void* scratch")
        else:
            rows = _row_lines(fusion.domain, steps, inputs, outputs)
            if rows is None:
                return None
            lines = rows
            parameters.append("const long* rows")
        return "\n".join([f"({', '.join(parameters)}) {{", *lines, "}\n"])

    def _call(self, fusion: Fusion, one_by_one: Call, failed: Callable[[Exception], None]) -> Call:
        """Returns the call of a fused kernel, which makes the calls of its steps where it cannot compute them."""
        assert fusion.function is not None
        inputs, results = ([self._operands[value] for value in group] for group in (fusion.inputs, fusion.outputs))
        return fused_call(fusion.function, inputs, results, fusion.memory, one_by_one, failed)


def _one_by_one(fusion: Fusion, steps: Sequence[Step], calls: Sequence[Call]) -> Call:
    """Returns a function that makes the calls of a fusion's steps."""
    function = Code(FUSED, steps, fusion.inputs, fusion.outputs).link(calls)
    return _first_of(function) if len(fusion.outputs) == 1 else function


def _unprepared(step: Step) -> Call:
    """Returns a new call of a step, which keeps nothing of its operands."""
    assert step.context is not None
    bound = bind(step.context, step.instruction.attributes)
    return bound.call if isinstance(bound, Weighted) else bound


def _raise(error: Exception) -> None:
    raise error


def _first_of(function: Linked) -> Call:
    return lambda *tensors: function(*tensors)[0]


def _step(fusion: Fusion, steps: Sequence[Step]) -> Step:
    """Returns the one step that stands for all of a fusion."""
    inside = steps[fusion.start : fusion.end]
    inner = {value for step in inside for value in step.instruction.results}.difference(fusion.outputs)
    drops = [value for step in inside for value in step.drops if value not in inner]
    first = inside[0].instruction
    instruction = Instruction(first.op, first.operands, fusion.outputs, first.attributes, first.location)
    return Step(instruction, fusion.inputs, drops, inside[0].context, chip=inside[0].chip)


def _renumbered(step: Step, numbers: Mapping[int, int]) -> Step:
    results = tuple(numbers[value] for value in step.instruction.results)
    instruction = Instruction(step.instruction.op, {}, results, step.instruction.attributes)
    return replace(step, instruction=instruction, inputs=tuple(numbers[value] for value in step.inputs), drops=[])


def _operand(tensor: torch.Tensor) -> Operand:
    return Operand(tuple(tensor.shape), tensor.stride(), tensor.dtype)


def _row_lines(
    domain: Shape, steps: Sequence[Step], inputs: Sequence[tuple[int, Operand]], outputs: Sequence[tuple[int, Operand]]
) -> list[str] | None:
    """Returns the C++ of steps over one shape; None where an output is an input under another name."""
    rows = RowWriter(domain)
    for value, operand in inputs:
        rows.take(value, operand)
    for step in steps:
        assert step.context is not None
        (result,) = step.instruction.results
        if step.context.op == "ttnn.slice_static":
            rows.same(step.inputs[0], result)
        else:
            rows.add(step.context, step.instruction.attributes, step.inputs, result)
    if not all(rows.makes(value) for value, _ in outputs):
        return None
    pointers = [f"a{position}" for position in range(len(inputs))]
    counts = [f"n{dim}" for dim in range(len(domain) - 1)]
    named = [f"const long {count} = rows[{dim}];" for dim, count in enumerate(counts)]
    return named + rows.lines(
        pointers, [(value, operand, f"o{n}") for n, (value, operand) in enumerate(outputs)], counts
    )


def _has_room(operand: Operand) -> bool:
    """Whether each element has a place of its own."""
    span = 1
    for step, size in sorted(
        (step, size) for step, size in zip(operand.stride, operand.shape, strict=True) if size > 1
    ):
        if step < span:
            return False
        span = step * size
    return True
