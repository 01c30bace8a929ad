"""What a forward pass keeps for its backward pass lies in memory as the program computes it: channels last.

Convolutions and pooling are channels last on the chip. A result that only the backward pass reads is nobody's to look
at, so it is returned in that order, and neither program permutes it.
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
    """Gives the activations that AOTAutograd's forward graph saves for the backward graph the strides they will have.

    Only those change that nothing else shares memory with, but for aliases that are saved too.
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
    """Tells AOTAutograd what strides the results of the forward graph have, for the backward graph's inputs."""
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
    """Gives the backward graph's placeholders the strides of what it will be called with."""
    for node, given in zip(graph_module.graph.find_nodes(op="placeholder"), inputs, strict=True):
        value = node.meta.get("val")
        if isinstance(value, torch.Tensor) and isinstance(given, torch.Tensor) and value.stride() != given.stride():
            node.meta["val"] = given


def _in_channels_last(graph_module: GraphModule) -> set[Node]:
    """Contiguous results [N, C, H, W] of convolutions and pooling, and of elementwise ops on such."""
    found: set[Node] = set()
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
            given in found and given.meta["val"].shape == value.shape for given in node.all_input_nodes
        )
        if layer.target in _LAYERS or follows:
            found.add(node)
    return found


def _is_elementwise(node: Node) -> bool:
    target = node.target
    return isinstance(target, OpOverload) and (target in _ALIASES or torch.Tag.pointwise in target.tags)


__all__ = ["lay_out_saved", "report_strides", "take_strides"]
