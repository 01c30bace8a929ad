"""Contents of a chip's memory while a Program runs: an address for every tensor, as TT-NN's allocator chooses it.

The compiler walks a Program to check that it fits and to find its peak use of memory. The runtime keeps the same
account while a Program runs for the first time. The two must agree.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from tt_xla.cost.allocation import AddressSpace
from tt_xla.cost.circular_buffers import internal_tensor
from tt_xla.cost.collective import SCATTERING, scatter_buffers
from tt_xla.cost.memory import bytes_per_bank
from tt_xla.cost.movement import keeps_tiles
from tt_xla.ir.layout import BufferType
from tt_xla.ir.mesh import Mesh
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
from tt_xla.ir.ranks import PROCESS_GROUP
from tt_xla.target import Target

Key = tuple[str, int]
"""Key of a value: the name of its function, and its number there."""


class Overflow(NamedTuple):
    """A tensor that fits into no gap of an address space."""

    key: Key
    spec: TensorSpec
    space: AddressSpace
    bytes: int


class Residency:
    """The memory of one chip: DRAM is filled from the bottom up, L1 from the top down. All banks look the same.

    Args:
        target: the chip.
        mesh: mesh of the Program; None for a Program for one chip.
    """

    def __init__(self, target: Target, mesh: Mesh | None = None) -> None:
        self.target = target
        self.mesh = mesh
        self.dram = AddressSpace("DRAM", target.dram_unreserved_base, target.dram_unreserved_end, target.dram_align)
        self.l1 = AddressSpace("L1", target.l1_unreserved_base, target.l1_end, target.noc_l1_align, top_down=True)
        self.specs: dict[Key, TensorSpec] = {}
        self._sharing: dict[Key, Key] = {}
        """For each view, the value whose memory it shares."""
        self._sharers: dict[Key, int] = {}
        """Number of values that share the memory of a value, including itself."""

    @property
    def dram_peak_bytes(self) -> int:
        """Peak use of DRAM in bytes, over all banks together."""
        return self.dram.peak * self.target.dram_banks

    def space(self, spec: TensorSpec) -> AddressSpace | None:
        return {BufferType.DRAM: self.dram, BufferType.L1: self.l1}.get(spec.layout.buffer)

    def hold(self, key: Key, spec: TensorSpec) -> Overflow | None:
        """Allocates memory for a value. Returns an overflow if it fits into no gap, else None."""
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
        """Allocates memory for the results of an instruction. Returns the first overflow, or None.

        A view shares the memory of its operand. Results of a trace lie in slots, which are never freed.
        """
        if instruction.op == TRACE:
            slots = functions[str(instruction.attributes["allocate_slots_callee"])]
            overflows = (self.run(slots, inner, functions) for inner in slots.body)
            return next((overflow for overflow in overflows if overflow is not None), None)
        between_chips = self.mesh is not None or PROCESS_GROUP in instruction.attributes
        if between_chips and instruction.op in SCATTERING:
            return self._exchange(function, instruction, self.mesh)
        internal = internal_tensor(instruction, function.values)
        if internal is None:
            return self._hold_results(function, instruction)
        key = (function.name, -1)
        overflow = self.hold(key, internal) or self._hold_results(function, instruction)
        self.free(key)
        return overflow

    def _exchange(self, function: Function, instruction: Instruction, mesh: Mesh | None) -> Overflow | None:
        """Allocates memory for the result of an exchange, and for the buffers that the op has meanwhile.

        An all_reduce is a reduce_scatter and an all_gather: the buffer of the first one is free during the second.
        """
        scratch, part = scatter_buffers(instruction, function.values, self.target, mesh)
        keys = [(function.name, -1), (function.name, -2)]
        held = [(keys[0], scratch), (keys[1], part)]
        overflow = next((over for key, spec in held if spec is not None and (over := self.hold(key, spec))), None)
        if part is not None:
            self.free(keys[0])
        overflow = overflow or self._hold_results(function, instruction)
        for key in keys:
            self.free(key)
        return overflow

    def _hold_results(self, function: Function, instruction: Instruction) -> Overflow | None:
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
        """Releases a value. Its memory is freed when no other value shares it."""
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
        """Releases the values that a called function still holds at its end. Its caller has the results."""
        for instruction in function.body:
            for value in instruction.results:
                self.free((function.name, value))


def viewed(instruction: Instruction, values: tuple[TensorSpec, ...]) -> int | None:
    """Returns the operand whose memory the result shares, for a reshape that leaves all pages in place, else None."""
    if instruction.op != "ttnn.reshape":
        return None
    source = instruction.operands["input"]
    assert isinstance(source, int)
    before, after = values[source], values[instruction.results[0]]
    one, other = before.layout, after.layout
    alike = (one.buffer, one.memory, one.grid) == (other.buffer, other.memory, other.grid)
    return source if alike and keeps_tiles(before, after) else None


def called(instruction: Instruction, functions: Mapping[str, Function]) -> list[Function]:
    """Returns the functions that an instruction runs: of const-eval, behind a trace, of a loop or of a case.

    An iteration of a loop leaves the memory unchanged: its states lie in the loop's results, and what the iteration
    returns takes their place. So one iteration stands for all. Each branch of a case is accounted for.
    """
    if instruction.op == LOAD_CACHED:
        return [functions[str(instruction.attributes["callee"])]]
    if instruction.op != TRACE:
        return [functions[name] for name in subprograms_of(instruction)]
    capture = functions[str(instruction.attributes["capture_callee"])]
    return [functions[next(str(inner.attributes["callee"]) for inner in capture.body if inner.op == CALL)]]


def held_arguments(entry: Function, arguments: Iterable[Argument]) -> list[int]:
    """Returns the entry's arguments in the order of their allocation: those that stay between runs come first."""
    declared = zip(entry.arguments, arguments, strict=True)
    return [value for value, _ in sorted(declared, key=lambda item: item[1].role is Role.INPUT)]


def walk(program: Program, residency: Residency) -> Overflow | None:
    """Accounts for one run of a Program that computes everything. Returns the first overflow, or None."""
    functions = {function.name: function for function in program.functions}
    entry = program.functions[0]
    for value in held_arguments(entry, program.arguments):
        overflow = residency.hold((entry.name, value), entry.values[value])
        if overflow is not None:
            return overflow
    return account(entry, functions, residency)


def account(function: Function, functions: Mapping[str, Function], residency: Residency) -> Overflow | None:
    """Accounts for one run of a function. Returns the first overflow, or None."""
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
