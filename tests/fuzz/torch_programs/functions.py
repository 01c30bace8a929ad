"""Draws functions of PyTorch: statements in Python, each of which is tried on the CPU when it is drawn."""

from __future__ import annotations

import math
import random
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.nn.functional as F

from tests.fuzz.torch_programs import tensors

MOST_ELEMENTS = 6000
"""Largest size of a variable."""

LARGEST = 1e6
"""Statements whose results are larger are not kept: differences of them would be noise alone."""

CHOOSING = re.compile("topk|sort|kthvalue|median|quantile|unpool")
"""Functions that may choose any of equal elements, or put them in any order."""

FRESH = 0.15
"""Share of operands that are new inputs although a variable would do."""


@dataclass
class Function:
    """A drawn function.

    Attributes:
        inputs: its arguments, by name; those that require gradients say so.
        lines: its statements.
        outputs: names of the variables that it returns.
    """

    inputs: dict[str, torch.Tensor]
    lines: list[str]
    outputs: list[str]

    @property
    def source(self) -> str:
        """Python source of the function ``f``."""
        body = "\n".join(f"    {line}" for line in self.lines)
        return f"def f({', '.join(self.inputs)}):\n{body}\n    return {', '.join(self.outputs)},\n"

    @property
    def text(self) -> str:
        """Source of the function and of its inputs."""
        made = [
            f"{name} = {tensors.text(value.detach())}{'.requires_grad_()' if value.requires_grad else ''}"
            for name, value in self.inputs.items()
        ]
        return "\n".join(["import torch", "import torch.nn.functional as F", self.source, *made])

    def compiled(self, operators: Mapping[str, Any]) -> Callable[..., Any]:
        """Returns the function.

        Args:
            operators: what the names of control flow stand for.
        """
        names: dict[str, Any] = {"torch": torch, "F": F, "math": math, **operators}
        exec(compile(self.source, "<drawn function>", "exec"), names)
        return names["f"]


@dataclass
class Writer:
    """Writes a function statement by statement.

    Attributes:
        random: the generator.
        dtype: type of floats.
        operators: what the names of control flow stand for while statements are tried.
        inputs: arguments so far.
        lines: statements so far.
        values: variables that may be used, by name.
    """

    random: random.Random
    dtype: torch.dtype
    operators: Mapping[str, Any] = field(default_factory=dict)
    inputs: dict[str, torch.Tensor] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    values: dict[str, torch.Tensor] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)
    _names: int = 0

    # Draws ---------------------------------------------------------------------------------------------------------

    def int(self, low: int, high: int) -> int:
        return self.random.randint(low, high)

    def one(self, *choices: Any) -> Any:
        return self.random.choice(choices)

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def flag(self) -> bool:
        return self.random.random() < 0.5

    # Operands ------------------------------------------------------------------------------------------------------

    def new_name(self) -> str:
        self._names += 1
        return f"v{self._names}"

    def input(self, shape: Sequence[int], dtype: torch.dtype | None = None, *, grad: bool | None = None) -> str:
        """Adds an argument of normally distributed numbers, or of small integers."""
        dtype = dtype or self.dtype
        name = f"x{len(self.inputs)}"
        value = tensors.elements(self.random, shape, dtype)
        if grad is None:
            grad = self.flag()
        if value.is_floating_point():
            value = tensors.laid_out(self.random, value, expanded=False) if self.chance(0.3) else value
            value.requires_grad_(grad)
        return self.add_input(name, value)

    def add_input(self, name: str, value: torch.Tensor) -> str:
        """Adds an argument."""
        self.inputs[name] = value
        self.values[name] = value
        return name

    def positions(self, count: int, shape: Sequence[int], *, repeated: bool = True) -> str:
        """Adds an argument of positions among ``count`` elements."""
        total = math.prod(shape)
        if repeated:
            drawn = [self.random.randrange(count) for _ in range(total)]
        else:
            drawn = self.random.sample(range(count), total)
        return self.add_input(f"x{len(self.inputs)}", torch.tensor(drawn, dtype=torch.int64).reshape(tuple(shape)))

    def of(
        self,
        accepts: Callable[[torch.Tensor], bool],
        shape: Callable[[], Sequence[int]],
        dtype: torch.dtype | None = None,
    ) -> str:
        """Returns a variable that is accepted, or a new input of a drawn shape. Later variables are likelier."""
        known = [name for name, value in self.values.items() if accepts(value)]
        if not known or self.chance(FRESH):
            return self.input(shape(), dtype)
        weights = [1 + 2 * (name not in self.used) + index / len(known) for index, name in enumerate(known)]
        chosen = self.random.choices(known, weights)[0]
        self.used.add(chosen)
        return chosen

    def float(self, *ranks: int) -> str:
        """Returns a variable of real floats with one of the ranks; any rank if none is given."""

        def accepts(value: torch.Tensor) -> bool:
            return value.is_floating_point() and value.numel() > 0 and (not ranks or value.dim() in ranks)

        def shape() -> list[int]:
            sizes = (1, 2, 3, 4, 5, 6, 8) if max(ranks or (2,)) > 2 else (1, 2, 3, 4, 5, 8, 16, 31, 32, 33, 40)
            return [self.one(*sizes) for _ in range(self.one(*(ranks or (1, 2, 2, 3))))]

        return self.of(accepts, shape)

    def like(self, name: str) -> str:
        """Returns a variable of the same shape and type as another, or a new input."""
        value = self.values[name]

        def accepts(other: torch.Tensor) -> bool:
            return other.shape == value.shape and other.dtype == value.dtype

        return self.of(accepts, lambda: list(value.shape), value.dtype)

    def shape(self, name: str) -> list[int]:
        """Returns the shape of a variable."""
        return list(self.values[name].shape)

    def dim(self, name: str) -> int:
        """Returns a dimension of a variable of rank 1 and more, counted from either end."""
        count = self.values[name].dim()
        return self.random.randrange(-count, count)

    # Statements ----------------------------------------------------------------------------------------------------

    def run(self, lines: Sequence[str], results: Sequence[str]) -> bool:
        """Tries statements on the CPU, and keeps them if PyTorch takes them and their results are tame.

        Args:
            lines: statements.
            results: names of the variables that they define or change.
        """
        names: dict[str, Any] = {"torch": torch, "F": F, "math": math, **self.operators}
        if not self._chooses_among_different(lines):
            return False
        names |= {name: tensors.copied(value.detach()) for name, value in self.values.items()}
        try:
            with torch.no_grad(), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                exec("\n".join(lines), names)
        except (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError, AssertionError, AttributeError):
            return False
        found = {name: names[name] for name in results}
        if not all(_is_tame(value) for value in found.values()):
            return False
        self.lines += lines
        self.values |= found
        return True

    def _chooses_among_different(self, lines: Sequence[str]) -> bool:
        """Whether floats have no equal elements in statements that may choose any of equal ones."""
        text = "\n".join(lines)
        if not CHOOSING.search(text):
            return True
        used = [self.values[name] for name in re.findall(r"\w+", text) if name in self.values]
        return all(value.unique().numel() == value.numel() for value in used if value.is_floating_point())

    def function(self) -> Function:
        """Returns the function, with some of its variables as outputs: those that nothing uses, and others at times."""
        made = [name for name in self.values if name not in self.inputs]
        unused = [name for name in made if name not in self.used]
        others = [name for name in made if name in self.used and self.chance(0.2)]
        chosen = [name for name in made if name in (*unused, *others)]
        words = set(re.findall(r"\w+", "\n".join(self.lines)))
        inputs = {name: value for name, value in self.inputs.items() if name in words}
        return Function(inputs, self.lines, chosen or made[-1:])


