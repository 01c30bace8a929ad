"""Batch norm and its running statistics as TT-NN's kernels compute them.

The vector unit computes in float32, and a 16-bit accumulator is the matrix unit's. Sources: TT-NN 0.81's
``batch_norm.cpp``, ``batch_norm_program_factory.cpp``, ``running_statistics_program_factory.cpp`` and their kernels.
"""

from __future__ import annotations

import torch

from tt_xla.ir.element_types import DataType
from tt_xla.runtime.emulator.bit_exact import functions
from tt_xla.runtime.emulator.bit_exact import vector_unit as sfpu
from tt_xla.runtime.emulator.bit_exact.elementwise import in_float32, loaded
from tt_xla.runtime.emulator.bit_exact.registers import packed
from tt_xla.runtime.emulator.bit_exact.settings import Config, Settings
from tt_xla.runtime.emulator.context import Context
from tt_xla.runtime.emulator.kernels.normalization import per_channel
from tt_xla.runtime.emulator.registry import kernel

Tensor = torch.Tensor


@kernel("ttnn.batch_norm_inference", bit_exact=True)
def batch_norm_inference(
    ctx: Context,
    input: Tensor,
    running_mean: Tensor,
    running_var: Tensor,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    epsilon: float = 1e-5,
    compute_config: Config = None,
) -> Tensor:
    """Normalises with given statistics. Without a float32 operand the inverse root and the number that is added to the
    variance are rounded to bfloat16."""
    float32 = in_float32(ctx)
    settings = Settings.of(compute_config, wide=True, approximate=False)
    x, mean, variance = (loaded(per_channel(each, input)) for each in (input, running_mean, running_var))
    constant = _held(epsilon, float32=float32)
    parameters = [None if each is None else loaded(per_channel(each, input)) for each in (weight, bias)]
    if not settings.wide and not float32:
        return packed(_by_matrix_unit(settings, x, mean, variance, constant, *parameters), ctx.dtype).to(ctx.container)
    root = functions.rsqrt(sfpu.add(variance, constant), wide=float32)
    result = sfpu.multiply(*torch.broadcast_tensors(sfpu.stored(x - mean, wide=True), root))
    factor, shift = parameters
    if factor is not None:
        result = sfpu.stored(result * factor, wide=True)
    if shift is not None:
        result = sfpu.stored(result + shift, wide=True)
    return _delivered(ctx, result, ctx.dtype, float32=float32)


def _by_matrix_unit(
    settings: Settings,
    x: Tensor,
    mean: Tensor,
    variance: Tensor,
    constant: float,
    weight: Tensor | None,
    bias: Tensor | None,
) -> Tensor:
    root = functions.rsqrt(settings.add(variance, torch.full_like(variance, constant)), wide=False)
    root = packed(sfpu.stored(root, wide=False), DataType.BF16)
    result = settings.multiply(settings.subtract(x, mean), root)
    if weight is not None:
        result = settings.multiply(result, weight)
    return result if bias is None else settings.add(result, bias)


@kernel("ttnn.running_statistics", bit_exact=True)
def running_statistics(
    ctx: Context,
    mean: Tensor,
    variance: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    momentum: float = 0.1,
    compute_config: Config = None,
) -> Tensor | tuple[Tensor, ...]:
    """Moves running statistics towards those of a batch by a number that is bfloat16 without a float32 operand."""
    float32 = in_float32(ctx)
    settings = Settings.of(compute_config, wide=True, approximate=False)
    share = torch.tensor(_held(momentum, float32=float32), device=mean.device, dtype=torch.float32)
    results: list[Tensor] = []
    for old, new in ((running_mean, mean), (running_var, variance)):
        if old is None:
            continue
        spec = ctx.results[len(results)]
        before, batch = loaded(old), loaded(new).reshape(old.shape)
        if settings.wide or float32:
            kept = sfpu.stored((1 - share) * before, wide=True)
            moved = sfpu.stored(kept + sfpu.stored(share * batch, wide=True), wide=True)
        else:
            kept = settings.multiply(settings.subtract(torch.ones_like(share), share), before)
            moved = sfpu.stored(kept + settings.multiply(share, batch), wide=False)
        results.append(_delivered(ctx, moved, spec.layout.dtype, float32=float32).to(old.dtype))
    return results[0] if len(results) == 1 else tuple(results)


def _held(value: float, *, float32: bool) -> float:
    """Returns a number as TT-NN's host hands it to a kernel."""
    number = torch.tensor(value, dtype=torch.float32, device="cpu")
    return float(number if float32 else number.to(torch.bfloat16))


def _delivered(ctx: Context, result: Tensor, dtype: DataType, *, float32: bool) -> Tensor:
    """Returns a result as it is written: the vector unit converts float32 to another type, to nearest even."""
    if float32 and dtype is not DataType.F32:
        result = sfpu.to_nearest_even(result)
    return packed(result, dtype).to(ctx.container)
