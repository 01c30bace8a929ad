"""How far a result may be from PyTorch's: as far as it moves when each op's result is a little wrong."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

from tests.fuzz.cases import Difference
from tests.fuzz.torch_programs.tensors import LONG, copied, rebuilt

EXACT, DEFAULT = 2.0**-21, 2.0**-8
"""Relative error of an op's result with ``numerics=exact``, and with the default numerics."""


def names(text: str) -> frozenset[str]:
    """Returns the words of a text."""
    return frozenset(text.split())


SPREADS = 5.0
"""A result may be so many times as far from PyTorch's as the farthest of the runs with errors."""

RUNS, MORE_RUNS = 6, 64

MOVES = names(
    "_conj _neg_view _reshape_alias _to_copy _unsafe_index _unsafe_view abs alias as_strided "
    "broadcast_in_dim cat clamp clamp_max clamp_min clone complex constant_pad_nd convert_element_type "
    "copy copy_ copysign detach device_put diagonal diagonal_copy diagonal_scatter embedding empty "
    "empty_like expand fill fill_ flip fmax fmin full full_like gather hardtanh index index_put "
    "index_put_ index_select kthvalue lift_fresh_copy masked_fill masked_fill_ masked_scatter max maximum "
    "median min minimum narrow neg new_full new_ones new_zeros ones ones_like permute relu repeat reshape "
    "rev roll scalar_tensor scatter select select_copy select_scatter sgn sign slice slice_copy "
    "slice_scatter sort split split_with_sizes squeeze stack t take threshold_backward topk transpose "
    "unbind unfold unfold_copy unsqueeze view view_as_complex view_as_real view_copy where zeros "
    "zeros_like amax amin cummax cummin ceil floor trunc round"
)
"""Ops whose float results are elements of their operands, or follow from them without an error."""

EITHER_ZERO = names(
    "amax amin clamp clamp_max clamp_min cummax cummin fmax fmin hardtanh kthvalue max maximum median min "
    "minimum relu sort topk"
)
"""Ops that choose among equal numbers, of which zeros of both signs are two."""

ROUNDED = names("add sub rsub mul div sqrt reciprocal square fmod remainder")
"""Ops whose result IEEE 754 defines to the bit, as the nearest number to the exact one."""


SERIES = names("digamma erfinv lgamma acosh asinh atanh log2 log10 expm1 log1p pow")
"""Functions of numbers that are computed in several steps: their errors are those of numbers around 1."""


def base_name(op: Any) -> str:
    """Returns the op's name without namespace and overload."""
    return op._schema.name.partition("::")[2]


class Noise(TorchDispatchMode):
    """Multiplies each element of each op's float result by ``1 + d``, where ``d`` is drawn from ``[-size, size]``.
    Results of :data:`SERIES` also have the errors of numbers around 1.

    Args:
        size: bound of the relative errors. Types that are coarser have an error of one step of their own.
        seed: of the drawn errors.
    """

    def __init__(self, size: float, seed: int) -> None:
        super().__init__()
        self.size = size
        self.generator = torch.Generator().manual_seed(seed)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if base_name(func) in MOVES or any(r.alias_info and not r.alias_info.is_write for r in func._schema.returns):
            return result
        if base_name(func) in SERIES and isinstance(result, torch.Tensor) and result.is_floating_point():
            result.add_(torch.rand(result.shape, generator=self.generator, dtype=torch.float64) * self.size)
        return tree_map(self.moved, result)

    def moved_copy(self, value: torch.Tensor) -> torch.Tensor:
        """Returns a copy with errors."""
        return self.moved(value.clone())

    def moved(self, value: Any) -> Any:
        """Returns a tensor with errors, written to its own memory."""
        if not isinstance(value, torch.Tensor) or not (value.is_floating_point() or value.is_complex()):
            return value
        size = max(self.size, torch.finfo(value.dtype).eps)
        errors = torch.rand(value.shape, generator=self.generator, dtype=torch.float64) * (2 * size) - size
        if value.is_complex():  # by parts, as a product of complex numbers makes NaN of an infinity
            pairs = torch.view_as_real(value.resolve_conj()).double() * (1 + errors).unsqueeze(-1)
            return value.copy_(torch.view_as_complex(pairs))
        return value.copy_(value.double() * (1 + errors))


