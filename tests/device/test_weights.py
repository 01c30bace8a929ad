"""Lasting weights are prepared once: when, for how long, and with the same bits."""

from __future__ import annotations

import gc
import weakref

import pytest
import torch

from tt_xla.runtime.emulator.context import Weighted
from tt_xla.runtime.emulator.functions import FUNCTIONS
from tt_xla.runtime.weights import WeightedCall

BF16 = torch.bfloat16


def samples(*shape, dtype=BF16, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


class Counted:
    """A kernel that adds, and keeps the weights that it prepared."""

    def __init__(self):
        self.made = []
        self.kernel = Weighted(torch.add, self.prepare, lambda x, made: torch.add(x, made - 1))

    def prepare(self, weights):
        self.made.append(weights + 1)
        return self.made[-1]


def test_weights_are_prepared_when_they_come_a_second_time():
    counted = Counted()
    call, x, w = WeightedCall(counted.kernel), torch.ones(3), torch.ones(3)
    counts = []
    for _ in range(4):
        assert torch.equal(call(x, w), x + w)
        counts.append(len(counted.made))
    assert counts == [0, 1, 1, 1]


def test_weights_that_change_are_never_prepared():
    counted = Counted()
    call, x = WeightedCall(counted.kernel), torch.ones(3)
    for number in range(4):
        w = torch.full((3,), float(number))
        assert torch.equal(call(x, w), x + w)
    assert not counted.made


def test_what_was_made_of_weights_ends_with_them():
    counted = Counted()
    call, x, w = WeightedCall(counted.kernel), torch.ones(3), torch.ones(3)
    call(x, w)
    call(x, w)
    made = weakref.ref(counted.made.pop())
    call.release()
    assert made() is not None
    del w
    call.release()
    gc.collect()
    assert made() is None


SHAPES = [((1, 576), (576, 512)), ((128, 96), (96, 64)), ((3, 5, 128), (128, 256)), ((64, 512), (512, 10))]


@pytest.mark.parametrize("level", ["hifi4", "hifi2", "lofi"])
@pytest.mark.parametrize(("left", "right"), SHAPES)
def test_products_have_the_same_bits_with_prepared_weights(run_op, left, right, level):
    """The fixture runs the call with weights and the one with prepared weights, and compares them."""
    x, w, bias = samples(*left), samples(*right, seed=1), samples(right[1], seed=2)
    config = {"math_fidelity": level}
    shape = (*left[:-1], right[1])
    operands = {"a": x, "b": w, "bias": bias}
    result = run_op("ttnn.linear", operands, shape, activation="gelu", compute_config=config)
    if level == "hifi4":
        exact = torch.nn.functional.gelu(x.double() @ w.double() + bias.double())
        torch.testing.assert_close(result.double(), exact, rtol=2**-8, atol=2**-10)


@pytest.mark.parametrize("activation", sorted(name for name, function in FUNCTIONS.items() if function.ends_products))
@pytest.mark.parametrize("rows", [1, 64])
def test_activations_are_applied_before_the_rounding(run_op, activation, rows):
    """Results of oneDNN and of torch lie within one rounding of the exact value, whatever the size."""
    x, w = samples(rows, 128), samples(128, 64, seed=1)
    result = run_op("ttnn.matmul", {"a": x, "b": w}, (rows, 64), activation=activation)
    exact = FUNCTIONS[activation].compute(x.double() @ w.double()).double()
    torch.testing.assert_close(result.double(), exact, rtol=2**-8, atol=1e-5)
