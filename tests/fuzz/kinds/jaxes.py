"""JAX programs: calls of JAX's public functions on one another's results, transformed, and judged as modules."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np

from tests.fuzz.cases import Difference, NotDrawnError
from tests.fuzz.jaxes.program import Drawn, drawn
from tests.fuzz.judge import DEFAULT_NOISE, Judge, Module


class JaxModule(Module):
    """A lowered JAX program, which shows its text."""

    drawn: Drawn

    @property
    def text(self) -> str:
        return f"{self.drawn.source}\n{super().text}"


class OnPlugin(JaxModule):
    """A JAX program that runs through our PJRT plugin, as a user's does."""

    def check(self) -> Iterator[Difference]:
        device = jax.devices("tt")[0]
        with jax.default_device(device):
            results = jax.jit(self.drawn.function(), keep_unused=True)(*self.drawn.inputs)
            leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(results)]
        # Gradients of integers have no bytes in NumPy, and are booleans in the program.
        arrays = [np.zeros(leaf.shape, bool) if leaf.dtype == jax.dtypes.float0 else leaf for leaf in leaves]
        yield from Judge(self).compare("through the plugin", arrays, self.expected, None, DEFAULT_NOISE)


def draw(random: random.Random) -> Module:
    """Draws a program; one in 40 runs through the plugin."""
    plugin = random.random() < 1 / 40
    special = not plugin and random.random() < 0.2
    program = drawn(random, special=special)
    kind = OnPlugin if plugin else JaxModule
    module = kind(lowered(program), program.inputs, special=special)
    module.drawn = program
    return module


def lowered(program: Drawn) -> str:
    """Returns the StableHLO text of a program.

    Raises:
        NotDrawnError: JAX refuses it.
    """
    try:
        module: Any = jax.jit(program.function(), keep_unused=True).lower(*program.inputs).compiler_ir("stablehlo")
    except (TypeError, ValueError, NotImplementedError, IndexError) as error:
        raise NotDrawnError(f"JAX refuses the program: {error}") from error
    return module.operation.get_asm(enable_debug_info=False)
