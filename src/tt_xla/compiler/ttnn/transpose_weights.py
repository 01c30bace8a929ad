"""Pass: weights that a product reads transposed are transposed once, by const-eval.

The chip otherwise transposes tiles as it reads them, in each call, and TT-NN has no such product of sharded rows or of
weights cut over DRAM banks. A weight of several uses stays as it is; else the device would hold it twice.
"""

from __future__ import annotations

from xdsl.dialects.builtin import BoolAttr, ModuleOp
from xdsl.rewriter import InsertPoint, Rewriter

from tt_xla.compiler.analysis.constness import constant_values
from tt_xla.compiler.rewriting import body, functions
from tt_xla.ir.base import shape
from tt_xla.ir.ttnn.attributes import laid_out, layout_of
from tt_xla.ir.ttnn.contraction import LinearOp, MatmulOp
from tt_xla.ir.ttnn.structure import PermuteOp


def run(module: ModuleOp) -> None:
    """Transposes the weights of every function."""
    for function in functions(module):
        constants = constant_values(function)
        for op in list(body(function).ops):
            if isinstance(op, MatmulOp | LinearOp) and op.b in constants and op.b.has_one_use():
                _transpose(op)


def _transpose(op: MatmulOp | LinearOp) -> None:
    """Transposes a product's weight. A vector has nothing to transpose."""
    rank = len(shape(op.b))
    if not op.transpose_b or rank < 2:
        return
    order = (*range(rank - 2), rank - 1, rank - 2)
    turned = tuple(shape(op.b)[axis] for axis in order)
    type_ = laid_out(turned, layout_of(op.b).with_(turned))
    transposed = PermuteOp.make([op.b], [type_], op.location, permutation=order)
    Rewriter.insert_op(transposed, InsertPoint.before(op))
    op.operands[1] = transposed.results[0]
    op.properties["transpose_b"] = BoolAttr.from_bool(False)
