"""Folding of transposes into matrix products, as in the gradients of weights."""

from __future__ import annotations

from xdsl.pattern_rewriter import PatternRewriter

from tt_xla.compiler.rewriting import pattern, producer, replace_with
from tt_xla.ir.base import only_user, shape
from tt_xla.ir.ttir.contraction import DotGeneralOp
from tt_xla.ir.ttir.structure import PermuteOp


@pattern(PermuteOp)
def transposed_product(op: PermuteOp, rewriter: PatternRewriter) -> None:
    """Rewrites the transpose of A B to Bᵀ Aᵀ: exchanging the operands exchanges the result's free dimensions."""
    product = producer(op.input, DotGeneralOp)
    if product is None or only_user(op.input) is not op:
        return
    batches = len(product.batch_dims_lhs)
    left = len(shape(product.lhs)) - batches - len(product.contract_dims_lhs)
    rank = len(shape(product.result))
    swapped = (*range(batches), *range(batches + left, rank), *range(batches, batches + left))
    if not 0 < left < rank - batches or op.permutation != swapped:
        return
    values = product.values()
    names = ("batch_dims", "contract_dims")
    exchanged = {f"{name}_lhs": values[f"{name}_rhs"] for name in names}
    exchanged |= {f"{name}_rhs": values[f"{name}_lhs"] for name in names}
    replace_with(rewriter, op, DotGeneralOp, [product.rhs, product.lhs], **exchanged)


PATTERNS = (transposed_product,)
