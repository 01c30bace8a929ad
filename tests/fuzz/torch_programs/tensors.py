"""Draws tensors: element types, elements, and how they lie in memory."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence

import numpy as np
import torch

from tests.fuzz import values

FLOATS = (torch.float32, torch.bfloat16, torch.float16, torch.float64)
COMPLEX = (torch.complex64, torch.complex128)
LONG = 2**31 - 1
"""Largest integer that the chip holds: it narrows 64-bit types."""


def dtype_name(dtype: torch.dtype) -> str:
    """Returns ``float32`` for ``torch.float32``."""
    return str(dtype).removeprefix("torch.")


def elements(random: random.Random, shape: Sequence[int], dtype: torch.dtype, *, special: bool = False) -> torch.Tensor:
    """Returns a contiguous tensor of drawn elements; 64-bit integers are those that 32 bits hold."""
    narrow = {torch.bfloat16: "float32", torch.int64: "int32", torch.uint64: "uint32"}.get(dtype)
    array = values.array(random, tuple(shape), narrow or dtype_name(dtype), special=special)
    result = torch.from_numpy(np.array(array))
    return (result & LONG if dtype is torch.uint64 else result).to(dtype) if narrow else result


def distinct(random: random.Random, shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
    """Returns a tensor whose elements all differ where the type has so many, as ops need that choose one of equals."""
    count = math.prod(shape)
    order = torch.tensor(random.sample(range(count), count), dtype=torch.int64).reshape(tuple(shape))
    return (order - count // 2).to(dtype) if dtype.is_signed else order.to(dtype)


def laid_out(random: random.Random, tensor: torch.Tensor, *, expanded: bool = True) -> torch.Tensor:
    """Returns a tensor like this one that may lie otherwise in memory: across, with gaps, at an offset, or expanded.

    Args:
        random: the generator.
        tensor: the tensor.
        expanded: whether it may repeat the first elements of one dimension.
    """
    if tensor.is_complex() and random.random() < 0.2:
        return tensor.conj()
    way = random.choice(("plain", "plain", "plain", "across", "gaps", "offset", *(["expanded"] * expanded)))
    if way == "plain" or tensor.dim() == 0 or tensor.numel() == 0:
        return tensor
    axis = random.randrange(tensor.dim())
    if way == "across":
        order = random.sample(range(tensor.dim()), tensor.dim())
        return tensor.permute(order).contiguous().permute([order.index(each) for each in range(tensor.dim())])
    if way == "expanded":
        return tensor.narrow(axis, 0, 1).expand(tensor.shape)
    sizes = list(tensor.shape)
    sizes[axis] = sizes[axis] * 2 if way == "gaps" else sizes[axis] + 1
    around = torch.zeros(sizes, dtype=tensor.dtype)
    place = around[(slice(None),) * axis + (slice(None, None, 2) if way == "gaps" else slice(1, None),)]
    return place.copy_(tensor)


def memory(tensor: torch.Tensor) -> torch.Tensor:
    """Returns all elements of a tensor's storage as one dimension."""
    count = tensor.untyped_storage().nbytes() // tensor.element_size()
    return tensor.detach().as_strided((count,), (1,), 0)


def rebuilt(tensor: torch.Tensor, change: Callable[[torch.Tensor], torch.Tensor]) -> torch.Tensor:
    """Returns the same view of changed memory, such as a copy of it or one on the device."""
    if tensor.is_conj():
        return rebuilt(tensor.conj(), change).conj()
    return change(memory(tensor)).as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())


def copied(tensor: torch.Tensor) -> torch.Tensor:
    """Returns a copy of a tensor that lies in memory as it does."""
    return rebuilt(tensor, torch.clone)


def on_device(tensor: torch.Tensor) -> torch.Tensor:
    """Returns the same view of the same elements on the device ``tt``."""
    return rebuilt(tensor, lambda whole: whole.to("tt"))


def text(tensor: torch.Tensor) -> str:
    """Returns an expression that makes the tensor, its strides and offset included."""
    shape, dtype = tuple(tensor.shape), f"dtype={tensor.dtype}"
    if tensor.is_conj():
        return f"{text(tensor.conj())}.conj()"
    if not tensor.is_contiguous() or tensor.storage_offset():
        return f"{text(memory(tensor))}.as_strided({shape}, {tensor.stride()}, {tensor.storage_offset()})"
    if tensor.dim() > 1 or tensor.numel() == 0:
        return f"torch.tensor({tensor.flatten().tolist()}, {dtype}).reshape({shape})"
    return f"torch.tensor({tensor.tolist()}, {dtype})"


__all__ = [
    "COMPLEX",
    "FLOATS",
    "LONG",
    "copied",
    "distinct",
    "dtype_name",
    "elements",
    "laid_out",
    "memory",
    "on_device",
    "rebuilt",
    "text",
]