@dataclass
class Judge:
    """What PyTorch's CPU computes, and how far from it a result may be.

    Args:
        function: takes tensors and returns tensors.
        inputs: the function's inputs.
        bits: whether all float results are defined to the bit.
        least: size of numbers whose errors a result may have in any case.
        zeros: whether that holds for the sign of zeros too.
        pointwise: whether each element of a result depends on one of each operand. Other results may have errors of the
            size of their largest element's rounding.
        undefined: whether only shapes and types are defined.
        strided: whether results depend on how inputs lie in memory. Otherwise PyTorch gets contiguous ones, because
            some of its kernels take others for contiguous.
        chained: whether an element may be infinite on the way and finite at last, as PyTorch computes in more bits.
        any_choice: whether integers are positions of equal elements, any of which may be chosen.
    """

    function: Callable[..., list[torch.Tensor]]
    inputs: Sequence[torch.Tensor]
    bits: bool = False
    least: float = 0.0
    zeros: bool = True
    pointwise: bool = False
    undefined: bool = False
    strided: bool = False
    chained: bool = False
    any_choice: bool = False

    def __post_init__(self) -> None:
        self.expected = self.function(*(self._copies() if self.strided else map(_contiguous, self.inputs)))
        self._noisy: dict[float, list[list[torch.Tensor]]] = {}

    def _copies(self) -> list[torch.Tensor]:
        return [copied(tensor) for tensor in self.inputs]

    def fits(self) -> bool:
        """Whether the chip holds all integers: it narrows those of 64 bits."""
        return all(
            value.dtype not in (torch.int64, torch.uint64)
            or value.numel() == 0
            or value.to(torch.int64).abs().max().item() <= LONG
            for value in (*self.inputs, *self.expected)
        )

    @functools.cached_property
    def parts_overflow(self) -> list[torch.Tensor | None]:
        """Where float64 holds sums whose parts are infinite in float32, for each result of such a type."""
        wide = (torch.float64, torch.complex128)
        if self.pointwise or not any(tensor.dtype in wide for tensor in self.inputs):
            return [None] * len(self.expected)
        sizes = [_contiguous(tensor) for tensor in self.inputs]
        results = self.function(*(each.abs().to(each.dtype) if each.dtype in wide else each for each in sizes))
        return [result.abs() > torch.finfo(torch.float32).max if result.dtype in wide else None for result in results]

    def noisy(self, size: float, count: int) -> list[list[torch.Tensor]]:
        """Returns the results of ``count`` runs with errors of the inputs and of each op."""
        runs = self._noisy.setdefault(size, [])
        while len(runs) < count:
            noise = Noise(size, 1000 + len(runs))
            if self.strided:
                inputs = [rebuilt(tensor, noise.moved_copy) for tensor in self.inputs]
            else:
                inputs = [noise.moved(_contiguous(tensor)) for tensor in self.inputs]
            with noise:
                runs.append(self.function(*inputs))
        return runs

    def differences(self, check: str, got: Sequence[torch.Tensor], size: float) -> Iterator[Difference]:
        """Yields what is wrong with results.

        Args:
            check: how they were computed.
            got: the results.
            size: relative error that each op may have.
        """
        if len(got) != len(self.expected):
            yield Difference(check, f"{len(got)} results instead of {len(self.expected)}")
            return
        for number, (one, other) in enumerate(zip(got, self.expected, strict=True)):
            if one.shape != other.shape or one.dtype != other.dtype:
                yield Difference(
                    check,
                    f"result {number} is {one.dtype}{list(one.shape)} instead of {other.dtype}{list(other.shape)}",
                )
            elif not self.undefined and (wrong := self._wrong(number, one.detach(), size)) is not None:
                yield Difference(check, f"result {number}: {_described(wrong, one, other)}")

    def _wrong(self, number: int, got: torch.Tensor, size: float) -> torch.Tensor | None:
        """Returns a mask of the elements of a result that are wrong; None if all are right."""
        expected = self.expected[number].detach()
        parts = self.least
        if got.is_complex():
            pairs = torch.view_as_real(expected.resolve_conj()).abs().double().nan_to_num(0.0, 0.0)
            parts = parts + pairs.amax(-1, keepdim=True)
            got, expected = torch.view_as_real(got.resolve_conj()), torch.view_as_real(expected.resolve_conj())
        if self.any_choice and not expected.is_floating_point():
            return None
        same = _same(got, expected)
        if self.bits and size <= EXACT and expected.is_floating_point():
            same &= (not self.zeros) | (got != 0) | (got.signbit() == expected.signbit())
            return None if same.all() else ~same
        for count in (RUNS, MORE_RUNS):
            if same.all():
                return None
            runs = [run[number].detach() for run in self.noisy(size, count)[:count]]
            runs = [torch.view_as_real(run.resolve_conj()) if run.is_complex() else run for run in runs]
            same |= _near(got, expected, runs, size, pointwise=self.pointwise, size_of_parts=parts)
        if not same.all() and (large := self.parts_overflow[number]) is not None:
            same |= (large.unsqueeze(-1) if expected.dim() > large.dim() else large) & ~got.isfinite()
        if self.chained and not expected.isfinite().all():
            same |= ~got.isfinite()
        return None if same.all() else ~same


