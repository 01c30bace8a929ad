"""``torch_xla.experimental.stablehlo_custom_call``: calls by name, and marks of tensors that the host may hold."""

from __future__ import annotations

import functools as _functools
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from tt_xla.frontends.torch.aten.custom_calls import call as _call
from tt_xla.frontends.torch.device.dispatch import fallback as _record


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


_LIBRARY = torch.library.Library("xla", "FRAGMENT")
for _op, _overload in (
    (place_to_host, torch.ops.xla.place_to_host.default),
    (place_to_device, torch.ops.xla.place_to_device.default),
):
    _op.register_fake(torch.empty_like)
    _op.register_autograd(lambda ctx, gradient: gradient)
    _LIBRARY.impl(_overload.name(), _functools.partial(_record, _overload), "PrivateUse1")


def stablehlo_custom_call(
    args: Sequence[torch.Tensor],
    call_target: str,
    output_shapes: Sequence[Sequence[int]],
    output_dtypes: Sequence[torch.dtype],
    has_side_effect: bool = False,
    backend_config: str = "",
    api_version: int = 0,
    frontend_attributes: Mapping[str, str] | None = None,
) -> Any:
    """Records a call of a function by its name. A program that has one of an unknown function can be exported, not run.

    Args:
        args: operands.
        call_target: name of the function.
        output_shapes: shapes of its results.
        output_dtypes: dtypes of its results.
        has_side_effect: whether compilers keep the call where it is.
        backend_config: text for the compiler.
        api_version: number of the convention by which XLA would call the function; 0 for the oldest.
        frontend_attributes: texts for XLA's passes, by name.

    Returns:
        The result, or the list of several.
    """
    results = _call(
        args,
        call_target,
        output_shapes,
        output_dtypes,
        has_side_effect=has_side_effect,
        backend_config=backend_config,
        api_version=api_version or 1,
        frontend_attributes=dict(frontend_attributes or {}),
    )
    return results[0] if len(output_shapes) == 1 else results


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
