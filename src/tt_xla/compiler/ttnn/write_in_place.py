"""Pass: writes to caches go to the memory of their operand, as tt-mlir's ops do, which have no result.

Up to here such an op returns a new value, so that every pass may treat it like any other op. Now its operand replaces
its result, provided that nothing else reads the operand and that the program may write to its memory: an argument that
the caller gives up, or the result of an earlier write. Otherwise a copy is written to.
"""

from __future__ import annotations

from xdsl.dialects.builtin import DictionaryAttr, ModuleOp, UnitAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tt_xla.compiler.analysis.constness import argument_role
from tt_xla.compiler.rewriting import body, functions, is_entry, is_forward
from tt_xla.cost.sharding import sharded
from tt_xla.ir.abstract.cache import CacheOp
from tt_xla.ir.base import shape
from tt_xla.ir.layout import MemoryLayout
from tt_xla.ir.program import DONOR, KV_CACHE, Role
from tt_xla.ir.ttnn.attention import PagedUpdateCacheOp
from tt_xla.ir.ttnn.attributes import laid_out, layout_of
from tt_xla.ir.ttnn.memory import AssignOp, ToMemoryConfigOp
from tt_xla.target import Target


def run(module: ModuleOp, target: Target) -> None:
    """Makes the cache writes of every forward function work in place."""
    for function in functions(module):
        if not is_forward(function):
            continue
        writable: set[SSAValue] = {argument for argument in body(function).args if _is_given_up(function, argument)}
        ops = [op for op in body(function).ops if isinstance(op, CacheOp) and op.result is not None]
        alone = {op for op in ops if len(list(op.cache.uses)) == 1}
        for op in ops:
            writable.add(_write(op, target, in_place=op in alone and op.cache in writable))
        for argument in body(function).args:
            if any(isinstance(use.operation, CacheOp) and use.index == 0 for use in argument.uses):
                _mark(function, argument)


def _write(op: CacheOp, target: Target, *, in_place: bool) -> SSAValue:
    """Drops the result of a cache write and returns what replaces it: its operand, or a copy of that."""
    result, cache = op.result, op.cache
    assert result is not None
    if not in_place or cache.type != result.type:
        copy = AssignOp.make([cache], [result.type], op.location)
        Rewriter.insert_op(copy, InsertPoint.before(op))
        cache = op.operands[0] = copy.results[0]
    operands = list(op.operands)
    if isinstance(op, PagedUpdateCacheOp):
        operands[1] = _on_cores(op, target)
    write = type(op).create(operands=operands, properties=dict(op.properties), location=op.location)
    Rewriter.insert_op(write, InsertPoint.before(op))
    result.replace_all_uses_with(cache)
    Rewriter.erase_op(op)
    return cache


def _on_cores(op: PagedUpdateCacheOp, target: Target) -> SSAValue:
    """Returns the new rows with each sequence on a core of its own, as TT-NN requires."""
    layout = layout_of(op.input)
    sharded_layout = sharded(
        shape(op.input), layout.dtype, MemoryLayout.HEIGHT_SHARDED, (shape(op.input)[1], 1), target
    )
    if layout == sharded_layout:
        return op.input
    moved = ToMemoryConfigOp.make([op.input], [laid_out(shape(op.input), sharded_layout)], op.location)
    Rewriter.insert_op(moved, InsertPoint.before(op))
    return moved.results[0]


def _is_given_up(function: FuncOp, argument: BlockArgument) -> bool:
    """Returns whether the caller gives up an input of an entry function."""
    if not is_entry(function) or function.arg_attrs is None:
        return False
    return (
        DONOR in function.arg_attrs.data[argument.index].data and argument_role(function, argument.index) is Role.INPUT
    )


def _mark(function: FuncOp, argument: BlockArgument) -> None:
    """Marks an argument as written to, with tt-mlir's attribute."""
    if not is_entry(function):
        return
    assert function.arg_attrs is not None
    attributes = list(function.arg_attrs.data)
    attributes[argument.index] = DictionaryAttr(dict(attributes[argument.index].data) | {KV_CACHE: UnitAttr()})
    function.arg_attrs = type(function.arg_attrs)(attributes)
