"""Gives each tensor operation of a captured graph one spelling, so that a pattern matches however the user wrote it.

``a + b``, ``torch.add(a, b)`` and ``a.add(b)`` are three kinds of FX nodes. They all become the last one.
"""

from __future__ import annotations

import operator
from typing import Any

import torch
from torch.fx import Graph, Node

_METHODS: dict[Any, str] = {
    operator.add: "add",
    operator.sub: "sub",
    operator.mul: "mul",
    operator.truediv: "div",
    operator.pow: "pow",
    operator.neg: "neg",
    operator.matmul: "matmul",
}
for _name in ("add", "sub", "mul", "div", "pow", "neg", "matmul", "mean", "sum", "sqrt", "rsqrt", "exp", "tanh"):
    _METHODS[getattr(torch, _name)] = _name
_METHODS |= {torch.square: "square", torch.sigmoid: "sigmoid", torch.softmax: "softmax", torch.erf: "erf"}

_COMMUTATIVE = ("add", "mul")
_CASTS = {"float": torch.float32, "double": torch.float64, "half": torch.float16, "bfloat16": torch.bfloat16}


def canonicalise(graph: Graph) -> None:
    """Rewrites the nodes of a graph in place. The graph computes the same."""
    for node in graph.nodes:
        if node.op == "call_function" and node.target in _METHODS:
            _as_method(node, _METHODS[node.target])
        if node.op == "call_method" and node.target in _CASTS and len(node.args) == 1 and not node.kwargs:
            node.args = (node.args[0], _CASTS[node.target])
            node.target = "to"
        if node.op == "call_method" and node.target == "square":
            node.target, node.args = "pow", (*node.args, 2)


def _as_method(node: Node, name: str) -> None:
    args = list(node.args)
    if name in _COMMUTATIVE and len(args) == 2 and not _is_tensor(args[0]) and _is_tensor(args[1]):
        args.reverse()
    if args and _is_tensor(args[0]) and "out" not in node.kwargs:
        node.op, node.target, node.args = "call_method", name, tuple(args)


def _is_tensor(value: Any) -> bool:
    """Returns whether an argument is a tensor. Nodes of a pattern carry no example value, so each counts as one."""
    if not isinstance(value, Node):
        return False
    return isinstance(value.meta["example_value"], torch.Tensor) if "example_value" in value.meta else True
