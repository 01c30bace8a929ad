"""Names and roles of a graph's inputs: parameters, buffers and the user's arguments."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import torch

from tt_xla.frontends.torch.lowering import Argument
from tt_xla.frontends.torch.private.guards import forward_metadata
from tt_xla.ir.program import Role

_SOURCE_PART = re.compile(r"\._(?:modules|parameters|buffers)\[['\"]([^'\"]*)['\"]\]|\.(\w+)|\[['\"]?(\w+)['\"]?\]")
"""One step of a dynamo source such as ``L['self']._modules['fc']._parameters['weight']``."""


def describe_attributes(graph_module: torch.fx.GraphModule) -> list[Argument]:
    """Describes the parameters and buffers of the graph module itself, which AOTAutograd puts before the inputs."""
    parameters = [Argument(name, Role.PARAMETER) for name, _ in graph_module.named_parameters(remove_duplicate=False)]
    buffers = [Argument(name, Role.CONSTANT) for name, _ in graph_module.named_buffers(remove_duplicate=False)]
    return parameters + buffers


def describe_inputs(graph_module: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> list[Argument]:
    """Describes the inputs by dynamo's sources.

    ``L['self']._modules['fc']._parameters['weight']`` becomes the parameter ``fc.weight``; arguments of the user become
    ``args_0``, ``args_1`` and so on.
    """
    described: list[Argument] = []
    placeholders = graph_module.graph.find_nodes(op="placeholder")
    user_tensors = 0
    for node, example in zip(placeholders, example_inputs, strict=True):
        source = getattr(node, "_dynamo_source", None)
        text = "" if source is None else source.name
        is_parameter = isinstance(example, torch.nn.Parameter)
        if is_parameter or "_buffers[" in text or "_parameters[" in text:
            steps = ["".join(groups) for groups in _SOURCE_PART.findall(text.partition("]")[2])]
            name = ".".join(step for step in steps if step) or node.name
            described.append(Argument(name, Role.PARAMETER if is_parameter else Role.CONSTANT))
        else:
            described.append(Argument(f"args_{user_tensors}"))
            user_tensors += isinstance(example, torch.Tensor)
    return described


def aot_roles(graph_module: torch.fx.GraphModule, arguments: list[Argument] | None) -> list[Argument] | None:
    """Returns descriptions for the inputs of AOTAutograd's graph, which stand in dynamo's order.

    A buffer that the model writes becomes a plain input. The result is None where the graph has other inputs than
    ``arguments`` describes, as a backward graph has.
    """
    placeholders = graph_module.graph.find_nodes(op="placeholder")
    if arguments is None or len(arguments) != len(placeholders):
        return None
    metadata = forward_metadata()
    mutated = set(metadata.mutated_inp_runtime_indices) if metadata else set()
    return [
        Argument(argument.name, written=True) if position in mutated else argument
        for position, argument in enumerate(arguments)
    ]


__all__ = ["aot_roles", "describe_attributes", "describe_inputs"]
