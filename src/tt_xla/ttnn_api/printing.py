"""How tensors print: the elements as TT-NN prints them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

PROFILES = ("short", "full", "empty")
"""Ways to print: the ends of each dimension, all elements, or none."""

_ENDS = 2
"""Elements at each end of a dimension that the short form prints."""

_LEAST, _GREATEST = 1e-4, 1e5
"""Absolute values outside of which numbers print with exponents."""

OPTIONS: dict[str, Any] = {"profile": "short", "sci_mode": "default", "precision": 4}
"""The profile, whether numbers have exponents ("default": where they need them), and digits behind the point."""


def elements(values: torch.Tensor, indent: int) -> str:
    """Returns the elements of a tensor as text whose lines after the first have an indent."""
    if OPTIONS["profile"] == "empty":
        return "..."
    if not values.is_floating_point():
        return _block(values, "{:5d}", indent)
    digits = OPTIONS["precision"]
    written = f"{{:{digits + 7}.{digits}e}}" if _needs_exponents(values) else f"{{:{digits + 3}.{digits}f}}"
    return _block(values.float(), written, indent)


def _needs_exponents(values: torch.Tensor) -> bool:
    mode = OPTIONS["sci_mode"]
    if isinstance(mode, bool):
        return mode
    sizes = values.float().abs()
    sizes = sizes[sizes.isfinite() & (sizes > 0)]
    return bool(len(sizes)) and bool((sizes.min() < _LEAST) | (sizes.max() >= _GREATEST))


def _block(values: torch.Tensor, written: str, indent: int) -> str:
    if values.dim() == 0:
        return written.format(values.item())
    count = len(values)
    cut = OPTIONS["profile"] == "short" and count > 2 * _ENDS
    places = [*range(_ENDS), None, *range(count - _ENDS, count)] if cut else range(count)
    gap = "..." if values.dim() > 1 else " ..."
    parts = [gap if place is None else _block(values[place], written, indent + 1) for place in places]
    lines = ",\n" * (values.dim() - 1)
    between = f"{lines[0]}{lines[1::2]}{' ' * (indent + 1)}" if lines else ", "
    return f"[{between.join(parts)}]"
