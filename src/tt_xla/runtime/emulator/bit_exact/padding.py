"""Elementwise kernels of block floats whose rows do not fill the last block.

TT-NN computes the padding of a tile as it computes elements, and a block of 16 shares one exponent, so that a large
value of the padding leaves fewer bits to the elements beside it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

from tt_xla.ir.layout import FACE
from tt_xla.runtime.emulator.context import Context
from tt_xla.runtime.emulator.registry import kernel

Tensor = torch.Tensor
_Kernel = Callable[..., Tensor]


def elementwise_kernel(*ops: str) -> Callable[[_Kernel], _Kernel]:
    """Registers a kernel of elementwise ops for ``numerics=bit_exact``. It computes the padding of block floats too."""

    def register(function: _Kernel) -> _Kernel:
        kernel(*ops, bit_exact=True)(_with_padding(function))
        return function

    return register


def _with_padding(function: _Kernel) -> _Kernel:
    """Returns a kernel that fills the blocks of a row of its result. Padding of operands is zero, as TT-NN's host makes
    it; what earlier ops left there is not known."""

    @functools.wraps(function)
    def run(ctx: Context, *operands: Any, **named: Any) -> Tensor:
        columns = ctx.result.shape[-1] if ctx.result.shape else FACE
        missing = -columns % FACE
        if not missing or not ctx.dtype.is_block_float:
            return function(ctx, *operands, **named)

        def padded(value: Any) -> Any:
            fills = isinstance(value, Tensor) and value.ndim > 0 and value.shape[-1] == columns
            return F.pad(value, (0, missing)) if fills else value

        filled = function(ctx, *map(padded, operands), **{name: padded(value) for name, value in named.items()})
        return filled[..., :columns]

    return run
