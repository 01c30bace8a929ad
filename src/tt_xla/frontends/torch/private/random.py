"""``torch.random``: the generator that its functions use."""

from __future__ import annotations

from typing import Any

import torch


def use_for_functions_of_torch_random(generator: Any) -> None:
    """Makes ``torch.manual_seed`` and the other functions of ``torch.random`` use an object as default generator."""
    torch.random.default_generator = generator


__all__ = ["use_for_functions_of_torch_random"]
