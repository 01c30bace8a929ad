"""Memory layout of activations that a forward pass saves for its backward pass: channels last.

Convolutions and pooling are channels last on the chip. The user never sees a result that only the backward pass reads,
so the forward program returns it in that order, and neither program permutes it. Graphs with symbolic sizes are left as
they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.fx import GraphModule, Node

from tt_xla.frontends.torch.graph.regions import MARK
from tt_xla.frontends.torch.private.dispatcher import storage_identity
from tt_xla.frontends.torch.private.fake import FakeTensor
from tt_xla.frontends.torch.private.guards import TracingContext, forward_metadata
from tt_xla.frontends.torch.private.ops import OpOverload

aten = torch.ops.aten

_LAYERS = {
    aten.convolution.default,
    aten.max_pool2d_with_indices.default,
    aten.avg_pool2d.default,
}
_ALIASES = {aten.alias.default, aten.detach.default, MARK}


def lay_out_saved(graph_module: GraphModule) -> None:
    """Sets the strides of the activations that AOTAutograd's forward graph saves for the backward graph.

    An activation that shares memory with anything but saved aliases of itself keeps its strides.
    """
    metadata = forward_metadata()
    if metadata is None:
        return
    returned = graph_module.graph.output_node().args[0]
    assert isinstance(returned, Sequence)
    saved = {node for node in returned[metadata.num_forward :] if isinstance(node, Node)}
    in_channels_last = _in_channels_last(graph_module)
    sharers: dict[int, list[Node]] = {}
    for node in graph_module.graph.nodes:
        value = node.meta.get("val")
        if isinstance(value, FakeTensor):
            sharers.setdefault(storage_identity(value), []).append(node)
    own = {node for node in returned[: metadata.num_forward] if isinstance(node, Node)}
    for nodes in sharers.values():
        if saved.isdisjoint(nodes) or not own.isdisjoint(nodes):
            continue
        if nodes[0] in in_channels_last and all(node.target in _ALIASES for node in nodes[1:]):
            for node in nodes:
                value = node.meta["val"]
                batch, channels, height, width = (int(size) for size in value.shape)
                strides = (channels * height * width, 1, width * channels, channels)
                node.meta["val"] = value.as_strided((batch, channels, height, width), strides)


def report_strides(graph_module: GraphModule) -> None:
    """Reports the strides of the forward graph's results to AOTAutograd: the backward graph's inputs have them."""
    context = TracingContext.try_get()
    if context is None or context.output_strides is None:
        return
    returned = graph_module.graph.output_node().args[0]
    assert isinstance(returned, Sequence)
    for node in returned:
        value = node.meta.get("val") if isinstance(node, Node) else None
        context.output_strides.append(
            tuple(int(stride) for stride in value.stride()) if isinstance(value, torch.Tensor) else None
        )


def take_strides(graph_module: GraphModule, inputs: Sequence[Any]) -> None:
    """Sets the strides of the backward graph's placeholders to those of the inputs that it will be called with."""
    for node, example in zip(graph_module.graph.find_nodes(op="placeholder"), inputs, strict=True):
        value = node.meta.get("val")
        if isinstance(value, torch.Tensor) and isinstance(example, torch.Tensor) and value.stride() != example.stride():
            node.meta["val"] = example


def _in_channels_last(graph_module: GraphModule) -> set[Node]:
    """Returns nodes with contiguous results [N, C, H, W]: convolutions, pooling, and elementwise ops on these."""
    layers: set[Node] = set()
    for node in graph_module.graph.nodes:
        layer = node
        if node.name.startswith("getitem"):
            (layer,) = node.all_input_nodes
        value = node.meta.get("val")
        if not isinstance(value, torch.Tensor) or value.dim() != 4:
            continue
        if not value.is_contiguous() or value.is_contiguous(memory_format=torch.channels_last):
            continue
        follows = _is_elementwise(node) and any(
            operand in layers and operand.meta["val"].shape == value.shape for operand in node.all_input_nodes
        )
        if layer.target in _LAYERS or follows:
            layers.add(node)
    return layers


def _is_elementwise(node: Node) -> bool:
    target = node.target
    return isinstance(target, OpOverload) and (target in _ALIASES or torch.Tag.pointwise in target.tags)


__all__ = ["lay_out_saved", "report_strides", "take_strides"]
