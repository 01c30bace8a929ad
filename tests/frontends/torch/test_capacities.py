"""Models whose sizes change from call to call: one program for all sizes up to a capacity."""

from __future__ import annotations

import copy
import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from benchmarks.lengths import convolutions, language_model
from tt_xla.frontends.torch.backend import clear_programs, compiled_programs


class Encoder(nn.Module):
    def __init__(self, dropout=0.0):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True, dropout=dropout)
        self.table, self.head = nn.Embedding(50, 16), nn.Linear(16, 50)

    def forward(self, ids):
        return self.head(self.layer(self.table(ids)))


class Causal(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.projection = nn.Embedding(50, 16), nn.Linear(16, 48)

    def forward(self, ids):
        batch, length = ids.shape
        query, key, value = self.projection(self.table(ids)).view(batch, length, 3, 4, 4).permute(2, 0, 3, 1, 4)
        attended = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        return attended.transpose(1, 2).reshape(batch, length, 16)


class VisionTransformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.patches, self.start = nn.Conv2d(3, 16, 8, 8), nn.Parameter(torch.randn(1, 1, 16))
        self.layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True, dropout=0.0)

    def forward(self, images):
        tokens = self.patches(images).flatten(2).transpose(1, 2)
        tokens = torch.cat([self.start.expand(tokens.shape[0], -1, -1), tokens], 1)
        return self.layer(tokens).mean(1)


class Masked(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 5)

    def forward(self, x, mask):
        scores = self.layer(x).masked_fill(~mask[..., None], -1e9)
        return torch.softmax(scores, 1) * mask[..., None]


def _ids(*shape):
    return torch.randint(0, 50, shape)


MODELS = {
    "batches of images": (convolutions, lambda n: (torch.randn(n, 3, 32, 32),), [4, 5, 6, 7, 9, 3], 5),
    "images of any size": (convolutions, lambda n: (torch.randn(2, 3, n, n + 8),), [32, 40, 44, 50, 60, 36], 3),
    "sequences": (Encoder, lambda n: (_ids(2, n),), [5, 6, 9, 12, 33], 3),
    "batches of sequences": (Encoder, lambda n: (_ids(n % 4 + 2, n),), [5, 6, 9, 12, 33], 5),
    "causal attention": (Causal, lambda n: (_ids(2, n),), [5, 6, 9, 12, 33], 3),
    "patches": (VisionTransformer, lambda n: (torch.randn(2, 3, n, n + 3),), [24, 33, 41, 50], 3),
    "masks": (Masked, lambda n: (torch.randn(2, n, 8), torch.rand(2, n) < 0.7), [3, 5, 9, 17], 2),
}
"""For each kind of sizes: the model, its inputs for a number, numbers, and the greatest number of programs."""


def _model(make, *, training=False):
    torch.manual_seed(0)
    return make().train(training)


@pytest.mark.parametrize("device", ["cpu", "tt"])
@pytest.mark.parametrize("name", MODELS)
def test_a_compiled_model_has_few_programs_for_many_sizes(name, device, monkeypatch):
    monkeypatch.setenv("TTXLA_CACHE", "off")
    make, inputs, numbers, most = MODELS[name]
    model = _model(make)
    compiled = torch.compile(copy.deepcopy(model).to(device), backend="tt")
    clear_programs()
    for number in numbers:
        given = inputs(number)
        with torch.no_grad():
            expected, result = model(*given), compiled(*(each.to(device) for each in given))
        if name != "patches":
            assert result.stride() == expected.stride()
        torch.testing.assert_close(result.cpu(), expected, rtol=2e-2, atol=2e-2)
    assert len(compiled_programs()) <= most


