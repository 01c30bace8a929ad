"""``torch_xla.experimental.eager``: runs ops at once instead of recording them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tt_xla.frontends.torch import session as _session
from tt_xla.frontends.torch.device.programs import synchronize as _synchronize


def eager_mode(enable: bool) -> None:
    """Switches between running each op at once, as its own program, and recording ops. Recorded ops run first."""
    if enable:
        _synchronize()
    _session.current.mode.eager = enable


def is_eager_mode() -> bool:
    return _session.current.mode.eager


@contextmanager
def eager_mode_context(enable: bool) -> Iterator[None]:
    """Context manager that sets :func:`eager_mode` in a block."""
    before = is_eager_mode()
    eager_mode(enable)
    try:
        yield
    finally:
        eager_mode(before)
