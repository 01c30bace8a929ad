"""``torch_xla._XLAC``: the two functions of the extension module that scripts call themselves."""

from __future__ import annotations

from typing import Any

import torch

from tt_xla.frontends.torch.xla_api import finder as _finder


def _get_xla_sharding_spec(tensor: torch.Tensor) -> str:
    """The sharding in XLA's notation; empty for a tensor that was not marked."""
    from torch_xla.distributed.spmd import sharding_of

    return sharding_of(tensor)


def _xla_get_default_device() -> str:
    return "TT:0"


def __getattr__(name: str) -> Any:
    raise _finder.missing(__name__, name)
