"""Compares each part of a program on the emulated card with float32 on the CPU."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tt_xla.errors import TTXLAError
from tt_xla.options import CompileOptions
from tt_xla.testing.comparison import largest_difference, pcc, relative_error
from tt_xla.testing.divergence.modules import Part, Source
from tt_xla.testing.divergence.runs import Array, Compiled, for_card, for_cpu, on_card, on_cpu, rounded


@dataclass(frozen=True)
class Error:
    """The error of results over all arrays.

    Attributes:
        pcc: the smallest correlation.
        relative: the largest ratio of the L2 norm of the difference to that of the golden result.
        absolute: the largest absolute difference of two elements.
    """

    pcc: float = 1.0
    relative: float = 0.0
    absolute: float = 0.0

    @staticmethod
    def of(actual: Sequence[Array], golden: Sequence[Array]) -> Error:
        """Returns the error of results against golden results."""
        pairs = [(_wide(x), _wide(y)) for x, y in zip(actual, golden, strict=True)]
        pairs = [(x, y) for x, y in pairs if not np.array_equal(x, y)]  # equal arrays may have infinities
        if not pairs:
            return Error()
        absolute = max(largest_difference(x, y) for x, y in pairs)
        correlations = [pcc(x, y, atol=1e-2 * size_of(y)) for x, y in pairs]
        least = math.nan if any(math.isnan(value) for value in correlations) else min(correlations)
        return Error(least, max(relative_error(x, y) for x, y in pairs), absolute)

    def within(self, required: float) -> bool:
        """Returns whether the correlation reaches ``required``; NaN never does."""
        return self.pcc >= required

    @property
    def weight(self) -> float:
        """The relative error, by which errors are ranked; infinity if it is not finite."""
        return self.relative if math.isfinite(self.relative) else math.inf


def size_of(array: Array) -> float:
    """Returns the root mean square of the finite elements, to which tolerances are relative; 0.0 if there are none."""
    finite = array[np.isfinite(array)]
    return float(np.sqrt(np.mean(np.abs(finite) ** 2))) if finite.size else 0.0


def _wide(array: Array) -> Array:
    return np.asarray(array).astype(np.complex128 if np.iscomplexobj(array) else np.float64)


@dataclass(frozen=True)
class Line:
    """One instruction of a function, as a part of a program.

    Attributes:
        index: position among the instructions, in the order in which they ran.
        name: the op, with the names of its weights.
        result_types: shapes and formats of its results.
        location: the user's source line.
    """

    index: int
    name: str
    result_types: str
    location: str


@dataclass(frozen=True)
class Row:
    """A part or an instruction, and its errors.

    Attributes:
        alone: error of the part by itself, on golden inputs; None if it cannot be compiled or run.
        running: error of the part in the whole program, which contains the errors of earlier parts.
        failure: why the part cannot be compiled or run by itself.
    """

    part: Part | Line
    alone: Error | None
    running: Error | None
    failure: str = ""

    def diverges(self, required: float) -> bool:
        """Returns whether the part fails, or one of its correlations is below ``required``."""
        return bool(self.failure) or any(x is not None and not x.within(required) for x in (self.alone, self.running))


@dataclass(frozen=True)
class Comparison:
    """The errors of all parts of a program, in order, and of its results.

    Attributes:
        rows: the parts.
        results: error of the program's results; None if the program does not compile or run.
        required: the least correlation that counts as agreement.
        failure: why the program does not compile or run.
        in_float32: error of the results if all instructions compute in float32.
        interrupted: whether the user ended the comparison, so that later parts are missing.
    """

    rows: list[Row]
    results: Error | None
    required: float
    failure: str = ""
    in_float32: Error | None = None
    interrupted: bool = False

    @property
    def first(self) -> Row | None:
        """The first part that diverges."""
        return next((row for row in self.rows if row.diverges(self.required)), None)

    @property
    def worst(self) -> Row | None:
        """The part with the largest error by itself."""
        rows = [row for row in self.rows if row.alone is not None]
        return max(rows, key=lambda row: row.alone.weight if row.alone else 0.0, default=None)

    @property
    def passed(self) -> bool:
        """Whether the program's results agree."""
        return self.results is not None and self.results.within(self.required)


class Golden:
    """Values of a program in float32, computed once.

    Args:
        source: the program.
        inputs: arguments of its ``@main``.
        values: values of the program to compute.
    """

    def __init__(self, source: Source, inputs: Sequence[Array], values: Sequence[Any]) -> None:
        computed = list(dict.fromkeys(value for value in values if value not in set(source.arguments)))
        self._known = dict(zip(source.arguments, inputs, strict=True))
        if computed:
            module, module_arguments = source.module_returning(computed)
            self._known |= zip(computed, on_cpu(module, self.of(module_arguments)), strict=True)

    def of(self, values: Sequence[Any]) -> list[Array]:
        """Returns the arrays of values of the program."""
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
    """Runs each part alone, and the whole program with the results of all parts. Ctrl-C keeps the parts before it.

    Args:
        source: the program.
        inputs: arguments of its ``@main``.
        options: compile options.
        parts: parts of the program.
        required: the least correlation that counts as agreement.
        progress: called with each part before it runs.
    """
    modules = [source.module_of(part.ops, part.results) if part.results else None for part in parts]
    part_inputs = [value for module in modules if module is not None for value in module[1]]
    part_results = [value for part in parts for value in part.results]
    golden = Golden(source, inputs, [*part_inputs, *part_results, *source.returned])
    running, program_error, failure = _run_whole_program(source, golden, options, part_results)
    rows: list[Row] = []
    compiled_parts: dict[str, tuple[Compiled, Compiled]] = {}
    interrupted = False
    try:
        for part, module in zip(parts, modules, strict=True):
            progress(part)
            if module is None:
                continue
            alone, reason = _run_alone(*module, golden, options, compiled_parts)
            results = [running[value] for value in part.results] if running else None
            error = Error.of(results, golden.of(part.results)) if results is not None else None
            rows.append(Row(part, alone, error, reason))
    except KeyboardInterrupt:
        interrupted = True
    return Comparison(rows, program_error, required, failure, interrupted=interrupted)


def _run_alone(
    module: Any,
    values: Sequence[Any],
    golden: Golden,
    options: CompileOptions,
    compiled_parts: dict[str, tuple[Compiled, Compiled]],
) -> tuple[Error | None, str]:
    """Returns the error of a part by itself, or None and why it cannot be compiled or run.

    ``compiled_parts`` keeps compiled parts by their text, because layers of a model often have the same parts.
    """
    text = module.operation.get_asm()
    inputs = [rounded(array, value.type) for array, value in zip(golden.of(values), values, strict=True)]
    try:
        if text not in compiled_parts:
            compiled_parts[text] = for_card(module, options), for_cpu(module)
        card, cpu = compiled_parts[text]
        return Error.of(card(inputs), cpu(inputs)), ""
    except TTXLAError as error:
        return None, str(error)


def _run_whole_program(
    source: Source, golden: Golden, options: CompileOptions, values: Sequence[Any]
) -> tuple[dict[Any, Array], Error | None, str]:
    """Returns values of the program on the card, the error of the program's results, and why it fails if it does."""
    failure, running, program_error = "", {}, None
    try:
        module, arguments = source.module_returning(source.returned)
        program_error = Error.of(on_card(module, golden.of(arguments), options), golden.of(source.returned))
        module, arguments = source.module_returning(values)
        running = dict(zip(values, on_card(module, golden.of(arguments), options), strict=True))
    except TTXLAError as error:
        failure = str(error)
    return running, program_error, failure
