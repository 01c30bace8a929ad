"""The context that a kernel gets, and the two forms of a bound call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from tt_xla.ir.layout import DataType
from tt_xla.ir.program import TensorSpec
from tt_xla.runtime.emulator.containers import CONTAINERS

Specs = TensorSpec | tuple[TensorSpec, ...]
"""Shape and layout of an operand; a tuple for an operand that is a list of tensors, such as the inputs of a concat."""

Call = Callable[..., Any]
"""Takes the tensors of an instruction's operands, flat and in order; returns its result, or a tuple of several."""


@dataclass(frozen=True)
class Weighted:
    """A bound call whose second operand, the weights, is often the same tensor in call after call."""

    call: Call
    """Takes the operands as they are."""
    prepare: Callable[[torch.Tensor], torch.Tensor | None]
    """Turns weights into the form that ``with_prepared`` takes: cut to the matrix unit's bits, in its memory order.
    Returns None after a fault, which was reported; ``call`` then goes on."""
    with_prepared: Call
    """Takes prepared weights in the place of weights, and returns the same bits as ``call``."""
    restore: Callable[[torch.Tensor], torch.Tensor]
    """Turns prepared weights back into weights, which have all bits that the matrix unit reads."""
    keeps_bits: bool = False
    """Whether restored weights have all bits of those that were prepared."""


@dataclass(frozen=True)
class Context:
    """The facts about an instruction that a kernel knows besides its tensors and attributes."""

    op: str
    numerics: str
    """``silicon``, ``bit_exact`` or ``exact``."""
    operands: Mapping[str, Specs]
    results: tuple[TensorSpec, ...]
    grid: tuple[int, int] = (8, 8)
    """Rows and columns of the cores that compute, which only ``bit_exact`` kernels read."""

    @property
    def silicon(self) -> bool:
        """Whether the op computes as the chip does, rather than as IEEE 754 says."""
        return self.numerics != "exact"

    @property
    def bit_exact(self) -> bool:
        """Whether the op computes as the chip's instructions do, wherever the emulated card knows them."""
        return self.numerics == "bit_exact"

    @property
    def result(self) -> TensorSpec:
        """Spec of the first result."""
        return self.results[0]

    @property
    def dtype(self) -> DataType:
        """Device dtype of the first result."""
        return self.results[0].layout.dtype

    @property
    def container(self) -> torch.dtype:
        """Torch dtype that holds the first result."""
        return CONTAINERS[self.dtype]

    def spec(self, name: str) -> TensorSpec:
        """Returns the spec of an operand that is one tensor."""
        spec = self.operands[name]
        assert isinstance(spec, TensorSpec)
        return spec

    @property
    def specs(self) -> list[TensorSpec]:
        """Specs of all operands, lists of tensors flattened, and of all results."""
        operands = [
            spec for specs in self.operands.values() for spec in (specs if isinstance(specs, tuple) else (specs,))
        ]
        return [*operands, *self.results]