@pytest.mark.parametrize("name", ["batches of images", "masks", "causal attention"])
def test_recorded_ops_have_few_programs_for_many_sizes(name):
    make, inputs, numbers, most = MODELS[name]
    model = _model(make)
    there = copy.deepcopy(model).to("tt")
    clear_programs()
    for number in numbers:
        given = inputs(number)
        with torch.no_grad():
            result = there(*(each.to("tt") for each in given)).cpu()
            torch.testing.assert_close(result, model(*given), rtol=2e-2, atol=2e-2)
    assert len(compiled_programs()) <= most + 1


@pytest.mark.parametrize("name", ["batches of images", "sequences", "causal attention"])
def test_training_goes_on_with_the_last_small_batch(name, monkeypatch):
    monkeypatch.setenv("TTXLA_CACHE", "off")
    make, inputs, numbers, _ = MODELS[name]
    model = _model(make, training=True)
    start, given = copy.deepcopy(model.state_dict()), [inputs(number) for number in numbers[:3]]

    def trained(dynamic):
        torch.compiler.reset()
        model.load_state_dict(start)
        compiled, gradients = torch.compile(model, backend="tt", dynamic=dynamic), []
        for tensors in given:
            model.zero_grad()
            compiled(*tensors).square().mean().backward()
            gradients.append([parameter.grad.clone() for parameter in model.parameters()])
        return gradients

    for expected, result in zip(trained(False), trained(None), strict=True):
        for theirs, ours in zip(expected, result, strict=True):
            torch.testing.assert_close(ours, theirs, rtol=1e-3, atol=1e-3 * max(1.0, theirs.abs().max().item()))


def test_dropout_draws_what_the_cpu_draws_for_each_size(monkeypatch):
    monkeypatch.setenv("TTXLA_CACHE", "off")
    compiled = torch.compile(lambda x: F.dropout(x, 0.5), backend="tt")
    for size in (3, 4, 5, 7):
        x = torch.ones(size, 6)
        torch.manual_seed(size)
        result = compiled(x)
        torch.manual_seed(size)
        assert torch.equal(result, F.dropout(x, 0.5))


def test_full_sizes_and_the_ones_between_them_take_one_program(monkeypatch, caplog):
    monkeypatch.setenv("TTXLA_CACHE", "off")
    compiled = torch.compile(lambda x: torch.cat([x, x.sum(0, keepdim=True)]), backend="tt")
    with caplog.at_level("INFO", logger="tt_xla"):
        for size in (40, 50, 63, 34, 64):
            x = torch.ones(size, 3)
            assert torch.equal(compiled(x), torch.cat([x, x.sum(0, keepdim=True)]))
    messages = [each.getMessage() for each in caplog.records if each.getMessage().startswith("A program is compiled")]
    assert messages == [
        "A program is compiled for dimension 0 of args_0 up to 64.",
        "A program is compiled for dimension 0 of args_0 up to 128.",
    ]
    calls = [each.getMessage() for each in caplog.records if each.getMessage().startswith("Where ")]
    assert len(calls) == 2  # one for each change of the program
    assert "of 64x3 elements, of which 22 % are padding, and " in calls[0]


@pytest.mark.parametrize(("steps", "programs"), [("powers", 3), ("halves", 5), ("off", 6)])
def test_the_option_chooses_the_steps(steps, programs, monkeypatch):
    monkeypatch.setenv("TTXLA_CACHE", "off")
    compiled = torch.compile(lambda x: x * 2, backend="tt", options={"capacity_steps": steps})
    clear_programs()
    for size in (3, 5, 6, 7, 9, 13):
        assert compiled(torch.ones(size, 2)).tolist() == [[2, 2]] * size
    assert len(compiled_programs()) == programs


def test_an_op_without_a_rule_is_compiled_for_each_size_and_the_log_says_so(monkeypatch, caplog):
    monkeypatch.setenv("TTXLA_CACHE", "off")
    compiled = torch.compile(lambda x: torch.linalg.cholesky(x @ x.T + 9 * torch.eye(x.shape[0])), backend="tt")
    with caplog.at_level("INFO", logger="tt_xla"):
        for size in (3, 4, 5):
            x = torch.ones(size, 2)
            torch.testing.assert_close(compiled(x), torch.linalg.cholesky(x @ x.T + 9 * torch.eye(size)))
    assert any("is compiled for each of them" in each.getMessage() for each in caplog.records)


