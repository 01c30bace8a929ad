"""Layers: the weights of matrix products and convolutions, by the names of the arguments that they come from."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, OpResult, SSAValue

from tt_xla.compiler.analysis.constness import constant_values, tensor_operands
from tt_xla.compiler.rewriting import body, functions
from tt_xla.ir.ttnn.contraction import LinearOp, MatmulOp
from tt_xla.ir.ttnn.window import Conv2dOp


def weight_of(op: Operation) -> SSAValue | None:
    """Returns the operand of a matrix product or convolution that a model keeps its weights in; None for other ops."""
    if isinstance(op, MatmulOp | LinearOp):
        return op.b
    return op.weight if isinstance(op, Conv2dOp) else None


def layers_of(function: FuncOp) -> dict[Operation, frozenset[str]]:
    """Returns the names of the layers of each matrix product and convolution whose weight is constant.

    The weight of a product may consist of several arguments, such as those of queries, keys and values.
    """
    constants = constant_values(function)
    names: dict[SSAValue, frozenset[str]] = {}
    attributes = function.arg_attrs.data if function.arg_attrs is not None else ()
    for argument, attrs in zip(body(function).args, attributes, strict=False):
        name = attrs.data.get("ttir.name")
        names[argument] = frozenset((name.data,)) if isinstance(name, StringAttr) else frozenset()
    layers: dict[Operation, frozenset[str]] = {}
    for op in body(function).ops:
        weight = weight_of(op)
        if weight is not None and weight in constants and (found := _names(weight, names)):
            layers[op] = found
    return layers


def layer_names(module: ModuleOp) -> frozenset[str]:
    """Returns the names of all layers of a TTNN module."""
    return frozenset().union(*(found for function in functions(module) for found in layers_of(function).values()))


def _names(value: SSAValue, known: dict[SSAValue, frozenset[str]]) -> frozenset[str]:
    """Returns the names of the arguments that a value depends on."""
    if value not in known:
        operands = tensor_operands(value.op) if isinstance(value, OpResult) else ()
        known[value] = frozenset().union(*(_names(operand, known) for operand in operands))
    return known[value]
