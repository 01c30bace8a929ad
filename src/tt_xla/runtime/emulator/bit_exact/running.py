"""Products, running sums and running products along a dimension as TT-NN's kernels compute them, element after element.

TT-NN's ``prod_nc.cpp`` says how products are computed. How running sums and running products are computed was found by
comparing them with the simulator's.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from tt_xla.ir.element_types import DataType
from tt_xla.runtime.emulator.bit_exact import matrix_unit
from tt_xla.runtime.emulator.bit_exact import vector_unit as sfpu
from tt_xla.runtime.emulator.bit_exact.elementwise import otherwise
from tt_xla.runtime.emulator.bit_exact.registers import packed, source
from tt_xla.runtime.emulator.context import Context
from tt_xla.runtime.emulator.registry import kernel

Tensor = torch.Tensor

_HIFI4 = 4


@kernel("ttnn.prod", bit_exact=True)
def prod(ctx: Context, input: Tensor, keep_dim: bool, dim_arg: int | Sequence[int] | None = None) -> Tensor:
    """The matrix unit multiplies the product so far with the next element, and the packer rounds each product.

    A product of several dimensions was not compared, and is computed as by the other numerics.
    """
    dims = [dim_arg] if isinstance(dim_arg, int) else list(dim_arg or range(input.ndim))
    if not _has_floats(input) or len(dims) != 1:
        return otherwise(ctx, {"keep_dim": keep_dim, "dim_arg": dim_arg})(input)
    wide = ctx.dtype is DataType.F32
    terms = source(input.to(torch.float32), wide=True).movedim(dims[0], 0)
    total = torch.ones_like(terms[0])
    for term in terms:
        total = packed(matrix_unit.multiply(source(total, wide=True), term, phases=_HIFI4, wide=wide), ctx.dtype)
    return (total.unsqueeze(dims[0]) if keep_dim else total).to(ctx.container)


@kernel("ttnn.moreh_cumsum_backward", bit_exact=True)
def moreh_cumsum_backward(ctx: Context, output_grad: Tensor, dim: int) -> Tensor:
    """The running sum from the last element."""
    if not _has_floats(output_grad):
        return otherwise(ctx, {"dim": dim})(output_grad)
    return cumsum(ctx, output_grad, dim, reverse_order=True)


@kernel("ttnn.cumsum", "ttnn.moreh_cumsum", bit_exact=True)
def cumsum(ctx: Context, input: Tensor, dim: int, reverse_order: bool = False) -> Tensor:
    """The sums are float32, each compensated by what the sum before lost (Kahan's algorithm)."""
    if not _has_floats(input):
        return otherwise(ctx, {"dim": dim, "reverse_order": reverse_order})(input)
    terms = _in_order(input, dim, reverse_order)
    total, lost, sums = torch.zeros_like(terms[0]), torch.zeros_like(terms[0]), list[Tensor]()
    for term in terms:
        corrected = sfpu.add(term, -lost)
        following = sfpu.add(total, corrected)
        lost = sfpu.add(sfpu.add(following, -total), -corrected)
        lost = torch.where(following.isinf(), 0.0, lost)
        total = following
        sums.append(total[None])
    return _packed(ctx, torch.cat(sums), dim, reverse_order)


@kernel("ttnn.ema", bit_exact=True)
def ema(ctx: Context, input_tensor: Tensor, alpha: float) -> Tensor:
    """The average so far stays in a register, in float32 (``ckernel_sfpu_ema.h``)."""
    terms = input_tensor.to(torch.float32)
    weight, other = (float(np.float32(each)) for each in (alpha, np.float32(1) - np.float32(alpha)))
    average, steps = torch.zeros_like(terms[..., 0]), list[Tensor]()
    for term in terms.unbind(-1):
        average = sfpu.mad(other, term, sfpu.multiply(weight, average))
        steps.append(average)
    return packed(torch.stack(steps, -1), ctx.dtype).to(ctx.container)


@kernel("ttnn.cumprod", bit_exact=True)
def cumprod(ctx: Context, input: Tensor, dim: int, reverse_order: bool = False) -> Tensor:
    """The products are float32, each rounded to nearest even."""
    if not _has_floats(input):
        return otherwise(ctx, {"dim": dim, "reverse_order": reverse_order})(input)
    terms = _in_order(input, dim, reverse_order)
    total, products = torch.ones_like(terms[0]), list[Tensor]()
    for term in terms:
        total = sfpu.multiply(total, term)
        products.append(total[None])
    return _packed(ctx, torch.cat(products), dim, reverse_order)


def _has_floats(input: Tensor) -> bool:
    """Returns whether a tensor has a dimension and floats. Other tensors are computed as by the other numerics."""
    return input.is_floating_point() and input.ndim > 0 and input.numel() > 0


def _in_order(input: Tensor, dim: int, backwards: bool) -> Tensor:
    """Returns the elements in float32, with the dimension in front, in the order in which they are taken. Those of 16
    bits come to an accumulator of 32 bits as the packer would write them."""
    terms = input.to(torch.float32).movedim(dim, 0)
    if input.dtype is not torch.float32:
        terms = packed(terms.contiguous(), DataType.BF16)
    return terms.flip(0) if backwards else terms


def _packed(ctx: Context, running: Tensor, dim: int, backwards: bool) -> Tensor:
    """Returns the result of running sums or products, whose dimension is in front, in the order of the operand."""
    ordered = (running.flip(0) if backwards else running).movedim(0, dim)
    return packed(ordered, ctx.dtype).to(ctx.container)
