"""Programs of idioms with compile options that change number formats, or that must not change a bit."""

from __future__ import annotations

import functools
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.fuzz import noise
from tests.fuzz.cases import Difference, NotDrawnError, Subject
from tests.fuzz.idioms import IDIOMS, built
from tests.fuzz.judge import DEFAULT_NOISE, EXACT_NOISE, MARGIN, Judge, Module, defined, differing, run, wide
from tests.fuzz.values import is_float
from tt_xla.errors import OptionError
from tt_xla.ir.program import Program

_DRAWS, _MORE_DRAWS = 4, 30


@dataclass(frozen=True)
class Format:
    """Compile options with the errors of the number formats that they choose.

    Attributes:
        options: The options.
        relative: Largest error of a value that an op reads or makes, relative to the value itself.
        of_block: Largest error of such a value relative to the largest one that shares an exponent with it.
        on: Which values the options concern: ``parameters``, ``inputs``, ``values`` or none.
        idioms: Names of the idioms that are drawn; empty for all.
        least: Largest error of a value that is 0.
    """

    options: Mapping[str, Any]
    relative: float = DEFAULT_NOISE
    of_block: float = 0.0
    on: str = ""
    idioms: tuple[str, ...] = ()
    least: float = 0.0


_PRODUCTS = ("linear", "convolutions", "attention", "heads")

FORMATS = (
    Format({"experimental_weight_dtype": "bfp_bf8"}, of_block=2.0**-7, on="parameters", idioms=_PRODUCTS),
    Format({"experimental_weight_dtype": "bfp_bf4"}, of_block=2.0**-3, on="parameters", idioms=_PRODUCTS),
    Format(
        {"experimental_activation_dtype": "bfp_bf8"}, 2.0**-5, 2.0**-6, "values", (*_PRODUCTS, "layer_norm", "gelu")
    ),
    Format({"enable_bfp8_conversion": True}, 2.0**-5, 2.0**-6, "values", _PRODUCTS),
    Format({"experimental_kv_cache_dtype": "bfp_bf8"}, of_block=2.0**-7, on="inputs", idioms=("caches",)),
    Format({"math_fidelity": "lofi"}, 2.0**-4, idioms=_PRODUCTS),
    Format({"math_fidelity": "hifi2"}, 2.0**-7, idioms=_PRODUCTS),
    Format({"math_fidelity": "ttnn_default"}, 2.0**-4, idioms=_PRODUCTS),
    Format({"fp32_dest_acc_en": False}, 2.0**-6, idioms=_PRODUCTS),
    Format(
        {"fast_and_approximate_mode": True},
        relative=2.0**-6,
        of_block=2.0**-5,
        on="values",
        idioms=("gelu", "linear", "functions_around"),
        least=2.0**-12,
    ),
)

SAME = (
    {"enable_const_eval": False},
    {"enable_const_eval_inputs_to_system_memory": False},
    {"enable_trace": True},
    {"enable_workarounds": False},
    {"experimental_enable_permute_matmul_fusion": False},
    {"host_fallback": False},
    {"math_fidelity": "lofi"},
    {"fp32_dest_acc_en": False},
    {"fast_and_approximate_mode": True},
)
"""Options that change no result under exact numerics, which read all bits. Formats that are asked for they keep."""


def _compiled(subject: Module, **options: Any) -> Program:
    """Compiles a module with its options.

    Raises:
        NotDrawnError: The weights are float32, and block floats are for models in bfloat16.
    """
    try:
        return subject.compiled(**options)
    except OptionError as error:
        raise NotDrawnError(str(error)) from error


class Formatted(Module):
    """A program that is compiled with options for number formats."""

    format: Format

    __hash__ = object.__hash__

    def check(self) -> Iterator[Difference]:
        for level in (0, 2):
            results = run(_compiled(self, optimization_level=level), self.inputs)
            for index, (got, wanted) in enumerate(zip(results, self.expected, strict=True)):
                wrong = np.isfinite(wide(wanted))
                for draws in (_DRAWS, _MORE_DRAWS):
                    if wrong.any():
                        bound = self._bounds(draws)[index]
                        with np.errstate(invalid="ignore"):  # also NaN where any may be
                            wrong &= ~(np.isinf(bound) | (np.abs(wide(got) - wide(wanted)) <= bound))
                yield from differing(f"{dict(self.options)} at level {level}, result {index}", got, wanted, wrong)

    @functools.cache  # noqa: B019 - a subject lives as long as its process needs it
    def _bounds(self, draws: int) -> list[np.ndarray]:
        """Returns how far each element may lie from what XLA computes, by so many draws of the inputs' errors."""
        generator, bounds = np.random.default_rng(0), [np.zeros(value.shape) for value in self.expected]
        for _ in range(draws):
            inputs = [self._moved(generator, index, value) for index, value in enumerate(self.inputs)]
            format, runs = self.format, max(2, draws // 2)
            for results in noise.spread(self.module, inputs, format.relative, runs, least=format.least):
                for index, (result, wanted) in enumerate(zip(results, self.expected, strict=True)):
                    with np.errstate(invalid="ignore"):
                        apart = np.abs(result - wide(wanted))
                    bounds[index] = np.maximum(bounds[index], np.where(np.isnan(apart), np.inf, apart))
        return [self._with_block(MARGIN * bound, wanted) for bound, wanted in zip(bounds, self.expected, strict=True)]

    def _with_block(self, bound: np.ndarray, wanted: np.ndarray) -> np.ndarray:
        """Returns a bound with what elements lose because they share an exponent with larger ones."""
        finite = np.isfinite(wide(wanted))
        largest = float(np.abs(wide(wanted))[finite].max(initial=0.0))
        usual = float(np.median(bound[finite])) if finite.any() else 0.0
        return bound + usual + (4 * self.format.of_block * largest if self.format.on == "values" else 0.0)

    def _moved(self, generator: np.random.Generator, index: int, value: np.ndarray) -> np.ndarray:
        """Returns an input with the errors of a block float, if it becomes one."""
        concerned = self.format.on in ("inputs", "values") or (
            self.format.on == "parameters" and f"%arg{index}: " in self.source and self._is_parameter(index)
        )
        if not concerned or not is_float(value.dtype) or not value.size:
            return value
        largest = np.abs(value.astype(np.float64)).max()
        return value.astype(np.float64) + generator.uniform(-1, 1, value.shape) * largest * self.format.of_block

    def _is_parameter(self, index: int) -> bool:
        declared = self.source.partition(f"%arg{index}: ")[2]
        return declared.partition(">")[2].startswith(' {ttcore.argument_type = "parameter"}')


class Unchanged(Module):
    """A program that exact numerics compute the same with and without an option."""

    def check(self) -> Iterator[Difference]:
        bits, judge = defined(self.module), Judge(self)
        for level in (0, 2):
            program = _compiled(self, numerics="exact", optimization_level=level)
            results = run(program, self.inputs, runs=3 if "enable_trace" in self.options else 1)
            name = f"exact at level {level} with {dict(self.options)}"
            yield from judge.compare(name, results, self.expected, bits, EXACT_NOISE)


def draw(random: random.Random) -> Subject:
    """Draws an idiom and options."""
    if random.random() < 0.3:
        one = random.choice(list(IDIOMS.values()))
        source, inputs = built(random, one)
        return Unchanged(source, inputs, options=dict(random.choice(SAME)))
    format = random.choice(FORMATS)
    source, inputs = built(random, IDIOMS[random.choice(format.idioms)])
    subject = Formatted(source, inputs, options=dict(format.options))
    subject.format = format
    return subject
