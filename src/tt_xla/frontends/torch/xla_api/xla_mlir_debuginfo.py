"""``torch_xla.experimental.xla_mlir_debuginfo``: the op ``torch.ops.xla.write_mlir_debuginfo``, which names another."""

from __future__ import annotations

import torch

from tt_xla.frontends.torch.aten.registry import lower_named as _lower_named

_LIBRARY = torch.library.Library("xla", "FRAGMENT")
_LIBRARY.define("write_mlir_debuginfo(Tensor x, str data) -> Tensor")


@torch.library.impl(_LIBRARY, "write_mlir_debuginfo", "CompositeExplicitAutograd")
def write_mlir_debuginfo(x: torch.Tensor, data: str) -> torch.Tensor:
    """Returns the tensor itself. In the text of an export, the operation that computes it has the name ``data``."""
    return x


_LIBRARY.impl("write_mlir_debuginfo", lambda x, data: torch.empty_like(x), "Meta")
_lower_named("xla::write_mlir_debuginfo")(lambda ctx, x, data: x)

__all__ = ["write_mlir_debuginfo"]
