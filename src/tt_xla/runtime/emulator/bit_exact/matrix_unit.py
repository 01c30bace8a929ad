"""The matrix unit's instructions MVMUL and ELWADD, in torch, bit for bit.

MVMUL multiplies 8 rows of SrcB (activations) by 16 x 16 elements of SrcA (weights) and adds the product to the
accumulator. For each element of the result it

- multiplies parts of the significands, 5 bits of SrcA by 7 of SrcB, as the fidelity phase says;
- aligns the products of 8 neighbours along the inner dimension to the largest sum of exponents among them, rounds each
  to an integer of that scale, halves away from zero, and adds the 8: a sum of 12 bits and its carries;
- aligns the two sums of 8 and the accumulator to the largest exponent, rounds what is shifted out, adds the three,
  normalises and rounds to 24 bits, or to 8 for an accumulator of 16 bits. Halves are rounded up, in magnitude for
  positive sums and the accumulator, down for negative sums.

A tile of the inner dimension, 32 elements, is multiplied in each phase, its first 16 elements and then the others,
before the next phase begins.

Sources: ttsim's ``tensix.cpp`` (``mvmul``, ``elwadd``, ``fpu_accum_normalize_encode``), MVMUL.md of
tt-isa-documentation, and ``llk_math_matmul.h`` for the order.
"""

from __future__ import annotations

import torch

from tt_xla.runtime.emulator.bit_exact.vector_unit import order

Tensor = torch.Tensor

TILE = 32
PHASES = {"lofi": 1, "hifi2": 2, "hifi3": 3, "hifi4": 4}
"""Fidelity phases by math fidelity. Phase bit 0 takes SrcA's low bits, phase bit 1 SrcB's."""

_GROUP = 8
_INSTRUCTION = 16
_ZERO_EXPONENT = -(1 << 12)
"""Exponent of a zero operand, below that of every product of others."""
_SUM_SHIFT = 13
"""Bits by which a sum of products, of 12 bits, is shifted to the accumulator's 24 bits."""
_ELEMENTS_AT_ONCE = 1 << 22


