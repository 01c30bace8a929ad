"""The trap of lost precision.

Each op is computed in float32 as well, on the operands that it got. Of an element with the exact value ``x`` it loses
``log2(|result - x| / (2**-p * max(|x|, t)))`` bits of a format with ``p`` significant bits: 0 for a rounding to the
format, ``p`` if nothing is left. ``t`` is the geometric mean of the magnitudes in the result, so an element that is
small by chance, because its terms cancel, need not be more precise than the others.

A sum or difference is exact where its terms cancel; it shows what the terms had lost before. It loses ``log2((|a| +
|b|) / |a + b|)`` bits, on geometric average over the elements that are not 0: so many times larger is the share of the
terms' roundings in the result.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

from tt_xla.errors import NumberTrapError
from tt_xla.ir.layout import DataType
from tt_xla.ir.program import TensorSpec
from tt_xla.runtime.emulator.context import Call
from tt_xla.runtime.emulator.float32 import float32_call_of, try_call
from tt_xla.runtime.emulator.registry import find
from tt_xla.runtime.traps.site import Site, element_at, number

_WITHOUT_LOSS = ("random", "quantization", "host", "indexing")
"""Families of kernels whose ops draw, quantise on purpose, move elements or run elsewhere."""

_OF_BLOCKS = (
    "A block float shares one exponent among 16 neighbours, so one large element takes the bits of the others. "
)
_HINT = (
    "Keep this value in a wider format (experimental_weight_dtype_overrides, option precision) or scale it; tt-xla "
    "compare --by instruction shows the errors of all ops."
)

_SUMS = ("ttnn.add", "ttnn.subtract")

_TINY = torch.finfo(torch.float32).tiny


def allowed_bits(dtype: DataType, bits: int | None) -> int:
    """Returns the bits of a format that an op may lose: ``bits``, or all but one.

    By default bfloat4_b may lose all of its 3: the last one depends on how large an element's neighbours happen to be.
    """
    significant = dtype.significant_bits
    return (significant if dtype is DataType.BFP_BF4 else significant - 1) if bits is None else bits


def with_precision_check(site: Site, call: Call, bits: int | None) -> Call:
    """Returns the call of an instruction that raises NumberTrapError when it loses too many bits of its format.

    Args:
        site: the instruction.
        call: its call.
        bits: bits that it may lose; None for all but one of those of the format.
    """
    context = site.context
    indices = [index for index in site.float_results if context.results[index].layout.dtype.is_float]
    if not indices or not site.computes or find(site.op).family in _WITHOUT_LOSS:
        return call
    exact_call = float32_call_of(context, site.instruction) if context.silicon else None
    is_single, checks_terms = len(context.results) == 1, _adds_two_floats(site)

    def checked(*tensors: torch.Tensor) -> Any:
        returned = call(*tensors)
        exact = try_call(exact_call, [x.float() if x.is_floating_point() else x for x in tensors])
        if exact is not None:
            for index in indices:
                result, wanted = (returned, exact) if is_single else (returned[index], exact[index])
                _check(site, index, result, wanted, tensors, bits)
        if checks_terms:
            _check_terms(site, returned, tensors, bits)
        return returned

    return checked


def _check(
    site: Site,
    index: int,
    result: torch.Tensor,
    exact: torch.Tensor,
    operands: Sequence[torch.Tensor],
    bits: int | None,
) -> None:
    """Compares a result with the exact one.

    Raises:
        NumberTrapError: an element lost more bits than it may.
    """
    dtype = site.context.results[index].layout.dtype
    significant, allowed = dtype.significant_bits, allowed_bits(dtype, bits)
    error, magnitude = (result.float() - exact).abs_(), exact.abs()
    limit = 2.0 ** (allowed - significant)
    if not (error > magnitude * limit).any():
        return
    share = error / magnitude.clamp_(min=max(_typical(magnitude), _TINY))
    share[~torch.isfinite(share)] = 0  # another trap's
    worst = int(share.argmax())
    element, greatest = element_at(worst, result.shape), share.flatten()[worst].item()
    if greatest <= limit:
        return
    lost = min(math.log2(greatest) + significant, significant)
    raise _error(
        site,
        f"{site.op} lost {lost:.1f} of the {significant} significant bits of {dtype.value} in element "
        f"{list(element)} of {site.result_text(index)}{site.where}: {number(result[element].item())} in place of "
        f"{number(exact[element].item())}, and {allowed} are allowed. {site.operands_text(operands, element)}.",
        element,
        (_OF_BLOCKS if dtype.is_block_float else "") + _HINT,
    )


def _adds_two_floats(site: Site) -> bool:
    if site.op not in _SUMS or not site.is_elementwise:
        return False
    specs = [*site.context.operands.values()]
    return all(isinstance(spec, TensorSpec) and spec.layout.dtype.is_float for spec in specs)


def _check_terms(site: Site, result: torch.Tensor, terms: Sequence[torch.Tensor], bits: int | None) -> None:
    """Compares the magnitude of a sum with that of its terms.

    Raises:
        NumberTrapError: the terms cancel so far that more bits are lost than may be.
    """
    dtype = min((spec.layout.dtype for spec in site.context.specs[:-1]), key=lambda dtype: dtype.significant_bits)
    significant, allowed = dtype.significant_bits, allowed_bits(dtype, bits)
    total = result.abs().sum(dtype=torch.float32)
    largest = max(term.abs().sum(dtype=torch.float32) / term.numel() for term in terms)
    if not total / result.numel() * 2.0**allowed < 2 * largest:
        return
    sizes = result.shape
    one, other = (term.float().abs().broadcast_to(sizes) for term in terms)
    larger, magnitude = one + other, result.float().abs()
    typical_term, typical = _typical(larger), _typical(magnitude)
    if not 0 < typical * 2.0**allowed < typical_term < math.inf:
        return
    element = element_at(int((larger * (magnitude > 0)).argmax()), sizes)
    raise _error(
        site,
        f"{site.op} lost {min(math.log2(typical_term / typical), significant):.1f} of the "
        f"{significant} significant bits of {dtype.value} because its terms cancel{site.where}: together "
        f"they are about {number(typical_term)}, {site.result_text(0)} about {number(typical)}, and {allowed} are "
        f"allowed. {site.operands_text(terms, element)}, as in element {list(element)}.",
        element,
        "What is left are the rounding errors of the terms. Subtract before a rounding, rewrite the formula (log1p, "
        "expm1, a variance of centred values), or compute this part in float32.",
    )


def _typical(magnitude: torch.Tensor) -> float:
    """Returns the geometric mean of the positive, finite elements; 0 if there are none."""
    chosen = magnitude[(magnitude > 0) & (magnitude < math.inf)]
    return float(chosen.log2().mean().exp2()) if chosen.numel() else 0.0


def _error(site: Site, message: str, element: tuple[int, ...], hint: str) -> NumberTrapError:
    return NumberTrapError(message, hint=hint, location=site.location, kind="precision", op=site.op, element=element)


__all__ = ["allowed_bits", "with_precision_check"]
