"""The base class of all loaders: two sizes, and a description derived from the loader's path."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, ClassVar

from tt_xla.testing.models.protocol import ForgeModel, ModelConfig, ModelGroup, ModelInfo, ModelSource


class ModelVariant(StrEnum):
    """Size of a model."""

    SMALL = "small"
    """Size for tests: layers of every kind, with small widths."""
    FULL = "full"
    """Size of a published model."""


class ZooLoader(ForgeModel):
    """The base class of loaders in ``<model>/<task>/<framework>/loader.py``."""

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
