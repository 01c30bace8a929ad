"""The order in which the emulated card adds the terms of a sum and of a product of matrices.

*A sum* has its terms in lines of 16, the last one filled up with zeros. Lines are added in pairs of neighbours, those
sums again in pairs, and so on; a line without a neighbour stays as it is. Then the second half of the last line is
added to its first half, again and again.

*An element of a product* adds its terms one after another by fused multiply-adds, in chunks of 256 that begin with 0.
The chunks' sums are added one after another. Products of more than 2**22 multiplications and 32 rows are a library's
(:mod:`.threads`), which does not depend on the number of threads either.

The functions here compute in C++ (``cpp/emulator.h``, ``cpp/products.h``) where there is a compiler, and otherwise by
torch with the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F

from tt_xla.runtime.emulator import threads
from tt_xla.runtime.emulator.library import library

Tensor = torch.Tensor

LANES = 16
"""Terms of a line, and columns of a panel of weights."""

CHUNK = 256
"""Terms of a product that are added before they are added to the others."""

_LARGE_PRODUCT = 1 << 22
_FEW_ROWS = 32


def is_large(rows: int, inner: int, columns: int) -> bool:
    """Whether a product of matrices is computed by a library, in its order of additions."""
    return rows > _FEW_ROWS and rows * inner * columns > _LARGE_PRODUCT


def total(x: Tensor, dims: Sequence[int], *, keep_dim: bool = False) -> Tensor:
    """Returns the sum of a float tensor along some dimensions, in float32."""
    dims = sorted(dim % x.ndim for dim in dims)
    kept = [dim for dim in range(x.ndim) if dim not in dims]
    shape = [1 if dim in dims else size for dim, size in enumerate(x.shape) if keep_dim or dim not in dims]
    side_by_side = dims == list(range(dims[0], dims[-1] + 1))
    outer = dims[0] if side_by_side else len(kept)
    ordered = x.to(torch.float32)
    ordered = (ordered if side_by_side else ordered.permute(*kept, *dims)).contiguous()
    sizes = ordered.shape
    length = math.prod(x.shape[dim] for dim in dims)
    before = math.prod(sizes[:outer])
    rows = ordered.view(before, length, -1) if ordered.numel() else ordered.new_zeros(before, length, 0)
    if not ordered.numel():
        return torch.zeros(shape, dtype=torch.float32, device=x.device)
    return _summed(rows).view(shape)


def _summed(x: Tensor) -> Tensor:
    """Returns the sums of a contiguous tensor [outer, n, inner] over n."""
    compiled = library()
    if compiled is None:
        return in_pairs(x.transpose(1, 2).contiguous())
    outer, length, inner = x.shape
    result = torch.empty(outer, inner, dtype=torch.float32, device="cpu")
    compiled.sums(x, result, outer, length, inner)
    return result


def in_pairs(x: Tensor) -> Tensor:
    """Returns the sums of float32 over the last dimension: the definition, in torch."""
    lines = F.pad(x, (0, -x.shape[-1] % LANES)).unflatten(-1, (-1, LANES))
    while (count := lines.shape[-2]) > 1:
        pairs = lines[..., : count // 2 * 2, :].unflatten(-2, (-1, 2))
        added = pairs[..., 0, :] + pairs[..., 1, :]
        lines = torch.cat([added, lines[..., -1:, :]], -2) if count % 2 else added
    line = lines.squeeze(-2)
    while line.shape[-1] > 1:
        first, second = line.chunk(2, -1)
        line = first + second
    return line.squeeze(-1)


def product(a: Tensor, b: Tensor) -> Tensor:
    """Returns ``a @ b`` of floats on the CPU, in float32; a large one in the operands' own dtype."""
    if b.dim() == 1:
        return product(a, b[:, None]).squeeze(-1)
    if a.dim() == 1:
        return product(a[None], b).squeeze(-2)
    (*batch, rows, inner), (*other_batch, _, columns) = a.shape, b.shape
    if not (a.numel() and b.numel()):
        shape = (*torch.broadcast_shapes(batch, other_batch), rows, columns)
        return torch.zeros(shape, dtype=torch.float32, device=a.device)
    if math.prod(other_batch) == 1:  # one matrix with all rows
        batch = [1] * (len(other_batch) - len(batch)) + batch
        if is_large(math.prod(batch) * rows, inner, columns):
            return threads.product(a, b)
        return times_packed(a.reshape(-1, inner), packed(b.reshape(inner, columns)), columns).view(
            *batch, rows, columns
        )
    if is_large(rows, inner, columns):
        return threads.product(a, b)
    batch = [*torch.broadcast_shapes(batch, other_batch)]
    left = a.expand(*batch, rows, inner).reshape(-1, rows, inner).to(torch.float32).contiguous()
    right = b.expand(*batch, inner, columns).reshape(-1, inner, columns).to(torch.float32).contiguous()
    compiled = library()
    if compiled is None:
        return chunked(left, right).view(*batch, rows, columns)
    result = torch.empty(*batch, rows, columns, dtype=torch.float32, device="cpu")
    compiled.products(left, right, result, len(left), rows, inner, columns)
    return result


