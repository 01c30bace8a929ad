"""The faster way for each op that has one."""

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
