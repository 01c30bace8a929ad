"""AOTAutograd. Importing it takes about 0.3 s, so modules of the device do not import it."""

from __future__ import annotations

from functorch.compile import aot_module_simplified

from tt_xla.frontends.torch.private.names import names_of

with names_of("functorch"):
    from torch._functorch._aot_autograd.schemas import PlainTensorMeta

__all__ = ["PlainTensorMeta", "aot_module_simplified"]