def packed(b: Tensor, mask: int = 0xFFFFFFFF) -> Tensor:
    """Returns a matrix [K, N] in panels of columns, [panels, K, 16], with the bits of ``mask`` of each float32."""
    inner, columns = b.shape
    result = torch.empty(-(-columns // LANES), inner, LANES, dtype=b.dtype, device=b.device)
    compiled = library()
    if compiled is None:
        pattern, cut = (torch.int32, mask) if b.dtype is torch.float32 else (torch.int16, mask >> 16)
        bits = torch.iinfo(pattern).bits
        signed = cut - (1 << bits) if cut >> (bits - 1) else cut
        panels = F.pad(b, (0, -columns % LANES)).unflatten(1, (-1, LANES)).transpose(0, 1)
        result.copy_(panels)
        result.view(pattern).bitwise_and_(signed)
    else:
        pack = compiled.pack if b.dtype is torch.float32 else compiled.pack_bfloat16
        pack(b, result, inner, columns, *b.stride(), mask)
    return result


def unpacked(panels: Tensor, columns: int) -> Tensor:
    """Returns the matrix [K, N] that :func:`packed` was given."""
    return panels.permute(1, 0, 2).flatten(1)[:, :columns].contiguous()


def times_packed(a: Tensor, panels: Tensor, columns: int) -> Tensor:
    """Returns ``a`` [M, K] times packed weights, [M, N] in float32."""
    (rows, inner), width = a.shape, len(panels) * LANES
    compiled = library()
    a = a.to(torch.float32).contiguous()
    if compiled is None:
        return chunked(a, unpacked(panels, columns).to(torch.float32))
    result = torch.empty(rows, width, dtype=torch.float32, device="cpu")
    multiply = compiled.multiply if panels.dtype is torch.float32 else compiled.multiply_bfloat16
    multiply(a, panels, result, rows, inner, columns)
    return result if width == columns else result[:, :columns].contiguous()


def chunked(a: Tensor, b: Tensor) -> Tensor:
    """Returns the products of float32 [..., M, K] and [..., K, N]: the definition, in torch."""
    (*batch, rows, inner), columns = a.shape, b.shape[-1]
    padding = -inner % CHUNK if inner > CHUNK else 0
    count = max(1, -(-inner // CHUNK))
    left = F.pad(a, (0, padding)).unflatten(-1, (count, -1)).movedim(-2, 0)
    right = F.pad(b, (0, 0, 0, padding)).unflatten(-2, (count, -1)).movedim(-3, 0)
    sums = torch.zeros(count, *batch, rows, columns, dtype=torch.float32, device=a.device)
    last = inner - (count - 1) * CHUNK  # terms of the last chunk: what fills it up is not added
    for k in range(min(inner, CHUNK)):
        chunks = slice(None) if k < last or count == 1 else slice(count - 1)
        x, y = left[chunks][..., k, None], right[chunks][..., k, None, :]
        sums[chunks] = fused_multiply_add(x, y, sums[chunks])
    result = sums[0]
    for part in sums[1:]:
        result = result + part
    return result


def fused_multiply_add(x: Tensor, y: Tensor, z: Tensor) -> Tensor:
    """Returns ``x * y + z`` of float32, rounded once.

    In float64 the product is exact. The sum is rounded to odd there, so that rounding it to float32 is right.
    """
    product, addend = x.to(torch.float64) * y.to(torch.float64), z.to(torch.float64)
    result = product + addend
    other = result - product
    error = (product - (result - other)) + (addend - other)
    pattern = result.view(torch.int64)
    inexact = (error != 0) & result.isfinite() & (pattern & 1 == 0)
    odd = torch.where((error > 0) == (result > 0), pattern + 1, pattern - 1)
    return torch.where(inexact, odd, pattern).view(torch.float64).to(torch.float32)