def _contiguous(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().resolve_conj().clone(memory_format=torch.contiguous_format)


def _same(got: torch.Tensor, expected: torch.Tensor) -> torch.Tensor:
    if not expected.is_floating_point():
        return got == expected if got.dtype is torch.bool else got.to(torch.int64) == expected.to(torch.int64)
    return (got == expected) | (got.isnan() & expected.isnan())


def _near(
    got: torch.Tensor,
    expected: torch.Tensor,
    runs: Sequence[torch.Tensor],
    size: float,
    *,
    pointwise: bool,
    size_of_parts: Any,
) -> torch.Tensor:
    """Returns where a result lies within the spread of runs with errors, or where these runs disagree altogether."""
    if not expected.is_floating_point():
        changes = torch.zeros(expected.shape, dtype=torch.bool)
        for run in runs:
            changes |= ~_same(run, expected)
        return changes
    wide, centre = got.to(torch.float64), expected.to(torch.float64)
    spread = torch.zeros_like(centre)
    open_ = torch.zeros_like(centre, dtype=torch.bool)
    for run in runs:
        other = run.to(torch.float64)
        open_ |= (other.isfinite() != centre.isfinite()) | (other.isnan() != centre.isnan())
        spread = torch.maximum(spread, (other - centre).abs().nan_to_num(0.0, torch.inf, torch.inf))
    step = max(size, torch.finfo(expected.dtype).eps)
    least = centre.abs() * (2 * step) + size_of_parts * step + 2.0**-126
    if not pointwise:  # what overflows on the way depends on the order of sums
        open_ |= ~wide.isfinite() & ~centre.isfinite()
    if not pointwise and centre.isfinite().any():
        least += step * centre[centre.isfinite()].abs().max()
    narrow = centre.abs() > torch.finfo(torch.float32).max  # float64 is float32 on the chip
    near = (wide - centre).abs() <= SPREADS * spread + least
    return near | open_ | (narrow & wide.isinf())


def _described(wrong: torch.Tensor, got: torch.Tensor, expected: torch.Tensor) -> str:
    if got.is_complex():
        wrong = wrong.any(-1)
    places = wrong.nonzero()
    shown = [
        f"{got[tuple(place)].item()} instead of {expected[tuple(place)].item()} at {place.tolist()}"
        for place in places[:3]
    ]
    return f"{len(places)} of {wrong.numel()} elements differ: " + ", ".join(shown)


__all__ = ["DEFAULT", "EITHER_ZERO", "EXACT", "MOVES", "ROUNDED", "SERIES", "Judge", "Noise", "base_name"]
