"""``torch_xla.experimental``: ``eager_mode``, and a package with modules."""

from __future__ import annotations

from typing import Any

from tt_xla.frontends.torch.xla_api import finder as _finder


def __getattr__(name: str) -> Any:
    if name in ("eager_mode", "eager_mode_context", "is_eager_mode"):
        return getattr(_finder.attribute(__name__, "eager"), name)
    return _finder.attribute(__name__, name)
