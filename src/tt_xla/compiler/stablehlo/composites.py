"""Composites whose names say what they compute: each becomes the one TTIR op that it stands for.

The names are upstream's (tt-mlir ``StableHLOLegalizeComposite``). A composite of another name, or one used in a way
that its op does not cover, is replaced by its decomposition, so it is never an error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from jaxlib.mlir import ir
from xdsl.dialects.builtin import TensorType, bf16, f32
from xdsl.ir import SSAValue

from tt_xla.compiler.stablehlo.context import ImportContext, converts
from tt_xla.compiler.stablehlo.conversion import inline
from tt_xla.ir import ttir
from tt_xla.ir.base import shape, tensor_type
from tt_xla.ir.ttir.reduction import LayerNormOp, RmsNormOp
from tt_xla.ir.ttir.structure import TypecastOp
from tt_xla.registry import Registry

Converter = Callable[[ImportContext, Any, Mapping[str, Any]], "list[SSAValue] | None"]
_FLOATS = {bf16, f32}
COMPOSITES: Registry[str, Converter] = Registry("composite")
legalises = COMPOSITES.register
"""Registers what a composite of a name becomes; None says that this use of it is its decomposition."""


@converts("stablehlo.composite")
def composite(context: ImportContext, op: Any) -> list[SSAValue]:
    """The op that a composite names, else its decomposition."""
    converter = COMPOSITES.get(op.attributes["name"].value)
    if converter is not None:
        made = converter(context, op, _attributes(op))
        if made is not None:
            return made
    return inline(context, context.module.functions[op.attributes["decomposition"].value], context.operands(op))


@legalises("tenstorrent.gelu", "tenstorrent.gelu_tanh")
def gelu(context: ImportContext, op: Any, _: Mapping[str, Any]) -> list[SSAValue] | None:
    if len(op.operands) != 1 or not _plain(context, op, context.operands(op)):
        return None
    return [context.emit(ttir.UNARY_OPS["gelu"], context.operands(op), context.result_type(op))]


@legalises("tenstorrent.rms_norm")
def rms_norm(context: ImportContext, op: Any, attributes: Mapping[str, Any]) -> list[SSAValue] | None:
    """Operands are the input and, if there is one, the weight; epsilon is the element type's when it is not given."""
    sizes = _normalised(context, op, attributes, most=2)
    if sizes is None:
        return None
    narrow = context.result_type(op).element_type == bf16
    epsilon = float(attributes.get("epsilon", 2**-7 if narrow else 2**-23))
    x, weight = (*_of_one_type(context, op), None)[:2]
    result = context.result_type(op)
    return [context.emit(RmsNormOp, [x, weight, None], result, normalized_shape=sizes, epsilon=epsilon)]


@legalises("tenstorrent.layer_norm")
def layer_norm(context: ImportContext, op: Any, attributes: Mapping[str, Any]) -> list[SSAValue] | None:
    """Operands are the input and, if there are any, weight and bias."""
    sizes = _normalised(context, op, attributes, most=3)
    if sizes is None:
        return None
    x, weight, bias = (*_of_one_type(context, op), None, None)[:3]
    result, epsilon = context.result_type(op), float(attributes.get("epsilon", 1e-5))
    return [context.emit(LayerNormOp, [x, weight, bias], result, normalized_shape=sizes, epsilon=epsilon)]


def _normalised(context: ImportContext, op: Any, attributes: Mapping[str, Any], *, most: int) -> tuple[int, ...] | None:
    """The shape that a norm goes over; None where its op does not cover the use."""
    sizes = tuple(int(size) for size in np.ravel(attributes.get("normalized_shape", ())))
    if not 1 <= len(op.operands) <= most or not sizes:
        return None
    x, *affine = context.operands(op)
    if not _plain(context, op, [x]) or any(tensor_type(value).element_type not in _FLOATS for value in affine):
        return None
    if shape(x)[-len(sizes) :] != sizes or any(shape(value) != sizes for value in affine):
        return None
    return sizes


def _of_one_type(context: ImportContext, op: Any) -> list[SSAValue]:
    """The operands of a norm: weight and bias become what the input is, as its op takes them."""
    x, *affine = context.operands(op)
    types = [TensorType(tensor_type(x).element_type, shape(value)) for value in affine]
    pairs = zip(affine, types, strict=True)
    return [x, *(v if v.type == type_ else context.emit(TypecastOp, [v], type_) for v, type_ in pairs)]


def _plain(context: ImportContext, op: Any, operands: Sequence[SSAValue]) -> bool:
    """Whether operands are floats of the result's type, and the result is as large as the first."""
    result = context.result_type(op)
    types = [tensor_type(value) for value in operands]
    elements = {type_.element_type for type_ in types} | {result.element_type}
    return len(elements) == 1 and elements <= _FLOATS and types[0].get_shape() == result.get_shape()


def _attributes(op: Any) -> dict[str, Any]:
    """Attributes of a composite as Python values; lists come as arrays."""
    if "composite_attributes" not in op.attributes:
        return {}
    return {item.name: _value(item.attr) for item in op.attributes["composite_attributes"]}


def _value(attribute: Any) -> Any:
    if isinstance(attribute, ir.DenseElementsAttr):
        return np.array(attribute)
    if isinstance(attribute, ir.ArrayAttr):
        return [_value(item) for item in attribute]
    return getattr(attribute, "value", None)
