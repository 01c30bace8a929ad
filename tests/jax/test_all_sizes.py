"""``tt_jax.for_all_sizes``: one program of a JAX function for all sizes up to a capacity."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tt_jax
from tt_xla.errors import UnsupportedOpError


@pytest.fixture
def traces():
    return []


@pytest.fixture
def network(traces):
    def network(weights, x):
        traces.append(x.shape)
        hidden = jax.nn.relu(x @ weights["first"])
        return {"scores": jax.nn.softmax(hidden @ weights["second"]), "mean": hidden.mean(0)}

    return network


def _weights():
    keys = jax.random.split(jax.random.key(0))
    return {"first": jax.random.normal(keys[0], (8, 16)), "second": jax.random.normal(keys[1], (16, 4))}


def test_batches_of_any_size_take_one_trace_and_few_programs(network, traces):
    served = tt_jax.for_all_sizes(network, None, "b, 8")
    weights = _weights()
    for size in (3, 5, 6, 7, 8, 13, 16):
        x = np.random.default_rng(size).normal(size=(size, 8)).astype("float32")
        expected, result = jax.jit(network)(weights, x), served(weights, x)
        assert result["scores"].shape == (size, 4)
        for name in expected:
            np.testing.assert_allclose(result[name], expected[name], rtol=2e-2, atol=2e-2)
    assert sum(not isinstance(shape[0], int) for shape in traces) == 1


def test_letters_are_sizes_that_arguments_have_in_common():
    attend = tt_jax.for_all_sizes(lambda q, k: jax.nn.softmax(q @ k.T) @ k, "n, 4", "s, 4")
    for queries, keys in ((3, 5), (2, 7), (4, 4)):
        q, k = (np.linspace(-1, 1, 4 * n, dtype="float32").reshape(n, 4) for n in (queries, keys))
        np.testing.assert_allclose(attend(q, k), jax.nn.softmax(q @ k.T) @ k, rtol=2e-2, atol=2e-2)
    added = tt_jax.for_all_sizes(jnp.add, "n", "n")
    with pytest.raises(ValueError, match=r"has shape \(4,\); expected \(3,\)"):
        added(np.ones(3, "float32"), np.ones(4, "float32"))


def test_a_primitive_without_a_rule_is_an_error_in_words():
    served = tt_jax.for_all_sizes(lambda x: jax.lax.scan(lambda c, row: (c + row, c), 0.0, x)[0], "n")
    with pytest.raises(UnsupportedOpError, match="number of rounds of a loop changes"):
        served(np.ones(5, "float32"))
