"""The predicted device time of a whole function."""

from __future__ import annotations

from collections.abc import Iterable

from tt_xla.cost.model import instruction_cost
from tt_xla.cost.rates import rates_of
from tt_xla.ir.mesh import Mesh
from tt_xla.ir.program import (
    CASE,
    WHILE_LOOP,
    Cost,
    Function,
    FunctionKind,
    Instruction,
    loop_of,
    subprograms_of,
)
from tt_xla.target import Target

_NONE = Cost()


def predicted_device_us(
    function: Function, target: Target, functions: Iterable[Function] = (), mesh: Mesh | None = None
) -> float:
    """Returns the device time of one call of a function in microseconds, with the gaps between its ops.

    Costs that instructions already carry are used. Const-eval functions cost nothing, because their results are kept
    from the first call. Replaying a trace costs its function, found in ``functions``, with the shorter gap of a trace.
    An op that the host enqueues has the longer gap, which assumes that the host keeps ahead. A loop costs its
    iterations, or one if only the running program knows their number (see :func:`rounds`). A case costs its largest
    branch. Links work for an asynchronous collective while the chip computes what does not need its result.

    Args:
        function: the function.
        target: the system.
        functions: all functions of its program.
        mesh: the chips that run the program; None for one chip.
    """
    return _total(function, target, mesh, {each.name: each for each in functions}, frozenset({function.name}))


def rounds(instruction: Instruction) -> int:
    """Returns the assumed number of iterations of a loop: the known number, or 1 if it is known only at run time."""
    if instruction.op != WHILE_LOOP:
        return 1
    trips = loop_of(instruction).trips
    return 1 if trips is None else trips


def subprograms(instruction: Instruction, functions: dict[str, Function], above: frozenset[str]) -> Iterable[Function]:
    """Returns the functions that a loop or a case runs; for a case only the branch with the most ops."""
    names = (name.lstrip("@") for name in subprograms_of(instruction))
    called = [functions[name] for name in names if name in functions and name not in above]
    return [max(called, key=lambda each: len(each.body))] if instruction.op == CASE and called else called


def _total(
    function: Function,
    target: Target,
    mesh: Mesh | None,
    functions: dict[str, Function],
    above: frozenset[str],
    gap: float | None = None,
) -> float:
    """Returns the device time of a function in microseconds.

    Args:
        above: names of the functions that are running this one.
        gap: gap of the function that runs this one, which may be traced; None for this function's own.
    """
    rates = rates_of(target)
    if gap is None:
        gap = rates.gap_traced if function.kind is FunctionKind.TRACE else rates.gap_untraced
    total = 0.0
    links = _Links()
    for instruction in function.body:
        if links.arrivals:
            total = links.ready(instruction, total)
        for inner in subprograms(instruction, functions, above):
            total += rounds(instruction) * _total(inner, target, mesh, functions, above | {inner.name}, gap)
        callee = traced_function(instruction, functions, above)
        if callee is not None:
            total += _total(callee, target, mesh, functions, above | {callee.name}) + gap
            continue
        cost = instruction.cost
        if cost == _NONE:
            cost = instruction_cost(instruction, function.values, target, mesh)
        if cost.total_us:
            total += cost.total_us + gap
        if cost.link_us and instruction.op.endswith("_async"):
            total -= cost.link_us
            links.send(instruction, total, cost.link_us)
    return max(total, links.free_at)


class _Links:
    """The links between chips, which work for an asynchronous collective while the chip computes."""

    def __init__(self) -> None:
        self.free_at = 0.0
        """Time at which the last collective is done, in microseconds."""
        self.arrivals: dict[int, float] = {}
        """Time at which the result of a collective is there, by value."""

    def send(self, instruction: Instruction, now: float, link_us: float) -> None:
        """Starts a collective as soon as the one before is done."""
        self.free_at = max(self.free_at, now) + link_us
        self.arrivals |= dict.fromkeys(instruction.results, self.free_at)

    def ready(self, instruction: Instruction, now: float) -> float:
        """Returns the time at which the operands of an instruction, and for a collective the links, are there."""
        needed = [self.arrivals.pop(value) for value in instruction.operand_values() if value in self.arrivals]
        if instruction.cost.link_us and not instruction.op.endswith("_async"):
            needed.append(self.free_at)
        return max(now, *needed) if needed else now


def traced_function(instruction: Instruction, functions: dict[str, Function], above: frozenset[str]) -> Function | None:
    """Returns the function that holds the ops of a trace, which an instruction captures or executes, or None."""
    if not instruction.op.endswith("_trace"):
        return None
    named = [functions.get(name.lstrip("@")) for name in instruction.attributes.values() if isinstance(name, str)]
    callees = [callee for callee in named if callee is not None and callee.name not in above]
    for callee in callees:
        if callee.kind is FunctionKind.TRACE:
            return callee
    for callee in callees:
        for inner in callee.body:
            for name in inner.attributes.values():
                function = functions.get(name.lstrip("@")) if isinstance(name, str) else None
                if function is not None and function.kind is FunctionKind.TRACE and function.name not in above:
                    return function
    return None
