"""Calls inference graphs without AOTAutograd's wrappers, which repair aliases and mutations that most graphs lack."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from tt_xla.frontends.torch.private.dispatcher import is_any_autocast_enabled
from tt_xla.frontends.torch.private.functorch import PlainTensorMeta, ViewAndMutationMeta
from tt_xla.frontends.torch.private.guards import forward_metadata


def needs_no_wrapper(graph_module: torch.fx.GraphModule, inputs: int) -> bool:
    """Returns whether AOTAutograd's graph can be called with dynamo's inputs as they are.

    Args:
        graph_module: AOTAutograd's inference graph.
        inputs: number of inputs of dynamo's graph.
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
    # An input that is passed twice is a single input of AOTAutograd's graph.
    same_inputs = len(graph_module.graph.find_nodes(op="placeholder")) == inputs
    return plain and same_inputs and not any(repairs)


def unwrapped(call: Callable[[list[Any]], Sequence[Any]]) -> Callable[..., Sequence[Any]]:
    """Returns a function of single arguments, as dynamo calls it, that calls ``call`` with a list."""

    def run(*args: Any) -> Sequence[Any]:
        return call([*args])

    return run
