"""Writes a Flax module as C++ source that calls TT-NN, in the folder ``model``; ``model/run`` builds and runs it."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx

from tt_jax import codegen_cpp


class Model(nnx.Module):
    def __init__(self, *, rngs: nnx.Rngs) -> None:
        self.A = nnx.Linear(32, 128, rngs=rngs)
        self.B = nnx.Linear(128, 64, rngs=rngs)

    def __call__(self, x: jax.Array) -> jax.Array:
        x = nnx.relu(self.A(x))
        x = nnx.tanh(self.B(x))
        return jnp.sum(x**2)


def forward(graphdef: Any, state: Any, x: jax.Array) -> jax.Array:
    return nnx.merge(graphdef, state)(x)


if __name__ == "__main__":
    with jax.default_device(jax.devices("cpu")[0]):
        graphdef, state = nnx.split(Model(rngs=nnx.Rngs(0)))
        x = jax.random.normal(jax.random.key(1), (32, 32))
    codegen_cpp(forward, graphdef, state, x, export_path="model")
