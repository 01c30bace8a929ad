"""Pass of level 1: reshapes of tiles go by way of rows where that is predicted to be faster.

A reshape that moves elements between tiles takes each row apart. Between an untilize and a tilize it copies whole rows,
or nothing where the last dimension stays. A result of the program needs no tilize: it is returned in rows.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tt_xla.compiler.reshape_routes import by_rows, row_major
from tt_xla.compiler.rewriting import body, functions, is_entry, is_forward
from tt_xla.ir.base import shape
from tt_xla.ir.program import TensorSpec
from tt_xla.ir.ttnn.attributes import laid_out, layout_of
from tt_xla.ir.ttnn.memory import ToLayoutOp
from tt_xla.ir.ttnn.structure import ReshapeOp
from tt_xla.target import Target


def run(module: ModuleOp, target: Target) -> None:
    """Chooses the way of every reshape outside of const-eval functions."""
    for function in functions(module):
        if not is_forward(function):
            continue
        untilized: dict[SSAValue, SSAValue] = {}
        for op in list(body(function).ops):
            if isinstance(op, ReshapeOp):
                _choose(op, untilized, target, is_entry=is_entry(function))
        function.update_function_type()


def _choose(op: ReshapeOp, untilized: dict[SSAValue, SSAValue], target: Target, *, is_entry: bool) -> None:
    """Replaces a reshape of tiles by one of rows if that is faster.

    Args:
        op: The reshape.
        untilized: Rows of values that earlier reshapes read, which this function adds to.
        target: Chip whose times are predicted.
        is_entry: Whether the caller of the function takes its results in rows.
    """
    before, after = (TensorSpec(shape(value), layout_of(value)) for value in (op.input, op.result))
    uses = [use.operation for use in op.result.uses]
    stays_in_rows = bool(uses) and all(_takes_rows(use, is_entry=is_entry) for use in uses)
    if not by_rows(before, after, target, ends_in_tiles=not stays_in_rows):
        return
    source = untilized.get(op.input)
    if source is None:
        conversion = ToLayoutOp.make([op.input], [_type(row_major(before))], op.location)
        Rewriter.insert_op(conversion, InsertPoint.before(op))
        source = untilized[op.input] = conversion.results[0]
    reshape = ReshapeOp.make([source], [_type(row_major(after))], op.location, shape=after.shape)
    Rewriter.insert_op(reshape, InsertPoint.before(op))
    result = reshape.results[0]
    if not stays_in_rows:
        conversion = ToLayoutOp.make([result], [op.result.type], op.location)
        Rewriter.insert_op(conversion, InsertPoint.before(op))
        result = conversion.results[0]
    for use in uses:
        if stays_in_rows and isinstance(use, ToLayoutOp) and use.results[0].type == result.type:
            use.results[0].replace_all_uses_with(result)
            Rewriter.erase_op(use)
    op.result.replace_all_uses_with(result)
    Rewriter.erase_op(op)


def _takes_rows(use: Operation, *, is_entry: bool) -> bool:
    """Returns whether a user of a tensor reads rows as well as tiles."""
    if isinstance(use, ReturnOp):
        return is_entry
    if not isinstance(use, ToLayoutOp):
        return False
    before, after = layout_of(use.input), layout_of(use.results[0])
    return not after.tiled and after == before.with_(shape(use.input), tiled=False)


def _type(spec: TensorSpec) -> Attribute:
    """Returns the type of a tensor."""
    return laid_out(spec.shape, spec.layout)
