"""Inference without AOTAutograd's wrappers: they repair aliases and mutations, and most graphs have none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from tt_xla.frontends.torch.private.dispatcher import is_any_autocast_enabled
from tt_xla.frontends.torch.private.functorch import PlainTensorMeta, ViewAndMutationMeta
from tt_xla.frontends.torch.private.guards import forward_metadata


def needs_no_wrapper(graph_module: torch.fx.GraphModule, inputs: int) -> bool:
    """Whether what AOTAutograd is about to wrap can be called with dynamo's inputs as they are.

    Args:
        graph_module: AOT's inference graph.
        inputs: how many inputs dynamo's graph has.
    """
    metadata: ViewAndMutationMeta | None = forward_metadata()
    if metadata is None or is_any_autocast_enabled():
        return False
    repairs = (
        metadata.num_outputs_aliased,
        metadata.num_mutated_inp_runtime_indices,
        metadata.num_intermediate_bases,
        metadata.dynamic_outputs,
        metadata.tokens,
        metadata.grad_enabled_mutation is not None,
    )
    subclasses = [*metadata.subclass_inp_meta, *metadata.subclass_fw_graph_out_meta]
    plain = all(isinstance(meta, PlainTensorMeta) for meta in subclasses)
    # An input that is given twice is a single one in AOT's graph.
    as_many = len(graph_module.graph.find_nodes(op="placeholder")) == inputs
    return plain and as_many and not any(repairs)


def unwrapped(call: Callable[[list[Any]], Sequence[Any]]) -> Callable[..., Sequence[Any]]:
    """A boxed call as dynamo calls it."""

    def run(*args: Any) -> Sequence[Any]:
        return call([*args])

    return run
