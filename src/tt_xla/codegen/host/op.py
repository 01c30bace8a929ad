"""One StableHLO op of a host part as rules read it: the source of its operands, and its attributes as Python values."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from tt_xla.codegen.formatting import Group, Node
from tt_xla.ir.element_types import ElementType

MOST_ELEMENTS = 256
"""Maximum number of elements of a constant in torch code."""

TORCH_NAMES = {
    element.value: element.torch_arithmetic
    for element in ElementType
    if element is ElementType.BF16 or not element.is_ml_dtype
}
"""Name of the torch dtype that host parts compute in, by StableHLO element type; the same as ``host_ops.DTYPES``."""


class NoTorchCodeError(Exception):
    """An op, or this use of it, has no torch code."""


def is_unsigned(kind: str) -> bool:
    """Returns whether a StableHLO element type is an unsigned integer."""
    return kind.startswith("ui")


def dtype(kind: str) -> str:
    """Returns the torch dtype that holds a StableHLO element type, ``torch.int64``.

    Raises:
        NoTorchCodeError: torch has no dtype for it.
    """
    if kind not in TORCH_NAMES:
        raise NoTorchCodeError
    return f"torch.{TORCH_NAMES[kind]}"


def placement(kind: str) -> str:
    """Returns the keywords of a factory call. They name the device, because ``torch.set_default_device`` moves calls
    that do not.

    Raises:
        NoTorchCodeError: torch has no dtype that holds the element type.
    """
    return f'dtype={dtype(kind)}, device="cpu"'


class HostOp:
    """An op and the source of its operands.

    Args:
        op: the op.
        names: names of values.
        constants: the element of each constant of equal elements, as a Python number.
    """

    def __init__(self, op: Any, names: Mapping[Any, str], constants: Mapping[Any, bool | int | float]) -> None:
        self.op = op
        self.name = str(op.name)
        self.operands = len(op.operands)
        self._names = names
        self._constants = constants
        for value in (*op.operands, *op.results):
            dtype(str(value.type.element_type))

    def tensor(self, index: int) -> str:
        """Returns the source of an operand as a tensor."""
        value = self.op.operands[index]
        if value in self._names:
            return self._names[value]
        return full(self._constants[value], self.shape(index), self.element(index))

    def tensors(self) -> list[str]:
        """Returns the source of each operand as a tensor."""
        return [self.tensor(index) for index in range(len(self.op.operands))]

    def scalar(self, index: int) -> bool | int | float | None:
        """Returns the number that all elements of an operand equal, or None."""
        return self._constants.get(self.op.operands[index])

    def scalar_or_tensor(self, index: int) -> str:
        """Returns an operand for an operator whose other operand is a tensor: as a number if possible."""
        number = self.scalar(index)
        if number is None or self.op.operands[index] in self._names:
            return self.tensor(index)
        return literal(number, self.element(index))

    def sides(self) -> tuple[str, str]:
        """Returns both operands of an operator, at most one of them as a number."""
        if self.op.operands[0] not in self._names and self.op.operands[1] in self._names:
            return literal(self._constants[self.op.operands[0]], self.element(0)), self.tensor(1)
        return self.tensor(0), self.scalar_or_tensor(1)

    def shape(self, index: int) -> tuple[int, ...]:
        return tuple(self.op.operands[index].type.shape)

    def element(self, index: int) -> str:
        """Returns the StableHLO element type of an operand."""
        return str(self.op.operands[index].type.element_type)

    def result_shape(self) -> tuple[int, ...]:
        return tuple(self.op.results[0].type.shape)

    def result_element(self) -> str:
        return str(self.op.results[0].type.element_type)

    def is_integer(self, index: int) -> bool:
        return self.element(index).startswith(("i", "ui"))

    def wrapped(self, text: str) -> Node:
        """Returns source that wraps a result at the width of its type, if a wider dtype holds it."""
        kind = self.result_element()
        if kind not in ("ui16", "ui32"):
            return text
        return f'host_ops.wrap({text}, "{kind}")'

    def integers(self, name: str) -> Sequence[int]:
        return [int(number) for number in self.op.attributes[name]]

    def integer(self, name: str) -> int:
        return int(self.op.attributes[name].value)

    def enum(self, name: str) -> str:
        return self.enum_of(self.op, name)

    @staticmethod
    def enum_of(op: Any, name: str) -> str:
        """Returns ``LT`` for ``#stablehlo<comparison_direction LT>``; empty without the attribute."""
        match = re.search(r"(\w+)>$", str(op.attributes[name])) if name in op.attributes else None
        return match[1] if match else ""

    @staticmethod
    def splat(op: Any) -> bool | int | float | None:
        """Returns the number that all elements of a constant equal, or None."""
        kind = str(op.results[0].type.element_type)
        if kind not in TORCH_NAMES or kind.startswith("complex") or not op.attributes["value"].is_splat:
            return None
        value = op.attributes["value"].get_splat_value().value
        if kind == "i1":
            return bool(value)
        return int(value) if kind.startswith(("i", "ui")) else float(value)


def literal(number: bool | int | float, kind: str) -> str:
    """Returns the Python literal of a number of a StableHLO element type."""
    if isinstance(number, float) and not math.isfinite(number):
        return "torch.nan" if math.isnan(number) else "torch.inf" if number > 0 else "-torch.inf"
    if kind == "ui64" and number >= 1 << 63:
        number -= 1 << 64
    return repr(number)


def full(number: bool | int | float, shape: Sequence[int], kind: str) -> str:
    """Returns the source of a tensor of equal elements."""
    if not shape:
        return f"torch.tensor({literal(number, kind)}, {placement(kind)})"
    return f"torch.full({tuple(shape)}, {literal(number, kind)}, {placement(kind)})"


def array(op: Any, kind: str, shape: Sequence[int]) -> Node:
    """Returns the source of a constant.

    Raises:
        NoTorchCodeError: it has too many elements, or different bfloat16 or complex elements.
    """
    import numpy as np

    if kind.startswith("complex"):
        parts = re.search(r"dense<\(([^,]+),([^)]+)\)>", str(op.get_asm()))
        if parts is None:
            raise NoTorchCodeError
        number = complex(float(parts[1]), float(parts[2]))
        return Group("torch.full(", (str(tuple(shape)), repr(number), placement(kind)), ")", fill=True)
    if kind == "bf16" or math.prod(shape) > MOST_ELEMENTS:
        raise NoTorchCodeError
    numbers = np.array(op.attributes["value"]).reshape(shape)
    return Group("torch.tensor(", (_nested(numbers.tolist(), kind), placement(kind)), ")", fill=True)


def _nested(items: Any, kind: str) -> Node:
    if isinstance(items, list):
        return Group("[", tuple(_nested(item, kind) for item in items), "]")  # pyright: ignore[reportUnknownVariableType]
    return literal(items, kind)
