"""The record of a small program with its inputs, and the table of all of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

Array = Any
BF16 = np.dtype(ml_dtypes.bfloat16)


@dataclass(frozen=True)
class Case:
    """A program as a JAX function or as StableHLO text, and its inputs."""

    program: Callable[..., Any] | str
    inputs: tuple[np.ndarray, ...]
    atol: float = 2e-5
    correlates: bool = True
    """Whether bfloat16 results correlate with float32; they do not if rounding an input makes the result jump."""
    theme: str = ""
    """Name of the module that has the case."""


CASES: dict[str, Case] = {}


def cases_of(module: str) -> Callable[..., None]:
    """Returns the function that adds a case of a module to the table."""

    def case(name: str, program: Callable[..., Any] | str, *inputs: np.ndarray, **rest: Any) -> None:
        assert name not in CASES
        CASES[name] = Case(program, inputs, **rest, theme=module.rpartition(".")[2])

    return case


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    generator = np.random.default_rng([seed, *shape])
    return np.asarray(generator.standard_normal(shape), np.float32)


def positive(*shape: int, seed: int = 0) -> np.ndarray:
    return np.abs(normal(*shape, seed=seed)) + np.float32(0.25)


def inside(*shape: int) -> np.ndarray:
    """Returns random numbers in (-0.9, 0.9)."""
    return np.asarray(np.random.default_rng([7, *shape]).uniform(-0.9, 0.9, shape), np.float32)


def ints(*shape: int, low: int = -9, high: int = 9, seed: int = 0) -> np.ndarray:
    return np.random.default_rng([seed, *shape]).integers(low, high, shape).astype(np.int32)


def truth(*shape: int, seed: int = 0) -> np.ndarray:
    return ints(*shape, low=0, high=2, seed=seed).astype(bool)
