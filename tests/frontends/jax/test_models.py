"""Models of the libraries that JAX users build with: forward, and trained for a few steps."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

RNG = np.random.default_rng(0)
X = RNG.normal(size=(32, 8)).astype(np.float32)
Y = (X[:, :1] * 2 - X[:, 1:2]).astype(np.float32)


@pytest.fixture(autouse=True)
def _on_tt(tt):
    with jax.default_device(tt):
        yield


def train(loss, parameters, steps=12):
    """First and last loss."""
    optax = pytest.importorskip("optax")
    optimizer = optax.adam(0.03)

    @jax.jit
    def step(parameters, state):
        value, gradients = jax.value_and_grad(loss)(parameters)
        updates, state = optimizer.update(gradients, state, parameters)
        return optax.apply_updates(parameters, updates), state, value

    state = optimizer.init(parameters)
    values = []
    for _ in range(steps):
        parameters, state, value = step(parameters, state)
        values.append(float(value))
    return values[0], values[-1]


def test_plain_functions():
    parameters = {"a": jax.random.normal(jax.random.key(0), (8, 16)) * 0.3, "b": jnp.zeros((16, 1))}
    first, last = train(lambda p: jnp.mean((jnp.tanh(X @ p["a"]) @ p["b"] - Y) ** 2), parameters)
    assert last < 0.6 * first


def test_flax_linen():
    nn = pytest.importorskip("flax.linen")

    class Model(nn.Module):
        @nn.compact
        def __call__(self, x):
            return nn.Dense(1)(nn.gelu(nn.LayerNorm()(nn.Dense(16)(x))))

    model = Model()
    parameters = model.init(jax.random.key(0), X)
    first, last = train(lambda p: jnp.mean((model.apply(p, X) - Y) ** 2), parameters)
    assert last < 0.6 * first


def test_flax_nnx():
    nnx = pytest.importorskip("flax.nnx")
    model = nnx.Sequential(nnx.Linear(8, 16, rngs=nnx.Rngs(0)), nnx.relu, nnx.Linear(16, 1, rngs=nnx.Rngs(1)))
    graph, parameters = nnx.split(model)
    first, last = train(lambda p: jnp.mean((nnx.merge(graph, p)(X) - Y) ** 2), parameters)
    assert last < 0.6 * first


def test_equinox():
    eqx = pytest.importorskip("equinox")
    model = eqx.nn.MLP(8, 1, 16, 1, key=jax.random.key(0))
    parameters, static = eqx.partition(model, eqx.is_array)
    first, last = train(lambda p: jnp.mean((jax.vmap(eqx.combine(p, static))(X) - Y) ** 2), parameters)
    assert last < 0.6 * first