def product(a: Tensor, b: Tensor, start: Tensor | None = None, *, phases: int, wide: bool) -> Tensor:
    """Returns ``start + a @ b`` as the accumulator holds it, float32 ``[m, n]``.

    Args:
        a: activations as SrcB holds them, ``[m, k]``.
        b: weights as SrcA holds them, ``[k, n]``.
        start: the accumulator's contents before, ``[m, n]``; zeros if it is None.
        phases: how many fidelity phases are computed.
        wide: whether the accumulator has 32 bits.
    """
    rows = max(1, _ELEMENTS_AT_ONCE // (_INSTRUCTION * max(1, b.shape[1])))
    padding = -a.shape[1] % TILE
    a, b = torch.nn.functional.pad(a, (0, padding)), torch.nn.functional.pad(b, (0, 0, 0, padding))
    result = torch.zeros(a.shape[0], b.shape[1], device=a.device, dtype=torch.float32) if start is None else start
    right = _parts(b)
    pieces = [
        _product_of_rows(a[row : row + rows], right, result[row : row + rows], phases, wide)
        for row in range(0, a.shape[0], rows)
    ]
    return torch.cat(pieces) if pieces else result


def _product_of_rows(a: Tensor, b: tuple[Tensor, Tensor, Tensor], start: Tensor, phases: int, wide: bool) -> Tensor:
    exponents, significands, signs = (part.unsqueeze(-1) for part in _parts(a))
    total = start.contiguous().view(torch.int32)
    for tile in range(0, a.shape[1], TILE):
        for phase in range(phases):
            low_a, low_b = bool(phase & 2), bool(phase & 1)
            shift = -127 - 7 * low_a - 5 * low_b
            for first in range(tile, tile + TILE, _INSTRUCTION):
                sums = []
                for group in range(first, first + _INSTRUCTION, _GROUP):
                    part = slice(group, group + _GROUP)
                    left = significands[:, part]
                    left = (left & 0xF) << 3 if low_a else left >> 4
                    right = b[1][part]
                    right = right >> 1 & 0x1F if low_b else right >> 6
                    sums.append(
                        _sum_of_products(
                            exponents[:, part] + b[0][part], left * right, signs[:, part] ^ b[2][part], shift
                        )
                    )
                total = _accumulated(total, *sums, wide=wide)
    return total.view(torch.float32)


def _parts(values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Returns exponents, significands of 11 bits and signs (0 or -1) of source registers."""
    bits = values.contiguous().view(torch.int32)
    exponents, significands = bits >> 23 & 0xFF, bits >> 13 & 0x3FF | 0x400
    zero = exponents == 0
    return exponents.masked_fill(zero, _ZERO_EXPONENT), significands.masked_fill(zero, 0), bits >> 31


def _sum_of_products(exponents: Tensor, products: Tensor, signs: Tensor, shift: int) -> tuple[Tensor, Tensor]:
    """Returns exponent and signed integer of the sum over dimension 1, whose elements are one group."""
    largest = exponents.amax(1, keepdim=True)
    distance = (largest - exponents).clamp_(max=30)
    rounded = ((products << 1) + (1 << distance)) >> (distance + 1)
    total = ((rounded ^ signs) - signs).sum(1, dtype=torch.int32)
    largest = largest.squeeze(1) + shift
    return largest, torch.where(largest <= 0, 0, total)


def _shifted(significand: Tensor, distance: Tensor, negative: Tensor | int = 0) -> Tensor:
    """Shifts right and rounds; ``negative`` is -1 where halves are rounded down."""
    rounded = (significand + (1 << (distance - 1).clamp(0, 30)) + negative) >> distance.clamp(max=31)
    return torch.where(distance > 30, 0, torch.where(distance > 0, rounded, significand))


def _accumulated(total: Tensor, *sums: tuple[Tensor, Tensor], wide: bool) -> Tensor:
    """Returns the bits of an accumulator after sums of products, each an exponent and an integer, are added."""
    exponent = total >> 23 & 0xFF
    old = torch.where(exponent > 0, total & 0x7FFFFF | 0x800000, 0)
    terms: list[tuple[Tensor, Tensor, Tensor, Tensor | int]] = [(exponent, old, total >> 31, 0)]
    for place, value in sums:
        negative = value >> 31
        terms.append((place.clamp(min=0), ((value ^ negative) - negative) << _SUM_SHIFT, negative, negative))
    largest = torch.stack([term[0] for term in terms]).amax(0)
    added = torch.zeros_like(total)
    for place, significand, negative, half_down in terms:
        significand = _shifted(significand, largest - place, half_down)
        if not wide:
            significand = (significand + (1 << 12) + half_down) & -(1 << 13)
        added += (significand ^ negative) - negative
    return _encoded(added, largest, wide=wide)


def _encoded(value: Tensor, exponent: Tensor, *, wide: bool) -> Tensor:
    """Returns the bits of the float32 ``value * 2**(exponent - 127 - 23)``, rounded to the accumulator's width."""
    magnitude = value.abs()
    if wide:
        # A magnitude of 24 bits or fewer is exact in float32; of a larger one the low 7 bits do not change its width.
        width = (magnitude & ~0x7F).to(torch.float32).view(torch.int32) >> 23
        excess = (width - 127 - 23).clamp_(min=0)
        bits = _shifted(magnitude, excess).to(torch.float32).view(torch.int32) + (excess << 23)
    else:
        bits = (magnitude.to(torch.float32).view(torch.int32) + 0x8000) & -0x10000
    place = exponent + (bits >> 23) - 127 - 23
    sign = value & -(1 << 31)
    finite = sign | place.clamp(0, 255) << 23 | bits & 0x7FFFFF
    result = torch.where(place >= 255, sign | 0x7F800000, finite)
    return torch.where((exponent <= 0) | (value == 0) | (place <= 0), 0, result)


def add(a: Tensor, b: Tensor, *, wide: bool) -> Tensor:
    """Returns ``a + b`` as ELWADD computes it: the smaller is aligned to the larger and rounded to its scale.

    Args:
        a: a source register.
        b: the other source register, of a shape that broadcasts with ``a``.
        wide: whether the accumulator has 32 bits.
    """
    first, second = (bits.contiguous().view(torch.int32) for bits in torch.broadcast_tensors(a, b))
    swap = (first & 0x7FFFFFFF) < (second & 0x7FFFFFFF)
    large, small = torch.where(swap, second, first), torch.where(swap, first, second)
    (exponent, significand, negative), (place, smaller, small_negative) = (
        _parts(bits.view(torch.float32)) for bits in (large, small)
    )
    distance = exponent.clamp(min=0) - place
    smaller = torch.where(distance < 12, _shifted(smaller, distance), 0)
    total = ((significand ^ negative) - negative) + ((smaller ^ small_negative) - small_negative)
    return _encoded(total << _SUM_SHIFT, exponent, wide=wide).view(torch.float32)


def largest(a: Tensor, dim: int) -> Tensor:
    """Returns the largest number of a source register along a dimension as GMPOOL finds it, of size 1: in the order of
    signs and magnitudes, in which a NaN is beyond infinity. Zeros have no sign."""
    bits = a.contiguous().view(torch.int32)
    bits = torch.where(bits & 0x7F800000 == 0, 0, bits)
    return order(order(bits).amax(dim, keepdim=True)).view(torch.float32)


def add_to(total: Tensor | None, a: Tensor, *, wide: bool) -> Tensor:
    """Returns an accumulator to which ELWADD adds a source register and zero; None stands for an empty accumulator."""
    exponent, significand, negative = _parts(a)
    exponent = exponent.clamp(min=0)
    before = torch.zeros_like(exponent) if total is None else total.contiguous().view(torch.int32)
    nothing = (torch.zeros_like(exponent), torch.zeros_like(exponent))
    term = (exponent, (significand ^ negative) - negative)
    return _accumulated(before, term, nothing, wide=wide).view(torch.float32)


def multiply(a: Tensor, b: Tensor, *, phases: int, wide: bool, start: Tensor | None = None) -> Tensor:
    """Returns ``start + a * b`` as ELWMUL computes it in its fidelity phases, each added to the accumulator.

    Args:
        a: SrcA, 5 bits of which take part in a phase.
        b: SrcB, 7 bits of which take part in a phase, of a shape that broadcasts with ``a``.
        phases: how many fidelity phases are computed.
        wide: whether the accumulator has 32 bits.
        start: the accumulator's contents before; zeros if it is None.
    """
    left, right = torch.broadcast_tensors(a, b)
    (exponents, significands, signs), (places, others, other_signs) = _parts(left), _parts(right)
    negative = signs ^ other_signs
    total = torch.zeros_like(exponents) if start is None else start.contiguous().view(torch.int32)
    zero = (torch.zeros_like(exponents), torch.zeros_like(exponents))
    for phase in range(phases):
        low_a, low_b = bool(phase & 1), bool(phase & 2)
        one = significands >> 1 & 0x1F if low_a else significands >> 6
        two = (others & 0xF) << 3 if low_b else others >> 4
        place = exponents + places - 127 - 5 * low_a - 7 * low_b
        value = torch.where(place > 0, one * two, 0)
        total = _accumulated(total, (place.clamp(min=0), (value ^ negative) - negative), zero, wide=wide)
    return total.view(torch.float32)
