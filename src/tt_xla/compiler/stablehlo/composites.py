"""Composites with known names: each becomes the one TTIR op that it stands for.

The names are upstream's (tt-mlir ``StableHLOLegalizeComposite``). A composite with another name, or used in a way that
the TTIR op does not cover, is replaced by its decomposition. No composite is an error.
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
from tt_xla.ir.ttir.collective import SparseMatmulOp
from tt_xla.ir.ttir.reduction import LayerNormOp, RmsNormOp
from tt_xla.ir.ttir.structure import TypecastOp
from tt_xla.registry import Registry

Converter = Callable[[ImportContext, Any, Mapping[str, Any]], "list[SSAValue] | None"]
"""Emits the TTIR op of a composite, given the composite's attributes. Returns its results, or None if the decomposition
must be used."""

_FLOATS = {bf16, f32}
COMPOSITES: Registry[str, Converter] = Registry("composite")
legalises = COMPOSITES.register
"""Registers the converter of composites, given by their names."""


@converts("stablehlo.composite")
def composite(context: ImportContext, op: Any) -> list[SSAValue]:
    """Converts to the op that the composite's name stands for, else converts the decomposition in place."""
    converter = COMPOSITES.get(op.attributes["name"].value)
    if converter is not None:
        results = converter(context, op, _attributes(op))
        if results is not None:
            return results
    return inline(context, context.module.functions[op.attributes["decomposition"].value], context.operands(op))


@legalises("tenstorrent.gelu_tanh")
def gelu_tanh(context: ImportContext, op: Any, attributes: Mapping[str, Any]) -> list[SSAValue] | None:
    """Converts to TT-NN's gelu, which differs from the tanh form by up to 5e-4; exact numerics keep the tanh form."""
    return gelu(context, op, attributes) if context.module.approximate else None


@legalises("tenstorrent.gelu")
def gelu(context: ImportContext, op: Any, _: Mapping[str, Any]) -> list[SSAValue] | None:
    if len(op.operands) != 1 or not _plain(context, op, context.operands(op)):
        return None
    return [context.emit(ttir.UNARY_OPS["gelu"], context.operands(op), context.result_type(op))]


@legalises("tenstorrent.rms_norm")
def rms_norm(context: ImportContext, op: Any, attributes: Mapping[str, Any]) -> list[SSAValue] | None:
    """Converts operands (input) or (input, weight). The default of epsilon is that of the element type."""
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
    """Converts operands (input), (input, weight) or (input, weight, bias)."""
    sizes = _normalised(context, op, attributes, most=3)
    if sizes is None:
        return None
    x, weight, bias = (*_of_one_type(context, op), None, None)[:3]
    result, epsilon = context.result_type(op), float(attributes.get("epsilon", 1e-5))
    return [context.emit(LayerNormOp, [x, weight, bias], result, normalized_shape=sizes, epsilon=epsilon)]


@legalises("tenstorrent.sparse_matmul")
def sparse_matmul(context: ImportContext, op: Any, attributes: Mapping[str, Any]) -> list[SSAValue] | None:
    """Converts operands (rows, weights of experts, sparsity), which have the shapes of the TTIR op."""
    rows, weights, sparsity = context.operands(op)
    result = context.result_type(op)
    elements = {tensor_type(each).element_type for each in (rows, weights)} | {result.element_type}
    if len(elements) != 1 or not elements <= _FLOATS:
        return None
    is_sparse = bool(attributes.get("is_input_a_sparse", False))
    flags = {"is_input_a_sparse": is_sparse, "is_input_b_sparse": not is_sparse}
    return [context.emit(SparseMatmulOp, [rows, weights, sparsity], result, **flags)]


def _normalised(context: ImportContext, op: Any, attributes: Mapping[str, Any], *, most: int) -> tuple[int, ...] | None:
    """Returns the dimension sizes that a norm averages over, or None if its TTIR op does not cover this use.

    Args:
        most: largest number of operands.
    """
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
    """Returns the operands of a norm, with weight and bias cast to the element type of the input."""
    x, *affine = context.operands(op)
    types = [TensorType(tensor_type(x).element_type, shape(value)) for value in affine]
    pairs = zip(affine, types, strict=True)
    return [x, *(v if v.type == type_ else context.emit(TypecastOp, [v], type_) for v, type_ in pairs)]


def _plain(context: ImportContext, op: Any, operands: Sequence[SSAValue]) -> bool:
    """Whether all operands have the result's element type, a float, and the first has the result's shape."""
    result = context.result_type(op)
    types = [tensor_type(value) for value in operands]
    elements = {type_.element_type for type_ in types} | {result.element_type}
    return len(elements) == 1 and elements <= _FLOATS and types[0].get_shape() == result.get_shape()


def _attributes(op: Any) -> dict[str, Any]:
    """Returns the attributes of a composite as Python values; dense elements become NumPy arrays."""
    if "composite_attributes" not in op.attributes:
        return {}
    return {item.name: _value(item.attr) for item in op.attributes["composite_attributes"]}


def _value(attribute: Any) -> Any:
    if isinstance(attribute, ir.DenseElementsAttr):
        return np.array(attribute)
    if isinstance(attribute, ir.ArrayAttr):
        return [_value(item) for item in attribute]
    return getattr(attribute, "value", None)
