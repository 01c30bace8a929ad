"""Check that a Program fits in the chip's memory, and its peak use of memory."""

from __future__ import annotations

from collections.abc import Mapping

from tt_xla.cost.allocation import AddressSpace
from tt_xla.cost.residency import Key, Overflow, Residency, called, walk
from tt_xla.errors import ResourceExhaustedError
from tt_xla.ir.program import DEALLOCATE, TRACE, WHILE_LOOP, Function, MemoryPlan, Program, loop_of
from tt_xla.target import Target

_TRACE_BYTES_PER_OP = 4096
_TRACE_BYTES_PER_CORE = 256
"""Bytes of the trace region for one recorded op: its dispatch commands, and its runtime arguments for each core."""


def run(program: Program, target: Target) -> MemoryPlan:
    """Returns the peak use of memory over one run that computes everything, const-eval included.

    Raises:
        ResourceExhaustedError: the program does not fit; the message names the largest tensors.
    """
    residency = Residency(target, program.mesh)
    overflow = walk(program, residency)
    if overflow is not None:
        raise _exhausted(program, overflow, residency)
    recorded = _recorded(program)
    return MemoryPlan(
        dram_peak_bytes=residency.dram_peak_bytes,
        l1_peak_bytes_per_core=residency.l1.peak,
        trace_bytes=recorded * (_TRACE_BYTES_PER_OP + _TRACE_BYTES_PER_CORE * target.cores),
    )


def _recorded(program: Program) -> int:
    """Returns the number of ops that traces replay."""
    functions = {function.name: function for function in program.functions}
    traces = [called(step, functions) for step in program.functions[0].body if step.op == TRACE]
    return sum(_ops(function, functions) for group in traces for function in group)


def _ops(function: Function, functions: Mapping[str, Function]) -> int:
    """Returns the number of ops that a trace of a function replays. All iterations of its loops are recorded."""
    total = 0
    for step in function.body:
        if step.op == WHILE_LOOP:
            total += (loop_of(step).trips or 0) * sum(_ops(callee, functions) for callee in called(step, functions))
        else:
            total += step.op != DEALLOCATE
    return total


def _exhausted(program: Program, overflow: Overflow, residency: Residency) -> ResourceExhaustedError:
    space = overflow.space
    largest = sorted(space.owners.items(), key=lambda item: item[1][0] - item[1][1])[:5]
    held = ", ".join(f"{_name(program, owner, residency)} {stop - start:,} B" for owner, (start, stop) in largest)
    size = space.end - space.base
    return ResourceExhaustedError(
        f"{space.name} does not hold the program: {_name(program, overflow.key, residency)} needs "
        f"{overflow.bytes:,} B in each bank, {size - space.used:,} of {size:,} B are free"
        f"{_largest_gap(space, overflow.bytes)}. The largest tensors there are: {held or 'none'}.",
        location=_location(program, overflow.key),
        hint="Use a smaller batch, bfloat16 or bfloat8_b weights, or a system with more memory (TTXLA_SYSTEM).",
    )


def _largest_gap(space: AddressSpace, size: int) -> str:
    if space.end - space.base - space.used < size:
        return ""
    return f", at most {max((stop - start for start, stop in space.gaps), default=0):,} B of them in one piece"


def _location(program: Program, key: Key) -> str:
    return next((step.location for step in program.function(key[0]).body if key[1] in step.results), "")


def _name(program: Program, key: object, residency: Residency) -> str:
    """Returns the description of a value: the argument's name or the op, with shape and data type."""
    assert isinstance(key, tuple)
    name, value = key
    function: Function = program.function(name)
    spec = residency.specs[name, value]
    label = "buffer of an exchange"
    if value >= 0:
        label = next((step.op for step in function.body if value in step.results), "argument")
    if label == "argument" and value in function.arguments and function is program.functions[0]:
        label = f"argument '{program.arguments[function.arguments.index(value)].name}'"
    return f"{label} {'x'.join(map(str, spec.shape))} {spec.layout.dtype}"
