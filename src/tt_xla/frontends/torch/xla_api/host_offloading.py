"""``torch_xla.experimental.stablehlo_custom_call``: marks of tensors that the host's memory may hold meanwhile."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from tt_xla.frontends.torch.aten.registry import Array as _Array
from tt_xla.frontends.torch.aten.registry import lower_named as _lower_named


def _copy(t: torch.Tensor) -> torch.Tensor:
    return t.clone()


@torch.library.custom_op("xla::place_to_host", mutates_args=())
def place_to_host(t: torch.Tensor) -> torch.Tensor:
    """Returns a copy of a tensor, which stays on the device: no program of the device uses the host's memory.

    Gradients flow through it. A graph of ``torch.compile`` or of an export keeps the op.
    """
    return _copy(t)


@torch.library.custom_op("xla::place_to_device", mutates_args=())
def place_to_device(t: torch.Tensor) -> torch.Tensor:
    """Returns a copy of a tensor, as :func:`place_to_host` does."""
    return _copy(t)


for _op in (place_to_host, place_to_device):
    _op.register_fake(torch.empty_like)
    _op.register_autograd(lambda ctx, gradient: gradient)


@_lower_named("xla::place_to_host")
@_lower_named("xla::place_to_device")
def _stay(ctx: Any, x: _Array) -> _Array:
    return x


def stablehlo_custom_call(
    args: Sequence[torch.Tensor], call_target: str, output_shapes: Any, output_dtypes: Any, *options: Any, **named: Any
) -> Any:
    """Would record a call of a function that the compiler does not know.

    Raises:
        NotImplementedError: always, as no program of the device has such calls.
    """
    raise NotImplementedError(
        f"stablehlo_custom_call({call_target!r}) is not supported: no program of the device has custom calls. Write "
        "the op as a function of PyTorch's ops."
    )


def extract_custom_call_outputs_shape_dtype(n: torch.fx.Node) -> tuple[Sequence[Any], Sequence[torch.dtype]]:
    """Returns the shapes and dtypes of the results of a node of an exported graph.

    Raises:
        AssertionError: the node has no tensors as results.
    """
    value = n.meta.get("val")
    values = [value] if isinstance(value, torch.Tensor) else list(value or ())
    assert values, f"{n.name} has no results whose shapes are known"
    assert all(isinstance(each, torch.Tensor) for each in values), f"a result of {n.name} is no tensor"
    return [each.shape for each in values], [each.dtype for each in values]


__all__ = [
    "extract_custom_call_outputs_shape_dtype",
    "place_to_device",
    "place_to_host",
    "stablehlo_custom_call",
]
