"""``torch_xla.distributed.spmd.xla_sharding``: the names of ``torch_xla.distributed.spmd`` under their older module."""

from __future__ import annotations

from typing import Any

import torch_xla.distributed.spmd as _spmd


def __getattr__(name: str) -> Any:
    return getattr(_spmd, name)