def _is_tame(value: Any) -> bool:
    if not isinstance(value, torch.Tensor) or value.layout is not torch.strided or value.numel() > MOST_ELEMENTS:
        return False
    if value.dtype in (torch.int64, torch.uint64, torch.bool):
        return value.numel() == 0 or value.to(torch.int64).abs().max().item() < 2**24
    if not (value.is_floating_point() or value.is_complex()):
        return True
    return bool(value.isfinite().all()) and (value.numel() == 0 or value.abs().max().item() < LARGEST)


Drawn = Any
"""What stands for a name in braces: a value, or a function that draws it if the line has the name."""


class _Draws(dict[str, Any]):
    """Names in braces, each drawn when it is looked up first."""

    def __init__(self, draws: Mapping[str, Drawn]) -> None:
        super().__init__()
        self._draws = draws

    def __missing__(self, name: str) -> Any:
        drawn = self._draws[name]
        self[name] = drawn() if callable(drawn) else drawn
        return self[name]


def chosen(writer: Writer, lines: str, **draws: Drawn) -> str:
    """Returns one of the lines of a text, with the names in braces replaced.

    Numbers of every text are ``b``, which is positive, ``c``, ``bit`` and ``flag``.
    """
    numbers: dict[str, Drawn] = {
        "b": lambda: writer.one(0.3, 0.5, 1.0, 1.5, 2),
        "c": lambda: writer.one(0.1, -0.3, 0.5, 2, -1),
        "bit": lambda: writer.int(0, 1),
        "flag": writer.flag,
    }
    line = writer.one(*[line.strip() for line in lines.splitlines() if line.strip()])
    return line.format_map(_Draws(numbers | draws))


Statement = Callable[[Writer], str | tuple[Sequence[str], Sequence[str]] | None]
"""Draws a statement: an expression for a new variable, or lines with the names of the variables that they define.

None if it cannot."""


def draw_function(
    random: random.Random,
    statements: Sequence[tuple[float, Statement]],
    count: int,
    operators: Mapping[str, Any] | None = None,
) -> Function:
    """Draws a function of ``count`` statements.

    Args:
        random: the generator.
        statements: how to draw one, with weights.
        count: number of statements.
        operators: what the names of control flow stand for while statements are tried.
    """
    dtypes = (torch.float32, torch.float32, torch.float32, torch.bfloat16)
    writer = Writer(random, random.choice(dtypes), operators or {})
    weights = [weight for weight, _ in statements]
    kept = 0
    for _ in range(20 * count):
        (_, statement) = random.choices(statements, weights)[0]
        before = dict(writer.inputs), dict(writer.values), set(writer.used)
        drawn = statement(writer)
        if isinstance(drawn, str):
            name = writer.new_name()
            drawn = [f"{name} = {drawn}"], [name]
        if drawn is not None and writer.run(*drawn):
            kept += 1
        else:
            writer.inputs, writer.values, writer.used = before
        if kept == count:
            break
    return writer.function()


__all__ = ["Drawn", "Function", "Statement", "Writer", "chosen", "draw_function"]
