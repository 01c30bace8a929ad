"""Models on which the emulated card is timed, in bfloat16 with random weights. Each function takes a device name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

ModelAndInputs = tuple[nn.Module, tuple[torch.Tensor, ...]]

_SMOLLM2: dict[str, Any] = {
    "vocab_size": 49152,
    "hidden_size": 576,
    "intermediate_size": 1536,
    "num_hidden_layers": 30,
    "num_attention_heads": 9,
    "num_key_value_heads": 3,
    "tie_word_embeddings": True,
    "rms_norm_eps": 1e-5,
    "max_position_embeddings": 8192,
}
"""The values of SmolLM2-135M's config.json."""


class Only(nn.Module):
    """Wraps a model of transformers so that it takes one input and returns one output."""

    def __init__(self, model: nn.Module, output: str, **fixed: Any) -> None:
        super().__init__()
        self.model, self.output, self.fixed = model, output, fixed

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return getattr(self.model(x, **self.fixed), self.output)


class Decode(nn.Module):
    """Decodes one token at a position, with the keys and values of earlier tokens in a cache written in place."""

    def __init__(self, model: nn.Module, device: str, length: int) -> None:
        super().__init__()
        from transformers import StaticCache

        self.model = model
        config: Any = model.config
        self.cache = StaticCache(config=config, max_cache_len=length)
        width = config.hidden_size // config.num_attention_heads
        self.cache.early_initialization(1, config.num_key_value_heads, width, torch.bfloat16, torch.device(device))

    def forward(self, ids: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        return self.model(input_ids=ids, position_ids=positions, past_key_values=self.cache).logits


def digits(device: str) -> ModelAndInputs:
    from examples.network import DigitsNetwork

    return _placed(DigitsNetwork(), device), (torch.randn(64, 1, 28, 28).to(torch.bfloat16).to(device),)


def resnet50(device: str) -> ModelAndInputs:
    from transformers import ResNetConfig, ResNetForImageClassification

    model = Only(ResNetForImageClassification(ResNetConfig(num_labels=1000)), "logits")
    return _placed(model, device), (_images(8).to(device),)


def bert(device: str) -> ModelAndInputs:
    from transformers import BertConfig, BertModel

    model = Only(BertModel(BertConfig()), "last_hidden_state")
    return _placed(model, device), (torch.randint(0, 30522, (8, 128)).to(device),)


def vit(device: str) -> ModelAndInputs:
    from transformers import ViTConfig, ViTForImageClassification

    model = Only(ViTForImageClassification(ViTConfig(num_labels=1000)), "logits")
    return _placed(model, device), (_images(4).to(device),)


def prefill(device: str) -> ModelAndInputs:
    model = Only(_smollm2(), "logits", use_cache=False)
    return _placed(model, device), (torch.randint(0, 49152, (1, 128)).to(device),)


def decode(device: str) -> ModelAndInputs:
    model = _placed(_smollm2(), device)
    ids, positions = torch.tensor([[7]]), torch.tensor([[127]])
    return Decode(model, device, 256), (ids.to(device), positions.to(device))


def _smollm2() -> nn.Module:
    from transformers import LlamaConfig, LlamaForCausalLM

    return LlamaForCausalLM(LlamaConfig(**_SMOLLM2))


def _images(batch: int) -> torch.Tensor:
    return torch.randn(batch, 3, 224, 224).to(torch.bfloat16)


def _placed(model: nn.Module, device: str) -> nn.Module:
    return model.eval().to(torch.bfloat16).to(device)


MODELS: dict[str, Callable[[str], ModelAndInputs]] = {
    "guide's CNN, 64": digits,
    "ResNet-50, 8": resnet50,
    "BERT-base, 8 x 128": bert,
    "ViT-B/16, 4": vit,
    "SmolLM2-135M prefill, 128": prefill,
    "SmolLM2-135M decode": decode,
}
