"""Builds the text of a drawn StableHLO module, and draws where the operands of its ops come from."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from tests.fuzz import values
from tests.fuzz.stablehlo.types import (
    BOOL,
    COMPLEX,
    FLOATS,
    INTEGERS,
    UNSIGNED,
    WEIGHTS,
    Value,
    bits,
    constant_text,
    is_float,
    is_integer,
    limits,
    longs,
    numpy_type,
    type_text,
)

Body = Callable[[list[Value]], Sequence[Value]]
"""Draws the ops of a region, given its arguments, and returns what the region returns."""

WIDE = ("i64", "ui64")
"""Integers that the chip holds in 32 bits where they fit."""

NOTABLE = (0.0, -0.0, 1.0, -1.0, 2.0, 0.5, 3.0, float("inf"), float("-inf"), float("nan"))
"""Constants at which folds and patterns begin."""


@dataclass(frozen=True)
class Elements:
    """What elements an operand may have.

    Attributes:
        low: Least element.
        high: Greatest element.
        distinct: Whether no two elements along any dimension are equal.
        nonzero: Whether no element is zero.
    """

    low: float | None = None
    high: float | None = None
    distinct: bool = False
    nonzero: bool = False


ANY = Elements()
POSITIVE = Elements(low=0.125, high=8)
UNIT = Elements(low=-0.9375, high=0.9375)
NONZERO = Elements(nonzero=True)
DISTINCT = Elements(distinct=True)


@dataclass
class Builder:
    """A module that is being drawn.

    Attributes:
        random: The generator.
        special: Whether inputs and constants may be NaN, infinite or extreme.
        used: Names of the values that ops outside of regions read.
        joined: Share of operands that are results of earlier ops.
        fresh: Share of the other operands that are arguments.
        hollow: Whether an operand of the drawn op is to have no elements, if its result can have some.
    """

    random: random.Random
    special: bool = False
    joined: float = 0.15
    fresh: float = 0.55
    hollow: bool = False
    lines: list[str] = field(default_factory=list[str])
    reference: list[str] = field(default_factory=list[str])
    functions: list[str] = field(default_factory=list[str])
    values: list[Value] = field(default_factory=list[Value])
    arguments: list[Value] = field(default_factory=list[Value])
    inputs: list[np.ndarray] = field(default_factory=list[np.ndarray])
    used: set[str] = field(default_factory=set[str])
    header: str = ""
    closed: bool = False
    _names: int = 0

    # what is drawn

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def is_hollow(self) -> bool:
        """Returns whether an operand gets no elements; one of 40 does also where that is not asked for."""
        return self.hollow or self.chance(1 / 40)

    def element(self, *groups: Sequence[str]) -> str:
        """Returns a drawn element type of some groups, often that of a value that is there."""
        names = [name for group in groups for name in group]
        known = [value.element for value in self.values if value.element in names]
        if known and self.chance(min(0.9, 2 * self.joined)):
            return self.random.choice(known)
        return self.random.choices(names, [WEIGHTS.get(name, 1) for name in names])[0]

    def shape(self, ranks: Sequence[int] = (0, 1, 1, 2, 2, 2, 3, 3, 4), most: int = 4096) -> tuple[int, ...]:
        """Returns a drawn shape, often that of a value that is there."""
        known = [value.shape for value in self.values if len(value.shape) in ranks and value.size <= most]
        if known and self.chance(min(0.9, 2 * self.joined)):
            return self.random.choice(known)
        return values.shape(self.random, ranks, most)

    def sizes(self, rank: int, low: int = 1, high: int = 6) -> tuple[int, ...]:
        """Returns small sizes, for ops with many parameters."""
        return tuple(self.random.randint(low, high) for _ in range(rank))

    def some(self, count: int, of: int) -> list[int]:
        """Returns ``count`` drawn dimensions of ``of``, in order."""
        return sorted(self.random.sample(range(of), count))

    def array(self, shape: Sequence[int], element: str, elements: Elements = ANY) -> np.ndarray:
        """Returns drawn elements."""
        type_ = numpy_type(element)
        count = int(np.prod(shape, dtype=int))
        drawn = np.random.default_rng(self.random.getrandbits(64))
        if elements.distinct:
            return self._distinct(drawn, count, element).reshape(shape)
        bounded = elements.low is not None or elements.high is not None
        if not bounded:
            special = self.special and element not in WIDE
            array = values.array(self.random, shape, type_.name, special=special)
        elif is_float(element):
            array = drawn.uniform(elements.low, elements.high, shape).astype(type_)
        elif element in COMPLEX:
            array = (drawn.uniform(0.1, 1, shape) + 1j * drawn.uniform(0.1, 1, shape)).astype(type_)
        elif element in BOOL:
            array = drawn.integers(0, 2, shape).astype(type_)
        else:
            least, most = limits(element)
            low = max(least, int(np.floor(-9 if elements.low is None else elements.low)))
            high = min(most, int(np.ceil(9 if elements.high is None else elements.high)))
            array = drawn.integers(min(low, high), high + 1, shape).astype(type_)
        if elements.nonzero:
            array = np.where(array == type_.type(0), np.ones((), type_), array)
        return np.asarray(array).astype(type_)

    def _distinct(self, drawn: np.random.Generator, count: int, element: str) -> np.ndarray:
        least = limits(element)[0] if is_integer(element) and count > limits(element)[1] else 0
        return (drawn.permutation(count) + least).astype(np.float64).astype(numpy_type(element))

    # ops

    def name(self) -> str:
        self._names += 1
        return f"%{self._names - 1}"

    def op(
        self,
        name: str,
        operands: Sequence[Value],
        results: Sequence[tuple[Sequence[int], str]],
        attributes: str = "",
        regions: Sequence[str] = (),
        reference: Callable[[Sequence[Value], Sequence[Value]], Sequence[str]] | None = None,
    ) -> list[Value]:
        """Appends an op in MLIR's generic form.

        Args:
            name: full name.
            operands: operands.
            results: shape and element type of each result.
            attributes: text of the attributes, without braces.
            regions: texts from :meth:`region`.
            reference: Returns the lines that stand for the op in the reference's module, given operands and results.

        Returns:
            The results.
        """
        made = [Value(self.name(), tuple(shape), element) for shape, element in results]
        line = self.line(name, [v.name for v in operands], [v.type for v in operands], made, attributes, regions)
        self.lines.append(line)
        self.reference += [line] if reference is None else reference(operands, made)
        self.values += made
        self.used.update(value.name for value in operands)
        return made

    def line(
        self,
        name: str,
        operands: Sequence[str],
        types: Sequence[str],
        results: Sequence[Value],
        attributes: str = "",
        regions: Sequence[str] = (),
    ) -> str:
        """Returns the text of an op."""
        left = f"{', '.join(value.name for value in results)} = " if results else ""
        inner = f" ({', '.join(regions)})" if regions else ""
        braces = f" {{{attributes}}}" if attributes else ""
        outer = ", ".join(value.type for value in results)
        return f'{left}"{name}"({", ".join(operands)}){inner}{braces} : ({", ".join(types)}) -> ({outer})'

    def one(
        self,
        name: str,
        operands: Sequence[Value],
        shape: Sequence[int],
        element: str,
        attributes: str = "",
        regions: Sequence[str] = (),
    ) -> Value:
        """Appends an op with one result; see :meth:`op`."""
        return self.op(name, operands, [(shape, element)], attributes, regions)[0]

    def region(self, arguments: Sequence[tuple[Sequence[int], str]], body: Body, *, captures: bool = False) -> str:
        """Returns the text of a region.

        Args:
            arguments: shape and element type of each argument.
            body: draws the ops.
            captures: whether the region may use values from outside.
        """
        taken = [Value(f"%a{self.name()[1:]}", tuple(shape), element) for shape, element in arguments]
        head = f"^bb0({', '.join(f'{value.name}: {value.type}' for value in taken)}):\n" if taken else "^bb0:\n"
        return "{\n" + head + self._body("stablehlo.return", taken, body, captures=captures) + "\n}"

    def function(self, arguments: Sequence[tuple[Sequence[int], str]], body: Body) -> tuple[str, list[Value]]:
        """Adds a private function and returns its name, and its results as they are inside."""
        name = f"f{len(self.functions)}_{self.name()[1:]}"
        taken = [Value(f"%a{self.name()[1:]}", tuple(shape), element) for shape, element in arguments]
        returned: list[Value] = []

        def keep(inside: list[Value]) -> Sequence[Value]:
            returned.extend(body(inside))
            return returned

        text = self._body("func.return", taken, keep, captures=False)
        head = ", ".join(f"{value.name}: {value.type}" for value in taken)
        types = ", ".join(value.type for value in returned)
        self.functions.append(f"func.func private @{name}({head}) -> ({types}) {{\n{text}\n}}")
        return name, returned

    def _body(self, terminator: str, taken: list[Value], body: Body, *, captures: bool) -> str:
        outside = self.lines, self.reference, self.values, self.closed
        self.lines, self.reference, self.closed = [], [], not captures or self.closed
        self.values = [*(self.values if captures else ()), *taken]
        returned = body(taken)
        lines = self.lines
        self.lines, self.reference, self.values, self.closed = outside
        lines.append(self.line(terminator, [value.name for value in returned], [value.type for value in returned], ()))
        return "\n".join(lines)

    # operands

    def argument(self, shape: Sequence[int], element: str, elements: Elements = ANY) -> Value:
        """Adds an argument of the program; within a function a constant."""
        if self.closed:
            return self.constant(self.array(shape, element, elements), element)
        value = Value(f"%arg{len(self.arguments)}", tuple(shape), element)
        self.arguments.append(value)
        self.inputs.append(values.strided(self.random, self.array(shape, element, elements)))
        self.values.append(value)
        return value

    def given(self, array: np.ndarray, element: str) -> Value:
        """Returns an argument or a constant of these elements."""
        if self.closed or self.chance(0.4):
            return self.constant(array, element)
        value = self.argument(array.shape, element)
        self.inputs[-1] = np.asarray(array).astype(self.inputs[-1].dtype)
        return value

    def constant(self, array: np.ndarray, element: str) -> Value:
        """Appends a constant."""
        text = f"value = {constant_text(np.asarray(array, numpy_type(element)), element)}"
        return self.one("stablehlo.constant", [], array.shape, element, text)

    def splat(self, shape: Sequence[int], element: str, number: float) -> Value:
        """Appends a constant whose elements are one number."""
        return self.constant(np.full(shape, number).astype(numpy_type(element)), element)

    def notable(self, element: str) -> float:
        """Returns a number that folds and patterns look for."""
        if element in BOOL:
            return self.random.randrange(2)
        if is_integer(element):
            least, most = limits(element)
            ends = (least, most) if self.special and element not in WIDE else ()
            return max(least, min(most, self.random.choice((0, 1, -1, 2, 3, 7, *ends))))
        if element == "f8E8M0FNU":
            return self.random.choice((0.5, 1.0, 2.0))
        finite = not self.special or element in ("f4E2M1FN", *COMPLEX)
        return self.random.choice([x for x in NOTABLE if not finite or np.isfinite(x)])

    def operand(self, shape: Sequence[int], element: str, elements: Elements = ANY, depth: int = 2) -> Value:
        """Returns an operand: an argument, a constant, a value that is there, or a view or a conversion of one."""
        shape = tuple(shape)
        joined = elements == ANY and self.chance(self.joined)
        if joined and (value := self._existing(shape, element, depth)) is not None:
            return value
        way = self.random.random()
        if way < self.fresh or depth == 0:
            return self.argument(shape, element, elements)
        if way < self.fresh + 0.2:
            if elements == ANY and self.chance(0.6):
                return self.splat(shape, element, self.notable(element))
            return self.constant(self.array(shape, element, elements), element)
        if elements == ANY and self.chance(0.3):
            return self._computed(shape, element, depth - 1)
        return self._view(shape, element, elements, depth - 1)

    def _existing(self, shape: tuple[int, ...], element: str, depth: int) -> Value | None:
        """Returns a value that is there: of this type, or brought to it."""
        same = [value for value in self.values if value.shape == shape and value.element == element]
        if same and (depth == 0 or self.chance(0.8)):
            return self.random.choice(same)
        near = [value for value in self.values if value.shape == shape and can_convert(value.element, element)]
        if near and self.chance(0.5):
            return self.convert(self.random.choice(near), element)
        size = int(np.prod(shape, dtype=int))
        alike = [value for value in self.values if value.element == element and value.size == size]
        if alike:
            return self.reshape(self.random.choice(alike), shape)
        return self.random.choice(same) if same else None

    def _computed(self, shape: tuple[int, ...], element: str, depth: int) -> Value:
        """Returns the result of an op on drawn operands."""
        sources = [other for other in (*BOOL, *INTEGERS, *FLOATS) if can_convert(other, element)]
        if sources and self.chance(0.5):
            source = self.element(sources)
            return self.convert(self.operand(shape, source, ANY, depth), element)
        if self.chance(0.3) or element not in (*INTEGERS, *FLOATS):
            mask = self.operand(shape, "i1", ANY, depth)
            two = [self.operand(shape, element, ANY, depth) for _ in range(2)]
            return self.one("stablehlo.select", [mask, *two], shape, element)
        name = self.random.choice(("add", "multiply", "subtract", "maximum", "minimum"))
        two = [self.operand(shape, element, ANY, depth) for _ in range(2)]
        return self.one(f"stablehlo.{name}", two, shape, element)

    def _view(self, shape: tuple[int, ...], element: str, elements: Elements, depth: int) -> Value:
        """Returns a view of a drawn operand."""
        ways = [self._reshaped, self._broadcast, self._barred]
        if shape:
            ways += [self._transposed, self._sliced, self._reversed, self._joined]
        return self.random.choice(ways)(shape, element, elements, depth)

    def _barred(self, shape: tuple[int, ...], element: str, elements: Elements, depth: int) -> Value:
        source = self.operand(shape, element, elements, depth)
        return self.one("stablehlo.optimization_barrier", [source], shape, element)

    def _reshaped(self, shape: tuple[int, ...], element: str, elements: Elements, depth: int) -> Value:
        return self.reshape(self.operand(self.other_shape(shape), element, elements, depth), shape)

    def _transposed(self, shape: tuple[int, ...], element: str, elements: Elements, depth: int) -> Value:
        order = self.random.sample(range(len(shape)), len(shape))
        before = [0] * len(shape)
        for position, dim in enumerate(order):
            before[dim] = shape[position]
        source = self.operand(before, element, elements, depth)
        return self.one("stablehlo.transpose", [source], shape, element, f"permutation = {longs(order)}")

    def _broadcast(self, shape: tuple[int, ...], element: str, elements: Elements, depth: int) -> Value:
        kept = self.some(self.random.randint(0, len(shape)), len(shape))
        sizes = [1 if self.chance(0.3) else shape[dim] for dim in kept]
        if elements.distinct:
            kept, sizes = list(range(len(shape))), list(shape)
        source = self.operand(sizes, element, elements, depth)
        attributes = f"broadcast_dimensions = {longs(kept)}"
        return self.one("stablehlo.broadcast_in_dim", [source], shape, element, attributes)

    def _sliced(self, shape: tuple[int, ...], element: str, elements: Elements, depth: int) -> Value:
        dim, step = self.random.randrange(len(shape)), self.random.choice((1, 1, 2))
        low, size = self.random.randint(0, 3), shape[dim]
        extent = low + (size - 1) * step + 1 if size else low
        before = (*shape[:dim], extent + self.random.randint(0, 2), *shape[dim + 1 :])
        source = self.operand(before, element, elements, depth)
        starts = [low if d == dim else 0 for d in range(len(shape))]
        ends = [extent if d == dim else shape[d] for d in range(len(shape))]
        steps = [step if d == dim else 1 for d in range(len(shape))]
        attributes = f"start_indices = {longs(starts)}, limit_indices = {longs(ends)}, strides = {longs(steps)}"
        return self.one("stablehlo.slice", [source], shape, element, attributes)

    def _reversed(self, shape: tuple[int, ...], element: str, elements: Elements, depth: int) -> Value:
        dims = self.some(self.random.randint(1, len(shape)), len(shape))
        source = self.operand(shape, element, elements, depth)
        return self.one("stablehlo.reverse", [source], shape, element, f"dimensions = {longs(dims)}")

    def _joined(self, shape: tuple[int, ...], element: str, elements: Elements, depth: int) -> Value:
        dim = self.random.randrange(len(shape))
        if shape[dim] < 2 or elements.distinct:
            return self._reversed(shape, element, elements, depth)
        cut = self.random.randint(1, shape[dim] - 1)
        parts = [
            self.operand((*shape[:dim], size, *shape[dim + 1 :]), element, elements, depth)
            for size in (cut, shape[dim] - cut)
        ]
        return self.one("stablehlo.concatenate", parts, shape, element, f"dimension = {dim} : i64")

    def other_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        """Returns another drawn shape with as many elements."""
        sizes = list(shape)
        for _ in range(self.random.randint(1, 2)):
            if len(sizes) > 1 and self.chance(0.4):
                at = self.random.randrange(len(sizes) - 1)
                sizes[at : at + 2] = [sizes[at] * sizes[at + 1]]
            elif sizes and self.chance(0.4):
                at = self.random.randrange(len(sizes))
                divisors = [d for d in range(1, min(sizes[at], 64) + 1) if sizes[at] % d == 0]
                if divisors and len(sizes) < 5:
                    first = self.random.choice(divisors)
                    sizes[at : at + 1] = [first, sizes[at] // first]
            elif len(sizes) < 5:
                sizes.insert(self.random.randint(0, len(sizes)), 1)
        return tuple(sizes)

    def reshape(self, value: Value, shape: Sequence[int]) -> Value:
        return self.one("stablehlo.reshape", [value], shape, value.element)

    def convert(self, value: Value, element: str) -> Value:
        return self.one("stablehlo.convert", [value], value.shape, element)

    def compare(self, left: Value, right: Value, direction: str) -> Value:
        """Appends a comparison."""
        attributes = f"comparison_direction = #stablehlo<comparison_direction {direction}>"
        return self.one("stablehlo.compare", [left, right], left.shape, "i1", attributes)

    def scalar(self, element: str, number: float) -> Value:
        return self.splat((), element, number)

    # text

    def texts(self, results: Sequence[Value]) -> tuple[str, str]:
        """Returns the module that returns some values, and the one for the reference."""
        head = ", ".join(f"{value.name}: {value.type}" for value in self.arguments)
        types = ", ".join(value.type for value in results)
        last = self.line("func.return", [value.name for value in results], [value.type for value in results], ())
        texts: list[str] = []
        for header, lines in ((self.header, self.lines), ("", self.reference)):
            body = "\n".join([*lines, last])
            main = f"func.func public @main({head}) -> ({types}) {{\n{body}\n}}"
            texts.append("module {\n" + "\n".join([*filter(None, [header]), main, *self.functions]) + "\n}\n")
        return texts[0], texts[1]


_DISTINCT = {"bf16": 256, "f16": 2048, **{name: 2 ** bits(name) for name in INTEGERS if bits(name) < 32}}


def can_be_distinct(element: str, size: int) -> bool:
    """Whether so many elements of a type may all differ."""
    return element not in (*BOOL, *COMPLEX) and size <= _DISTINCT.get(element, size)


def can_convert(source: str, target: str) -> bool:
    """Whether a conversion has a result that StableHLO defines for every element that is drawn."""
    if source in COMPLEX or target in COMPLEX or source == target:
        return False
    if is_float(source) and (target in UNSIGNED or (is_integer(target) and target not in ("i32", "i64"))):
        return False
    return source in (*BOOL, *INTEGERS, *FLOATS) and target in (*BOOL, *INTEGERS, *FLOATS)


__all__ = ["ANY", "DISTINCT", "NONZERO", "POSITIVE", "UNIT", "Builder", "Elements", "type_text"]
