"""Which steps of a function are chains, and the function with one call for each of them.

A chain is a run of steps, one after another, of ops that :mod:`rows` writes C++ for, over one shape; or of small
tensors of any shapes, a :class:`Block`. It is written for the strides that its tensors had in one run, and its results
have the strides they had there, so that whatever comes after computes on the same bits in the same places; with other
strides the steps are called one by one.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from tt_xla.ir.program import Instruction, TensorSpec
from tt_xla.runtime.binding import Code, Linked, Step
from tt_xla.runtime.emulator.chains import block
from tt_xla.runtime.emulator.chains.block import Block
from tt_xla.runtime.emulator.chains.build import Build
from tt_xla.runtime.emulator.chains.rows import MOVES, Chain, Operand, Shape, calls_of, contiguous, domain_of
from tt_xla.runtime.emulator.registry import Call

CHAIN = "chain"
_SMALL = ()
"""Where the shape of a chain stands otherwise: no chain has this one."""
_REACH = 64
"""Steps that another one may be brought over."""
_WORTH_IT = 2
"""Calls of torch from which one call of our own is quicker."""
_WORTH_A_COPY = 1 << 12
"""Elements."""


@dataclass
class Run:
    """Steps ``start`` to ``end`` of a function."""

    start: int
    end: int
    domain: Shape | None
    """The shape of all of them; None for small tensors of any shapes, which are a :class:`Block`."""
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    given: list[Operand] | None = None
    """The tensors of ``inputs`` in one run."""
    made: list[Operand] | None = None
    """Those of ``outputs``."""
    scratch: int | None = None
    """Bytes that its function is given, once it is written."""


def _keys(steps: Sequence[Step]) -> list[Shape | None]:
    """What steps of one chain have in common; None for those that are in none."""
    return [_SMALL if block.takes(step) else _domain(steps, at) for at, step in enumerate(steps)]


def gathered(steps: Sequence[Step]) -> list[int]:
    """The steps in another order, as their positions: such as could be in one chain follow one another.

    A step comes earlier where it waits for none of those between, and none of them writes to a tensor.
    """
    keys, order, taken = _keys(steps), list[int](), set[int]()
    for start, key in enumerate(keys):
        if start in taken:
            continue
        order.append(start)
        passed: set[int] = set()
        for at in range(start + 1, min(start + _REACH, len(steps)) if key is not None else 0):
            step = steps[at]
            if step.context is None or not step.instruction.results:
                break
            moves = step.instruction.op in MOVES and key is not _SMALL  # cost nothing where they are
            if at in taken:
                continue
            if keys[at] == key and not moves and passed.isdisjoint(step.inputs):
                order.append(at)
                taken.add(at)
            else:
                passed.update(step.instruction.results)
    return order


def _reordered(code: Code, order: Sequence[int]) -> Code:
    """With values dropped after their last use."""
    steps = [code.steps[at] for at in order]
    last = {value: at for at, step in enumerate(steps) for value in (*step.instruction.results, *step.inputs)}
    drops: list[list[int]] = [[] for _ in steps]
    for at, step in enumerate(steps):
        for value in step.drops:
            drops[last.get(value, at)].append(value)
    steps = [replace(step, drops=each) for step, each in zip(steps, drops, strict=True)]
    return Code(code.name, steps, code.arguments, code.results)


def runs_of(code: Code) -> list[Run]:
    """The chains of a function that are worth it."""
    steps = code.steps
    keys = _keys(steps)
    found: list[Run] = []
    start = 0
    for key, group in itertools.groupby(keys):
        end = start + len([*group])
        if key is not None:
            run = _run(steps, start, end, None if key is _SMALL else key, code.results)
            if run is not None:
                found.append(run)
        start = end
    return found


def _domain(steps: Sequence[Step], at: int) -> Shape | None:
    step = steps[at]
    if step.context is None:
        return None
    if _fills_up(steps, at):  # with the slice after it
        return domain_of(step.context, step.instruction.attributes)
    if at and _fills_up(steps, at - 1):
        return _domain(steps, at - 1)
    padded = step.context.op == "ttnn.rotary_embedding" and step.context.result.shape[-2] != _rows(step)
    return None if padded else domain_of(step.context, step.instruction.attributes)


def _rows(step: Step) -> int:
    assert step.context is not None
    spec = step.context.operands["input"]
    assert isinstance(spec, TensorSpec)
    return spec.shape[-2]


def _fills_up(steps: Sequence[Step], at: int) -> bool:
    """Whether a rotary embedding gives more rows than it has, which the next step, alone, cuts off again."""
    if at + 1 >= len(steps):
        return False
    step, after = steps[at], steps[at + 1]
    if step.context is None or after.context is None or step.context.op != "ttnn.rotary_embedding":
        return False
    if after.context.op != "ttnn.slice_static" or after.inputs != step.instruction.results:
        return False
    spec = step.context.operands["input"]
    last = step.instruction.results[0]
    alone = last in after.drops and not any(last in other.inputs for other in steps[at + 2 :])
    first = not any(after.instruction.attributes["begins"]) and set(after.instruction.attributes["step"]) <= {1}
    return alone and first and isinstance(spec, TensorSpec) and after.context.result.shape == spec.shape


def _run(steps: Sequence[Step], start: int, end: int, domain: Shape | None, results: Sequence[int]) -> Run | None:
    later = {value for step in steps[end:] for value in step.inputs} | {*results}
    while start < end and _moves(steps[start], domain) and steps[start].instruction.results[0] in later:
        start += 1  # of what was made before, and needed after: not computed here
    inside = steps[start:end]
    if sum(map(block.calls if domain is None else _calls, inside)) < _WORTH_IT:
        return None
    made = [value for step in inside for value in step.instruction.results]
    inputs = dict.fromkeys(value for step in inside for value in step.inputs if value not in made)
    outputs = tuple(value for value in made if value in later)
    return Run(start, end, domain, tuple(inputs), outputs) if outputs else None


def _moves(step: Step, domain: Shape | None) -> bool:
    return block.is_view(step) if domain is None else step.instruction.op in MOVES


def _calls(step: Step) -> int:
    if step.context is None or step.context.op == "ttnn.slice_static":
        return 0
    return calls_of(step.context, step.instruction.attributes)


class Plan:
    """The chains of one function, from when they are found until they are called.

    Args:
        calls: of the function's steps.
    """

    def __init__(self, code: Code, calls: Sequence[Call]) -> None:
        order = gathered(code.steps)
        self._code, self._calls = _reordered(code, order), [calls[at] for at in order]
        self.runs = runs_of(self._code)

    @property
    def name(self) -> str:
        """Of the function."""
        return self._code.name

    def recording(self) -> Linked:
        """The function, which notes what tensors its chains have while it runs."""
        return self._linked([_Recorder(run, self._one_by_one(run)) for run in self.runs])

    def source(self, prefix: str) -> str:
        """C++ of the chains that were recorded; the others are dropped."""
        texts: list[str] = []
        kept: list[Run] = []
        for run in self.runs:
            text = _text(f"{prefix}_{len(kept)}", run, self._code.steps)
            if text is not None:
                texts.append(text)
                kept.append(run)
        self.runs = kept
        return "".join(texts)

    def compiled(self, build: Build, prefix: str) -> Linked:
        """The function with a call of the library for each chain."""
        fused: list[Call] = []
        for at, run in enumerate(self.runs):
            assert run.given is not None
            assert run.made is not None
            count = len(run.given) + len(run.made) + (run.scratch is not None)
            function = build.function(f"{prefix}_{at}", count)
            fused.append(_call(function, run.given, run.made, run.scratch, self._one_by_one(run)))
        return self._linked(fused)

    @property
    def fresh(self) -> frozenset[int]:
        """Values that compiled chains make, in memory of their own, elements side by side."""
        pairs = ((value, made) for run in self.runs for value, made in zip(run.outputs, run.made or (), strict=False))
        return frozenset(value for value, made in pairs if made.stride == contiguous(made.shape))

    def _one_by_one(self, run: Run) -> Call:
        """The chain's steps by the kernels."""
        steps = self._code.steps[run.start : run.end]
        function = Code(CHAIN, steps, run.inputs, run.outputs).link(self._calls[run.start : run.end])
        return _first_of(function) if len(run.outputs) == 1 else function

    def _linked(self, fused: Sequence[Call]) -> Linked:
        steps: list[Step] = []
        calls: list[Call] = []
        at = 0
        for run, call in zip(self.runs, fused, strict=True):
            steps += [*self._code.steps[at : run.start], _step(run, self._code.steps)]
            calls += [*self._calls[at : run.start], call]
            at = run.end
        steps += self._code.steps[at:]
        code = Code(self._code.name, steps, self._code.arguments, self._code.results)
        return code.link([*calls, *self._calls[at:]])


