"""``torch.distributed.tensor``: the description of a DTensor, which has a private name."""

from __future__ import annotations

from torch.distributed.tensor._dtensor_spec import DTensorSpec, TensorMeta

__all__ = ["DTensorSpec", "TensorMeta"]
