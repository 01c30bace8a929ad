"""Outputs of a graph that are views of its inputs or of other outputs.

Two outputs that share memory in eager mode share it here too, a view of an input costs no program, and a result has the
strides that it has in eager mode: the program returns the elements in the order in which they are in memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch.fx import Node

from tt_xla.frontends.torch import symbolic
from tt_xla.frontends.torch.device.buffers import new_tensor_on
from tt_xla.frontends.torch.device.chips import DEVICE_TYPE
from tt_xla.frontends.torch.device.geometry import memory_order
from tt_xla.frontends.torch.private.dispatcher import storage_identity


@dataclass(frozen=True)
class OutputView:
    """A view of a graph's input or of a program's result.

    In a graph with symbolic sizes, sizes, strides and offset are expressions, and :meth:`of_values` gives the view of
    a call.

    Attributes:
        of_input: whether the base is an input of the graph; otherwise it is a result of the program.
        index: index of the base among the inputs or the results.
        size: sizes of the view.
        stride: strides of the view, in elements.
        offset: position of the view's first element, counted from the first element of the base.
    """

    of_input: bool
    index: int
    size: tuple[Any, ...]
    stride: tuple[Any, ...]
    offset: Any

    def of_values(self, value_of: Callable[[Any], int]) -> OutputView:
        """Returns the view whose sizes, strides and offset are the values of the expressions."""
        size, stride = (tuple(map(value_of, sizes)) for sizes in (self.size, self.stride))
        return replace(self, size=size, stride=stride, offset=value_of(self.offset))

    def of(self, base: torch.Tensor) -> torch.Tensor:
        """Returns the view of ``base``. Autograd knows no base of it, so users may write to it as to any output."""
        offset = base.storage_offset() + self.offset
        if base.device.type == DEVICE_TYPE:
            return new_tensor_on(base.untyped_storage(), base.dtype, self.size, self.stride, offset)
        view = torch.empty(0, dtype=base.dtype, device=base.device)
        return view.set_(base.untyped_storage(), offset, self.size, self.stride)


def assembled(
    outputs: Sequence[tuple[str, Any]],
    args: Sequence[Any],
    results: Sequence[torch.Tensor],
    value_of: Callable[[Any], int] = int,
) -> list[Any]:
    """Returns the outputs of a graph.

    Args:
        outputs: how each output is obtained (``Lowered.outputs``).
        args: inputs of the graph.
        results: results of its program.
        value_of: computes the value of a symbolic size.
    """
    found: list[Any] = []
    for kind, value in outputs:
        if kind == "result":
            found.append(results[value])
        elif kind == "input":
            found.append(args[value])
        elif kind == "number":
            found.append(value(args))
        elif kind == "view":
            view = value.of_values(value_of)
            found.append(view.of(args[view.index] if view.of_input else results[view.index]))
        else:
            found.append(value_of(value) if kind == "size" else value)
    return found


def views_of_bases(
    nodes: Sequence[Node], returned: Sequence[Node], written: Collection[Node]
) -> dict[Node, tuple[Node, OutputView]]:
    """Finds outputs that share memory with another output or with an input.

    Args:
        nodes: all nodes of the graph, in order.
        returned: nodes that the graph returns.
        written: inputs that are written after the program has run; outputs are no views of these.

    Returns:
        For each such output, the node whose memory it shares, and the view. The caller sets the view's ``index``.
    """
    makers: dict[int, Node] = {}
    for node in nodes:
        if isinstance(node.meta.get("val"), torch.Tensor) and node.op != "get_attr":
            makers.setdefault(_memory(node), node)
    sharing: dict[Node, list[Node]] = {}
    for node in dict.fromkeys(returned):
        if isinstance(node.meta.get("val"), torch.Tensor) and node.op != "get_attr":
            sharing.setdefault(makers[_memory(node)], []).append(node)
    views: dict[Node, tuple[Node, OutputView]] = {}
    for base, sharers in sharing.items():
        alone = len(sharers) == 1 and (sharers[0] is base or _elements(sharers[0]) < _elements(base))
        if base.op == "placeholder":
            alone = base in written
        if alone or (base.op != "placeholder" and memory_permutation(base.meta["val"]) is None):
            continue
        for node in sharers:
            if node is not base and _is_plain_view(node.meta["val"], base.meta["val"]):
                views[node] = (base, _view(node.meta["val"], base))
    return views


def memory_permutation(value: torch.Tensor) -> list[int] | None:
    """Returns the dimensions from the outermost in memory to the innermost.

    The result is None where the elements of ``value`` do not fill one range from the start of its storage.
    """
    number = symbolic.hint if symbolic.is_active() else int
    if number(value.storage_offset()):
        return None
    order = memory_order([*map(number, value.shape)], [*map(number, value.stride())])
    return None if order is None else list(order)


def _memory(node: Node) -> int:
    """Returns a number that identifies the memory of a node's result."""
    return storage_identity(node.meta["val"])


def _is_plain_view(value: Any, base: Any) -> bool:
    return value.dtype is base.dtype and not any(each.is_conj() or each.is_neg() for each in (value, base))


def _elements(node: Node) -> int:
    return math.prod(map(symbolic.hint, node.meta["val"].shape))


def _view(value: torch.Tensor, base: Node) -> OutputView:
    offset = symbolic.size(value.storage_offset()) - symbolic.size(base.meta["val"].storage_offset())
    size, stride = (tuple(map(symbolic.size, sizes)) for sizes in (value.shape, value.stride()))
    return OutputView(base.op == "placeholder", 0, size, stride, offset)
