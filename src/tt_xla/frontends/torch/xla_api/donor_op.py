"""The op ``torch.ops.xla.dynamo_set_buffer_donor_``, which donates a tensor in functions that dynamo compiles."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from tt_xla.frontends.torch.device import metrics
from tt_xla.frontends.torch.device.buffers import buffer_of
from tt_xla.frontends.torch.device.donation import donate, is_donated, release
from tt_xla.frontends.torch.private.ops import OpOverload

_LIBRARY = torch.library.Library("xla", "FRAGMENT")


@functools.cache
def register() -> OpOverload:
    """Registers the op, and returns it. Graphs keep it though nobody reads its result."""
    _LIBRARY.define("dynamo_set_buffer_donor_(Tensor t, bool should_donoate) -> Tensor")
    _LIBRARY.impl("dynamo_set_buffer_donor_", lambda t, should_donoate: t, "CompositeExplicitAutograd")
    _LIBRARY.impl("dynamo_set_buffer_donor_", _donate, "PrivateUse1")
    return torch.fx.node.has_side_effect(torch.ops.xla.dynamo_set_buffer_donor_.default)


def _donate(t: torch.Tensor, should_donoate: bool) -> torch.Tensor:
    """Donates a tensor of the device, and returns it."""
    donate(t, should_donoate)
    return t


def take_from(graph: torch.fx.Graph) -> dict[int, bool]:
    """Removes the op from a graph.

    Returns:
        For each input of the graph that it was applied to, by position, whether that is donated.
    """
    positions = {node: number for number, node in enumerate(graph.find_nodes(op="placeholder"))}
    donated: dict[int, bool] = {}
    for node in graph.find_nodes(op="call_function", target=register()):
        tensor, donates = node.args
        metrics.count(metrics.DONATIONS)
        if tensor in positions:
            donated[positions[tensor]] = donates
        node.replace_all_uses_with(tensor)
        graph.erase_node(node)
    return donated


def taking_donations(call: Callable[..., Any], donated: dict[int, bool]) -> Callable[..., Any]:
    """Returns a compiled function that releases the bytes of donated arguments.

    Args:
        call: the function.
        donated: what :func:`take_from` returned for its graph.
    """

    def run(*args: Any) -> Any:
        for position, donates in donated.items():
            donate(args[position], donates)
        tensors = [arg for arg in args if isinstance(arg, torch.Tensor) and arg.device.type == "tt"]
        read = [buffer_of(tensor).value for tensor in tensors if is_donated(tensor)]
        results = call(*args)
        release(read)
        return results

    return run
