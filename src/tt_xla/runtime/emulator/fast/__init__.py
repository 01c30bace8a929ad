"""Faster ways to compute what kernels define, asked first when an instruction is bound.

Whether a way is taken depends on the program, with its shapes, on the CPU and on torch: never on how often a program
ran or on the environment. Fused kernels (:mod:`tt_xla.runtime.emulator.fused`) are another faster way, over
several instructions; they have the bits of the calls that are bound here. A fault in here ends no call: it is
reported once, and the kernel computes the result (:mod:`.fence`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tt_xla.runtime.emulator.context import Call, Context, Weighted
from tt_xla.runtime.emulator.fast import attention, convolution, products

Take = Callable[[Context, Mapping[str, Any]], Call | Weighted | None]
"""Returns a call that takes an instruction's operands in their order, or None where the kernel is to be called."""

_WAYS: dict[str, Take] = {
    "ttnn.conv2d": convolution.take,
    "ttnn.scaled_dot_product_attention": attention.take,
    **dict.fromkeys(("ttnn.linear", "ttnn.matmul"), products.take),
}


def take(context: Context, attributes: Mapping[str, Any]) -> Call | Weighted | None:
    """Returns a faster call for one instruction, before its result is rounded; None where there is none."""
    way = _WAYS.get(context.op)
    return None if way is None else way(context, attributes)
