"""StableHLO types and constants as TTIR holds them.

64-bit types narrow to 32 bits, and booleans become 0 and 1 in bfloat16, like in upstream's element-type normalisation.
:mod:`tt_xla.ir.element_types` has the table.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any

import numpy as np
from jaxlib.mlir import ir
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, DenseIntOrFPElementsAttr
from xdsl.ir import Attribute

from tt_xla.errors import UnsupportedOpError
from tt_xla.ir.base import DATA_TYPES, ELEMENT_TYPES, Tensor, tensor
from tt_xla.ir.element_types import ElementType
from tt_xla.ir.parsing import MLIRParser
from tt_xla.ir.properties import si32

CHIP_TYPES: dict[str, Attribute] = {
    element.value: ELEMENT_TYPES[element.on_chip] for element in ElementType if element.on_chip is not None
}
"""TTIR element type in which the chip holds each StableHLO element type."""

HOST_TYPES: dict[str, Attribute] = {
    element.value: ELEMENT_TYPES[element.on_host] for element in ElementType if element.on_host is not None
}
"""TTIR element type of tensors that stay in system memory, some of them only where 32 bits are too few."""

TOKEN = "!stablehlo.token"
"""Type of values that only order effects. Programs keep that order anyway, so a token becomes an integer scalar."""


class DynamicShapeError(UnsupportedOpError):
    """The shape of a value is not known, or will be known only after shapes are refined."""


class NoElementsError(UnsupportedOpError):
    """A tensor has no elements. No op of the chip makes such a tensor."""


@lru_cache(maxsize=4096)
def convert_type(type_: ir.Type) -> Tensor:
    """Returns the TTIR type of a StableHLO type: the one that the chip holds, else the one that the host holds.

    Raises:
        DynamicShapeError: the type is not a ranked tensor of static shape.
        UnsupportedOpError: neither the chip nor the host holds its elements.
    """
    if str(type_) == TOKEN:
        return tensor((), si32)
    if not isinstance(type_, ir.RankedTensorType) or not type_.has_static_shape:
        raise DynamicShapeError(
            f"A value has type {type_}; expected a ranked tensor of static shape.",
            hint="Give example inputs of fixed shapes; each new shape compiles anew.",
        )
    name = str(type_.element_type)
    element = CHIP_TYPES.get(name) or HOST_TYPES.get(name)
    if element is None:
        raise UnsupportedOpError(
            f"A tensor has elements of type {name}; the chip can hold {', '.join(CHIP_TYPES)}, the host also "
            f"{', '.join(HOST_TYPES)}.",
            hint="Convert the tensor before it reaches the compiled part.",
        )
    return tensor(tuple(type_.shape), element)


def host_type(type_: Any) -> Tensor:
    """Returns the TTIR type of a tensor that stays on the host, where 64-bit elements keep their width."""
    element = HOST_TYPES.get(str(type_.element_type))
    return convert_type(type_) if element is None else tensor(tuple(type_.shape), element)


@lru_cache(maxsize=4096)
def chip_type(type_: ir.Type) -> Tensor:
    """Returns the TTIR type of a StableHLO type for the result of an op on the chip.

    Raises:
        UnsupportedOpError: the chip does not hold such elements.
        NoElementsError: the tensor has no elements.
    """
    converted = convert_type(type_)
    if is_host_only(type_):
        raise UnsupportedOpError(f"the chip cannot hold {type_}")
    if is_empty(converted):
        raise NoElementsError(f"{type_} has no elements")
    return converted


def is_host_only(type_: ir.Type) -> bool:
    """Whether the chip holds no elements of a StableHLO type."""
    return DATA_TYPES[convert_type(type_).element_type].is_host_only


def forget_types() -> None:
    """Clears the caches of converted types. A cached type keeps the whole MLIR context of its module alive."""
    convert_type.cache_clear()
    chip_type.cache_clear()


def is_empty(type_: Tensor) -> bool:
    """Whether a tensor has no elements."""
    return 0 in type_.get_shape()


def constant_values(attribute: Any) -> Any:
    """Returns a StableHLO constant as a Python scalar if all elements are equal, else as a NumPy array."""
    if attribute.is_splat:
        splat = attribute.get_splat_value()
        value = splat.value
        return bool(value) if str(splat.type) == "i1" else value
    if str(attribute.type.element_type) in ("bf16", "f16"):
        return _values_from_text(attribute)
    return np.array(attribute)


def _values_from_text(attribute: Any) -> Any:
    """Returns the elements of a constant of 16-bit floats. jaxlib gives them as text only; xDSL reads its decimal and
    hexadecimal forms."""
    dense = MLIRParser(_text_context(), str(attribute)).parse_attribute()
    assert isinstance(dense, DenseIntOrFPElementsAttr)
    values = np.array(list(dense.get_values()), dtype=np.float32)
    return values.reshape(dense.get_shape())


@cache
def _text_context() -> Context:
    context = Context()
    context.load_dialect(Builtin)
    return context