def _first_of(function: Linked) -> Call:
    return lambda *tensors: function(*tensors)[0]


def _step(run: Run, steps: Sequence[Step]) -> Step:
    """One step for all of a chain."""
    inside = steps[run.start : run.end]
    inner = {value for step in inside for value in step.instruction.results}.difference(run.outputs)
    drops = [value for step in inside for value in step.drops if value not in inner]
    first = inside[0].instruction
    instruction = Instruction(first.op, first.operands, run.outputs, first.attributes, first.location)
    return Step(instruction, run.inputs, drops, inside[0].context)


class _Recorder:
    """A chain, step by step; notes the tensors."""

    def __init__(self, run: Run, call: Call) -> None:
        self._run, self._call = run, call

    def __call__(self, *tensors: torch.Tensor) -> Any:
        found = self._call(*tensors)
        made = (found,) if len(self._run.outputs) == 1 else found
        self._run.given, self._run.made = ([_operand(tensor) for tensor in part] for part in (tensors, made))
        return found


def _operand(tensor: torch.Tensor) -> Operand:
    return Operand(tuple(tensor.shape), tensor.stride(), tensor.dtype)


def _text(name: str, run: Run, steps: Sequence[Step]) -> str | None:
    """C++ of a chain; None for one that was not run, or of tensors that it cannot be written for."""
    if run.given is None or run.made is None or not all(_has_room(operand) for operand in run.made):
        return None
    parameters = [f"const void* a{at}" for at in range(len(run.given))]
    parameters += [f"void* o{at}" for at in range(len(run.made))]
    given = [*zip(run.inputs, map(_in_rows, run.given), strict=True)]
    made = [*zip(run.outputs, map(_in_rows, run.made), strict=True)]
    if run.domain is None:
        whole = Block(steps[run.start : run.end], given, made)
        lines = whole.text()
        run.scratch = whole.bytes
        parameters.append("void* scratch")
    else:
        found = _rows_of(run, run.domain, steps, given, made)
        if found is None:
            return None
        lines = found
    return "\n".join([f'extern "C" void {name}({", ".join(parameters)}) {{', *lines, "}\n"])


