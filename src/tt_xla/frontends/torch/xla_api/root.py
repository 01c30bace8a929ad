"""``torch_xla``: compile options, devices, sync."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from tt_xla import __version__ as __version__
from tt_xla.frontends.torch import register as _register
from tt_xla.frontends.torch import settings as _settings
from tt_xla.frontends.torch.xla_api import finder as _finder

_register()


def set_custom_compile_options(options: Mapping[str, Any]) -> None:
    """Compile options of all models from here on; they replace those given before.

    Raises:
        OptionError: a name is unknown or a value is bad.
    """
    _settings.set_compile_options(options)


def device(index: int | None = None) -> torch.device:
    """The device that models and inputs go to."""
    if index not in (None, 0):
        raise ValueError(f"torch_xla.device({index}): there is one torch device, of index 0.")
    return torch.device("tt", 0)


def devices() -> list[torch.device]:
    return [device()]


def device_count() -> int:
    return 1


def real_devices() -> list[str]:
    return ["TT:0"]


def sync(wait: bool = False, reset_scope: bool = True) -> None:
    """Nothing is pending between calls, so there is nothing to wait for."""


def __getattr__(name: str) -> Any:
    if name in ("core", "runtime"):
        import importlib

        return importlib.import_module(f"{__name__}.{name}")
    raise _finder.missing(__name__, name)
