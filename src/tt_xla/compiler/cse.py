"""Ops that compute the same from the same operands become one."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.rewriter import Rewriter

from tt_xla.compiler.rewriting import body, functions, is_pure


def run(module: ModuleOp) -> None:
    for function in functions(module):
        seen: dict[tuple[Any, ...], list[Operation]] = {}
        for op in list(body(function).ops):
            if not op.results or op.regions or not is_pure(op):
                continue
            alike = seen.setdefault(_key(op), [])
            first = next((other for other in alike if _same(op, other)), None)
            if first is None:
                alike.append(op)
            else:
                Rewriter.replace_op(op, [], first.results)


def _key(op: Operation) -> tuple[Any, ...]:
    """What tells most ops apart, and hashes fast: the operands, or of ops without any all the rest."""
    return (type(op), *map(id, op.operands)) if op.operands else (type(op), *op.properties.items(), *op.result_types)


def _same(op: Operation, other: Operation) -> bool:
    return op.properties == other.properties and op.result_types == other.result_types
