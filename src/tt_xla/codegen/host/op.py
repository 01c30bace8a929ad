"""One StableHLO op of a host part, as a rule sees it: source of its operands, its attributes in Python's terms."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from tt_xla.codegen.formatting import Group, Node
from tt_xla.ir.element_types import ElementType

MOST_ELEMENTS = 256
"""A longer constant is no source."""

TORCH_NAMES = {
    element.value: element.torch_arithmetic
    for element in ElementType
    if element is ElementType.BF16 or not element.is_ml_dtype
}
"""Name of the torch dtype that host parts compute in, by StableHLO element type; the same as ``host_ops.DTYPES``."""


class NoTorchCodeError(Exception):
    """An op, or this form of it, has no torch code here."""


def is_unsigned(kind: str) -> bool:
    return kind.startswith("ui")


def dtype(kind: str) -> str:
    """What holds a StableHLO element type, ``torch.int64``.

    Raises:
        NoTorchCodeError: torch has nothing for it.
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
        names: of its operands' values.
        constants: elements of operands that are all alike, as Python numbers, by value.
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
        value = self.op.operands[index]
        if value in self._names:
            return self._names[value]
        return full(self._constants[value], self.shape(index), self.element(index))

    def scalar(self, index: int) -> bool | int | float | None:
        return self._constants.get(self.op.operands[index])

    def scalar_or_tensor(self, index: int) -> str:
        """An operand of an operator beside a tensor of the same element type."""
        number = self.scalar(index)
        if number is None or self.op.operands[index] in self._names:
            return self.tensor(index)
        return literal(number, self.element(index))

    def sides(self) -> tuple[str, str]:
        """Both operands of an operator, one of them as a number where it is the same everywhere."""
        if self.op.operands[0] not in self._names and self.op.operands[1] in self._names:
            return literal(self._constants[self.op.operands[0]], self.element(0)), self.tensor(1)
        return self.tensor(0), self.scalar_or_tensor(1)

    def shape(self, index: int) -> tuple[int, ...]:
        return tuple(self.op.operands[index].type.shape)

    def element(self, index: int) -> str:
        return str(self.op.operands[index].type.element_type)

    def result_shape(self) -> tuple[int, ...]:
        return tuple(self.op.results[0].type.shape)

    def result_element(self) -> str:
        return str(self.op.results[0].type.element_type)

    def is_integer(self, index: int) -> bool:
        return self.element(index).startswith(("i", "ui"))

    def wrapped(self, text: str) -> Node:
        """A result cut to its width, where it is carried by a wider type."""
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
        """``LT`` of ``#stablehlo<comparison_direction LT>``; empty where there is none."""
        found = re.search(r"(\w+)>$", str(op.attributes[name])) if name in op.attributes else None
        return found[1] if found else ""

    @staticmethod
    def splat(op: Any) -> bool | int | float | None:
        """The element of a constant that has one alone, or the same everywhere; None where it has others."""
        kind = str(op.results[0].type.element_type)
        if kind not in TORCH_NAMES or kind.startswith("complex") or not op.attributes["value"].is_splat:
            return None
        value = op.attributes["value"].get_splat_value().value
        if kind == "i1":
            return bool(value)
        return int(value) if kind.startswith(("i", "ui")) else float(value)


def literal(number: bool | int | float, kind: str) -> str:
    if isinstance(number, float) and not math.isfinite(number):
        return "torch.nan" if math.isnan(number) else "torch.inf" if number > 0 else "-torch.inf"
    if kind == "ui64" and number >= 1 << 63:
        number -= 1 << 64
    return repr(number)


def full(number: bool | int | float, shape: Sequence[int], kind: str) -> str:
    """A tensor of equal elements."""
    if not shape:
        return f"torch.tensor({literal(number, kind)}, {placement(kind)})"
    return f"torch.full({tuple(shape)}, {literal(number, kind)}, {placement(kind)})"


def array(op: Any, kind: str, shape: Sequence[int]) -> Node:
    """A constant's elements, row by row.

    Raises:
        NoTorchCodeError: they are many, or different bfloat16 or complex numbers.
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
