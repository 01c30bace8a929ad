"""Calls of torch in one thread, where the bits of a result would depend on the number of threads."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from pathlib import Path

import torch

Tensor = torch.Tensor


_FEW = 1 << 18
"""Multiplications up to which one thread is done before another one has woken up."""


def product(a: Tensor, b: Tensor) -> Tensor:
    """Returns ``a @ b``, computed by the calling thread alone where that takes less time."""
    if a.dtype is torch.float32 and a.numel() * b.shape[-1] <= _FEW:
        return product_by_one_thread(a, b)
    return torch.matmul(a, b)


def product_by_one_thread(a: Tensor, b: Tensor) -> Tensor:
    """Returns ``a @ b``, computed by the calling thread alone.

    On CPUs with AVX-512, MKL divides the terms of a row's sum among its threads. Small products take no longer in one.
    """
    limit = _mkl_threads_of_this_thread()
    if limit is not None:
        former = limit(1)
        try:
            return torch.matmul(a, b)
        finally:
            limit(former)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return torch.matmul(a, b)
    finally:
        torch.set_num_threads(threads)


@functools.cache
def _mkl_threads_of_this_thread() -> Callable[[int], int] | None:
    """Returns MKL's function that limits the threads of its calls from the calling thread; None without MKL.

    It takes the number, 0 for MKL's general one, and returns the former number.
    """
    for library in (Path(torch.__file__).parent / "lib").glob("libtorch_cpu.*"):
        function = getattr(ctypes.PyDLL(str(library)), "MKL_Set_Num_Threads_Local", None)
        if function is not None:
            return function
    return None


__all__ = ["product", "product_by_one_thread"]