def _rows_of(
    run: Run,
    domain: Shape,
    steps: Sequence[Step],
    given: Sequence[tuple[int, Operand]],
    made: Sequence[tuple[int, Operand]],
) -> list[str] | None:
    chain = Chain(domain)
    for value, operand in given:
        chain.take(value, operand)
    for step in steps[run.start : run.end]:
        assert step.context is not None
        (result,) = step.instruction.results
        if step.context.op == "ttnn.slice_static":
            chain.same(step.inputs[0], result)
        else:
            chain.add(step.context, step.instruction.attributes, step.inputs, result)
    if not all(chain.makes(value) for value in run.outputs):
        return None
    pointers = [f"a{at}" for at in range(len(given))]
    return chain.lines(pointers, [(value, operand, f"o{at}") for at, (value, operand) in enumerate(made)])


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


def _lies_across(operand: Operand) -> bool:
    """Whether an element's neighbours in its row are far from it, and torch's copy into rows or out of them is quicker
    than a loop over such rows. Of expanded tensors little is read."""
    shape, stride = operand.shape, operand.stride
    if not shape or shape[-1] == 1 or stride[-1] == 1 or math.prod(shape) < _WORTH_A_COPY:
        return False
    return all(step for size, step in zip(shape, stride, strict=True) if size > 1)


def _in_rows(operand: Operand) -> Operand:
    """What C++ sees of a tensor: its rows one after another where it lies across them, else itself."""
    if not _lies_across(operand):
        return operand
    return Operand(operand.shape, contiguous(operand.shape), operand.dtype)


def _apart(found: Any, made: Sequence[Operand]) -> Any:
    """What the kernels give, in memory of its own, as the compiled chain gives it."""
    several = isinstance(found, tuple)
    copies = tuple(
        tensor.clone(memory_format=torch.contiguous_format if operand.stride == contiguous(operand.shape) else None)
        for tensor, operand in zip(found if several else (found,), made, strict=True)
    )
    return copies if several else copies[0]


_CALL = """\
def call({tensors}):
    if {differ}:
        return apart(one_by_one({tensors}), made)
{copies}
{empties}
    function({pointers})
{placed}
    return {results}
"""


def _call(
    function: Callable[..., None],
    given: Sequence[Operand],
    made: Sequence[Operand],
    scratch: int | None,
    one_by_one: Call,
) -> Call:
    """Straight-line Python around one function of the library."""
    tensors, results = [f"a{at}" for at in range(len(given))], [f"o{at}" for at in range(len(made))]
    room = [] if scratch is None else [torch.empty(scratch, dtype=torch.uint8)]
    strides = [(name, operand.stride) for name, operand in zip(tensors, given, strict=True)]
    text = _CALL.format(
        tensors=", ".join(tensors),
        differ=" or ".join(f"{name}.stride() != {stride}" for name, stride in strides),
        copies="\n".join(
            f"    {name} = {name}.contiguous()"
            for name, operand in zip(tensors, given, strict=True)
            if _lies_across(operand)
        ),
        empties="\n".join(
            f"    {name} = empty({operand.shape}, {_in_rows(operand).stride}, dtype=d{at})"
            for at, (name, operand) in enumerate(zip(results, made, strict=True))
        ),
        placed="\n".join(
            f"    {name} = empty({operand.shape}, {operand.stride}, dtype=d{at}).copy_({name})"
            for at, (name, operand) in enumerate(zip(results, made, strict=True))
            if _lies_across(operand)
        ),
        pointers=", ".join([f"{name}.data_ptr()" for name in [*tensors, *results]] + ["scratch"] * len(room)),
        results=", ".join(results),
    )
    names: dict[str, Any] = {f"d{at}": operand.dtype for at, operand in enumerate(made)}
    names.update(function=function, one_by_one=one_by_one, apart=_apart, made=made, empty=torch.empty_strided)
    if room:  # programs run one at a time
        names.update(room=room, scratch=room[0].data_ptr())
    exec(compile(text, "<chain>", "exec"), names)
    return names.pop("call")
