"""What idioms are drawn with: inputs, numbers that are sometimes wrong, values that are used twice."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from tests.fuzz import values

Array = Any
T = TypeVar("T")

FLOATS = ("float32", "float32", "bfloat16", "bfloat16")
INTEGERS = ("int32", "int32", "uint32", "int8", "uint8", "int16", "uint16")


class Drawer:
    """Draws the parameters of an idiom while JAX traces it.

    An idiom is traced twice from the same state of the generator: first to learn its inputs, then to make its text.

    Args:
        random: The generator.
        arguments: Tracers of the inputs; None while the inputs are learned.
        special: Whether floats may be NaN, infinities and numbers near the ends of their range.
    """

    def __init__(self, random: Random, arguments: Sequence[Array] | None, special: bool) -> None:
        self.random = random
        self.inputs: list[np.ndarray] = []
        self.parameters: set[int] = set()
        self.donated: set[int] = set()
        self.kept: list[Array] = []
        self._arguments = arguments
        self._special = special

    def one(self, *choices: T) -> T:
        """Returns one of several values, each as likely."""
        return self.random.choice(choices)

    def maybe(self, chance: float = 0.5) -> bool:
        """Returns true with a chance."""
        return self.random.random() < chance

    def or_else(self, value: T, *others: T, chance: float = 0.2) -> T:
        """Returns what a pattern expects, or with a chance one of the values that it must not take for that."""
        return self.random.choice(others) if self.random.random() < chance else value

    def size(self) -> int:
        """Returns a size of a dimension."""
        return self.random.choice((1, 2, 3, 4, 5, 7, 8, 16, 31, 32, 33, 64))

    def shape(self, ranks: Sequence[int] = (1, 2, 2, 2, 3, 3, 4), most: int = 4096) -> tuple[int, ...]:
        """Returns a shape with elements."""
        return tuple(max(1, size) for size in values.shape(self.random, ranks, most))

    def dtype(self) -> str:
        """Returns a type of floats."""
        return self.random.choice(FLOATS)

    def integer_dtype(self) -> str:
        """Returns a type of integers."""
        return self.random.choice(INTEGERS)

    def input(
        self, shape: Sequence[int], dtype: str = "float32", *, scale: float = 1.0, positive: bool = False,
        parameter: bool | None = None, below: int = 0, donated: bool = False,
    ) -> Array:  # fmt: skip
        """Returns a new input of drawn elements.

        Args:
            shape: Sizes.
            dtype: Element type.
            scale: Factor of floats.
            positive: Whether floats are positive.
            parameter: Whether the input is a parameter; drawn by default.
            below: Integers are from 0 to one less than this, if it is not 0.
            donated: Whether the program may write into the memory of the input.
        """
        if below:
            drawn = np.random.default_rng(self.random.getrandbits(64)).integers(0, below, tuple(shape))
            value = np.asarray(drawn).astype(values.dtype(dtype))
        else:
            value = values.array(self.random, tuple(shape), dtype, special=self._special)
        if values.is_float(value.dtype) and (positive or scale != 1.0):
            with np.errstate(over="ignore", invalid="ignore"):
                wide = value.astype(np.float32) * scale
                value = (np.abs(wide) + 0.25 if positive else wide).astype(value.dtype)
        position = len(self.inputs)
        if self.maybe(0.3) if parameter is None else parameter:
            self.parameters.add(position)
        if donated:
            self.donated.add(position)
        self.inputs.append(value)
        return jnp.asarray(value) if self._arguments is None else self._arguments[position]

    def keep(self, value: T, chance: float = 0.08) -> T:
        """Returns the value, which the program returns too with a chance."""
        if self.random.random() < chance:
            self.kept.append(value)
        return value

    def shuffled(self, *factors: Array) -> Array:
        """Returns the product of factors in a drawn order and bracketing."""
        left = list(factors)
        self.random.shuffle(left)
        while len(left) > 1:
            index = self.random.randrange(len(left) - 1)
            left[index : index + 2] = [left[index] * left[index + 1]]
        return left[0]

    def either_way(self, op: Callable[[Array, Array], Array], one: Array, other: Array) -> Array:
        """Returns the result of an op whose operands are exchanged or not."""
        return op(one, other) if self.maybe() else op(other, one)

    def cast(self, value: Array, chance: float = 0.15) -> Array:
        """Returns a float value, with a chance by way of another float type."""
        if self.random.random() >= chance or value.dtype not in (jnp.float32, jnp.bfloat16):
            return value
        other = jnp.bfloat16 if value.dtype == jnp.float32 else jnp.float32
        return value.astype(other).astype(value.dtype) if self.maybe(0.7) else value.astype(other)

    def moved(self, value: Array, chance: float = 0.15) -> Array:
        """Returns a value with a reshape and its inverse around it, with a chance."""
        if self.random.random() >= chance or value.ndim == 0:
            return value
        return value.reshape(-1).reshape(value.shape)


@dataclass(frozen=True)
class Idiom:
    """A family of programs.

    Attributes:
        draw: Draws one while it is traced, and returns its results.
        patterns: Names of the patterns that the programs are made for.
        special: Whether inputs may have NaN, infinities and numbers near the ends of their range.
    """

    draw: Callable[[Drawer], Any]
    patterns: tuple[str, ...]
    special: bool

    @property
    def name(self) -> str:
        return self.draw.__name__


IDIOMS: dict[str, Idiom] = {}
"""Every idiom by name."""


def idiom(*patterns: str, special: bool = True) -> Callable[[Callable[[Drawer], Any]], Callable[[Drawer], Any]]:
    """Adds a function to the idioms.

    Args:
        patterns: Names of the patterns that its programs are made for.
        special: Whether inputs may have NaN, infinities and numbers near the ends of their range.
    """

    def add(draw: Callable[[Drawer], Any]) -> Callable[[Drawer], Any]:
        if draw.__name__ in IDIOMS:
            raise ValueError(f"two idioms have the name {draw.__name__}")
        IDIOMS[draw.__name__] = Idiom(draw, patterns, special)
        return draw

    return add


def built(random: Random, one: Idiom, *, special: bool = False) -> tuple[str, tuple[np.ndarray, ...]]:
    """Returns the StableHLO text of a drawn program and its inputs."""
    state = random.getstate()
    drawer = Drawer(random, None, special)
    jax.eval_shape(lambda: _results(one, drawer))
    after = random.getstate()

    def program(*arguments: Array) -> Any:
        random.setstate(state)
        return _results(one, Drawer(random, arguments, special))

    text = jax.jit(program, keep_unused=True).lower(*drawer.inputs).as_text()
    random.setstate(after)
    marks = dict.fromkeys(drawer.donated, "jax.buffer_donor = true")
    marks |= dict.fromkeys(drawer.parameters, 'ttcore.argument_type = "parameter"')
    for index, mark in sorted(marks.items()):
        text = re.sub(rf"(%arg{index}: tensor<[^>]*>)(?=[,)])", rf"\1 {{{mark}}}", text, count=1)
    return text, tuple(drawer.inputs)


def _results(one: Idiom, drawer: Drawer) -> tuple[Array, ...]:
    """Returns what an idiom's program returns: its results, and values that are kept."""
    results = one.draw(drawer)
    return (*(results if isinstance(results, (tuple, list)) else (results,)), *drawer.kept)
