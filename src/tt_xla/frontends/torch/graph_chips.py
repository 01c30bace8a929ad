"""The chips that have the tensors of a graph. A compiled graph may copy tensors from one chip to another."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch.fx import Node

from tt_xla.frontends.torch.device.chips import DEVICE_TYPE


def _tensor(node: Node) -> torch.Tensor | None:
    """Returns the fake tensor of a node: for an op with several results, the first one."""
    value = node.meta.get("val")
    while isinstance(value, list | tuple):
        value = next((item for item in value if item is not None), None)
    return value if isinstance(value, torch.Tensor) else None


def chip_of(node: Node) -> int:
    """Returns the chip that has the result of a node; 0 for results on the host."""
    value = _tensor(node)
    return value.device.index or 0 if value is not None and value.device.type == DEVICE_TYPE else 0


def chips_of(nodes: Iterable[Node]) -> set[int]:
    """Returns the chips that have results of some nodes. Results on the host do not count."""
    values = [value for node in nodes if (value := _tensor(node)) is not None]
    return {value.device.index or 0 for value in values if value.device.type == DEVICE_TYPE}


def is_transfer(node: Node) -> bool:
    """Returns whether a node copies a tensor from one device to another."""
    value, source = _tensor(node), _tensor(node.all_input_nodes[0]) if node.all_input_nodes else None
    copies = node.target in (torch.ops.aten._to_copy.default, torch.ops.prims.device_put.default)
    return copies and value is not None and source is not None and value.device != source.device


__all__ = ["chip_of", "chips_of", "is_transfer"]
