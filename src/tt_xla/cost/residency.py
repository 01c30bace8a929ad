"""What lies in a chip's memory while a Program runs: an address for every tensor, as TT-NN's allocator gives it.

The compiler walks a Program with it to know that it fits and what it takes at most; the runtime keeps it while a
Program runs for the first time, and the two must agree.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from tt_xla.cost.allocation import AddressSpace
from tt_xla.cost.memory import bytes_per_bank
from tt_xla.cost.movement import keeps_tiles
from tt_xla.ir.layout import BufferType
from tt_xla.ir.program import (
    CALL,
    DEALLOCATE,
    LOAD_CACHED,
    TRACE,
    Argument,
    Function,
    FunctionKind,
    Instruction,
    Program,
    Role,
    TensorSpec,
    subprograms_of,
)
from tt_xla.target import Target

Key = tuple[str, int]
"""A value: its function's name and its number."""


class Overflow(NamedTuple):
    """A tensor that no gap holds."""

    key: Key
    spec: TensorSpec
    space: AddressSpace
    bytes: int


class Residency:
    """The memory of one chip: DRAM from the bottom up, L1 from the top down; every bank looks the same."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.dram = AddressSpace("DRAM", target.dram_unreserved_base, target.dram_unreserved_end, target.dram_align)
        self.l1 = AddressSpace("L1", target.l1_unreserved_base, target.l1_end, target.noc_l1_align, top_down=True)
        self.specs: dict[Key, TensorSpec] = {}
        self._sharing: dict[Key, Key] = {}
        """Views, by the value whose memory they share."""
        self._sharers: dict[Key, int] = {}
        """How many values share the memory of one, itself included."""

    @property
    def dram_peak_bytes(self) -> int:
        """Over all banks together."""
        return self.dram.peak * self.target.dram_banks

    def space(self, spec: TensorSpec) -> AddressSpace | None:
        return {BufferType.DRAM: self.dram, BufferType.L1: self.l1}.get(spec.layout.buffer)

    def hold(self, key: Key, spec: TensorSpec) -> Overflow | None:
        """Gives a value its memory; what could not be placed, if it could not."""
        space = self.space(spec)
        if space is None:
            return None
        size = bytes_per_bank(spec.layout, self.target)
        self.specs[key] = spec
        if space.allocate(key, size) is None:
            return Overflow(key, spec, space, size)
        self._sharers[key] = 1
        return None

    def run(self, function: Function, instruction: Instruction, functions: Mapping[str, Function]) -> Overflow | None:
        """Gives the results of an instruction their memory; a view shares its operand's, and those of a trace lie in
        slots, which stay for good."""
        if instruction.op == TRACE:
            slots = functions[str(instruction.attributes["allocate_slots_callee"])]
            found = (self.run(slots, inner, functions) for inner in slots.body)
            return next((overflow for overflow in found if overflow is not None), None)
        source = viewed(instruction, function.values)
        for value in instruction.results:
            key = (function.name, value)
            if value in function.arguments:
                continue
            if source is not None:
                owner = self._sharing.get((function.name, source), (function.name, source))
                if owner in self._sharers:
                    self._sharing[key] = owner
                    self._sharers[owner] += 1
                continue
            overflow = self.hold(key, function.values[value])
            if overflow is not None:
                return overflow
        return None

    def free(self, key: Key) -> None:
        """A value is gone; its memory is free when nothing shares it any more."""
        owner = self._sharing.pop(key, key)
        left = self._sharers.get(owner)
        if left is None:
            return
        if left > 1:
            self._sharers[owner] = left - 1
            return
        del self._sharers[owner]
        self.dram.free(owner)
        self.l1.free(owner)

    def leave(self, function: Function) -> None:
        """Frees what a function that others call still holds at its end: its caller has the results."""
        for instruction in function.body:
            for value in instruction.results:
                self.free((function.name, value))


def viewed(instruction: Instruction, values: tuple[TensorSpec, ...]) -> int | None:
    """The operand whose memory the result shares: of a reshape that leaves all pages where they are."""
    if instruction.op != "ttnn.reshape":
        return None
    source = instruction.operands["input"]
    assert isinstance(source, int)
    before, after = values[source], values[instruction.results[0]]
    one, other = before.layout, after.layout
    alike = (one.buffer, one.memory, one.grid) == (other.buffer, other.memory, other.grid)
    return source if alike and keeps_tiles(before, after) else None


def called(instruction: Instruction, functions: Mapping[str, Function]) -> list[Function]:
    """The functions that an instruction runs: of const-eval, the one behind a trace, those of a loop or a case.

    A round of a loop leaves the memory as it found it: its states lie in the loop's results, and what it returned
    takes their place. So one round accounts for all, and each branch of a case for itself.
    """
    if instruction.op == LOAD_CACHED:
        return [functions[str(instruction.attributes["callee"])]]
    if instruction.op != TRACE:
        return [functions[name] for name in subprograms_of(instruction)]
    capture = functions[str(instruction.attributes["capture_callee"])]
    return [functions[next(str(inner.attributes["callee"]) for inner in capture.body if inner.op == CALL)]]


def held_arguments(entry: Function, arguments: Iterable[Argument]) -> list[int]:
    """The entry's arguments in the order in which they get their memory: what stays between runs comes first."""
    declared = zip(entry.arguments, arguments, strict=True)
    return [value for value, _ in sorted(declared, key=lambda item: item[1].role is Role.INPUT)]


def walk(program: Program, residency: Residency) -> Overflow | None:
    """One run of a Program that computes everything; the first tensor that does not fit, if one does not."""
    functions = {function.name: function for function in program.functions}
    entry = program.functions[0]
    for value in held_arguments(entry, program.arguments):
        overflow = residency.hold((entry.name, value), entry.values[value])
        if overflow is not None:
            return overflow
    return account(entry, functions, residency)


def account(function: Function, functions: Mapping[str, Function], residency: Residency) -> Overflow | None:
    """One run of a function; the first tensor that does not fit, if one does not."""
    for instruction in function.body:
        if instruction.op == DEALLOCATE:
            value = instruction.operands["input"]
            assert isinstance(value, int)
            residency.free((function.name, value))
            continue
        overflow = residency.run(function, instruction, functions)
        for callee in called(instruction, functions):
            overflow = overflow or account(callee, functions, residency)
        if overflow is not None:
            return overflow
    if function.kind is not FunctionKind.FORWARD:
        residency.leave(function)
    return None
