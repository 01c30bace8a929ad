"""``torch_xla.core``."""

from __future__ import annotations

from typing import Any

from tt_xla.frontends.torch.xla_api import finder as _finder


def __getattr__(name: str) -> Any:
    if name == "xla_model":
        import importlib

        return importlib.import_module(f"{__name__}.{name}")
    raise _finder.missing(__name__, name)
