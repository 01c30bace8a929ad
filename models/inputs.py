"""Inputs of models: random numbers with a fixed seed, in the shapes that a configuration requires."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from .transformers_models import Inputs, Size

MakeInputs = Callable[[Any, Size], Inputs]
"""Returns the inputs for a configuration and a size."""

SEQUENCE = {"small": 32, "full": 128}
"""Number of tokens by size."""


def _generator() -> torch.Generator:
    return torch.Generator().manual_seed(1)


def _ids(config: Any, length: int, low: int = 10) -> torch.Tensor:
    return torch.randint(low, config.vocab_size, (1, length), generator=_generator())


def text(config: Any, size: Size) -> Inputs:
    """Returns token ids [1, S] without padding."""
    ids = _ids(config.get_text_config(), SEQUENCE[size])
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids)}


def padded_text(config: Any, size: Size) -> Inputs:
    """Returns two sequences of token ids [2, S]; the second one is padded."""
    ids = _ids(config.get_text_config(), 2 * SEQUENCE[size]).view(2, -1)
    mask = torch.ones_like(ids)
    mask[1, -SEQUENCE[size] // 4 :] = 0
    return {"input_ids": ids, "attention_mask": mask}


def text_pair(config: Any, size: Size) -> Inputs:
    """Returns token ids for an encoder and for its decoder."""
    return text(config, size) | {"decoder_input_ids": _ids(config, SEQUENCE[size] // 2)}


def images(side: int, full: int = 224, channels: int = 3) -> MakeInputs:
    """Returns a function that makes pixels [1, C, side, side]; ``full`` is the side for full models."""

    def make(config: Any, size: Size) -> Inputs:
        length = side if size == "small" else full
        return {"pixel_values": torch.randn(1, channels, length, length, generator=_generator())}

    return make


def captioned_images(side: int, full: int = 224, texts: int = 2) -> MakeInputs:
    """Returns a function that makes one image, and texts to compare it with."""

    def make(config: Any, size: Size) -> Inputs:
        ids = _ids(config.text_config, texts * 16).view(texts, 16)
        ids[:, -1] = config.text_config.eos_token_id or 1
        return {"input_ids": ids, "attention_mask": torch.ones_like(ids)} | images(side, full)(config, size)

    return make


def image_and_tokens(side: int, full: int, tokens: int, full_tokens: int) -> MakeInputs:
    """Returns a function that makes one image, and a prompt with as many image tokens as the image has."""

    def make(config: Any, size: Size) -> Inputs:
        count = tokens if size == "small" else full_tokens
        ids = _ids(config.text_config, count + 16)
        ids[:, 4 : 4 + count] = config.image_token_id
        return {"input_ids": ids, "attention_mask": torch.ones_like(ids)} | images(side, full)(config, size)

    return make


def video(side: int, full: int = 224) -> MakeInputs:
    """Returns a function that makes frames [1, T, C, side, side]."""

    def make(config: Any, size: Size) -> Inputs:
        length = side if size == "small" else full
        return {"pixel_values": torch.randn(1, config.num_frames, 3, length, length, generator=_generator())}

    return make


def waveform(config: Any, size: Size) -> Inputs:
    """Returns sound at 16 kHz: a quarter of a second, or one second for full models."""
    return {"input_values": torch.randn(1, 4000 if size == "small" else 16000, generator=_generator())}


def spectrogram(config: Any, size: Size) -> Inputs:
    """Returns a mel spectrogram for an encoder, and token ids for its decoder."""
    frames = 2 * config.max_source_positions
    features = torch.randn(1, config.num_mel_bins, frames, generator=_generator())
    return {"input_features": features, "decoder_input_ids": _ids(config, 8)}


def patches_of_sound(config: Any, size: Size) -> Inputs:
    """Returns a mel spectrogram [1, T, M], which the model cuts into patches."""
    return {"input_values": torch.randn(1, config.max_length, config.num_mel_bins, generator=_generator())}


def series(config: Any, size: Size) -> Inputs:
    """Returns a time series [1, T, C]."""
    shape = (1, config.context_length, config.num_input_channels)
    return {"past_values": torch.randn(shape, generator=_generator())}


def image_and_decoder_text(config: Any, size: Size) -> Inputs:
    """Returns an image for an encoder, and token ids for its decoder."""
    return images(64)(config, size) | {"decoder_input_ids": _ids(config.decoder, 16)}


def image_and_text(config: Any, size: Size) -> Inputs:
    """Returns an image and token ids for one encoder."""
    return {"input_ids": _ids(config, SEQUENCE["small"])} | images(64)(config, size)
