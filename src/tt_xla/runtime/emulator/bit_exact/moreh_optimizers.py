"""The optimizers of moreh as TT-NN's kernels compute them.

The matrix unit adds and multiplies; each step passes a buffer. Sources: TT-NN 0.81's ``moreh_adam.cpp``,
``moreh_adamw.cpp``, ``moreh_sgd.cpp`` and ``moreh_common.hpp``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from tt_xla.ir.element_types import DataType
from tt_xla.runtime.emulator.bit_exact import functions
from tt_xla.runtime.emulator.bit_exact import vector_unit as sfpu
from tt_xla.runtime.emulator.bit_exact.elementwise import loaded
from tt_xla.runtime.emulator.bit_exact.moreh_sums import repeated_square
from tt_xla.runtime.emulator.bit_exact.registers import packed
from tt_xla.runtime.emulator.bit_exact.settings import Config, Settings
from tt_xla.runtime.emulator.context import Context
from tt_xla.runtime.emulator.registry import kernel

Tensor = torch.Tensor


@dataclass(frozen=True)
class _Steps:
    """Steps of a kernel from buffers to a buffer."""

    settings: Settings

    def number(self, value: float) -> Tensor:
        """Returns a number in a buffer, which a data movement kernel cuts to bfloat16 if the buffer holds it."""
        single = torch.full((1,), float(np.float32(value)), device="cpu", dtype=torch.float32)
        return sfpu.stored(single, wide=self.settings.between is DataType.F32)

    def kept(self, accumulator: Tensor) -> Tensor:
        return packed(accumulator, self.settings.between)

    def computed(self, register: Tensor) -> Tensor:
        """Returns the values of a register of the vector unit in a buffer."""
        return self.kept(sfpu.stored(register, wide=self.settings.wide))

    def product(self, a: Tensor, b: Tensor) -> Tensor:
        return self.kept(self.settings.multiply(a, b))

    def total(self, a: Tensor, b: Tensor) -> Tensor:
        return self.kept(self.settings.add(a, b))

    def difference(self, a: Tensor, b: Tensor) -> Tensor:
        return self.kept(self.settings.subtract(a, b))

    def inverse(self, x: Tensor) -> Tensor:
        """Returns the reciprocal of an accumulator."""
        settings = self.settings
        return self.computed(functions.reciprocal(x, wide=settings.wide, approximate=settings.approximate))

    def moment(self, old: Tensor, new: Tensor, share: Tensor) -> Tensor:
        """Returns ``old * share + new * (1 - share)``."""
        rest = self.difference(self.number(1.0), share)
        return self.total(self.product(old, share), self.product(new, rest))


def _steps(ctx: Context, config: Config) -> _Steps:
    dtype = ctx.spec("param_in").layout.dtype
    settings = Settings.of(config, wide=False, approximate=True)
    return _Steps(Settings(settings.phases, settings.wide, settings.approximate, narrow=dtype))


def _delivered(ctx: Context, results: list[Tensor]) -> tuple[Tensor, ...]:
    """Returns results in their types."""
    specs = ctx.results[: len(results)]
    return tuple(
        packed(result, spec.layout.dtype).to(ctx.container) for result, spec in zip(results, specs, strict=True)
    )


@kernel("ttnn.moreh_adam", "ttnn.moreh_adamw", bit_exact=True)
def moreh_adam(
    ctx: Context,
    param_in: Tensor,
    grad: Tensor,
    exp_avg_in: Tensor,
    exp_avg_sq_in: Tensor,
    lr: float,
    beta1: float,
    beta2: float,
    eps: float,
    weight_decay: float,
    step: int,
    amsgrad: bool,
    max_exp_avg_sq_in: Tensor | None = None,
    decoupled: bool = False,
    compute_kernel_config: Config = None,
) -> tuple[Tensor, ...]:
    """Returns the parameters, both moments, and the greatest second moment if ``amsgrad`` asks for it.

    AdamW takes powers of the decays from the host; the kernel of Adam computes them of 16 bits.
    """
    do = _steps(ctx, compute_kernel_config)
    param, gradient, first, second = (loaded(each) for each in (param_in, grad, exp_avg_in, exp_avg_sq_in))
    rate, decay, small = (do.number(each) for each in (lr, weight_decay, eps))
    if decoupled:
        param = do.difference(param, do.product(rate, do.product(decay, param)))
    else:
        gradient = do.total(gradient, do.product(param, decay))
    first = do.moment(first, gradient, do.number(beta1))
    second = do.moment(second, do.product(gradient, gradient), do.number(beta2))
    results = [first, second]
    greatest = second
    if amsgrad and max_exp_avg_sq_in is not None:
        greatest = do.computed(sfpu.maximum(loaded(max_exp_avg_sq_in), second))
        results.append(greatest)
    corrections = [_correction(do, beta, step, by_host=decoupled) for beta in (beta1, beta2)]
    root = functions.sqrt(do.settings.multiply(greatest, corrections[1]), wide=do.settings.wide)
    factor = do.inverse(do.settings.add(do.computed(root), small))
    change = do.product(do.product(rate, corrections[0]), first)
    return _delivered(ctx, [do.difference(param, do.product(factor, change)), *results])


def _correction(do: _Steps, beta: float, step: int, *, by_host: bool) -> Tensor:
    """Returns ``1 / (1 - beta**step)``."""
    if by_host:
        power = do.number(float(np.float32(beta)) ** step)
    else:
        power = do.computed(repeated_square(do.number(beta), step))
    return do.inverse(do.settings.subtract(do.number(1.0), power))


@kernel("ttnn.moreh_sgd", bit_exact=True)
def moreh_sgd(
    ctx: Context,
    param_in: Tensor,
    grad: Tensor,
    momentum_buffer_in: Tensor | None = None,
    lr: float = 1e-3,
    momentum: float = 0.0,
    dampening: float = 0.0,
    weight_decay: float = 0.0,
    nesterov: bool = False,
    momentum_initialized: bool = False,
    compute_kernel_config: Config = None,
) -> Tensor | tuple[Tensor, ...]:
    """Returns the parameters, and the momentum if there is one."""
    do = _steps(ctx, compute_kernel_config)
    param, change = loaded(param_in), loaded(grad)
    if weight_decay:
        change = do.total(change, do.product(param, do.number(weight_decay)))
    results: list[Tensor] = []
    if momentum:
        share = do.number(momentum)
        velocity = change
        if momentum_initialized and momentum_buffer_in is not None:
            added = do.product(change, do.difference(do.number(1.0), do.number(dampening)))
            velocity = do.total(added, do.product(loaded(momentum_buffer_in), share))
        results = [velocity]
        change = do.total(do.product(velocity, share), change) if nesterov else velocity
    updated = do.difference(param, do.product(do.number(lr), change))
    delivered = _delivered(ctx, [updated, *results])
    return delivered if momentum else delivered[0]
