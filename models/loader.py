"""What a row of the tables of models is, and how it becomes a model with random weights and inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import torch

Size = Literal["small", "full"]
Inputs = dict[str, torch.Tensor]
LABELS = {"small": 64, "full": 1000}
"""Classes of those that classify: the correlation of two numbers says nothing."""
MakeInputs = Callable[[Any, Size], Inputs]


@dataclass(frozen=True)
class Loader:
    """One architecture of transformers.

    Attributes:
        name: what the model goes by, in the table of results and on the command line.
        config: class of ``transformers`` that describes the model.
        model: class of ``transformers`` that is built from it.
        inputs: makes the inputs of the forward pass, from the configuration and the size.
        small: what the configuration says for tests; widths are small, every kind of layer occurs.
        full: what it says for the size of a published model; nothing where that is the class's default.
    """

    name: str
    config: str
    model: str
    inputs: MakeInputs
    small: Mapping[str, Any]
    full: Mapping[str, Any] = field(default_factory=dict)

    def load(self, size: Size = "small", seed: int = 0) -> tuple[torch.nn.Module, Inputs]:
        """The model in float32, ready for inference, and its inputs; equal seeds give equal numbers."""
        import transformers

        overrides = {"num_labels": LABELS[size]} | dict(self.small if size == "small" else self.full)
        config = getattr(transformers, self.config)(**_built(overrides))
        config.use_cache = False
        torch.manual_seed(seed)
        model = getattr(transformers, self.model)(config).eval()
        stir(model)
        return model, self.inputs(config, size)


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
