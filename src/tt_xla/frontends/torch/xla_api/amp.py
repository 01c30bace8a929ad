"""``torch_xla.amp``: autocast on the device, and a gradient scaler that leaves gradients as they are."""

from __future__ import annotations

from typing import Any

import torch


class autocast(torch.amp.autocast):
    """Same as ``torch.autocast("tt")``. As in the real package, the first argument is the device."""

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
    """Gradient scaler that scales nothing: bfloat16 has the exponents of float32, so gradients do not underflow."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("cpu", enabled=False)
