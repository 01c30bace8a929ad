"""StableHLO element types and constants as the chip holds them.

64-bit types narrow to 32 bits and booleans become bfloat16 0 and 1, as upstream's element-type normalisation has it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from jaxlib.mlir import ir
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, DenseIntOrFPElementsAttr
from xdsl.ir import Attribute

from tt_xla.errors import UnsupportedOpError
from tt_xla.ir import base as tt
from tt_xla.ir.base import Tensor, tensor
from tt_xla.ir.element_types import ElementType
from tt_xla.ir.parsing import MLIRParser
from tt_xla.ir.properties import si32

ELEMENT_TYPES: dict[str, Attribute] = {
    element.value: tt.ELEMENT_TYPES[element.on_chip] for element in ElementType if element.on_chip is not None
}
"""TTIR element type in which the chip holds each StableHLO element type."""

HOST_TYPES: dict[str, Attribute] = {
    element.value: tt.ELEMENT_TYPES[element.on_host] for element in ElementType if element.on_host is not None
}
"""TTIR element type of tensors that stay in system memory, some of them only where 32 bits do not suffice."""

TOKEN = "!stablehlo.token"


@lru_cache(maxsize=4096)
def convert_type(type_: ir.Type) -> Tensor:
    """The TTIR type of a StableHLO type. Tokens, which stand for an order that all programs here keep, are numbers.

    Raises:
        DynamicShapeError: it is not a ranked tensor of static shape.
        UnsupportedOpError: its elements have no place on the chip, nor on the host.
    """
    if str(type_) == TOKEN:
        return tensor((), si32)
    if not isinstance(type_, ir.RankedTensorType) or not type_.has_static_shape:
        raise DynamicShapeError(
            f"A value has type {type_}; expected a ranked tensor of static shape.",
            hint="Give example inputs of fixed shapes; each new shape compiles anew.",
        )
    name = str(type_.element_type)
    element = ELEMENT_TYPES.get(name) or HOST_TYPES.get(name)
    if element is None:
        raise UnsupportedOpError(
            f"A tensor has elements of type {name}; the chip can hold {', '.join(ELEMENT_TYPES)}, the host also "
            f"{', '.join(HOST_TYPES)}.",
            hint="Convert the tensor before it reaches the compiled part.",
        )
    return tensor(tuple(type_.shape), element)


def host_type(type_: Any) -> Tensor:
    """The TTIR type of a tensor that keeps its 64 bits on the host."""
    name = str(type_.element_type)
    return tensor(tuple(type_.shape), HOST_TYPES[name]) if name in HOST_TYPES else convert_type(type_)


@lru_cache(maxsize=4096)
def chip_type(type_: ir.Type) -> Tensor:
    """:func:`convert_type` for the result of an op on the chip.

    Raises:
        UnsupportedOpError: the chip has no such elements.
        NoElementsError: the tensor has no elements.
    """
    found = convert_type(type_)
    if tt.DATA_TYPES[found.element_type].is_host_only:
        raise UnsupportedOpError(f"the chip cannot hold {type_}")
    if is_empty(found):
        raise NoElementsError(f"{type_} has no elements")
    return found


def forget_types() -> None:
    """A type keeps the whole MLIR context of its module."""
    convert_type.cache_clear()
    chip_type.cache_clear()


class DynamicShapeError(UnsupportedOpError):
    """A shape is not known, or not yet."""


class NoElementsError(UnsupportedOpError):
    """A tensor of no elements, which no op of the chip makes."""


def is_empty(type_: Tensor) -> bool:
    return 0 in type_.get_shape()


def constant_values(attribute: Any) -> Any:
    """A StableHLO constant as a scalar, when all elements are the same, or an array."""
    if attribute.is_splat:
        splat = attribute.get_splat_value()
        value = splat.value
        return bool(value) if str(splat.type) == "i1" else value
    if str(attribute.type.element_type) in ("bf16", "f16"):
        return _through_text(attribute)
    return np.array(attribute)


def _through_text(attribute: Any) -> Any:
    """16-bit floats, which jaxlib gives out as text alone; xDSL reads that, decimal and hexadecimal."""
    dense = MLIRParser(_text_context(), str(attribute)).parse_attribute()
    assert isinstance(dense, DenseIntOrFPElementsAttr)
    values = np.array(list(dense.get_values()), dtype=np.float32)
    return values.reshape(dense.get_shape())


@lru_cache(maxsize=1)
def _text_context() -> Context:
    context = Context()
    context.load_dialect(Builtin)
    return context
