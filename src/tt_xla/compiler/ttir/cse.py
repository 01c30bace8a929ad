"""Ops that compute the same from the same operands become one."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.rewriter import Rewriter
from xdsl.traits import Pure

from tt_xla.compiler.rewriting import body, functions


def run(module: ModuleOp) -> None:
    for function in functions(module):
        seen: dict[tuple[Any, ...], Operation] = {}
        for op in list(body(function).ops):
            if not op.results or op.regions or not op.has_trait(Pure):
                continue
            first = seen.setdefault(_key(op), op)
            if first is not op:
                Rewriter.replace_op(op, [], first.results)


def _key(op: Operation) -> tuple[Any, ...]:
    return (type(op), *op.operands, *op.properties.items(), *op.result_types)
