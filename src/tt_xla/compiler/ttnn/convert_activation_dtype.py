"""Pass: activations between ops are stored as block floats.

An op *casts* if it writes any float type, whatever it reads: products, convolutions, sums and products of elements. An
op *passes on* a type if its result has the type of its first operand: norms, softmax, attention, activation functions,
moves of tiles. Both read block floats. A bfloat16 result becomes a block float where all of its readers read
block floats, and where an op that passes on the type reads them too. So no cast is added, and what a function takes
and returns keeps its type, as do constants, values of float32 and statistics of rows. So do masked values, between the
op that puts minus infinity or as large a number in some elements and the softmax or maximum that reads them: numbers
that share an exponent with such a one would become 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.rewriter import Rewriter

from tt_xla.compiler.analysis.constants import numpy_dtype
from tt_xla.compiler.analysis.constness import constant_values
from tt_xla.compiler.rewriting import body, functions
from tt_xla.ir.base import shape
from tt_xla.ir.layout import DataType
from tt_xla.ir.ttnn import ELEMENTWISE_OPS
from tt_xla.ir.ttnn.attention import (
    ConcatenateHeadsOp,
    RotaryEmbeddingOp,
    ScaledDotProductAttentionOp,
    SplitQueryKeyValueAndSplitHeadsOp,
)
from tt_xla.ir.ttnn.attributes import laid_out, layout_of
from tt_xla.ir.ttnn.contraction import LinearOp, MatmulOp
from tt_xla.ir.ttnn.memory import ConstantOp, FullOp, ToLayoutOp, ToMemoryConfigOp, TypecastOp
from tt_xla.ir.ttnn.reduction import LayerNormOp, MaxOp, MeanOp, RmsNormOp, SoftmaxOp
from tt_xla.ir.ttnn.structure import (
    ClampScalarOp,
    ConcatOp,
    LeakyReluOp,
    PadOp,
    PermuteOp,
    RepeatOp,
    ReshapeOp,
    SliceStaticOp,
)
from tt_xla.ir.ttnn.window import (
    Conv2dOp,
    MaxPool2dOp,
    MaxPool2dWithIndicesOp,
    PrepareConv2dBiasOp,
    PrepareConv2dWeightsOp,
)

CASTS = (MatmulOp, LinearOp, Conv2dOp, *(ELEMENTWISE_OPS[name] for name in ("add", "subtract", "multiply")))
"""Ops that take the element type of their result as an argument, and read operands of several types."""

_ACTIVATIONS = ("gelu", "hardsigmoid", "mish", "relu", "relu6", "sigmoid", "silu", "tanh")
"""Elementwise functions between the layers of a network. Others, such as exp and rsqrt, compute parts of norms."""

_PASSES_ON = (
    *(LayerNormOp, RmsNormOp, SoftmaxOp),
    *(ScaledDotProductAttentionOp, SplitQueryKeyValueAndSplitHeadsOp, ConcatenateHeadsOp, RotaryEmbeddingOp),
    *(PermuteOp, ReshapeOp, RepeatOp, SliceStaticOp, PadOp, ConcatOp, ToMemoryConfigOp),
    *(LeakyReluOp, ClampScalarOp),
    *(ELEMENTWISE_OPS[name] for name in _ACTIVATIONS),
)
"""Ops whose result has the type of their first operand."""


_LARGE = 1e4
"""Magnitude of constants that mask elements; those between the layers of a network are smaller."""

_BOUNDED = (
    *(SoftmaxOp, LayerNormOp, RmsNormOp, ScaledDotProductAttentionOp, ClampScalarOp),
    *(MaxOp, MaxPool2dOp, MaxPool2dWithIndicesOp),
    *(ELEMENTWISE_OPS[name] for name in ("cos", "exp", "hardsigmoid", "relu6", "sigmoid", "sin", "tanh")),
)
"""Ops whose results have no large number of a mask any more."""


def _masked_values(function: FuncOp) -> set[SSAValue]:
    """Returns the values some of whose elements may be large numbers that mask them."""
    masked: set[SSAValue] = set()
    for op in body(function).ops:
        if _has_large_number(op) or (not isinstance(op, _BOUNDED) and any(value in masked for value in op.operands)):
            masked.update(op.results)
    return masked


def _has_large_number(op: Operation) -> bool:
    """Whether an op is or pads with a constant that masks elements."""
    if isinstance(op, FullOp):
        return not abs(op.fill_value) < _LARGE
    if isinstance(op, PadOp):
        return not abs(op.value_) < _LARGE
    if isinstance(op, ConstantOp) and layout_of(op.results[0]).dtype.is_float:
        elements: Any = op.value_
        numbers = np.frombuffer(elements.data.data, numpy_dtype(elements.type.element_type)).astype(np.float32)
        return not bool((np.abs(numbers) < _LARGE).all())
    return False


def run(module: ModuleOp, dtype: DataType) -> None:
    """Stores activations in another element type.

    Args:
        module: TTNN module that is changed in place.
        dtype: Element type of the activations; bfloat16 leaves them alone.
    """
    if dtype is DataType.BF16:
        return
    for function in functions(module):
        kept = constant_values(function) | _masked_values(function)
        ops = list(body(function).ops)
        values: set[SSAValue] = {value for op in ops for value in _candidates(op) if value not in kept}
        pending = [value for value in values if not _stays(value, values)]
        while pending:
            value = pending.pop()
            if value in values:
                values.discard(value)
                pending.extend(other for other in _neighbours(value) if other in values and not _stays(other, values))
        for op in ops:
            _convert(op, values, dtype)


def _candidates(op: Operation) -> Iterator[OpResult]:
    """Yields the results of an op that may be block floats."""
    if isinstance(op, CASTS) or _is_float_cast(op) or _passes_on(op):
        for result in op.results:
            layout = layout_of(result) if isinstance(result.type, TensorType) else None
            if layout is not None and layout.dtype is DataType.BF16 and layout.tiled:
                yield result


def _is_float_cast(op: Operation) -> bool:
    """Returns whether an op casts a float to another type of float."""
    return isinstance(op, TypecastOp) and all(layout_of(value).dtype.is_float for value in (op.input, op.results[0]))


def _passes_on(op: Operation) -> bool:
    """Returns whether the result of an op has the type of its operand.

    A mean or maximum over the last dimension is a statistic of each row; over others it pools activations.
    """
    if isinstance(op, MeanOp | MaxOp):
        rank = len(shape(op.operands[0]))
        dims = op.dim_arg
        return dims is not None and all(dim % rank != rank - 1 for dim in dims)
    return isinstance(op, _PASSES_ON)


def _sources(op: Operation) -> Iterable[SSAValue]:
    """Returns the operands that have the type of the result of an op that passes it on."""
    return op.operands if isinstance(op, ConcatOp) else op.operands[:1]


def _stays(value: SSAValue, values: set[SSAValue]) -> bool:
    """Returns whether a candidate may be a block float if the other ``values`` are."""
    op = value.owner
    assert isinstance(op, Operation)
    if _passes_on(op) and not (values.issuperset(_sources(op)) and values.issuperset(op.results)):
        return False
    return all(_reads(use.operation, use.index, values) for use in value.uses)


def _reads(op: Operation, index: int, values: set[SSAValue]) -> bool:
    """Returns whether an op reads a block float in the place of a bfloat16 operand."""
    if isinstance(op, ToLayoutOp):
        return layout_of(op.results[0]).on_device and not layout_of(op.results[0]).tiled
    if isinstance(op, Conv2dOp):
        return index == 0
    if isinstance(op, CASTS) or _is_float_cast(op):
        return all(layout_of(result).dtype.is_float for result in op.results)
    if _passes_on(op) and op.operands[index] in _sources(op):
        return values.issuperset(op.results)
    return isinstance(op, ScaledDotProductAttentionOp) and index in (1, 2)


def _neighbours(value: SSAValue) -> Iterator[SSAValue]:
    """Yields the values whose conversion may depend on that of ``value``."""
    op = value.owner
    assert isinstance(op, Operation)
    if _passes_on(op):
        yield from op.operands
        yield from op.results
    for use in value.uses:
        yield from use.operation.results


def _convert(op: Operation, values: set[SSAValue], dtype: DataType) -> None:
    """Changes the types of those results of an op that are in ``values``, and tells a convolution about its input."""
    for result in list(op.results):
        if result in values:
            Rewriter.replace_value_with_new_type(result, laid_out(shape(result), layout_of(result).retyped(dtype)))
    if isinstance(op, Conv2dOp) and layout_of(op.input).dtype is dtype:
        for prepared in (op.weight, op.bias):
            if prepared is not None and isinstance(prepared.owner, PrepareConv2dWeightsOp | PrepareConv2dBiasOp):
                prepared.owner.input_dtype = dtype
