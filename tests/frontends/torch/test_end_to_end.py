"""``torch.compile(backend="tt")`` through the real compiler and the emulated card, in exact arithmetic."""

from __future__ import annotations

import copy
import functools

import pytest
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

from tests.closeness import relative_error
from tt_xla.frontends.torch import host_ops, settings
from tt_xla.frontends.torch.backend import compiled_programs


class Mixer(nn.Module):
    """A transformer block: attention and a feed-forward network."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(16)
        self.qkv = nn.Linear(16, 48)
        self.out = nn.Linear(16, 16)
        self.mlp = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 16))

    def forward(self, x):
        parts = self.qkv(self.norm(x)).unflatten(-1, (3, 2, -1)).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(*parts, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).flatten(2))
        return x + self.mlp(x)


def convolutional():
    return nn.Sequential(
        nn.Conv2d(1, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(36, 5), nn.LogSoftmax(1)
    )


MODELS = {
    "mlp": (lambda: nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4)), (3, 8), 1e-5),
    "mixer": (Mixer, (2, 5, 16), 1e-5),
    "convolutional": (convolutional, (3, 1, 8, 8), 1e-5),
}


@pytest.fixture(autouse=True)
def _exact():
    settings.set_compile_options({"numerics": "exact"})
    torch.compiler.reset()


@pytest.mark.parametrize("name", MODELS)
def test_inference(name):
    make, shape, tolerance = MODELS[name]
    torch.manual_seed(0)
    model, x = make().eval(), torch.randn(shape)
    with torch.no_grad():
        expected = model(x)
        compiled = torch.compile(model.to("tt"), backend="tt")
        for _ in range(3):
            results = compiled(x.to("tt"))
            assert results.is_tt
            torch.testing.assert_close(results.cpu(), expected, rtol=10 * tolerance, atol=tolerance)
    assert compiled_programs()[-1].predicted_device_us > 0


@pytest.mark.parametrize("name", MODELS)
def test_training(name):
    make, shape, tolerance = MODELS[name]
    torch.manual_seed(0)
    theirs, x = make().train(), torch.randn(shape)
    ours = copy.deepcopy(theirs).to("tt")
    compiled = torch.compile(ours, backend="tt")
    steps = [torch.optim.SGD(model.parameters(), 0.05, momentum=0.9) for model in (theirs, ours)]
    for _ in range(3):
        for model, step, batch in ((theirs, steps[0], x), (compiled, steps[1], x.to("tt"))):
            step.zero_grad()
            model(batch).square().mean().backward()
            step.step()
    for one, other in zip(ours.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(one.cpu(), other, rtol=10 * tolerance, atol=10 * tolerance)


@pytest.mark.parametrize("rows", [1, 40])
def test_attention_with_a_boolean_mask_is_one_op_of_the_chip(rows):
    """Attention of bfloat16 tensors in which two query heads share a head of keys and values."""
    query = torch.randn(2, 4, rows, 32).bfloat16()
    key, value = torch.randn(2, 2, 2, 40, 32).bfloat16()
    mask = torch.rand(2, 1, rows, 40) > 0.3
    mask[0, 0, 0] = False  # the first row is fully masked
    attend = functools.partial(F.scaled_dot_product_attention, attn_mask=mask, enable_gqa=True)
    options = {"optimization_level": 1, "numerics": "silicon"}
    results = torch.compile(attend, backend="tt", options=options)(query, key, value)
    ops = [step.op for function in compiled_programs()[-1].functions for step in function.body]
    assert ops.count("ttnn.scaled_dot_product_attention") == 1
    assert not {"ttnn.softmax", "ttnn.matmul"} & {*ops}
    assert not results[0, :, 0].any()
    expected = F.scaled_dot_product_attention(*(x.float() for x in (query, key, value)), mask, enable_gqa=True)
    # Weights of the exponential that the chip takes deviate by up to 6 %, and those of a row by about half of that.
    torch.testing.assert_close(results.float(), expected, rtol=2e-2, atol=6e-2)
    assert relative_error(results, expected) < 0.03


@pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")
@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "eager"])
def test_flexible_attention(compiled):
    """Score and mask are the user's functions, the score reads a tensor that has a gradient, and heads share keys."""
    torch.manual_seed(0)
    query, key, value = (torch.randn(1, heads, 6, 8) for heads in (4, 2, 2))
    slopes = torch.randn(4)

    def attend(query, key, value, slopes, mask):
        def score(score, batch, head, row, column):
            return score + slopes[head] * (row - column)

        return flex_attention(query, key, value, score_mod=score, block_mask=mask, enable_gqa=True)

    def plainly(query, key, value, slopes):
        distance = torch.arange(6)[:, None] - torch.arange(6)
        bias = (slopes[:, None, None] * distance).masked_fill(distance < 0, -torch.inf)
        return F.scaled_dot_product_attention(query, key, value, bias, enable_gqa=True)

    before = host_ops.counts()
    mask = create_block_mask(lambda batch, head, row, column: row >= column, None, None, 6, 6, device="tt")
    call = torch.compile(attend, backend="tt") if compiled else attend
    expected = [tensor.requires_grad_() for tensor in (query, key, value, slopes)]
    inputs = [tensor.detach().to("tt").requires_grad_() for tensor in expected]
    results, expected_results = call(*inputs, mask), plainly(*expected)
    torch.testing.assert_close(results.cpu(), expected_results, rtol=1e-4, atol=1e-4)
    for result in (results, expected_results):
        result.pow(2).sum().backward()
    for one, other in zip(inputs, expected, strict=True):
        torch.testing.assert_close(one.grad.cpu(), other.grad, rtol=1e-4, atol=1e-4)
    assert host_ops.counts() == before


def test_peaks_of_float32_equal_the_maximum_of_their_neighbours():
    """Non-maximum suppression needs the exact bits of the maxima. TT-NN's pooling has bfloat16 alone."""
    settings.set_compile_options({"numerics": "silicon"})

    def peaks(x):
        return torch.where(x == F.max_pool2d(x, 5, stride=1, padding=2), x, torch.zeros_like(x))

    torch.manual_seed(0)
    x = torch.rand(2, 3, 9, 14)
    assert torch.equal(torch.compile(peaks, backend="tt")(x.to("tt")).cpu(), peaks(x))
