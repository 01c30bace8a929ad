"""Draws the operands of recipes."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from typing import Any

import torch

from tests.fuzz.torch_programs import tensors


@dataclass
class Chance:
    """Draws the operands of a recipe.

    Attributes:
        random: the generator.
        dtype: type of the floats.
        special: whether floats may be special values.
        grad: whether floats require gradients.
    """

    random: random.Random
    dtype: torch.dtype
    special: bool = False
    grad: bool = True

    def int(self, low: int, high: int) -> int:
        """Returns an integer between two, both included."""
        return self.random.randint(low, high)

    def one(self, *choices: Any) -> Any:
        """Returns one of the choices."""
        return self.random.choice(choices)

    def sizes(self, low: int, high: int, *ranks: int) -> list[int]:
        """Returns a shape of one of the ranks."""
        return [self.int(low, high) for _ in range(self.one(*ranks))]

    def float(self, *shape: int) -> torch.Tensor:
        """Returns floats, which may lie in memory in any way."""
        drawn = tensors.elements(self.random, shape, self.dtype, special=self.special)
        return tensors.laid_out(self.random, drawn).requires_grad_(self.grad)

    def positive(self, *shape: int) -> torch.Tensor:
        """Returns floats from 0.5 on."""
        drawn = tensors.elements(self.random, shape, self.dtype).abs() + 0.5
        return drawn.requires_grad_(self.grad)

    def any(self, *shape: int) -> torch.Tensor:
        """Returns elements of any type."""
        from tt_xla.frontends.torch.aten.registry import DTYPES

        if self.random.random() < 0.5:
            return self.float(*shape)
        dtype = self.one(*DTYPES)
        return tensors.laid_out(self.random, tensors.elements(self.random, shape, dtype, special=self.special))

    def like(self, tensor: torch.Tensor, *shape: int) -> torch.Tensor:
        """Returns elements of the same type."""
        drawn = tensors.elements(self.random, shape, tensor.dtype, special=self.special)
        return tensors.laid_out(self.random, drawn)

    def index(self, count: int, *shape: int, negative: bool = False) -> torch.Tensor:
        """Returns positions among ``count`` elements."""
        low = -count if negative else 0
        total = math.prod(shape)
        drawn = [self.random.randrange(low, count) if count else 0 for _ in range(total)]
        dtype = torch.int64 if self.random.random() < 0.7 else torch.int32
        return torch.tensor(drawn, dtype=dtype).reshape(shape)

    def mask(self, *shape: int) -> torch.Tensor:
        """Returns booleans."""
        return tensors.elements(self.random, shape, torch.bool)

    def maybe(self, value: Any) -> Any:
        """Returns the value or None."""
        return value if self.random.random() < 0.6 else None

    def flag(self) -> bool:
        """Returns true or false."""
        return self.random.random() < 0.5


__all__ = ["Chance"]
