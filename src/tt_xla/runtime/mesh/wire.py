"""Tensors as they travel between processes: their bytes as a NumPy array, which Ray sends without pickling them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch


class Packed(NamedTuple):
    """A tensor on its way to another process."""

    data: np.ndarray[Any, Any]
    """Its bytes, contiguous."""
    dtype: str
    """Name of its torch dtype, such as ``bfloat16``."""
    shape: tuple[int, ...]


def pack(tensor: torch.Tensor) -> Packed:
    """Returns a tensor's bytes, type and shape. The bytes of a contiguous tensor are not copied."""
    flat = tensor.detach().cpu().contiguous().reshape(-1)
    return Packed(flat.view(torch.uint8).numpy(), str(tensor.dtype).removeprefix("torch."), tuple(tensor.shape))


def unpack(packed: Packed) -> torch.Tensor:
    """Returns the tensor, contiguous and in memory of its own."""
    data = torch.from_numpy(np.array(packed.data))
    return data.view(getattr(torch, packed.dtype)).reshape(packed.shape)
