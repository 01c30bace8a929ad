"""Tests of embeddings that ask for sparse gradients: the device has none, and gives dense ones."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from tests.closeness import relative_error

COMPILED = pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "recorded"])


def gradients(function, indices, weight, *, compiled):
    """Returns the gradients on the CPU and on the device. Both are dense, or the first one is sparse."""
    found = []
    for device in ("cpu", "tt"):
        own = weight.detach().to(device).requires_grad_()
        run = torch.compile(function, backend="tt") if compiled and device == "tt" else function
        run(indices.to(device), own).square().sum().backward()
        found.append(own.grad)
    assert found[1].layout is torch.strided
    return found[0].to_dense(), found[1]


@COMPILED
@pytest.mark.parametrize("call", [F.embedding, lambda i, w, **options: torch.embedding(w, i, **options)])
def test_embeddings(call, compiled):
    weight, indices = torch.randn(10, 4), torch.tensor([[1, 2, 2], [0, 3, 9]])
    expected, dense = gradients(
        lambda i, w: call(i, w, padding_idx=3, sparse=True) * 2, indices, weight, compiled=compiled
    )
    assert relative_error(dense, expected) < 2**-8
    assert dense[3].abs().sum().item() == 0


@COMPILED
@pytest.mark.parametrize("mode", ["sum", "mean"])
@pytest.mark.parametrize("offsets", [None, torch.tensor([0, 4])])
def test_embedding_bags(mode, offsets, compiled):
    weight, indices = torch.randn(10, 4), torch.tensor([[1, 2, 2], [0, 3, 9]])

    def compute(i, w):
        bags = None if offsets is None else offsets.to(i.device)
        return F.embedding_bag(i if bags is None else i.reshape(-1), w, bags, None, 2.0, False, mode, True)

    expected, dense = gradients(compute, indices, weight, compiled=compiled)
    assert relative_error(dense, expected) < 2**-8


def test_modules_train_with_dense_gradients():
    layer, indices = nn.Embedding(10, 4, sparse=True), torch.tensor([1, 2, 2])
    reference = nn.Embedding.from_pretrained(layer.weight.detach().clone(), freeze=False)
    layer = layer.to("tt")
    for module, device in ((layer, "tt"), (reference, "cpu")):
        optimizer = torch.optim.Adagrad(module.parameters(), lr=0.1)
        module(indices.to(device)).square().sum().backward()
        optimizer.step()
    assert relative_error(layer.weight, reference.weight) < 2**-8
