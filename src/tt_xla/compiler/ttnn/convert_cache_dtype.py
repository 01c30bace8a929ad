"""Pass: caches of keys and values have the element type that the option ``experimental_kv_cache_dtype`` names.

A cache is what a cache write writes to. An input of the program that is a cache arrives in the option's type, every
write returns it, attention reads it, and the program returns it; whoever passes the cache converts it at the boundary,
once, as the declared type stays. Other ops read a copy in the cache's former type.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue, Use
from xdsl.rewriter import InsertPoint, Rewriter

from tt_xla.compiler.analysis.constness import argument_role
from tt_xla.compiler.rewriting import body, functions, is_entry
from tt_xla.ir.abstract.cache import CacheOp
from tt_xla.ir.base import shape
from tt_xla.ir.layout import DataType
from tt_xla.ir.program import Role
from tt_xla.ir.ttnn.attention import FillCacheOp, ScaledDotProductAttentionDecodeOp, ScaledDotProductAttentionOp
from tt_xla.ir.ttnn.attributes import laid_out, layout_of
from tt_xla.ir.ttnn.memory import TypecastOp

_ATTENTION = (ScaledDotProductAttentionOp, ScaledDotProductAttentionDecodeOp)
"""Ops that read keys and values, their operands 1 and 2, in another type than the queries."""


def run(module: ModuleOp, dtype: DataType) -> None:
    """Converts the caches of every entry function.

    Args:
        module: TTNN module that is changed in place.
        dtype: Element type of the caches.
    """
    for function in functions(module):
        if is_entry(function):
            for cache, former in _converted(function, dtype).items():
                _restore(cache, former)
            function.update_function_type()


def _converted(function: FuncOp, dtype: DataType) -> dict[SSAValue, DataType]:
    """Converts the caches of a function before and after each write. Returns their former types by cache."""
    former: dict[SSAValue, DataType] = {}
    for op in list(body(function).ops):
        if not isinstance(op, CacheOp) or op.result is None:
            continue
        before = layout_of(op.result).dtype
        if not before.is_float or before is dtype:
            continue
        if op.cache not in former:
            former[_convert_first(function, op, dtype)] = before
        if isinstance(op, FillCacheOp):  # it copies tiles as they are
            op.operands[1] = _typecast(op.input, dtype, op)
        former[_retyped(op.result, dtype)] = before
    return former


def _convert_first(function: FuncOp, op: CacheOp, dtype: DataType) -> SSAValue:
    """Converts the cache before its first write, in place if it is an input of the program, and returns it."""
    cache = op.cache
    is_argument = isinstance(cache, BlockArgument) and argument_role(function, cache.index) is Role.INPUT
    if is_argument and layout_of(cache).tiled:
        return _retyped(cache, dtype)
    op.operands[0] = _typecast(cache, dtype, op)
    return op.operands[0]


def _restore(cache: SSAValue, former: DataType) -> None:
    """Lets ops that read a cache in its former type alone read a copy in that type."""
    uses = [use for use in cache.uses if not _takes_any_type(use)]
    block = cache.block if isinstance(cache, BlockArgument) else cache.owner.parent_block()
    assert block is not None
    operations = {use.operation for use in uses}
    first = next((op for op in block.ops if op in operations), None)
    if first is None:
        return
    copy = _typecast(cache, former, first)
    for use in uses:
        use.operation.operands[use.index] = copy


def _takes_any_type(use: Use) -> bool:
    """Returns whether an op takes a cache in the option's type."""
    op = use.operation
    if isinstance(op, CacheOp):
        return use.index == 0
    return isinstance(op, ReturnOp) or (isinstance(op, _ATTENTION) and use.index in (1, 2))


def _retyped(value: SSAValue, dtype: DataType) -> SSAValue:
    """Changes the element type of a value, and returns the value that replaces it."""
    assert isinstance(value, BlockArgument | OpResult)
    return Rewriter.replace_value_with_new_type(value, laid_out(shape(value), layout_of(value).retyped(dtype)))


def _typecast(value: SSAValue, dtype: DataType, before: Operation) -> SSAValue:
    """Returns a copy of a value in another type, made before an op."""
    if layout_of(value).dtype is dtype:
        return value
    cast = TypecastOp.make([value], [laid_out(shape(value), layout_of(value).retyped(dtype))], before.location)
    Rewriter.insert_op(cast, InsertPoint.before(before))
    return cast.results[0]
