"""Products and sums of torch whose bits do not depend on the number of threads.

MKL divides the terms of a sum among its threads where it has more threads than matrices, and torch those of a sum of
all elements. So a product is computed as so many matrices that each has one thread, and a sum in parts of a fixed
length. Sums of rows or columns, and products of bfloat16, which oneDNN computes, have one thread for each element.
"""

from __future__ import annotations

import ctypes
import functools
import math
from collections.abc import Callable, Sequence
from pathlib import Path

import torch

Tensor = torch.Tensor

_ONE_THREAD = 1 << 20
"""Multiplications up to which one thread is done before another one has woken up."""

_MIN_MATRICES, _MIN_MATRICES_IF_LARGE = 4, 8
"""Numbers of matrices that a product has, at least, so that threads may share them: many if it is large."""

_LARGE = 1 << 27
"""Multiplications of a product from which more threads outweigh what small matrices cost."""

_LEAST_COLUMNS = 16
"""Columns of a block, at least: floats of the widest vector register."""

_PART = 1 << 14
"""Elements of a part of a sum. Torch has one thread for twice as many."""


def product(a: Tensor, b: Tensor) -> Tensor:
    """Returns ``a @ b``."""
    if a.dtype is not torch.float32 or a.device.type != "cpu":
        return torch.matmul(a, b)
    if b.dim() == 1:
        return product(a, b[:, None]).squeeze(-1)
    if a.dim() == 1:
        return product(a[None], b).squeeze(-2)
    (*batch, rows, inner), (*other_batch, _, columns) = a.shape, b.shape
    if a.numel() * columns <= _ONE_THREAD:
        return product_by_one_thread(a, b)
    if math.prod(other_batch) == 1:  # one matrix with all rows
        batch = [1] * (len(other_batch) - len(batch)) + batch
        return _in_blocks(a.reshape(-1, inner), b.reshape(inner, columns)).view(*batch, rows, columns)
    if batch != other_batch:
        batch = [*torch.broadcast_shapes(batch, other_batch)]
        a, b = a.expand(*batch, rows, inner), b.expand(*batch, inner, columns)
    count = math.prod(batch)
    if count >= _MIN_MATRICES:
        return _product(a, b, count)
    pairs = zip(a.reshape(-1, rows, inner), b.reshape(-1, inner, columns), strict=True)
    return torch.stack([_in_blocks(*pair) for pair in pairs]).view(*batch, rows, columns)


def _in_blocks(a: Tensor, b: Tensor) -> Tensor:
    """Returns the product of two matrices, computed in blocks of rows or of columns, and what is left over by one
    thread."""
    (rows, inner), columns = a.shape, b.shape[1]
    count = _MIN_MATRICES if rows * inner * columns < _LARGE else _MIN_MATRICES_IF_LARGE
    if rows >= max(columns, count):
        height = rows // count
        whole = height * count
        row, term = a.stride()
        blocks = a.as_strided((count, height, inner), (height * row, row, term))
        result = _product(blocks, b.expand(count, inner, columns), count).view(whole, columns)
        return result if whole == rows else torch.cat([result, product_by_one_thread(a[whole:], b)])
    width = columns // count // _LEAST_COLUMNS * _LEAST_COLUMNS
    if not width:
        return product_by_one_thread(a, b)
    whole = width * count
    term, column = b.stride()
    blocks = b.as_strided((count, inner, width), (width * column, term, column))
    result = _product(a.expand(count, rows, inner), blocks, count).transpose(0, 1).reshape(rows, whole)
    return result if whole == columns else torch.cat([result, product_by_one_thread(a, b[:, whole:])], 1)


def product_by_one_thread(a: Tensor, b: Tensor) -> Tensor:
    """Returns ``a @ b``, computed by the calling thread alone."""
    return _product(a, b, 1)


def _product(a: Tensor, b: Tensor, most: int) -> Tensor:
    """Returns ``a @ b``, computed by no more threads than ``most``."""
    limit = _mkl_threads_of_this_thread()
    if limit is None:
        return torch.matmul(a, b) if most > 1 else _by_one_thread(a, b)
    former = limit(min(most, torch.get_num_threads()))
    try:
        return torch.matmul(a, b)
    finally:
        limit(former)


def _by_one_thread(a: Tensor, b: Tensor) -> Tensor:
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


def is_divided(shape: Sequence[int], dims: Sequence[int]) -> bool:
    """Whether torch divides the terms of a reduction among threads: where it has one result of so many elements."""
    kept = {*range(len(shape))}.difference(dim % len(shape) for dim in dims)
    return math.prod(shape) >= 2 * _PART and all(shape[dim] == 1 for dim in kept)


def product_of_all(x: Tensor) -> Tensor:
    """Returns the product of all elements of a float tensor, in float32 and without dimensions."""
    return _in_parts(torch.prod, x)


def _in_parts(reduce: Callable[..., Tensor], x: Tensor) -> Tensor:
    flat = x.reshape(-1)
    while len(flat) >= 2 * _PART:
        whole = len(flat) // _PART * _PART
        parts = reduce(flat[:whole].view(-1, _PART), -1, dtype=torch.float32)
        rest = flat[whole:].view(1, -1)
        flat = torch.cat([parts, reduce(rest, -1, dtype=torch.float32)]) if rest.numel() else parts
    return reduce(flat, -1, dtype=torch.float32)


__all__ = ["is_divided", "product", "product_of_all"]
