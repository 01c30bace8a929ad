"""``ttnn.model_preprocessing``: parameters of torch models."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest
import torch

pytestmark = pytest.mark.quick


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words = torch.nn.Embedding(40, 64)
        self.layers = torch.nn.ModuleList([torch.nn.Linear(64, 64), torch.nn.Linear(64, 64, bias=False)])
        self.norm = torch.nn.LayerNorm(64)
        self.head = torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.ReLU())
        self.scale = torch.nn.Parameter(torch.ones(3, 3))

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.words(tokens)
        for layer in self.layers:
            x = torch.relu(layer(x))
        return self.head(self.norm(x))


@pytest.fixture
def preprocessing(ttnn: Any) -> Any:
    return importlib.import_module("ttnn.model_preprocessing")


def forward(ttnn: Any, parameters: Any, tokens: Any) -> Any:
    x = ttnn.embedding(tokens, parameters.words.weight, layout=ttnn.TILE_LAYOUT)
    for layer in parameters.layers:
        x = ttnn.relu(ttnn.linear(x, layer.weight, bias=layer.get("bias")))
    x = ttnn.layer_norm(x, weight=parameters.norm.weight, bias=parameters.norm.bias, epsilon=1e-5)
    return ttnn.relu(ttnn.linear(x, parameters.head[0].weight, bias=parameters.head[0].bias))


def test_a_functional_model_runs_on_preprocessed_parameters(ttnn: Any, device: Any, preprocessing: Any) -> None:
    torch.manual_seed(0)
    model = Model()
    parameters = preprocessing.preprocess_model_parameters(initialize_model=lambda: model, device=device)
    assert parameters.layers[0].weight.device() is device
    assert parameters.layers[0].bias.shape == [1, 64]
    assert parameters.scale.layout is ttnn.ROW_MAJOR_LAYOUT
    assert (1 in parameters.layers, 2 in parameters.layers) == (True, False)
    assert "    weight: ttnn.Tensor(shape=Shape([40, 64])" in repr(parameters)
    tokens = torch.randint(0, 40, (2, 32))
    result = forward(ttnn, parameters, ttnn.from_torch(tokens, ttnn.uint32, device=device))
    expected = model(tokens)
    assert torch.corrcoef(torch.stack([ttnn.to_torch(result).float().flatten(), expected.flatten()]))[0, 1] > 0.999


def test_a_custom_preprocessor_replaces_modules(ttnn: Any, preprocessing: Any) -> None:
    def custom(model: Any, name: str, convert_to_ttnn: Any) -> Any:
        assert convert_to_ttnn(model, name) is (name != "model.norm")
        return {"fused": name} if isinstance(model, torch.nn.Sequential) else {}

    parameters = preprocessing.preprocess_model_parameters(
        initialize_model=Model,
        convert_to_ttnn=lambda _, name: name != "model.norm",
        custom_preprocessor=custom,
        prefix="model",
    )
    assert parameters.head.fused == "model.head"
    assert isinstance(parameters.norm.weight, torch.Tensor)
    with pytest.raises(RuntimeError, match="Unsupported parameter: layer"):
        preprocessing.preprocess_model_parameters(initialize_model=Model, custom_preprocessor=lambda a, b, layer: {})


def test_a_cached_model_is_read_again(ttnn: Any, preprocessing: Any, tmp_path: Path) -> None:
    with ttnn.manage_config("enable_model_cache", True), ttnn.manage_config("model_cache_path", tmp_path):
        options = {"model_name": "a/model", "version": "1"}
        first = preprocessing.preprocess_model_parameters(initialize_model=Model, **options)
        again = preprocessing.preprocess_model_parameters(**options)
        assert [{*layer} for layer in again.layers] == [{"weight", "bias"}, {"weight"}]
        assert torch.equal(ttnn.to_torch(again.head[0].bias), ttnn.to_torch(first.head[0].bias))
        with pytest.raises(RuntimeError, match="don't exist"):
            preprocessing.preprocess_model_parameters(model_name="a/model", version="2")


def test_a_batch_norm_is_folded(preprocessing: Any) -> None:
    conv, norm = torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4)
    x = torch.randn(2, 3, 8, 8)
    norm(conv(x))
    weight, bias = preprocessing.fold_batch_norm2d_into_conv2d(conv, norm.eval())
    torch.testing.assert_close(torch.nn.functional.conv2d(x, weight, bias), norm(conv(x)), atol=1e-4, rtol=1e-4)
