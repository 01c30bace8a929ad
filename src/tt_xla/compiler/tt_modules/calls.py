"""Inlining of the functions that a TTIR function calls. The compiler chooses its const-eval functions itself."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tt_xla.compiler.locations import describe
from tt_xla.compiler.rewriting import body, functions
from tt_xla.errors import MalformedModuleError
from tt_xla.ir.control import subprograms
from tt_xla.ir.ttcore import LoadCachedOp


def inline(module: ModuleOp, entry: FuncOp) -> None:
    """Replaces calls by the bodies of their functions, and removes the functions that nothing needs then.

    Raises:
        MalformedModuleError: a function calls itself or one that does not exist, or a call does not fit its function.
    """
    by_name = {function.sym_name.data: function for function in functions(module)}
    kept = {entry.sym_name.data}
    done: set[str] = set()
    waiting = [entry.sym_name.data]
    while waiting:
        name = waiting.pop()
        if name in done:
            continue
        done.add(name)
        _inline_into(by_name[name], by_name, (name,))
        for op in body(by_name[name]).ops:
            loops = [callee for callee in subprograms(op) if callee in by_name]
            kept.update(loops)
            waiting += loops
    for name, function in by_name.items():
        if name not in kept:
            function.detach()
            function.erase(safe_erase=False)


def _inline_into(function: FuncOp, by_name: dict[str, FuncOp], path: tuple[str, ...]) -> None:
    for op in list(body(function).ops):
        if isinstance(op, CallOp | LoadCachedOp):
            callee = _callee(op, by_name, path)
            _inline_into(callee, by_name, (*path, callee.sym_name.data))
            _replace(op, callee)


def _callee(op: Operation, by_name: dict[str, FuncOp], path: tuple[str, ...]) -> FuncOp:
    symbol = op.properties["callee"]
    name = symbol.root_reference.data if isinstance(symbol, SymbolRefAttr) else str(symbol)
    if name in path:
        raise MalformedModuleError(
            f"Function @{name} calls itself: {' -> '.join((*path, name))}.", location=describe(op.location)
        )
    if name not in by_name:
        raise MalformedModuleError(
            f"'{op.name}' names the function @{name}, which the module does not have.",
            hint="Give the whole module.",
            location=describe(op.location),
        )
    return by_name[name]


def _replace(call: Operation, callee: FuncOp) -> None:
    """Replaces a call by a copy of its function's body."""
    block = body(callee)
    returned = block.last_op
    assert isinstance(returned, ReturnOp)
    taken = [value.type for value in block.args], [value.type for value in returned.operands]
    passed = [value.type for value in call.operands], [value.type for value in call.results]
    if taken != passed:
        raise MalformedModuleError(
            f"'{call.name}' passes {_types(passed[0])} and expects {_types(passed[1])}; function "
            f"@{callee.sym_name.data} takes {_types(taken[0])} and returns {_types(taken[1])}.",
            location=describe(call.location),
        )
    values: dict[SSAValue, SSAValue] = dict(zip(block.args, call.operands, strict=True))
    for op in block.ops:
        if op is not returned:
            Rewriter.insert_op(op.clone(values), InsertPoint.before(call))
    for old, value in zip(call.results, returned.operands, strict=True):
        old.replace_all_uses_with(values.get(value, value))
    call.detach()
    call.erase()


def _types(types: Sequence[Attribute]) -> str:
    return f"({', '.join(map(str, types))})"
