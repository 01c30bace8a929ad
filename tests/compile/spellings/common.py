"""The record of a spelling of a fusion with its inputs, and the tables of all spellings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

Array = Any
BF16 = np.dtype(ml_dtypes.bfloat16)
UNCOUNTED = {
    *("deallocate", "get_device", "full", "load_cached", "constant"),
    *("to_layout", "to_device", "to_memory_config", "prepare_conv2d_weights"),
}
"""Ops that are no part of a fusion: they make or free values, move them, or change their layout."""


@dataclass(frozen=True)
class Case:
    program: Callable[..., Any]
    inputs: tuple[np.ndarray, ...]
    ops: tuple[str, ...]
    """All TTNN ops of a positive case, or the op that must be absent from a negative case."""
    atol: float


FUSED: dict[str, Case] = {}
NOT_FUSED: dict[str, Case] = {}


def fused(
    name: str, program: Callable[..., Any], *inputs: np.ndarray, into: tuple[str, ...], atol: float = 2e-2
) -> None:
    assert name not in FUSED
    FUSED[name] = Case(program, inputs, into, atol)


def not_fused(name: str, program: Callable[..., Any], *inputs: np.ndarray, into: str, atol: float = 2e-2) -> None:
    assert name not in NOT_FUSED
    NOT_FUSED[name] = Case(program, inputs, (into,), atol)


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(np.float32)


def bf16(*shape: int, seed: int = 0) -> np.ndarray:
    return normal(*shape, seed=seed).astype(BF16)


def positive(*shape: int, seed: int = 0) -> np.ndarray:
    return np.abs(normal(*shape, seed=seed)) + np.float32(0.25)


# Normalisation.
