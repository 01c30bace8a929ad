"""Precision and override files as compiler options of ``jax.jit`` and in the environment; products of integers."""

from __future__ import annotations

import json
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

import tt_jax
from tt_xla.runtime.emulator.formats import quantize

RANDOM = np.random.default_rng(0)
X, W = (RANDOM.standard_normal((64, 64)).astype(jnp.bfloat16) for _ in range(2))
FILE = "layers: {dense.w: {weights: bfp_bf4}}"


def product(x, weights):
    return x @ tt_jax.mark_parameters(weights)["dense"]["w"]


@pytest.mark.parametrize("from_environment", [False, True])
def test_a_layer_has_the_format_of_the_file(tt, tmp_path: Path, monkeypatch, from_environment):
    path = tmp_path / "precision.yaml"
    path.write_text(FILE)
    options = {"precision": str(path)}
    if from_environment:
        monkeypatch.setenv("TTXLA_COMPILE_OPTIONS", json.dumps(options))
    own = {} if from_environment else options
    weights = {"dense": {"w": jax.device_put(W, tt)}}
    x = jax.device_put(X, tt)
    result = jax.jit(product, compiler_options={"numerics": "exact"} | own)(x, weights)
    stored = quantize(torch.from_numpy(np.array(W, np.float32)), "bfp_bf4").numpy()
    expected = np.asarray(X, np.float32) @ stored
    np.testing.assert_allclose(np.asarray(result, np.float32), expected, rtol=0.02, atol=0.02)
    assert np.abs(expected - np.asarray(X, np.float32) @ np.asarray(W, np.float32)).max() > 0.5


def test_a_file_of_another_model_is_refused(tt):
    weights = {"dense": {"w": jax.device_put(W, tt)}}
    options = {"precision": '{"layers": {"dense.v": {"weights": "bfp_bf8"}}}'}
    with pytest.raises(jax.errors.JaxRuntimeError, match=r"layer 'dense\.v', which the program lacks.*'dense\.w'"):
        jax.jit(product, compiler_options=options)(jax.device_put(X, tt), weights)


def test_single_ops_have_the_choices_of_an_override_file(tt, tmp_path: Path):
    path = tmp_path / "overrides.yaml"
    path.write_text('ops: {"matmul@*#0": {layout: block_sharded, dtype: bfp_bf8}}')
    x, w = jax.device_put(X, tt), jax.device_put(W, tt)

    def function(x, w):
        return jnp.exp(x @ w / 64)

    plain = np.asarray(jax.jit(function)(x, w), np.float32)
    rounded = np.asarray(jax.jit(function, compiler_options={"overrides": str(path)})(x, w), np.float32)
    assert not np.array_equal(plain, rounded)
    np.testing.assert_allclose(rounded, plain, rtol=0.05)


def test_an_override_that_ttnn_refuses_is_an_error(tt):
    options = {"overrides": '{"ops": {"matmul@*#0": {"layout": "block_sharded", "grid": [9, 9]}}}'}
    with pytest.raises(jax.errors.JaxRuntimeError, match="does not fit in the 64 cores of the chip"):
        jax.jit(lambda x: jnp.exp(x @ x), compiler_options=options)(jax.device_put(X, tt))


@pytest.mark.parametrize(
    ("low", "high", "dtype"),
    [
        (-100, 100, np.int8),
        (-4000, 4000, np.int16),
        (-4000, 4000, np.int32),
        (-(2**20) - 5, 2**20 + 5, np.int32),
        (0, 2**22, np.uint32),
    ],
)
def test_products_of_integers_are_exact_up_to_24_bits(tt, low, high, dtype):
    """The matrix unit cuts operands to 10 and 11 bits, so positions beyond 1,024 must reach it in parts."""
    drawn = np.random.default_rng(0)
    x = drawn.integers(low, high, (5, 3)).astype(dtype)
    y = drawn.integers(0, 2, (3, 7)).astype(dtype)
    got = jax.jit(lambda a, b: a @ b)(*jax.device_put((x, y), tt))
    np.testing.assert_array_equal(np.asarray(got), x @ y)
    got = jax.jit(lambda a, b: a @ b)(*jax.device_put((y.T, x.T), tt))
    np.testing.assert_array_equal(np.asarray(got), y.T @ x.T)


def test_a_product_of_booleans_says_whether_a_pair_is_true(tt):
    drawn = np.random.default_rng(1)
    x, y = drawn.random((5, 8)) > 0.5, drawn.random((8, 3)) > 0.6
    got = jax.jit(lambda a, b: (a @ b).astype(jnp.int8))(*jax.device_put((x, y), tt))
    np.testing.assert_array_equal(np.asarray(got), (x @ y).astype(np.int8))


def test_products_of_integers_beyond_24_bits_keep_their_first_bits(tt):
    """A part of 20 bits and more meets one of 10 bits and more only in results that float32 rounds."""
    x, y = jax.device_put((np.array([[2**20]], np.int32), np.array([[2**10]], np.int32)), tt)
    np.testing.assert_array_equal(np.asarray(jax.jit(lambda a, b: a @ b)(x, y)), [[2**30]])
