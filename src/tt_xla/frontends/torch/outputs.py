"""Outputs of a graph that are views of its inputs or of other outputs.

Two outputs that share memory in eager mode share it here too, a view of an input costs no program, and a result has the
strides that it has in eager mode: the program returns the elements in the order in which they are in memory.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import Node

from tt_xla.frontends.torch.device.buffers import new_tensor_on
from tt_xla.frontends.torch.device.chips import DEVICE_TYPE
from tt_xla.frontends.torch.device.geometry import memory_order
from tt_xla.frontends.torch.private.dispatcher import storage_identity


@dataclass(frozen=True)
class OutputView:
    """A view of a graph's input or of a program's result.

    Attributes:
        of_input: whether the base is an input of the graph; otherwise it is a result of the program.
        index: index of the base among the inputs or the results.
        size: sizes of the view.
        stride: strides of the view, in elements.
        offset: position of the view's first element, counted from the first element of the base.
    """

    of_input: bool
    index: int
    size: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int

    def of(self, base: torch.Tensor) -> torch.Tensor:
        """Returns the view of ``base``. Autograd knows no base of it, so users may write to it as to any output."""
        offset = base.storage_offset() + self.offset
        if base.device.type == DEVICE_TYPE:
            return new_tensor_on(base.untyped_storage(), base.dtype, self.size, self.stride, offset)
        view = torch.empty(0, dtype=base.dtype, device=base.device)
        return view.set_(base.untyped_storage(), offset, self.size, self.stride)


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
        alone = len(sharers) == 1 and (sharers[0] is base or sharers[0].meta["val"].numel() < base.meta["val"].numel())
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
    if int(value.storage_offset()):
        return None
    order = memory_order([int(size) for size in value.shape], [int(step) for step in value.stride()])
    return None if order is None else list(order)


def _memory(node: Node) -> int:
    """Returns a number that identifies the memory of a node's result."""
    return storage_identity(node.meta["val"])


def _is_plain_view(value: Any, base: Any) -> bool:
    return value.dtype is base.dtype and not value.dtype.is_complex and not value.is_neg()


def _view(value: torch.Tensor, base: Node) -> OutputView:
    offset = int(value.storage_offset()) - int(base.meta["val"].storage_offset())
    size, stride = tuple(int(s) for s in value.shape), tuple(int(s) for s in value.stride())
    return OutputView(base.op == "placeholder", 0, size, stride, offset)
