"""Parts of a graph that repeat are traced once, and the compiled module is the one that tracing all of them gives."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from tt_xla.frontends.torch import backend
from tt_xla.frontends.torch.graph.repeats import find_repeats
from tt_xla.frontends.torch.private import stamping as private_stamping

DEPTH = 4


class Block(nn.Module):
    """A layer with a composite, an op of several results, views and dropout."""

    def __init__(self):
        super().__init__()
        self.norm, self.drop = nn.RMSNorm(16), nn.Dropout(0.5)
        self.wide, self.narrow = nn.Linear(16, 96), nn.Linear(32, 16)

    def forward(self, x):
        query, key, value = self.wide(self.norm(x)).split(32, -1)
        heads = [part.reshape(*part.shape[:-1], 2, 16).transpose(1, 2) for part in (query, key, value)]
        mixed = F.scaled_dot_product_attention(*heads, is_causal=True).transpose(1, 2).flatten(-2)
        return x + self.drop(self.narrow(mixed))


class Stack(nn.Module):
    """Layers one after another. Called with ``collect``, it returns what each layer returns."""

    def __init__(self, make=Block, collect=False):
        super().__init__()
        self.layers, self.collect = nn.ModuleList(make() for _ in range(DEPTH)), collect

    def forward(self, x):
        states = [x := layer(x) for layer in self.layers]
        return states if self.collect else x


class Chain(nn.Module):
    """Enough elementwise ops, with different weights, to be a layer."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.rand(16))

    def steps(self, x):
        return (((x * self.scale).tanh() + 1).sigmoid() - self.scale).abs().exp()

    def forward(self, x):
        return self.steps(x)


class InPlace(Chain):
    def forward(self, x):
        y = self.steps(x)
        y += self.scale
        y[..., :3].mul_(2)
        return y.relu_()


class WritesState(Chain):
    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(16))

    def forward(self, x):
        self.seen.add_(x.sum((0, 1)))
        return self.steps(x) + self.seen


class WritesInput(Chain):
    def forward(self, x):
        x.mul_(self.scale)
        return self.steps(x)


class WritesCache(Chain):
    """Writes a row of its cache, as a language model does, and counts the rows."""

    def __init__(self):
        super().__init__()
        self.register_buffer("cache", torch.zeros(2, 8, 16))
        self.register_buffer("count", torch.zeros((), dtype=torch.int64))

    def forward(self, x):
        rows = torch.arange(6, device=x.device) + self.count
        self.count.add_(6)
        self.cache.index_copy_(1, rows % 8, self.steps(x))
        return x + self.cache.sum(1, keepdim=True)


class WritesPart(Chain):
    """Writes a part of its buffer, through a view."""

    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(2, 16))

    def forward(self, x):
        y = self.steps(x)
        self.seen[0].copy_(y.sum((0, 1)))
        return y + self.seen[0]


class WritesViewOfOne(nn.Module):
    """Each of its layers writes a row of one buffer that all share."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(Chain() for _ in range(DEPTH))
        self.register_buffer("seen", torch.zeros(DEPTH, 16))

    def forward(self, x):
        rows = self.seen.unbind(0)
        for layer, row in zip(self.layers, rows, strict=True):
            x = layer(x)
            row.add_(x.sum((0, 1)))
        return x * self.seen.sum()


class ReadsAfterWrites(nn.Module):
    """Reads, after each layer, a view that was made of what the layer then writes."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(WritesState() for _ in range(DEPTH))

    def forward(self, x):
        views = [layer.seen[:4] for layer in self.layers]
        for layer in self.layers:
            x = layer(x)
        return x + torch.stack(views).sum()


class Grows(Chain):
    def forward(self, x):
        return torch.cat([self.steps(x), x[:, :1]], 1)


class PassesViews(Chain):
    def forward(self, x):
        return self.steps(x).transpose(0, 1)


class UsesConstant(Chain):
    def forward(self, x):
        return self.steps(x) * torch.tensor([1.5, 2.5]).to(x.device)[1]


class BeginsCache(Chain):
    """Appends to an empty tensor, as the first call of a language model with a growing cache does."""

    def forward(self, x):
        cache = torch.tensor([], dtype=x.dtype, device=x.device)
        return torch.cat([cache, self.steps(x)], -2)


class Draws(Chain):
    def forward(self, x):
        return self.steps(x) + torch.rand_like(x)


class Narrows(Chain):
    def forward(self, x):
        with torch.autocast("tt", torch.bfloat16):
            return self.steps(x) @ torch.diag(self.scale)


