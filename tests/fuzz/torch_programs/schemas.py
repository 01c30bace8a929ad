"""Draws the arguments of an op from its schema: by the types, and by the names that PyTorch's ops share."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from tests.fuzz import values
from tests.fuzz.torch_programs import tensors
from tests.fuzz.torch_programs.calls import Call, Op

NUMBERS = (0, 1, -1, 2, 3, -7, 0.5, -0.5, 1.5, 2.0, 1e-3, 100, True)
SPECIAL_NUMBERS = (float("inf"), float("-inf"), float("nan"), -0.0, 3e38, 127, 128, 255, -128, 2**31 - 1, -(2**31))
TEXTS = {"rounding_mode": (None, "floor", "trunc"), "approximate": ("none", "tanh"), "side": ("left", "right", None)}
ALIKE = 0.75
"""Share of operands that have the type and the shape of the first one."""

CHOOSING = frozenset(["topk", "kthvalue", "median", "sort"])
"""Ops that may choose any of equal elements, or put them in any order; their inputs have none."""

BOOLEAN = frozenset(("mask", "condition"))
"""Names of tensors of booleans."""


@dataclass
class Drawn:
    """What has been drawn of a call.

    Attributes:
        random: the generator.
        op: the op.
        shape: shape of the first tensor.
        dtype: its type.
        special: whether elements may be special values.
        named: the arguments by name.
    """

    random: random.Random
    op: Op
    shape: tuple[int, ...]
    dtype: torch.dtype
    special: bool
    named: dict[str, Any] = field(default_factory=dict)

    def tensor(self, name: str) -> torch.Tensor:
        """Draws a tensor argument."""
        shape, dtype = self.shape, self.dtype
        if self.named and self.random.random() > ALIKE:
            shape = _broadcastable(self.random, shape)
        if self.named and self.random.random() > ALIKE:
            dtype = self.random.choice(_dtypes())
        if name in BOOLEAN:
            dtype = torch.bool
        if self.op._schema.name.partition("::")[2] in CHOOSING:
            return tensors.laid_out(self.random, tensors.distinct(self.random, shape, dtype))
        return tensors.laid_out(self.random, tensors.elements(self.random, shape, dtype, special=self.special))

    def number(self) -> Any:
        """Draws a Python number of a kind that suits the tensors more often than not."""
        pool = (*NUMBERS, *SPECIAL_NUMBERS) if self.special else NUMBERS
        number = self.random.choice(pool)
        suits = isinstance(number, int) or self.dtype.is_floating_point or self.dtype.is_complex
        if suits or self.random.random() > ALIKE:
            return complex(number, 0.5) if self.dtype.is_complex and self.random.random() < 0.3 else number
        return self.random.choice([each for each in pool if isinstance(each, int)])

    def dim(self) -> int:
        """Draws a dimension, counted from either end."""
        count = max(len(self.shape), 1)
        return self.random.randrange(-count, count)

    def dims(self) -> list[int]:
        """Draws some different dimensions in any order."""
        count = max(len(self.shape), 1)
        chosen = self.random.sample(range(count), self.random.randint(0, count))
        return [each - count if self.random.random() < 0.3 else each for each in chosen]

    def size(self) -> list[int]:
        """Draws a shape that has as many elements as the first tensor more often than not."""
        if "self" not in self.named or self.random.random() > ALIKE:
            return list(values.shape(self.random))
        return _reshaped(self.random, self.shape)


def _broadcastable(random: random.Random, shape: Sequence[int]) -> tuple[int, ...]:
    kept = [1 if random.random() < 0.4 else size for size in shape]
    return tuple(kept[random.randint(0, len(kept)) :])


def _reshaped(random: random.Random, shape: Sequence[int]) -> list[int]:
    """Returns a shape with as many elements, with a -1 in it at times."""
    count, sizes = 1, []
    for size in shape:
        count *= size
    left = count
    while left > 1 and len(sizes) < 4 and random.random() < 0.8:
        sizes.append(random.choice([each for each in range(1, left + 1) if left % each == 0]))
        left //= sizes[-1]
    sizes = [*sizes, left] if count != 1 or random.random() < 0.5 else sizes
    if sizes and count and random.random() < 0.2:
        sizes[random.randrange(len(sizes))] = -1
    return sizes


@functools.cache
def _dtypes() -> tuple[torch.dtype, ...]:
    from tt_xla.frontends.torch.aten.registry import DTYPES

    return tuple(DTYPES)


def _index(drawn: Drawn) -> int:
    return drawn.random.randint(-9, 9) if drawn.random.random() < 0.3 else drawn.random.randint(0, 4)


_BY_NAME: dict[str, Callable[[Drawn], Any]] = {
    "dim": Drawn.dim,
    "dim0": Drawn.dim,
    "dim1": Drawn.dim,
    "dim2": Drawn.dim,
    "dimension": Drawn.dim,
    "start": _index,
    "end": _index,
    "index": _index,
    "step": lambda drawn: drawn.random.randint(1, 4),
    "offset": lambda drawn: drawn.random.randint(-3, 3),
    "correction": lambda drawn: drawn.random.choice((0, 1, 2, 0.5)),
    "bins": lambda drawn: drawn.random.randint(1, 12),
    "eps": lambda drawn: drawn.random.choice((1e-5, 1e-3, 0.1, 0.0)),
}
"""How arguments that are no tensors are drawn, by name."""

_LISTS: dict[str, Callable[[Drawn], list[int]]] = {
    "dim": Drawn.dims,
    "dims": Drawn.dims,
    "size": Drawn.size,
    "shape": Drawn.size,
    "repeats": lambda drawn: [drawn.random.randint(0, 3) for _ in range(len(drawn.shape) + drawn.random.randint(0, 1))],
    "shifts": lambda drawn: [drawn.random.randint(-5, 5) for _ in range(max(len(drawn.shape), 1))],
    "pad": lambda drawn: [drawn.random.randint(-1, 3) for _ in range(2 * drawn.random.randint(0, len(drawn.shape)))],
    "ord": lambda drawn: [],
}
"""How lists of numbers are drawn, by the argument's name."""


