"""Outlining: copies StableHLO ops, with the functions and constants that they use, into a module of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import func

_CONSTANTS = ("stablehlo.constant", "stablehlo.iota")
_MOVES = ("stablehlo.broadcast_in_dim", "stablehlo.reshape", "stablehlo.convert", "stablehlo.transpose")
_CALLEES = ("callee", "decomposition", "called_computations")


def outline(op: Any, functions: Mapping[str, Any]) -> tuple[Any, list[Any]]:
    """Copies one op into a new module; see :func:`outline_all`."""
    return outline_all([op], list(op.results), functions)


def outline_all(ops: Sequence[Any], results: Sequence[Any], functions: Mapping[str, Any]) -> tuple[Any, list[Any]]:
    """Copies ops into a new module whose ``@main`` runs them.

    Constants that the ops use, and functions that they call, are copied too.

    Args:
        ops: ops of one block, in order.
        results: results of the ops that ``@main`` returns.
        functions: functions of the ops' module by name.

    Returns:
        The module, and the values outside it that the arguments of ``@main`` stand for.
    """
    arguments: list[Any] = []
    copied: dict[Any, Any] = {}
    with ops[0].operation.context, ir.Location.unknown():
        module: Any = ir.Module.create()
        types = [result.type for result in results]
        with ir.InsertionPoint(module.body):
            main = func.FuncOp("main", ([], types))
        block = main.add_entry_block()
        with ir.InsertionPoint(block):
            for op in ops:
                if any(result in copied for result in op.results):
                    continue  # a constant that was copied for an earlier op
                clone = _copy(op.operation, block, copied, arguments)
                copied |= zip(op.results, clone.results, strict=True)
            func.ReturnOp([copied[result] for result in results])
        argument_types = [argument.type for argument in arguments]
        main.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(argument_types, types))
        _copy_functions(module, functions)
    return module, arguments


def _copy(op: Any, block: Any, copied: dict[Any, Any], arguments: list[Any]) -> Any:
    """Clones an op to the end of a block.

    Args:
        copied: copies of values by original; values that the op uses from outside are added. A constant is copied, any
            other value becomes an argument of the block.
        arguments: receives the values that became arguments.
    """
    inside = _defined_inside(op)
    for value in used_values(op):
        if value in inside or value in copied:
            continue
        if is_constant(value):
            constant = _copy(value.owner.operation, block, copied, arguments)
            copied[value] = constant.results[0]
        else:
            arguments.append(value)
            copied[value] = block.add_argument(value.type, op.location)
    clone = op.clone().operation
    _rewire(clone, copied)
    return clone


def is_constant(value: Any) -> bool:
    """Whether a value is computed from constants only, by ops that move or convert their elements."""
    op = getattr(value.owner, "operation", None)
    if op is None:
        return False
    return op.name in _CONSTANTS or (op.name in _MOVES and is_constant(op.operands[0]))


def walk(op: Any) -> list[Any]:
    """Returns all ops in the regions of an op, inner ones before outer ones, and the op itself as the last one."""
    ops: list[Any] = []

    def visit(inner: Any) -> Any:
        ops.append(inner.operation)
        return ir.WalkResult.ADVANCE

    op.walk(visit)
    return ops


def _defined_inside(op: Any) -> set[Any]:
    """Returns the results and block arguments in the regions of an op, and its own results."""
    if not len(op.regions):
        return set()
    defined: set[Any] = set()
    for inner in walk(op):
        defined.update(inner.results)
        for region in inner.regions:
            for block in region.blocks:
                defined.update(block.arguments)
    return defined


def used_values(op: Any) -> list[Any]:
    """Returns the operands of an op and of the ops in its regions, in order, each once."""
    ops = walk(op) if len(op.regions) else [op]
    return list(dict.fromkeys(operand for inner in ops for operand in inner.operands))


def _rewire(op: Any, copied: Mapping[Any, Any]) -> None:
    """Replaces the operands of an op, and of the ops in its regions, by their copies."""
    for inner in walk(op) if len(op.regions) else [op]:
        for index, operand in enumerate(inner.operands):
            if operand in copied:
                inner.operands[index] = copied[operand]


def _copy_functions(module: Any, functions: Mapping[str, Any]) -> None:
    """Copies every function that the module calls, directly or not, into it as a private one."""
    present = {"main"}
    pending = _called(module.operation)
    while pending:
        name = pending.pop()
        if name in present or name not in functions:
            continue
        present.add(name)
        with ir.InsertionPoint(module.body):
            clone = functions[name].operation.clone().operation
        clone.attributes["sym_visibility"] = ir.StringAttr.get("private")
        pending |= _called(clone)


def _called(op: Any) -> set[str]:
    """Returns the names of functions that an op, or an op in its regions, refers to."""
    names: set[str] = set()
    for inner in walk(op):
        for name in _CALLEES:
            if name in inner.attributes:
                attribute = inner.attributes[name]
                names.update(str(item).lstrip("@") for item in (attribute if name == _CALLEES[2] else (attribute,)))
    return names
