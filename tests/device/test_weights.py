"""Weights that stay the same between runs are prepared once, and results keep their bits."""

from __future__ import annotations

import gc
import weakref

import pytest
import torch

from tt_xla.runtime.emulator.context import Weighted
from tt_xla.runtime.emulator.functions import FUNCTIONS
from tt_xla.runtime.weights import WeightedCall

pytestmark = pytest.mark.quick

BF16 = torch.bfloat16


def samples(*shape, dtype=BF16, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


class Counted:
    """An addition kernel that keeps the weights that it prepared."""

    def __init__(self):
        self.prepared_weights = []
        self.kernel = Weighted(torch.add, self.prepare, lambda x, prepared: torch.add(x, prepared - 1), self.restore)

    def restore(self, prepared):
        return prepared - 1

    def prepare(self, weights):
        self.prepared_weights.append(weights + 1)
        return self.prepared_weights[-1]


def test_weights_are_prepared_when_they_come_a_second_time():
    counted = Counted()
    call, x, w = WeightedCall(counted.kernel), torch.ones(3), torch.ones(3)
    counts = []
    for _ in range(4):
        assert torch.equal(call(x, w), x + w)
        counts.append(len(counted.prepared_weights))
    assert counts == [0, 1, 1, 1]


def test_weights_that_change_are_never_prepared():
    counted = Counted()
    call, x = WeightedCall(counted.kernel), torch.ones(3)
    for number in range(4):
        w = torch.full((3,), float(number))
        assert torch.equal(call(x, w), x + w)
    assert not counted.prepared_weights


def test_what_was_made_of_weights_ends_with_them():
    counted = Counted()
    call, x, w = WeightedCall(counted.kernel), torch.ones(3), torch.ones(3)
    call(x, w)
    call(x, w)
    reference = weakref.ref(counted.prepared_weights.pop())
    call.release()
    assert reference() is not None
    del w
    call.release()
    gc.collect()
    assert reference() is None


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


@pytest.mark.parametrize("activation", sorted(name for name, function in FUNCTIONS.items() if function.ends_products))
@pytest.mark.parametrize(("dtype", "label"), [(BF16, "bf16"), (torch.float32, "f32")])
def test_exact_numerics_end_products_with_the_functions_of_the_table(run_op, activation, dtype, label):
    """Sums of these operands are exact, so that any approximation of the function shows."""
    x, w = ((samples(*shape, seed=seed) * 8).round() / 16 for seed, shape in enumerate([(64, 32), (32, 48)]))
    expected = FUNCTIONS[activation].compute(x.float() @ w.float()).to(dtype)
    operands = {"a": x.to(dtype), "b": w.to(dtype)}
    assert torch.equal(
        run_op("ttnn.matmul", operands, (64, 48), label, numerics="exact", activation=activation), expected
    )
    image, kernel = operands["a"].reshape(1, 1, 64, 32), operands["b"].t().reshape(48, 32, 1, 1)
    geometry = {"in_channels": 32, "out_channels": 48, "batch_size": 1, "input_height": 8, "input_width": 8}
    window = {"kernel_size": [1, 1], "stride": [1, 1], "padding": [0, 0], "dilation": [1, 1], "groups": 1}
    config = {"conv2d_config": {"activation": activation}}
    operands = {"input": image, "weight": kernel}
    attributes = geometry | window | config
    result = run_op("ttnn.conv2d", operands, (1, 1, 64, 48), label, numerics="exact", **attributes)
    assert torch.equal(result.reshape(64, 48), expected)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_weights_that_are_a_part_of_a_tensor(run_op, dtype):
    """The bits are those of a copy without gaps between the rows."""
    a, wide = torch.randn(4, 64).to(dtype), torch.randn(64, 128).to(dtype)
    attributes = {"transpose_a": False, "transpose_b": False}
    label = {torch.bfloat16: "bf16", torch.float32: "f32"}[dtype]
    part = run_op("ttnn.matmul", {"a": a, "b": wide[:, 32:64]}, (4, 32), label, **attributes)
    copy = run_op("ttnn.matmul", {"a": a, "b": wide[:, 32:64].contiguous()}, (4, 32), label, **attributes)
    assert torch.equal(part, copy)
