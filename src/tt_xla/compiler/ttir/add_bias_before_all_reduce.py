"""A bias of a sum over chips is added on one of them before the sum, where the matrix product adds it at no cost.

``all_reduce(x @ w) + b`` becomes ``all_reduce(x @ w + b')``, where ``b'`` is ``b`` on the first chip of each group and
0 on the others. Const-eval computes ``b'`` once.
"""

from __future__ import annotations

import functools

import numpy as np
from xdsl.dialects.builtin import ModuleOp, bf16
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from tt_xla.compiler import collectives
from tt_xla.compiler.analysis.constants import elements
from tt_xla.compiler.analysis.constness import is_constant
from tt_xla.compiler.analysis.variation import varying_axes
from tt_xla.compiler.meshes import axis_size, mesh_shape
from tt_xla.compiler.rewriting import Pattern, both_ways, functions, insert_before, producer, run_patterns
from tt_xla.compiler.ttir.match import Add
from tt_xla.ir.base import TTOp, only_user, same_type, shape, tensor, tensor_type
from tt_xla.ir.ttcore import ReduceType
from tt_xla.ir.ttir.collective import AllReduceOp
from tt_xla.ir.ttir.contraction import DotGeneralOp, MatmulOp
from tt_xla.ir.ttir.creation import ConstantOp
from tt_xla.ir.ttir.structure import WhereOp


def run(module: ModuleOp) -> None:
    """Moves biases of every function of a program for several chips."""
    if mesh_shape(module) is None:
        return
    varying: dict[SSAValue, frozenset[int]] = {}
    for function in functions(module):
        if any(isinstance(op, AllReduceOp) for op in function.body.block.ops):
            varying |= varying_axes(function)
    if varying:
        move = functools.partial(_bias_of_sum, varying=varying)
        move.__name__ = "bias_of_sum"  # pyright: ignore[reportAttributeAccessIssue]
        run_patterns(module, Pattern((Add,), move, approximate=True))


def _bias_of_sum(op: TTOp, rewriter: PatternRewriter, *, varying: dict[SSAValue, frozenset[int]]) -> None:
    """Rewrites all_reduce(x @ w) + bias to all_reduce(x @ w + bias on one chip)."""
    for total, bias in both_ways(op):
        reduced = producer(total, AllReduceOp)
        if reduced is None or only_user(total) is None or not same_type(total, op.results[0]):
            continue
        product, axis = reduced.input, reduced.cluster_axis
        if not isinstance(product.owner, DotGeneralOp | MatmulOp) or only_user(product) is None:
            continue
        is_same = axis not in varying.get(bias, {axis})
        if is_same and reduced.reduce_type is ReduceType.SUM and shape(bias) and is_constant(bias):
            once = _on_first_chip(op, bias, axis, rewriter)
            added = insert_before(rewriter, op, Add, [product, once], tensor_type(product))
            rewriter.replace(op, AllReduceOp.make([added], [op.results[0].type], op.location, **reduced.values()))
            return


def _on_first_chip(op: TTOp, bias: SSAValue, axis: int, rewriter: PatternRewriter) -> SSAValue:
    """Returns a tensor that is the bias on the first chip along an axis, and 0 on the others."""
    emit = functools.partial(insert_before, rewriter, op)
    count, ones = axis_size(op, axis), (1,) * (len(shape(bias)) - 1)
    table = tensor((count, *ones), bf16)
    first = np.arange(count).reshape(table.get_shape()) == 0
    mask = collectives.partition(emit, emit(ConstantOp, [], table, value=elements(first, table)), 0, axis, count)
    zero_type = tensor((1, *ones), tensor_type(bias).element_type)
    zero = emit(ConstantOp, [], zero_type, value=elements(0.0, zero_type))
    return emit(WhereOp, [mask, bias, zero], tensor_type(bias))
