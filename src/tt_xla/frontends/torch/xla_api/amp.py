"""``torch_xla.amp``: autocast on the device, and a gradient scaler that bfloat16 has no need of."""

from __future__ import annotations

from typing import Any

import torch

from tt_xla.frontends.torch.xla_api import finder as _finder


class autocast(torch.amp.autocast):
    """``torch.autocast("tt")``; the first argument is the device, as with the real one."""

    def __init__(
        self,
        device: torch.device | str | None = None,
        enabled: bool = True,
        dtype: torch.dtype = torch.bfloat16,
        cache_enabled: bool = True,
    ) -> None:
        kind = torch.device(device or "tt").type
        super().__init__(kind, enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)


class GradScaler(torch.amp.GradScaler):
    """Scales nothing, as for bfloat16, which has float32's exponents: ``scale`` and ``step`` pass through."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("cpu", enabled=False)


def __getattr__(name: str) -> Any:
    raise _finder.missing(__name__, name)
