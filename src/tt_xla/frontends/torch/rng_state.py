"""Fake results for random ops that ``torch.utils.checkpoint`` runs twice from the same generator state."""

from __future__ import annotations

from typing import Any

import torch

from tt_xla.frontends.torch.private.ops import OpOverload


def describe_random_ops(graph_module: torch.fx.GraphModule) -> None:
    """Sets the fake results, which AOTAutograd's partitioner omits, of ops that save or restore a generator state."""
    nodes = graph_module.graph.nodes
    for node in nodes:
        if node.op != "call_function" or "val" in node.meta:
            continue
        if node.target is torch.ops.higher_order.run_and_save_rng_state:
            node.meta["val"] = (_state(nodes), _result(nodes, *node.args, **node.kwargs))
        elif node.target is torch.ops.higher_order.run_with_rng_state:
            state, *call = node.args
            state.meta.setdefault("val", _state(nodes))
            node.meta["val"] = _result(nodes, *call, **node.kwargs)
        elif "getitem" in node.name and node.args[0].target is torch.ops.higher_order.run_and_save_rng_state:
            node.meta["val"] = node.args[0].meta["val"][node.args[1]]


def _state(nodes: Any) -> torch.Tensor:
    size = torch.get_rng_state().shape
    with _fake_mode(nodes):
        return torch.empty(size, dtype=torch.uint8, device="cpu")


def _result(nodes: Any, op: OpOverload, *args: Any, **kwargs: Any) -> Any:
    args, kwargs = torch.fx.node.map_arg((args, kwargs), lambda argument: argument.meta["val"])
    with _fake_mode(nodes):
        return op(*args, **kwargs)


def _fake_mode(nodes: Any) -> Any:
    return next(value.fake_mode for node in nodes if hasattr(value := node.meta.get("val"), "fake_mode"))


__all__ = ["describe_random_ops"]
