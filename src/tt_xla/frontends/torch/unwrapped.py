"""Calls inference graphs without AOTAutograd's wrappers, which repair aliases and mutations that most graphs lack.

The one repair that is made here is that of inputs whose contents a graph changes, such as a language model's cache.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.autograd.graph import increment_version

from tt_xla.frontends.torch.device.chips import DEVICE_TYPE
from tt_xla.frontends.torch.private.functorch import PlainTensorMeta
from tt_xla.frontends.torch.private.guards import forward_metadata


def updated_inputs(graph_module: torch.fx.GraphModule, inputs: int) -> tuple[int, ...] | None:
    """Returns which of dynamo's inputs a graph changes, if it can be called with them as they are.

    Args:
        graph_module: AOTAutograd's inference graph.
        inputs: number of inputs of dynamo's graph.

    Returns:
        Positions of the inputs; the graph's first outputs are their new contents. None if the graph needs AOTAutograd's
        wrappers.
    """
    metadata = forward_metadata()
    if metadata is None or any(map(torch.is_autocast_enabled, ("cpu", DEVICE_TYPE))):
        return None
    updated = metadata.mutated_inp_runtime_indices
    repairs = (
        metadata.num_outputs_aliased,
        metadata.num_intermediate_bases,
        metadata.dynamic_outputs,
        metadata.tokens,
        metadata.grad_enabled_mutation is not None,
        not all(_changes_contents_alone(metadata.input_info[position]) for position in updated),
    )
    subclasses = [*metadata.subclass_inp_meta, *metadata.subclass_fw_graph_out_meta]
    plain = all(isinstance(meta, PlainTensorMeta) for meta in subclasses)
    # An input that is passed twice is a single input of AOTAutograd's graph, as are views of a tensor that is changed.
    same_inputs = len(graph_module.graph.find_nodes(op="placeholder")) == inputs == len(metadata.input_info)
    return tuple(updated) if plain and same_inputs and not any(repairs) else None


def _changes_contents_alone(info: Any) -> bool:
    return info.mutates_data and not info.mutates_metadata and not info.requires_grad


def unwrapped(call: Callable[[list[Any]], Sequence[Any]], updated: Sequence[int] = ()) -> Callable[..., Sequence[Any]]:
    """Returns a function of single arguments, as dynamo calls it, that calls ``call`` with a list.

    Args:
        call: the compiled graph.
        updated: positions of the arguments whose new contents are the first results of ``call``.
    """
    if not updated:
        return lambda *args: call([*args])

    def run(*args: Any) -> Sequence[Any]:
        results = call([*args])
        for position, contents in zip(updated, results, strict=False):
            argument = args[position]
            if contents is argument:
                increment_version(argument)
            else:
                argument.copy_(contents)
        return results[len(updated) :]

    return run
