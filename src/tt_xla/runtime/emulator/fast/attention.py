"""Attention whose weights C++ computes, with the bits of :mod:`tt_xla.runtime.emulator.streaming`."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from typing import Any

import torch

from tt_xla.ir.element_types import DataType
from tt_xla.runtime.emulator import matrix_unit, streaming
from tt_xla.runtime.emulator.context import Call, Context
from tt_xla.runtime.emulator.kernels import attention
from tt_xla.runtime.emulator.library import Library, library

Tensor = torch.Tensor


def take(context: Context, attributes: Mapping[str, Any]) -> Call | None:
    """Returns attention by C++, where the kernel computes it in bfloat16 and there is a compiler."""
    operands = [context.spec(name) for name in ("query", "key", "value")]
    in_bfloat16 = all(spec.layout.dtype is DataType.BF16 for spec in operands)
    if not (context.silicon and in_bfloat16) or (compiled := library()) is None:
        return None
    names, weights = list(context.operands), functools.partial(softmax, compiled)

    def call(*tensors: Tensor) -> Tensor:
        operands = dict(zip(names, tensors, strict=True))
        return attention.scaled_dot_product_attention(context, **operands, **attributes, softmax=weights)

    return call


def softmax(compiled: Library, scores: Tensor, factor: float, bits: int) -> tuple[Tensor, Tensor]:
    """Computes what :func:`attention.softmax` does."""
    shape = scores.shape
    inverses = torch.empty(*shape[:-1], 1, dtype=torch.bfloat16, device="cpu")
    compiled.attention_weights(scores, inverses, *_constants(shape, factor, bits))
    return scores, inverses


@functools.lru_cache(64)
def _constants(shape: torch.Size, factor: float, bits: int) -> tuple[Tensor, Tensor]:
    """Returns the last two arguments of the C++."""
    numbers = (*streaming.constants(factor), streaming.BIAS, streaming.LARGEST, streaming.PARTS, *streaming.POWER)
    kept = 0xFFFF & -(1 << (matrix_unit.SIGNIFICANT[torch.bfloat16] - min(bits, 8)))
    sizes = (math.prod(shape[:-1]), shape[-1], len(streaming.POWER), kept)
    return (
        torch.tensor(numbers, dtype=torch.float32, device="cpu"),
        torch.tensor(sizes, dtype=torch.int64, device="cpu"),
    )