def compile_and_run(monkeypatch, make, *, stamps, train=False):
    """Returns the modules that were lowered, the results, and the number of copies that were made."""
    modules, copies = [], []
    lower, stamping = backend.lower_to_stablehlo, private_stamping.stamping
    with monkeypatch.context() as patch:
        patch.setenv("TTXLA_CACHE", "off")

        def lowered(*args):
            result = lower(*args)
            modules.append(result.module.operation.get_asm(enable_debug_info=True))
            return result

        def counted(graph_module, repeats, new_arguments):
            return stamping(graph_module, repeats, lambda: copies.append(graph_module) or new_arguments())

        patch.setattr(backend, "lower_to_stablehlo", lowered)
        patch.setattr(private_stamping, "stamping", counted)
        patch.setenv("TTXLA_DYNAMO_DEFAULTS", "0" if stamps else "1")
        torch.compiler.reset()
        torch.manual_seed(0)
        model = make().train(train)
        x = torch.randn(2, 6, 16)
        model, x = model.to("tt"), x.to("tt")
        with torch.set_grad_enabled(train):
            results = torch.compile(model, backend="tt")(x)
            results = [*results] if isinstance(results, list) else [results]
            if train:
                sum(result.square().sum() for result in results).backward()
                results += [parameter.grad for parameter in model.parameters()]
        return modules, [result.cpu() for result in [*results, *model.buffers(), x]], len(copies)


@pytest.mark.sample(8)
@pytest.mark.parametrize(
    ("make", "copies"),
    [
        (Stack, 2 * (DEPTH - 1)),
        (lambda: Stack(collect=True), 2 * (DEPTH - 1)),
        (lambda: Stack(Chain), 2 * (DEPTH - 1)),
        (lambda: Stack(InPlace), 2 * (DEPTH - 1)),
        (lambda: Stack(Draws), 2 * (DEPTH - 1)),
        (lambda: Stack(Narrows), 2 * (DEPTH - 2)),  # autocast ends within the first occurrence
        (lambda: Stack(PassesViews), 2 * (DEPTH - 2)),  # two layers differ: each has other strides than the next
        (lambda: Stack(Grows), 0),
        (lambda: Stack(UsesConstant), 2 * (DEPTH - 1)),
        (lambda: Stack(BeginsCache), 2 * (DEPTH - 1)),
        (lambda: Stack(WritesState), 2 * (DEPTH - 1)),
        (lambda: Stack(WritesInput), 2 * (DEPTH - 1)),
        (lambda: Stack(WritesCache), 2 * (DEPTH - 1)),
        (lambda: Stack(WritesPart), 2 * (DEPTH - 1)),
        (ReadsAfterWrites, 2 * (DEPTH - 1)),
    ],
    ids=[
        *("block", "states", "chain", "in-place", "random", "autocast", "views", "grows", "constant", "begins-cache"),
        *("writes-state", "writes-input", "writes-cache", "writes-part", "reads-after-writes"),
    ],
)
def test_copies_give_the_module_of_a_full_trace(monkeypatch, make, copies):
    modules, results, made = compile_and_run(monkeypatch, make, stamps=True)
    expected_modules, expected, none = compile_and_run(monkeypatch, make, stamps=False)
    assert (made, none) == (copies, 0)
    assert modules == expected_modules
    assert [torch.equal(*pair) for pair in zip(results, expected, strict=True)] == [True] * len(expected)


def test_layers_that_write_views_of_one_tensor_are_traced(monkeypatch):
    _, results, made = compile_and_run(monkeypatch, WritesViewOfOne, stamps=True)
    _, expected, _ = compile_and_run(monkeypatch, WritesViewOfOne, stamps=False)
    assert made == 0
    assert [torch.equal(*pair) for pair in zip(results, expected, strict=True)] == [True] * len(expected)


def test_training_traces_every_layer(monkeypatch):
    modules, results, made = compile_and_run(monkeypatch, Stack, stamps=True, train=True)
    expected_modules, expected, _ = compile_and_run(monkeypatch, Stack, stamps=False, train=True)
    assert (made, modules) == (0, expected_modules)
    assert [torch.equal(*pair) for pair in zip(results, expected, strict=True)] == [True] * len(expected)


def test_a_repeat_has_the_wiring_of_its_first_occurrence():
    def layer(x, weight):
        return (((x * weight).tanh() + 1).sigmoid() - weight).abs()

    def alike(x, a, b, c):
        return layer(layer(layer(x, a), b), c)

    def different(x, a, b):
        return layer(layer(x, a), b) + (((x * a).tanh() + 1).sigmoid() - b).abs()

    (repeat,) = find_repeats(torch.fx.symbolic_trace(alike).graph)
    assert [[node.name for node in nodes] for nodes in repeat.externals] == [["x", "a"], ["abs_1", "b"], ["abs_2", "c"]]
    assert [len(nodes) for nodes in repeat.instances] == [6, 6, 6]
    assert repeat.outputs == (5,)
    (repeat,) = find_repeats(torch.fx.symbolic_trace(different).graph)
    assert len(repeat.instances) == 2


def test_ops_that_differ_in_a_number_are_no_repeat():
    def function(x):
        for number in range(4):
            x = (((x * 2).tanh() + number).sigmoid() - 1).abs()
        return x

    assert find_repeats(torch.fx.symbolic_trace(function).graph) == []
