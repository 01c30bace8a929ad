"""Computing without recording gradients, without the Python layers of ``torch.no_grad()``, which take a microsecond."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import torch

_set_grad_enabled = torch._C._set_grad_enabled  # pyright: ignore[reportPrivateUsage]


class _WithoutGradients:
    """``torch.no_grad()``, entered while gradients are on."""

    def __enter__(self) -> None:
        _set_grad_enabled(False)

    def __exit__(self, *_: object) -> None:
        _set_grad_enabled(True)


_WITHOUT_GRADIENTS = _WithoutGradients()
_NO_CONTEXT = nullcontext()


def without_gradients() -> AbstractContextManager[None]:
    """Returns a context in which torch records no gradients; it restores the state of its beginning."""
    return _WITHOUT_GRADIENTS if torch.is_grad_enabled() else _NO_CONTEXT
