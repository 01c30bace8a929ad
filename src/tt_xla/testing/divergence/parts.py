"""Each part of a program on the emulated card beside float32 on the CPU."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tt_xla.errors import TTXLAError
from tt_xla.options import CompileOptions
from tt_xla.testing.comparison import pcc, relative_error
from tt_xla.testing.divergence.modules import Part, Source
from tt_xla.testing.divergence.runs import Array, Compiled, for_card, for_cpu, on_card, on_cpu, rounded


@dataclass(frozen=True)
class Error:
    """How far results are from what they should be, over all of them: the least ``pcc``, the largest of the others.

    ``relative`` is the norm of the difference over the norm of the golden result.
    """

    pcc: float = 1.0
    relative: float = 0.0
    absolute: float = 0.0

    @staticmethod
    def of(actual: Sequence[Array], golden: Sequence[Array]) -> Error:
        pairs = [(_wide(x), _wide(y)) for x, y in zip(actual, golden, strict=True)]
        pairs = [(x, y) for x, y in pairs if not np.array_equal(x, y)]  # infinities among them
        if not pairs:
            return Error()
        with np.errstate(all="ignore"):
            absolute = max(float(np.max(np.where(x == y, 0.0, np.abs(x - y)), initial=0.0)) for x, y in pairs)
        correlations = [pcc(x, y, atol=1e-2 * _size(y)) for x, y in pairs]
        least = math.nan if any(math.isnan(value) for value in correlations) else min(correlations)
        return Error(least, max(relative_error(x, y) for x, y in pairs), absolute)

    def within(self, required: float) -> bool:
        """Whether the correlation is enough; NaN is not."""
        return self.pcc >= required

    @property
    def weight(self) -> float:
        """By which errors are ranked: a number that is not finite is worst."""
        return self.relative if math.isfinite(self.relative) else math.inf


def _size(array: Array) -> float:
    """The root of the mean square of what is finite, so that small numbers are held as closely as large ones."""
    finite = array[np.isfinite(array)]
    return float(np.sqrt(np.mean(np.abs(finite) ** 2))) if finite.size else 0.0


def _wide(array: Array) -> Array:
    return np.asarray(array).astype(np.complex128 if np.iscomplexobj(array) else np.float64)


@dataclass(frozen=True)
class Line:
    """One instruction of a function, as a part of a program.

    Attributes:
        made: shapes and formats of its results.
        location: the user's source line.
    """

    index: int
    name: str
    made: str
    location: str


@dataclass(frozen=True)
class Row:
    """A part, or an instruction, and its errors.

    Attributes:
        alone: of the part by itself, on the golden results of those before; None where ``failure`` says why.
        running: of the part in the whole program, where the errors of those before have added up.
        failure: why the part cannot be compiled or run by itself.
    """

    part: Part | Line
    alone: Error | None
    running: Error | None
    failure: str = ""

    def diverges(self, required: float) -> bool:
        return bool(self.failure) or any(x is not None and not x.within(required) for x in (self.alone, self.running))


@dataclass(frozen=True)
class Comparison:
    """All parts of a program, in order, and its results; ``failure`` where the whole does not compile or run.

    ``in_float32`` is the error of the results where all instructions of the program compute in float32.
    """

    rows: list[Row]
    results: Error | None
    required: float
    failure: str = ""
    in_float32: Error | None = None

    @property
    def first(self) -> Row | None:
        """The first part that diverges."""
        return next((row for row in self.rows if row.diverges(self.required)), None)

    @property
    def worst(self) -> Row | None:
        """The part that by itself loses most."""
        rows = [row for row in self.rows if row.alone is not None]
        return max(rows, key=lambda row: row.alone.weight if row.alone else 0.0, default=None)

    @property
    def passed(self) -> bool:
        return self.results is not None and self.results.within(self.required)


class Golden:
    """Values of a program in float32, computed once."""

    def __init__(self, source: Source, inputs: Sequence[Array], values: Sequence[Any]) -> None:
        wanted = list(dict.fromkeys(value for value in values if value not in set(source.arguments)))
        self._known = dict(zip(source.arguments, inputs, strict=True))
        if wanted:
            module, taken = source.module_returning(wanted)
            self._known |= zip(wanted, on_cpu(module, self.of(taken)), strict=True)

    def of(self, values: Sequence[Any]) -> list[Array]:
        return [self._known[value] for value in values]


def compare_parts(
    source: Source,
    inputs: Sequence[Array],
    options: CompileOptions,
    parts: Sequence[Part],
    *,
    required: float = 0.99,
    progress: Callable[[Part], None] = lambda part: None,
) -> Comparison:
    """Runs each part alone, and the whole program with the results of all parts.

    Args:
        inputs: of the program, as its ``@main`` takes them.
        progress: is told which part comes next.
    """
    own = [source.module_of(part.ops, part.results) if part.results else None for part in parts]
    needed = [value for module in own if module is not None for value in module[1]]
    made = [value for part in parts for value in part.results]
    golden = Golden(source, inputs, [*needed, *made, *source.returned])
    running, whole, failure = _in_the_whole(source, golden, options, made)
    rows: list[Row] = []
    known: dict[str, tuple[Compiled, Compiled]] = {}
    for part, module in zip(parts, own, strict=True):
        progress(part)
        if module is None:
            continue
        alone, why = _alone(*module, golden, options, known)
        at = [running[value] for value in part.results] if running else None
        error = Error.of(at, golden.of(part.results)) if at is not None else None
        rows.append(Row(part, alone, error, why))
    return Comparison(rows, whole, required, failure)


def _alone(
    module: Any,
    values: Sequence[Any],
    golden: Golden,
    options: CompileOptions,
    known: dict[str, tuple[Compiled, Compiled]],
) -> tuple[Error | None, str]:
    """The error of a part; ``known`` are those compiled, by their text: layers of a model have the same parts."""
    text = module.operation.get_asm()
    inputs = [rounded(array, value.type) for array, value in zip(golden.of(values), values, strict=True)]
    try:
        if text not in known:
            known[text] = for_card(module, options), for_cpu(module)
        card, cpu = known[text]
        return Error.of(card(inputs), cpu(inputs)), ""
    except TTXLAError as error:
        return None, str(error)


def _in_the_whole(
    source: Source, golden: Golden, options: CompileOptions, made: Sequence[Any]
) -> tuple[dict[Any, Array], Error | None, str]:
    """Values on the card as the program computes them, and the error of what it returns as it is."""
    failure, running, whole = "", {}, None
    try:
        module, taken = source.module_returning(source.returned)
        whole = Error.of(on_card(module, golden.of(taken), options), golden.of(source.returned))
        module, taken = source.module_returning(made)
        running = dict(zip(made, on_card(module, golden.of(taken), options), strict=True))
    except TTXLAError as error:
        failure = str(error)
    return running, whole, failure
