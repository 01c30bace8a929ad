"""The base class of loaders of transformers models with random weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import torch

from tt_xla.testing.models.protocol import ModelSource

from .base import ZooLoader

Size = Literal["small", "full"]
Inputs = dict[str, torch.Tensor]
LABELS = {"small": 64, "full": 1000}
"""Number of classes of classifiers by size; the correlation of only two numbers would say nothing."""


@dataclass(frozen=True)
class Architecture:
    """A model of transformers.

    Attributes:
        config: name of the configuration's class in ``transformers``.
        model: name of the model's class in ``transformers``.
        inputs: returns the inputs of the forward pass for a configuration and a size.
        small: arguments of the configuration for tests.
        full: arguments of the configuration for the size of a published model, where they differ from the defaults.
        records: whether the model reads hidden states of models inside it. Transformers installs hooks for that at the
            first call, under a lock, which breaks the graph in two; the loader installs them earlier.
    """

    config: str
    model: str
    inputs: Callable[[Any, Size], Inputs]
    small: Mapping[str, Any]
    full: Mapping[str, Any] = field(default_factory=dict)
    records: bool = False

    def configuration(self, size: Size) -> Any:
        """Returns the configuration of a size."""
        import transformers

        overrides = {"num_labels": LABELS[size]} | dict(self.small if size == "small" else self.full)
        config = getattr(transformers, self.config)(**_built(overrides))
        config.use_cache = False
        _drop_nothing(config)
        return config


class TransformersLoader(ZooLoader):
    """Loads a float32 model in inference mode and its inputs; they are the same in every run."""

    architecture: ClassVar[Architecture]
    source = ModelSource.HUGGING_FACE

    def load_model(self, dtype_override: torch.dtype | None = None) -> torch.nn.Module:
        """Returns the model."""
        import transformers

        torch.manual_seed(0)
        model = getattr(transformers, self.architecture.model)(self.architecture.configuration(self._variant)).eval()
        stir(model)
        if self.architecture.records:
            _install_hooks(model)
        return model if dtype_override is None else model.to(dtype_override)

    def load_inputs(self, dtype_override: torch.dtype | None = None, batch_size: int = 1) -> Inputs:
        """Returns the inputs by name, with each sample ``batch_size`` times."""
        inputs = self.architecture.inputs(self.architecture.configuration(self._variant), self._variant)
        return {name: _batched(x, dtype_override, batch_size) for name, x in inputs.items()}


def _drop_nothing(config: Any) -> None:
    """Sets the rates of dropout, layer dropout and stochastic depth to 0, in nested configurations too.

    The CPU and the card draw different random numbers, so results in training mode could not be compared.
    """
    for name, value in vars(config).items():
        if "drop" in name and isinstance(value, float):
            setattr(config, name, 0.0)
        elif hasattr(value, "to_diff_dict"):
            _drop_nothing(value)


def _install_hooks(model: torch.nn.Module) -> None:
    """Installs transformers' hooks that record hidden states."""
    from transformers import PreTrainedModel
    from transformers.utils.output_capturing import maybe_install_capturing_hooks

    for module in model.modules():
        if isinstance(module, PreTrainedModel):
            maybe_install_capturing_hooks(module)


def _batched(x: torch.Tensor, dtype: torch.dtype | None, batch: int) -> torch.Tensor:
    x = x.repeat_interleave(batch, 0)
    return x.to(dtype) if dtype is not None and x.is_floating_point() else x


def _built(overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Returns arguments in which each pair of a class name of transformers and arguments is replaced by an object."""
    import transformers

    return {
        name: getattr(transformers, value[0])(**_built(value[1])) if _is_nested(value) else value
        for name, value in overrides.items()
    }


def _is_nested(value: object) -> bool:
    return isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str) and isinstance(value[1], dict)


def stir(model: torch.nn.Module) -> None:
    """Adds noise to tensors that are initialized to one value, such as biases, scales and batch statistics.

    A layer scale of 1e-6 or a bias of 0 would hide the results of its layer.
    """
    with torch.no_grad():
        for tensor in [*model.parameters(), *model.buffers()]:
            if tensor.is_floating_point() and tensor.numel() > 1 and bool((tensor == tensor.flatten()[0]).all()):
                tensor.add_(torch.rand_like(tensor) * 0.2)
