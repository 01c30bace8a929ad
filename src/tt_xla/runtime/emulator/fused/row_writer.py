"""Writes the C++ of values that lie over one shape, row by row, for the ops of :mod:`.rows`.

A row is worked through in phases, a loop over its elements each. A reduction ends a phase, because what comes after
needs all of it. What a later phase reads lies in a buffer of one row.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch

from tt_xla.ir.layout import DataType
from tt_xla.runtime.emulator.fused.cpp import GRAIN, TYPES, Operand, Shape

_ON_STACK = 1 << 16
"""Elements of all buffers of a row together, at most, that lie on the stack: a thread may have no more than 2 MiB."""

FLOATS = (DataType.BF16, DataType.F32)
KINDS = dict.fromkeys(FLOATS, "float") | {DataType.SI32: "int32_t", DataType.U32: "int64_t"}
"""C++ type in which values of each device dtype are computed."""


@dataclass
class _Phase:
    """One loop over the elements of a row."""

    lines: list[tuple[int | None, str]] = field(default_factory=lambda: [])
    """C++ statements for one element, and the value that each makes, if any."""
    after: list[str] = field(default_factory=lambda: [])
    """C++ statements after the loop, which finish reductions."""
    in_halves: bool = False
    """Whether the two halves of the row have loops of their own."""


@dataclass(frozen=True)
class Output:
    """A value that leaves: its number, how it is to lie in memory, and a C++ pointer to that memory.

    One with an element for each row has a last dimension of 1. ``mask`` are the bits of a float32 that are stored; None
    for all.
    """

    value: int
    operand: Operand
    pointer: str
    mask: int | None = None


class RowWriter:
    """Writes the C++ of ops over one shape, step by step.

    Args:
        domain: the shape of all values, without leading dimensions of 1.
    """

    def __init__(self, domain: Shape) -> None:
        self._domain = domain
        self._phases = [_Phase()]
        self._phase_of: dict[int, int] = {}
        """Index of the phase that makes a value, by value."""
        self._kinds: dict[int, str] = {}
        """C++ type of a value, by value."""
        self._aliases: dict[int, int] = {}
        """Values that have the elements of another one, and that one."""
        self._moved: set[int] = set()
        """Values whose elements are those of an operand, with all bits."""
        self._buffered: set[int] = set()
        """Values that a later phase reads."""
        self._inputs: list[tuple[int, Operand]] = []
        self._terms: list[str] = []
        """C++ names of the buffers of terms that are reduced."""
        self._reduced: dict[int, str] = {}
        """Values that have one element for each row, and its C++ name."""

    def take(self, value: int, operand: Operand) -> None:
        """Declares a value that is passed in."""
        self._inputs.append((value, operand))

    def same(self, value: int, result: int) -> None:
        """Makes ``result`` another name of ``value``."""
        self._aliases[result] = self._root(value)

    def assign(self, result: int, expression: str, dtype: DataType) -> None:
        """Defines ``result`` by the C++ expression of one element, float or int32_t, which is rounded to ``dtype``."""
        self._define(result, _rounded(expression, dtype), dtype)

    def hidden(self, expression: str) -> int:
        """Defines a float of each element that no op returns, by a C++ expression, and returns its number."""
        value = -len(self._phase_of) - 1
        self._define(value, expression, DataType.F32)
        return value

    def _define(self, result: int, expression: str, dtype: DataType) -> None:
        self._phases[-1].lines.append((result, f"const {KINDS[dtype]} {_name('v', result)} = {expression};"))
        self._phase_of[result] = len(self._phases) - 1
        self._kinds[result] = KINDS[dtype]

    def choose(self, result: int, condition: int, first: int, second: int, dtype: DataType) -> None:
        """Defines ``result`` by elements of ``first`` where ``condition`` is not 0, else of ``second``, as they are."""
        chosen = f"{self.read(condition)} != 0 ? {self._read_finished(first)} : {self._read_finished(second)}"
        self._define(result, chosen, dtype)
        self._moved.add(result)

    def widen(self, result: int, value: int) -> None:
        """Defines ``result`` by the elements of a narrower float, as they are."""
        self._define(result, self._read_finished(value), DataType.F32)
        self._moved.add(result)

    def _read_finished(self, value: int) -> str:
        """Returns the C++ of a value's element with the bits that it has once it is stored."""
        root, element = self._root(value), self.read(value)
        computed = root in self._phase_of and root not in self._moved and self._kinds[root] == "float"
        computed = computed or root in self._reduced
        return f"one_nan({element})" if computed else element

    def reduce(self, op: str, term: str) -> str:
        """Ends the phase with a reduction of the row.

        Args:
            op: ``Plus``, ``Most`` or ``Least``.
            term: C++ expression of one element's term, a float.

        Returns:
            The C++ name of the result, a float.
        """
        name = f"t{len(self._terms)}"
        self._terms.append(name)
        self._phases[-1].lines.append((None, f"{name}[j] = {term};"))
        return self._end_phase(op, name)

    def reduce_value(self, op: str, value: int) -> str:
        """Ends the phase with a reduction of a value's row, as :meth:`reduce` does; where the row lies side by side in
        floats it is not copied."""
        value = self._root(value)
        if value in self._phase_of and self._kinds[value] == "float":
            self._buffered.add(value)
            return self._end_phase(op, _name("b", value))
        for position, (input_value, operand) in enumerate(self._inputs):
            if input_value == value and operand.dtype is torch.float32 and self._strides(operand)[-1] == 1:
                return self._end_phase(op, f"x{position}")
        return self.reduce(op, self.read(value))

    def _end_phase(self, op: str, row: str) -> str:
        name = f"k{len(self._phases)}"
        self._phases[-1].after.append(f"const float {name} = reduced<{op}>({row}, {self._domain[-1]});")
        self._phases.append(_Phase())
        return name

    def keep_of_row(self, result: int, expression: str, dtype: DataType) -> None:
        """Defines ``result``, which has one element for each row, by a C++ expression of what was reduced."""
        name = f"r{result}"
        self._phases[-2].after.append(f"const float {name} = {_rounded(expression, dtype)};")
        self._reduced[result] = name

    def makes(self, value: int) -> bool:
        """Whether the value is computed here, rather than passed in under this name or another."""
        value = self._root(value)
        return value in self._phase_of or value in self._reduced

    def is_of_row(self, value: int) -> bool:
        """Whether the value has one element for each row."""
        return self._root(value) in self._reduced

    def is_named(self, value: int, other: int) -> bool:
        """Whether a value is another one under another name."""
        return self._root(value) == other

    def halve(self, value: int) -> None:
        """Has the phase go through halves of the row, so that ``read(value, "q")`` gives the other half's element."""
        if self._phase_of.get(self._root(value)) == len(self._phases) - 1:
            self._phases.append(_Phase())
        self._phases[-1].in_halves = True

    def read(self, value: int, index: str = "j") -> str:
        """Returns the C++ of a value's element at this index of the row."""
        value = self._root(value)
        if value in self._reduced:
            return self._reduced[value]
        for position, (input_value, operand) in enumerate(self._inputs):
            if input_value == value:
                step = self._strides(operand)[-1]
                return f"load(x{position}[{f'{index} * {step}' if step > 1 else index if step else 0}])"
        if self._phase_of[value] == len(self._phases) - 1:
            return _name("v", value)
        self._buffered.add(value)
        return f"{_name('b', value)}[{index}]"

    def lines(self, pointers: Sequence[str], outputs: Sequence[Output]) -> list[str]:
        """Returns the loops.

        Args:
            pointers: C++ pointers to the inputs, in the order of :meth:`take`.
            outputs: values that are computed here and leave.
        """
        rows = self._domain[:-1] or (1,)
        shared = math.prod(self._domain) > GRAIN and math.prod(rows) > 1
        buffers = [(_name("b", value), self._kinds[value]) for value in sorted(self._buffered)]
        buffers += [(name, "float") for name in self._terms]
        length = self._domain[-1]
        if len(buffers) * length > _ON_STACK:
            declared = [f"char* const memory = thread_memory({len(buffers) * length * 8});"]
            declared += [
                f"{kind}* const {name} = ({kind}*)(memory + {position * length * 8}L);"
                for position, (name, kind) in enumerate(buffers)
            ]
        else:
            declared = [f"{kind} {name}[{length}];" for name, kind in buffers]
        body = [
            f"#pragma omp parallel for collapse({len(rows)})" if shared else "",
            *(f"for (long i{dim} = 0; i{dim} < {size}; ++i{dim})" for dim, size in enumerate(rows)),
            "{",
            *(
                self._pointer("const ", f"x{index}", pointer, operand)
                for index, ((_, operand), pointer) in enumerate(zip(self._inputs, pointers, strict=True))
            ),
            *(self._pointer("", f"y{index}", each.pointer, each.operand) for index, each in enumerate(outputs)),
            *declared,
            *(line for phase in range(len(self._phases)) for line in self._phase_lines(phase, outputs)),
            *(
                f"store(*y{position}, {self._reduced[self._root(each.value)]});"
                for position, each in enumerate(outputs)
                if self._root(each.value) in self._reduced
            ),
            "}",
        ]
        return [line for line in body if line]

    def _root(self, value: int) -> int:
        return self._aliases.get(value, value)

    def _strides(self, operand: Operand) -> Shape:
        """Returns the stride along each dimension of the domain; 0 where the operand is broadcast."""
        own = [0 if size == 1 else step for size, step in zip(operand.shape, operand.stride, strict=True)]
        missing = len(self._domain) - len(own)
        return (0,) * missing + tuple(own[max(0, -missing) :])

    def _pointer(self, const: str, name: str, pointer: str, operand: Operand) -> str:
        c_type = TYPES[operand.dtype]
        steps = [f" + i{dim} * {step}L" for dim, step in enumerate(self._strides(operand)[:-1]) if step]
        return f"{const}{c_type}* const {name} = ({const}{c_type}*){pointer}{''.join(steps)};"

    def _stored(self, position: int, output: Output) -> str:
        """Returns the statement that stores a value's element."""
        value = self._root(output.value)
        to, own = f"y{position}[j * {self._strides(output.operand)[-1]}]", _name("v", value)
        if output.mask is None:
            return f"{'keep' if value in self._moved else 'store'}({to}, {own});"
        return f"keep({to}, cut({own if value in self._moved else f'one_nan({own})'}, 0x{output.mask:08x}u));"

    def _phase_lines(self, index: int, outputs: Sequence[Output]) -> list[str]:
        phase, length = self._phases[index], self._domain[-1]
        inside: list[str] = []
        for value, line in phase.lines:
            inside.append(line)
            if value is None:
                continue
            if value in self._buffered:
                inside.append(f"{_name('b', value)}[j] = {_name('v', value)};")
            own = [pair for pair in enumerate(outputs) if self._root(pair[1].value) == value]
            inside += [self._stored(*pair) for pair in own]
        if not inside:
            return phase.after
        alone = math.prod(self._domain[:-1]) == 1 and length > GRAIN and not phase.after and not self._buffered
        simd = "#pragma omp parallel for simd" if alone else "#pragma omp simd"
        ranges = [("0", str(length), "")]
        if phase.in_halves:
            half = length // 2
            ranges = [
                ("0", str(half), f"const long q = j + {half}; const float g = -1.0f;"),
                (str(half), str(length), f"const long q = j - {half}; const float g = 1.0f;"),
            ]
        lines: list[str] = []
        for start, end, first in ranges:
            lines += [simd, f"for (long j = {start}; j < {end}; ++j) {{", first, *inside, "}"]
        return lines + phase.after


def _name(letter: str, value: int) -> str:
    """Returns the C++ name of a value; hidden ones have negative numbers."""
    return f"{letter}{value}" if value >= 0 else f"{letter}_{-value}"


def _rounded(expression: str, dtype: DataType) -> str:
    return f"rounded({expression})" if dtype is DataType.BF16 else expression
