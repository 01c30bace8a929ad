"""What all loaders here share: two sizes, and a description that is read from where the loader lies."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, ClassVar

from tt_xla.testing.models.protocol import ForgeModel, ModelConfig, ModelGroup, ModelInfo, ModelSource


class ModelVariant(StrEnum):
    SMALL = "small"
    """For tests: widths are small, every kind of layer occurs."""
    FULL = "full"
    """Of the size of a published model."""


class ZooLoader(ForgeModel):
    """A loader in ``<model>/<task>/<framework>/loader.py``."""

    _VARIANTS: ClassVar = {
        ModelVariant.SMALL: ModelConfig("random weights"),
        ModelVariant.FULL: ModelConfig("random weights"),
    }
    DEFAULT_VARIANT = ModelVariant.SMALL
    source = ModelSource.CUSTOM

    @classmethod
    def _get_model_info(cls, variant: Any) -> ModelInfo:
        *_, model, task, framework, _ = cls.__module__.split(".")
        return ModelInfo(model, variant, ModelGroup.GENERALITY, task, cls.source, framework)
