"""The interface of loaders, with the names of tt-forge-models' modules ``base`` and ``config``."""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import Enum, StrEnum
from typing import Any, ClassVar


class ModelGroup(StrEnum):
    """Priority of a model for upstream's customers."""

    GENERALITY = "generality"
    RED = "red"
    PRIORITY = "priority"
    VULCAN = "vulcan"


class ModelSource(StrEnum):
    """Origin of a model."""

    HUGGING_FACE = "huggingface"
    CUSTOM = "custom"
    TORCHVISION = "torchvision"
    TIMM = "timm"
    GITHUB = "github"


class Framework(StrEnum):
    """The framework of a model."""

    JAX = "jax"
    TORCH = "pytorch"


@dataclass(frozen=True)
class ModelInfo:
    """Names and categories of a model, for reports."""

    model: str
    variant: str | None
    group: str
    task: str
    source: str
    framework: str

    @property
    def name(self) -> str:
        """The model's name in reports."""
        return "_".join(str(field) for field in (self.framework, self.model, self.variant, self.task, self.source))

    def to_report_dict(self) -> dict[str, Any]:
        """Returns the fields of upstream's reports."""
        return {
            "task": str(self.task),
            "source": str(self.source),
            "framework": str(self.framework),
            "model_arch": self.model,
            "variant_name": str(self.variant),
            "model_name_clean": self.model,
        }


@dataclass(frozen=True)
class ModelConfig:
    """Settings of a variant."""

    pretrained_model_name: str

    def to_dict(self) -> dict[str, Any]:
        """Returns the settings by name."""
        return asdict(self)


class ForgeModel(abc.ABC):
    """The base class of loaders: a model with variants.

    ``load_model`` and ``load_inputs`` may have parameters ``dtype_override`` and ``batch_size``, which the runner
    passes.
    """

    _VARIANTS: ClassVar[Mapping[Any, Any]] = {}
    DEFAULT_VARIANT: ClassVar[Any] = None

    def __init__(self, variant: Enum | None = None) -> None:
        self._variant = self._validate_variant(variant)
        self._variant_config = self.get_variant_config(variant)

    @classmethod
    def query_available_variants(cls) -> Mapping[Any, Any]:
        """Returns the variants, with the settings of each."""
        return cls._VARIANTS

    @classmethod
    def _validate_variant(cls, variant: Any = None) -> Any:
        if not cls._VARIANTS:
            return None
        variant = cls.DEFAULT_VARIANT if variant is None else variant
        if cls.DEFAULT_VARIANT is not None and not isinstance(variant, type(cls.DEFAULT_VARIANT)):
            raise TypeError(f"variant must be a {type(cls.DEFAULT_VARIANT).__name__}, not {type(variant).__name__}")
        if variant not in cls._VARIANTS:
            raise ValueError(f"Invalid variant '{variant}'. Available variants: {[str(v) for v in cls._VARIANTS]}")
        return variant

    @classmethod
    def get_variant_config(cls, variant: Any = None) -> Any:
        """Returns the settings of a variant; those of the default variant for None."""
        return cls._VARIANTS.get(cls._validate_variant(variant))

    @classmethod
    def get_model_info(cls, variant: Any = None) -> ModelInfo:
        """Returns names and categories of a variant; those of the default variant for None."""
        return cls._get_model_info(cls._validate_variant(variant))

    @classmethod
    @abc.abstractmethod
    def _get_model_info(cls, variant: Any) -> ModelInfo: ...

    @abc.abstractmethod
    def load_model(self, **kwargs: Any) -> Any: ...

    @abc.abstractmethod
    def load_inputs(self, **kwargs: Any) -> Any: ...

    def unpack_forward_output(self, output: Any) -> Any:
        return output

    def get_mesh_config(self, num_devices: int) -> tuple[Sequence[int] | None, Sequence[str]]:
        return None, ()

    def load_shard_spec(self, model: Any) -> Mapping[Any, Any] | None:
        return None
