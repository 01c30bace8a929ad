"""``torch_xla.distributed``: a package that has modules and no names of its own."""

from __future__ import annotations

from typing import Any

from tt_xla.frontends.torch.xla_api import finder as _finder


def __getattr__(name: str) -> Any:
    return _finder.attribute(__name__, name)
