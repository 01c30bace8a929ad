"""Common subexpression elimination: ops that compute the same from the same operands become one."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.rewriter import Rewriter

from tt_xla.compiler.rewriting import body, functions, is_pure


def run(module: ModuleOp) -> None:
    """Merges equal pure ops within each function."""
    for function in functions(module):
        seen: dict[tuple[Any, ...], list[Operation]] = {}
        for op in list(body(function).ops):
            if not op.results or op.regions or not is_pure(op):
                continue
            candidates = seen.setdefault(_key(op), [])
            first = next((other for other in candidates if _same(op, other)), None)
            if first is None:
                candidates.append(op)
            else:
                Rewriter.replace_op(op, [], first.results)


def _key(op: Operation) -> tuple[Any, ...]:
    """Returns a key that hashes fast and separates most ops: the operands, or all properties of ops without
    operands."""
    return (type(op), *map(id, op.operands)) if op.operands else (type(op), *op.properties.items(), *op.result_types)


def _same(op: Operation, other: Operation) -> bool:
    """Returns whether two ops have the same properties and result types."""
    return op.properties == other.properties and op.result_types == other.result_types
