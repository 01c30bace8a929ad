"""The small programs that tests compare with XLA, with other inputs and element types."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import jax
import numpy as np

from tests.fuzz import values
from tests.fuzz.cases import NotDrawnError
from tests.fuzz.judge import Module

sys.path.append(str(Path(__file__).parents[2] / "compile"))
from small_programs import CASES, Case

OTHERS = {
    "float32": ("float32", "float32", "bfloat16", "float16", "float64"),
    "bfloat16": ("bfloat16", "float32"),
    "int32": ("int32", "int32", "int8", "uint8", "int16", "uint32", "int64"),
    "uint32": ("uint32", "uint16", "uint64"),
}


def draw(random: random.Random) -> Module:
    """Draws a case, its element types and its inputs."""
    case = CASES[random.choice(list(CASES))]
    special = random.random() < 0.3
    if isinstance(case.program, str):
        inputs = tuple(_like(random, value, value.dtype.name, special) for value in case.inputs)
        return _keeping_promises(Module(case.program, inputs, special))
    others = {name: random.choice(choices) for name, choices in OTHERS.items()}
    inputs = tuple(
        _like(random, value, others.get(value.dtype.name, value.dtype.name), special) for value in case.inputs
    )
    return _keeping_promises(Module(_lowered(case, inputs), inputs, special))


def _keeping_promises(module: Module) -> Module:
    """Returns a module that promises nothing about its indices, which are drawn."""
    if "unique_indices = true" in module.source:
        raise NotDrawnError("the program promises that indices are unique")
    return module


def _like(random: random.Random, value: np.ndarray, name: str, special: bool) -> np.ndarray:
    drawn = values.array(random, value.shape, name, special=special)
    return values.strided(random, drawn)


def _lowered(case: Case, inputs: tuple[np.ndarray, ...]) -> str:
    try:
        with jax.enable_x64(True):
            return jax.jit(case.program, keep_unused=True).lower(*inputs).compiler_ir("stablehlo").operation.get_asm()
    except (TypeError, ValueError, NotImplementedError) as error:
        raise NotDrawnError(f"JAX refuses the types: {error}") from error
