"""The state of torch that a run would read, in one place: what a user sets for all of torch changes no bit of a card's.

These are gradients, automatic casts, denormals and the precision of products of float32. The default dtype is none of
them: every tensor of the runtime says its dtype. Reading the state takes less than a microsecond.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext

import torch


def _read_precision(backend: str, op: str) -> str:
    return getattr(getattr(torch.backends, backend), op).fp32_precision


# PyTorch's own functions take 1 us more each. Where it has no private ones, they serve.
_C = torch._C  # pyright: ignore[reportPrivateUsage]
_set_grad_enabled = getattr(_C, "_set_grad_enabled", torch.set_grad_enabled)
_precision = getattr(_C, "_get_fp32_precision_getter", _read_precision)

_OPS = ("matmul", "conv")
_FULL = ("none", "ieee")
"""Precisions in which oneDNN computes with all bits of float32."""

_DENORMAL = 5e-324
"""A number that is 0 in a thread whose processor flushes denormals, in Python's arithmetic too."""


class _WithoutGradients:
    """``torch.no_grad()``, entered while gradients are on."""

    def __enter__(self) -> None:
        _set_grad_enabled(False)

    def __exit__(self, *_: object) -> None:
        _set_grad_enabled(True)


_WITHOUT_GRADIENTS = _WithoutGradients()
_NO_CONTEXT = nullcontext()


def settled() -> AbstractContextManager[None]:
    """Returns a context in which torch records no gradients and computes as it does by default."""
    is_usual = (
        _DENORMAL * 1.0 != 0.0
        and not torch.is_autocast_enabled("cpu")
        and _precision("mkldnn", "matmul") in _FULL
        and _precision("mkldnn", "conv") in _FULL
    )
    if not is_usual:
        return _settled()
    return _WITHOUT_GRADIENTS if torch.is_grad_enabled() else _NO_CONTEXT


@contextmanager
def _settled() -> Generator[None]:
    flushes = _DENORMAL * 1.0 == 0.0
    reduced = {op: precision for op in _OPS if (precision := _precision("mkldnn", op)) not in _FULL}
    torch.set_flush_denormal(False)
    for op in reduced:
        getattr(torch.backends.mkldnn, op).fp32_precision = "ieee"
    try:
        with torch.no_grad(), torch.autocast("cpu", enabled=False):
            yield
    finally:
        torch.set_flush_denormal(flushes)
        for op, precision in reduced.items():
            getattr(torch.backends.mkldnn, op).fp32_precision = precision


__all__ = ["settled"]
