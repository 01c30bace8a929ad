"""Element types of single weights: ``torch.ops.tt.weight_dtype_override``.

A parameter that passes through the op becomes an argument with ``ttcore.weight_dtype`` in StableHLO. The compiler
stores it in that type for matrix products and convolutions (:mod:`tt_xla.compiler.ttnn.convert_weight_dtype`).
:mod:`tt_torch.weight_dtype` applies the op to a model's parameters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch

from tt_xla.errors import OptionError
from tt_xla.ir.program import WEIGHT_DTYPES

if TYPE_CHECKING:
    from tt_xla.frontends.torch.lowering import Argument


@torch.library.custom_op("tt::weight_dtype_override", mutates_args=())
def weight_dtype_override(tensor: torch.Tensor, dtype: str) -> torch.Tensor:
    """Returns the tensor itself. The device stores it as ``bfp_bf4``, ``bfp_bf8`` or ``bf16`` where it is a weight."""
    _check(tensor, dtype)
    return tensor.clone()


@weight_dtype_override.register_fake
def _fake(tensor: torch.Tensor, dtype: str) -> torch.Tensor:
    _check(tensor, dtype)
    return torch.empty_like(tensor)


def _check(tensor: torch.Tensor, dtype: str) -> None:
    checked_weight_dtype("weight_dtype_override", dtype)
    if not tensor.is_floating_point():
        kind = str(tensor.dtype).removeprefix("torch.")
        raise TypeError(
            f"weight_dtype_override: a weight of {kind}{list(tensor.shape)} cannot be stored as '{dtype}', which holds "
            "floats. Convert the weight to bfloat16, or leave it out of the override."
        )


def _backward(context: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
    return gradient, None


weight_dtype_override.register_autograd(_backward)


def with_weight_dtypes(arguments: Sequence[Argument], nodes: Sequence[torch.fx.Node]) -> list[Argument]:
    """Returns descriptions of a graph's arguments with the element types that the graph requests.

    Args:
        arguments: descriptions of the arguments.
        nodes: placeholders of the same arguments.
    """
    by_node = dict(zip(nodes, arguments, strict=True))
    if nodes:
        for node in nodes[0].graph.find_nodes(op="call_function", target=weight_dtype_override._opoverload):
            source = node.args[0]
            while source not in by_node and len(source.all_input_nodes) == 1:
                (source,) = source.all_input_nodes
            if source in by_node:
                by_node[source] = replace(by_node[source], weight_dtype=str(node.args[1]))
    return [by_node[node] for node in nodes]


def checked_weight_dtype(what: str, dtype: Any) -> str:
    """Returns ``dtype`` after checking that weights can have this element type.

    Args:
        what: name of the option or function that received the element type, for the error.
        dtype: name of the element type.

    Raises:
        OptionError: weights cannot have this element type.
    """
    if dtype not in WEIGHT_DTYPES:
        raise OptionError(
            f"'{what}' was given the weight element type {dtype!r}.", hint=f"Use one of {', '.join(WEIGHT_DTYPES)}."
        )
    return str(dtype)