def test_indices_are_checked_against_sizes_that_are_numbers(monkeypatch):
    monkeypatch.setenv("TTXLA_CACHE", "off")
    table = nn.Embedding(5, 3)
    compiled = torch.compile(table, backend="tt")
    for size in (3, 4, 6):
        ids = torch.arange(size) % 5
        torch.testing.assert_close(compiled(ids), table(ids), rtol=1e-2, atol=1e-2)
    with pytest.raises(IndexError, match="index 7 is out of bounds"):
        compiled(torch.tensor([1, 2, 7]))


@pytest.mark.parametrize("is_compiled", [False, True], ids=["recorded", "compiled"])
def test_indices_are_not_checked_against_the_size_of_another_call(is_compiled, monkeypatch):
    monkeypatch.setenv("TTXLA_CACHE", "off")

    def function(x, place):
        return (x * 2.0)[place]

    call = torch.compile(function, backend="tt") if is_compiled else function
    for size in (4, 5, 6, 7, 30):
        x, place = torch.randn(size, 3), torch.arange(size - 1, -1, -1)
        assert torch.equal(call(x.to("tt"), place.to("tt")).cpu(), function(x, place))


def test_a_result_goes_to_the_next_call_without_a_copy(monkeypatch):
    monkeypatch.setenv("TTXLA_CACHE", "off")
    compiled = torch.compile(lambda cache, row: torch.cat([cache * 1.0, row]), backend="tt")
    cache = torch.ones(40, 2, device="tt")
    for number in range(2, 8):
        cache = compiled(cache, torch.full((1, 2), float(number), device="tt"))
    assert cache.shape == (46, 2)
    assert cache[:, 0].tolist() == [1.0] * 40 + [2.0, 3.0, 4.0, 5.0, 6.0, 7.0]
    cache[0] = 9.0  # a write, and a view, see the elements alone
    assert compiled(cache, torch.zeros(1, 2, device="tt"))[[0, 45, 46], 1].tolist() == [9.0, 7.0, 0.0]
    assert cache.t().sum().item() == 2 * (9 + 39 + 27)


@pytest.mark.parametrize("is_compiled", [False, True], ids=["recorded", "compiled"])
def test_generate_with_a_growing_cache_has_the_ids_of_the_cpu_and_few_programs(is_compiled, monkeypatch):
    from transformers import DynamicCache

    monkeypatch.setenv("TTXLA_CACHE", "off")
    monkeypatch.setenv("TTXLA_NUMERICS", "exact")
    torch.manual_seed(0)
    model = language_model()
    there = copy.deepcopy(model).to("tt")
    if is_compiled:
        there.forward = torch.compile(there.forward, backend="tt")
    ids = torch.randint(0, 512, (1, 25))
    clear_programs()
    counts = []
    for prompt in (ids, ids, ids[:, :20], ids[:, :22]):
        expected = model.generate(prompt, max_new_tokens=14, do_sample=False)
        result = there.generate(prompt.to("tt"), max_new_tokens=14, do_sample=False, past_key_values=DynamicCache())
        assert torch.equal(result.cpu(), expected)
        counts.append(len(compiled_programs()))
    assert counts[0] == counts[1]  # a second run compiles nothing
    assert counts[-1] <= (7 if is_compiled else 5)


def test_capacities_do_not_change_the_bits_of_a_row():
    """What a row of a result holds does not depend on how far behind it the capacity ends."""
    x, weight = torch.randn(70, 32), torch.randn(32, 32)
    compiled = torch.compile(lambda x, weight: torch.tanh(x @ weight), backend="tt")
    results = [compiled(x[:size], weight) for size in (40, 50, 70)]
    assert torch.equal(results[1][:40], results[2][:40])
    assert math.isfinite(results[0].sum().item())