def _argument(drawn: Drawn, argument: Any) -> Any:
    """Draws one argument."""
    chance = drawn.random
    kind = str(argument.real_type)
    if kind.startswith("Optional["):
        if chance.random() < 0.4:
            return None
        kind = kind.removeprefix("Optional[").removesuffix("]")
    if kind == "Tensor":
        return drawn.tensor(argument.name)
    if kind.startswith("List[Tensor"):
        return [drawn.tensor(argument.name) for _ in range(chance.randint(1, 3))]
    if kind == "ScalarType":
        return chance.choice(_dtypes())
    if kind == "bool":
        if argument.name == "sorted":
            return True  # PyTorch leaves the order of an unsorted result open
        return chance.random() < 0.5
    if kind == "str":
        return chance.choice(TEXTS.get(argument.name, ("",)))
    if kind == "Device":
        return torch.device("cpu")
    if kind == "List[int]":
        return _LISTS.get(argument.name, Drawn.size)(drawn)
    if argument.name in _BY_NAME:
        return _BY_NAME[argument.name](drawn)
    if kind == "int":
        return chance.randint(0, 6)
    if kind == "float":
        return float(drawn.number().real)
    return drawn.number() if kind == "number" else None


_FOR_PLACEMENT = frozenset(("layout", "device", "pin_memory", "memory_format", "generator", "non_blocking"))
"""Arguments about where and how a tensor is kept, which are left out."""


def draw_call(random: random.Random, op: Op, *, special: bool) -> Call:
    """Draws arguments for an op. PyTorch may refuse them."""
    dtype = torch.float32 if random.random() < 0.4 else random.choice(_dtypes())
    drawn = Drawn(random, op, values.shape(random), dtype, special)
    for argument in op._schema.arguments:
        optional = argument.has_default_value()
        if optional and (argument.name in _FOR_PLACEMENT or random.random() < 0.4):
            continue
        drawn.named[argument.name] = _argument(drawn, argument)
    return normal(op, drawn.named, special=special)


def normal(op: Op, named: dict[str, Any], *, special: bool) -> Call:
    """Returns a call with its arguments as PyTorch's dispatcher gives them: by position, without trailing defaults."""
    positional = [argument for argument in op._schema.arguments if not argument.kwarg_only]
    last = max((number for number, argument in enumerate(positional, 1) if argument.name in named), default=0)
    args = tuple(named.get(argument.name, argument.default_value) for argument in positional[:last])
    kwargs = {a.name: named[a.name] for a in op._schema.arguments if a.kwarg_only and a.name in named}
    return Call(op, args, kwargs, special)


__all__ = ["CHOOSING", "Drawn", "draw_call", "normal"]
