"""Architectures of transformers with random weights."""

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
"""Classes of those that classify: the correlation of two numbers says nothing."""


@dataclass(frozen=True)
class Architecture:
    """A model of transformers.

    Attributes:
        config: class of ``transformers`` that describes the model.
        model: class of ``transformers`` that is built from it.
        inputs: makes the inputs of the forward pass, from the configuration and the size.
        small: what the configuration says for tests.
        full: what it says for the size of a published model; nothing where that is the class's default.
        records: whether it reads hidden states of models within it. Transformers then puts hooks into those at their
            first call, under a lock, which breaks the graph in two; here they are there before.
    """

    config: str
    model: str
    inputs: Callable[[Any, Size], Inputs]
    small: Mapping[str, Any]
    full: Mapping[str, Any] = field(default_factory=dict)
    records: bool = False

    def configuration(self, size: Size) -> Any:
        import transformers

        overrides = {"num_labels": LABELS[size]} | dict(self.small if size == "small" else self.full)
        config = getattr(transformers, self.config)(**_built(overrides))
        config.use_cache = False
        return config


class TransformersLoader(ZooLoader):
    """A model in float32, ready for inference, and its inputs; equal numbers each time."""

    architecture: ClassVar[Architecture]
    source = ModelSource.HUGGING_FACE

    def load_model(self, dtype_override: torch.dtype | None = None) -> torch.nn.Module:
        import transformers

        torch.manual_seed(0)
        model = getattr(transformers, self.architecture.model)(self.architecture.configuration(self._variant)).eval()
        stir(model)
        if self.architecture.records:
            _put_hooks(model)
        return model if dtype_override is None else model.to(dtype_override)

    def load_inputs(self, dtype_override: torch.dtype | None = None, batch_size: int = 1) -> Inputs:
        inputs = self.architecture.inputs(self.architecture.configuration(self._variant), self._variant)
        return {name: _batched(x, dtype_override, batch_size) for name, x in inputs.items()}


def _put_hooks(model: torch.nn.Module) -> None:
    from transformers import PreTrainedModel
    from transformers.utils.output_capturing import maybe_install_capturing_hooks

    for module in model.modules():
        if isinstance(module, PreTrainedModel):
            maybe_install_capturing_hooks(module)


def _batched(x: torch.Tensor, dtype: torch.dtype | None, batch: int) -> torch.Tensor:
    x = x.repeat_interleave(batch, 0)
    return x.to(dtype) if dtype is not None and x.is_floating_point() else x


def _built(overrides: Mapping[str, Any]) -> dict[str, Any]:
    """A value that is a pair of a class of transformers and its arguments is an object of that class."""
    import transformers

    return {
        name: getattr(transformers, value[0])(**_built(value[1])) if _is_nested(value) else value
        for name, value in overrides.items()
    }


def _is_nested(value: object) -> bool:
    return isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str) and isinstance(value[1], dict)


def stir(model: torch.nn.Module) -> None:
    """Adds noise to what is initialised to one value, such as biases, scales and statistics of batches.

    A layer scale of 1e-6 or a bias of 0 would hide what its layer computes.
    """
    with torch.no_grad():
        for tensor in [*model.parameters(), *model.buffers()]:
            if tensor.is_floating_point() and tensor.numel() > 1 and bool((tensor == tensor.flatten()[0]).all()):
                tensor.add_(torch.rand_like(tensor) * 0.2)
