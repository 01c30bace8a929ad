"""Calls that tt-metal's demos and unit tests make: residuals of norms, padded biases, padding of embeddings."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F

from tests.ttnn_api.conftest import Card, close, drawn


@pytest.mark.parametrize("name", ["layer_norm", "rms_norm"])
def test_norms_of_a_sum(card: Card, name: str) -> None:
    x, y, weight = drawn(1, 64, 96), drawn(1, 64, 96, seed=1), drawn(96, seed=2)
    result = card(name, x, residual_input_tensor=y, weight=weight, epsilon=1e-5)
    normalize = F.layer_norm if name == "layer_norm" else F.rms_norm
    close(result, normalize(x + y, (96,), weight, eps=1e-5))


def test_a_bias_in_a_tile_is_its_first_row(card: Card) -> None:
    a, b, bias = drawn(1, 1, 64, 32), drawn(1, 1, 32, 96, seed=1), drawn(1, 1, 32, 96, seed=2)
    result = card("linear", a, b, bias=bias)
    torch.testing.assert_close(result, a @ b + bias[:, :, :1], rtol=1e-2, atol=1e-1)


def test_the_padding_of_an_embedding_has_a_row(ttnn: Any, device: Any) -> None:
    table, places = drawn(10, 32).bfloat16(), torch.tensor([[0, 3, 0, 9]], dtype=torch.int32)
    indices = ttnn.from_torch(places, dtype=ttnn.uint32, device=device)
    weight = ttnn.from_torch(table, device=device)
    result = ttnn.embedding(indices, weight, padding_idx=0, embeddings_type=ttnn.EmbeddingsType.PADDED)
    assert torch.equal(ttnn.to_torch(result)[0], table[places[0].long()])


def test_dictionaries_with_attributes(ttnn: Any) -> None:
    module = pytest.importorskip("ttnn.dot_access")

    made = module.make_dot_access_dict({"layer": {"weight": 1}, "kept": {"bias": 2}})
    assert (made.layer.weight, type(made.kept)) == (1, module.DotAccessDict)
    assert module.make_dot_access_dict(made) is made


def test_results_without_dimensions_of_one_take_tensors_with_them(ttnn: Any, device: Any) -> None:
    x = ttnn.from_torch(torch.rand(32), dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device)
    mean, rstd = (ttnn.zeros([1], layout=ttnn.TILE_LAYOUT, device=device) for _ in range(2))
    ttnn.moreh_layer_norm(x, 1, 1e-5, mean=mean, rstd=rstd)
    torch.testing.assert_close(
        ttnn.to_torch(mean).float().flatten()[0], ttnn.to_torch(x).float().mean(), rtol=1e-2, atol=1e-2
    )
