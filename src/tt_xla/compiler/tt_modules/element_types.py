"""Element types of TTIR text as the chip holds them, with the rules of the import of StableHLO.

Upstream's TTIR has the element types of its source: signless integers, booleans, 64 bits.
"""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import (
    FunctionType,
    ModuleOp,
    TensorType,
    i1,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tt_xla.compiler.analysis.constants import elements, splat_of
from tt_xla.compiler.locations import describe
from tt_xla.errors import UnsupportedOpError
from tt_xla.ir.base import DATA_TYPES, ELEMENT_TYPES, Tensor, tensor, tensor_type
from tt_xla.ir.element_types import ElementType
from tt_xla.ir.ttir import BINARY_OPS
from tt_xla.ir.ttir.creation import ConstantOp
from tt_xla.ir.ttir.structure import TypecastOp


def declared(element: Attribute) -> ElementType | None:
    """Returns the element type that an argument or result declares; None for none that programs may have."""
    name = str(element)
    name = name.removeprefix("s") if name.startswith("si") else name
    return ElementType(name) if name in list(ElementType) else None


def convert(module: ModuleOp) -> None:
    """Gives each value of a TTIR module the element type that the chip holds, or else the host.

    Raises:
        UnsupportedOpError: neither holds the elements of a tensor, or a constant does not fit.
    """
    to_booleans = [
        op
        for op in module.walk()
        if isinstance(op, TypecastOp) and _element(op.result) == i1 and _element(op.input) != i1
    ]
    for op in module.walk():
        for value in _values(op):
            if isinstance(value.type, TensorType):
                Rewriter.replace_value_with_new_type(value, _held(tensor_type(value), op))
        if isinstance(op, ConstantOp):
            _convert_constant(op)
        if isinstance(op, FuncOp):
            _set_function_type(op)
    for op in to_booleans:
        _compare_with_zero(op)


def _values(op: Operation) -> list[SSAValue]:
    arguments = [argument for region in op.regions for block in region.blocks for argument in block.args]
    return [*op.results, *arguments]


def _element(value: SSAValue) -> Attribute | None:
    return value.type.element_type if isinstance(value.type, TensorType) else None


def _compare_with_zero(op: TypecastOp) -> None:
    """Replaces a conversion to booleans, which are bfloat16 on the chip, by a comparison with 0."""
    zero = splat_of(0, tensor_type(op.input), op.location)
    created = BINARY_OPS["ne"].make([op.input, zero.result], [op.result.type], op.location)
    Rewriter.insert_op((zero, created), InsertPoint.before(op))
    op.result.replace_all_uses_with(created.results[0])
    op.detach()
    op.erase()


def _held(type_: Tensor, op: Operation) -> Tensor:
    element = type_.element_type
    source = declared(element)
    kept = source is None and element in DATA_TYPES
    dtype = None if source is None else source.on_chip or source.on_host
    if not type_.has_static_shape() or (dtype is None and not kept):
        raise UnsupportedOpError(
            f"'{op.name}' has a tensor {type_}; expected a static shape and elements that chip or host hold: "
            f"{', '.join(source for source in ElementType)}.",
            location=describe(op.location),
        )
    return type_ if dtype is None else tensor(type_.get_shape(), ELEMENT_TYPES[dtype])


def _convert_constant(op: ConstantOp) -> None:
    """Encodes the elements of a constant in the element type of its result."""
    result = tensor_type(op.result)
    attribute: Any = op.value_
    source: Any = attribute.type
    if source.element_type == result.element_type:
        return
    import numpy as np

    kind = declared(source.element_type)
    numbers: list[Any] = [attribute.get_values()[0]] if attribute.is_splat() else list(attribute.get_values())
    values = np.array(numbers, np.float64 if kind is not None and kind.numpy.startswith("float") else None)
    if kind is ElementType.I1:
        values = (values != 0).astype(np.float32)
    sizes = result.get_shape()
    full = np.broadcast_to(values.reshape(()), sizes) if attribute.is_splat() else values.reshape(sizes)
    try:
        op.properties["value"] = elements(full, result)
    except UnsupportedOpError as error:
        error.location = error.location or describe(op.location)
        raise


def _set_function_type(function: FuncOp) -> None:
    """Gives a function the type that its arguments and returned values have after their conversion."""
    inputs = [argument.type for argument in function.body.blocks[0].args]
    outputs = [_held(type_, function) for type_ in function.function_type.outputs if isinstance(type_, TensorType)]
    function.function_type = FunctionType.from_lists(inputs, outputs)
