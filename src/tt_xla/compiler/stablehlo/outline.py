"""StableHLO ops as a module of their own, with all that they need: regions, called functions, constants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import func

_CONSTANTS = ("stablehlo.constant", "stablehlo.iota")
_OF_CONSTANTS = ("stablehlo.broadcast_in_dim", "stablehlo.reshape", "stablehlo.convert", "stablehlo.transpose")
_CALLEES = ("callee", "decomposition", "called_computations")


def outline(op: Any, functions: Mapping[str, Any]) -> tuple[Any, list[Any]]:
    """A module whose ``@main`` is ``op``, and the values that its arguments stand for.

    Constants come along. So do the functions that are called.
    """
    return outline_all([op], list(op.results), functions)


def outline_all(ops: Sequence[Any], results: Sequence[Any], functions: Mapping[str, Any]) -> tuple[Any, list[Any]]:
    """A module whose ``@main`` is some ops of one block, in order, and returns ``results`` of them; see outline."""
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
                    continue  # a constant that came along
                clone = _copy(op.operation, block, copied, arguments)
                copied |= zip(op.results, clone.results, strict=True)
            func.ReturnOp([copied[result] for result in results])
        taken = [argument.type for argument in arguments]
        main.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(taken, types))
        _bring_functions(module, functions)
    return module, arguments


def _copy(op: Any, block: Any, copied: dict[Any, Any], arguments: list[Any]) -> Any:
    """Clones an op to the end of a block; what it uses from outside becomes an argument or comes along."""
    inside = _defined_inside(op)
    for value in _used(op):
        if value in inside or value in copied:
            continue
        if is_constant(value):
            made = _copy(value.owner.operation, block, copied, arguments)
            copied[value] = made.results[0]
        else:
            arguments.append(value)
            copied[value] = block.add_argument(value.type, op.location)
    clone = op.clone().operation
    _rewire(clone, copied)
    return clone


def is_constant(value: Any) -> bool:
    """Whether a value is made of constants alone by ops that move and convert them."""
    op = getattr(value.owner, "operation", None)
    if op is None:
        return False
    return op.name in _CONSTANTS or (op.name in _OF_CONSTANTS and is_constant(op.operands[0]))


def walk(op: Any) -> list[Any]:
    """An op and all that is in its regions."""
    found: list[Any] = []

    def visit(inner: Any) -> Any:
        found.append(inner.operation)
        return ir.WalkResult.ADVANCE

    op.walk(visit)
    return found


def _defined_inside(op: Any) -> set[Any]:
    if not len(op.regions):
        return set()
    found: set[Any] = set()
    for inner in walk(op):
        found.update(inner.results)
        for region in inner.regions:
            for block in region.blocks:
                found.update(block.arguments)
    return found


def _used(op: Any) -> list[Any]:
    ops = walk(op) if len(op.regions) else [op]
    return list(dict.fromkeys(operand for inner in ops for operand in inner.operands))


def _rewire(op: Any, copied: Mapping[Any, Any]) -> None:
    for inner in walk(op) if len(op.regions) else [op]:
        for place, operand in enumerate(inner.operands):
            if operand in copied:
                inner.operands[place] = copied[operand]


def _bring_functions(module: Any, functions: Mapping[str, Any]) -> None:
    present = {"main"}
    waiting = _called(module.operation)
    while waiting:
        name = waiting.pop()
        if name in present or name not in functions:
            continue
        present.add(name)
        with ir.InsertionPoint(module.body):
            clone = functions[name].operation.clone().operation
        clone.attributes["sym_visibility"] = ir.StringAttr.get("private")
        waiting |= _called(clone)


def _called(op: Any) -> set[str]:
    found: set[str] = set()
    for inner in walk(op):
        for name in _CALLEES:
            if name in inner.attributes:
                attribute = inner.attributes[name]
                found.update(str(item).lstrip("@") for item in (attribute if name == _CALLEES[2] else (attribute,)))
    return found
