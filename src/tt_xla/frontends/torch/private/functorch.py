"""``torch._functorch``: AOTAutograd. Importing it takes about 0.3 s, so modules of the device do not import it."""

from __future__ import annotations

from torch._functorch._aot_autograd.schemas import InputAliasInfo, PlainTensorMeta, ViewAndMutationMeta
from torch._functorch.aot_autograd import aot_module_simplified

__all__ = ["InputAliasInfo", "PlainTensorMeta", "ViewAndMutationMeta", "aot_module_simplified"]
