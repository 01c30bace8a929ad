"""``torch._ops``: the classes of operators."""

from __future__ import annotations

from torch._ops import HigherOrderOperator, OpOverload, OpOverloadPacket

__all__ = ["HigherOrderOperator", "OpOverload", "OpOverloadPacket"]
