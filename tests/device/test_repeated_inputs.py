"""Inputs that callers pass run after run, such as the weights of a JAX function, are prepared as parameters are."""

from __future__ import annotations

import gc
import random
import weakref

import jax
import numpy as np
import pytest
import torch
import torch_xla  # noqa: F401, registers the device

from tests.closeness import relative_error
from tt_xla.runtime.emulator.fast import onednn

pytestmark = pytest.mark.skipif(not onednn.available(torch.float32), reason="this CPU has no oneDNN")

ROWS, SIZE = 200, 160


@pytest.fixture
def prepared(monkeypatch):
    """Returns weak references to the weights that were prepared."""
    made = []
    order = onednn.ordered

    def recorded(weights, rows):
        result = order(weights, rows)
        made.append(weakref.ref(result))
        return result

    monkeypatch.setattr(onednn, "ordered", recorded)
    monkeypatch.setenv("TTXLA_EMULATOR_CHAINS", "off")
    return made


def draw(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)


@pytest.fixture
def multiply():
    """Returns a jitted product on the device."""
    device = jax.devices("tt")[0]
    function = jax.jit(lambda x, w: x @ w)
    return lambda x, w: np.asarray(function(jax.device_put(x, device), w)), lambda w: jax.device_put(w, device)


def test_weights_of_a_jax_function_are_prepared_once(prepared, multiply):
    call, put = multiply
    w, inputs = put(draw(0, SIZE, SIZE)), [draw(seed, ROWS, SIZE) for seed in range(1, 4)]
    first = [call(x, w) for x in inputs]
    for _ in range(2):
        assert all(np.array_equal(call(x, w), expected) for x, expected in zip(inputs, first, strict=True))
    assert len(prepared) == 1


def test_weights_that_change_in_each_call_are_not_prepared(prepared, multiply):
    call, put = multiply
    x = draw(0, ROWS, SIZE)
    for seed in range(5):
        w = draw(seed, SIZE, SIZE)
        np.testing.assert_allclose(call(x, put(w)), x @ w, rtol=0.02, atol=0.05)
    assert not prepared


def test_other_weights_count(prepared, multiply):
    call, put = multiply
    x, arrays = draw(0, ROWS, SIZE), [draw(seed, SIZE, SIZE) for seed in range(1, 4)]
    weights = [put(array) for array in arrays]
    for index in random.Random(0).choices(range(3), [5, 1, 1], k=40):
        np.testing.assert_allclose(call(x, weights[index]), x @ arrays[index], rtol=0.02, atol=0.05)
    assert prepared


def test_what_was_prepared_ends_with_the_weights(prepared, multiply):
    call, put = multiply
    w, x = put(draw(0, SIZE, SIZE)), draw(1, ROWS, SIZE)
    for _ in range(4):
        call(x, w)
    (reference,) = prepared
    gc.collect()
    assert reference() is not None
    del w
    gc.collect()
    call(x, put(draw(2, SIZE, SIZE)))
    assert reference() is None


def test_weights_that_a_torch_script_writes_in_place(prepared):
    torch.compiler.reset()
    function = torch.compile(lambda x, w: x @ w, backend="tt")
    w, x = torch.from_numpy(draw(0, SIZE, SIZE)), torch.from_numpy(draw(1, ROWS, SIZE))
    moved, x_moved = w.clone().to("tt"), x.to("tt")
    for change in random.Random(1).choices([None, "in place", "other tensor"], [5, 2, 1], k=40):
        if change is not None:
            w.add_(1)
        if change == "in place":
            moved.add_(1)
        elif change is not None:
            moved = w.clone().to("tt")
        assert relative_error(function(x_moved, moved), x @ w) < 2**-9  # factors have 11 significant bits
    assert prepared
