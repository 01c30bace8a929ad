"""``torch_xla.experimental.scan_layers``: runs equal layers one after another as a loop, compiled once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy as _deepcopy
from typing import Any
from weakref import WeakKeyDictionary

import torch
from functorch.compile import default_partition as _default_partition
from torch_xla.experimental.scan import scan as _scan

from tt_xla.frontends.torch import session as _session


class _OneLayer(WeakKeyDictionary[torch.nn.Module, dict[Callable[..., Any], Callable[..., Any]]]):
    """The session's functions that run one pure layer, by the first layer and the partitioner."""


def scan_layers(
    layers: Iterable[torch.nn.Module],
    input_data: Any,
    partition_fn: Callable[..., Any] = _default_partition,
    is_layer_pure: bool = False,
) -> Any:
    """Runs layers one after another, as ``torch.nn.Sequential`` does.

    Args:
        layers: layers that compute the same with parameters of the same sizes.
        input_data: input of the first layer. A tuple is its arguments.
        partition_fn: decides what the forward pass keeps for the backward pass, as in ``scan``.
        is_layer_pure: whether the layers always do the same, so that they are traced once for all calls.

    Returns:
        The output of the last layer, or ``input_data`` without layers.

    Raises:
        ValueError: layers differ in the names or the sizes of their parameters or buffers.
    """
    layers = list(layers)
    if not layers:
        return input_data
    parts = [dict(layer.named_parameters()) for layer in layers], [dict(layer.named_buffers()) for layer in layers]
    for states in parts:
        _check_alike(states)
    stacked = tuple({name: torch.stack([state[name] for state in states]) for name in states[0]} for states in parts)
    one_layer = _one_layer(layers[0], partition_fn, is_pure=is_layer_pure)
    return _scan(one_layer, input_data, stacked, partition_fn=partition_fn, is_fn_pure=is_layer_pure)[0]


def _one_layer(layer: torch.nn.Module, partition_fn: Callable[..., Any], *, is_pure: bool) -> Callable[..., Any]:
    """Returns a function that runs a layer with parameters and buffers of another one."""
    known = _session.current.part(_OneLayer).setdefault(layer, {}) if is_pure else {}
    if partition_fn in known:
        return known[partition_fn]
    template = _deepcopy(layer)

    def one_layer(carry: Any, state: tuple[dict[str, torch.Tensor], ...]) -> tuple[Any, None]:
        return torch.func.functional_call(template, state, carry, strict=True), None

    known[partition_fn] = one_layer
    return one_layer


def _check_alike(states: Sequence[Mapping[str, torch.Tensor]]) -> None:
    """Raises an error if layers differ in the names or the sizes of their tensors."""
    first = states[0]
    for index, state in enumerate(states):
        if state.keys() != first.keys():
            raise ValueError(
                f"Layer {index} has mismatched keys: it lacks {sorted(first.keys() - state.keys())} of layer 0 and "
                f"adds {sorted(state.keys() - first.keys())}."
            )
        for name, tensor in state.items():
            if tensor.shape != first[name].shape:
                raise ValueError(
                    f"Shape mismatch for '{name}' in layer {index}: expected {tuple(first[name].shape)} as in layer 0, "
                    f"got {tuple(tensor.shape)}."
                )
