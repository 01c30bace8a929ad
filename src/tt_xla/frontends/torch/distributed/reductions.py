"""Reductions of the tensors of all ranks, in the order in which TT-NN reduces between chips."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.distributed as dist

from tt_xla.frontends.torch import settings
from tt_xla.ir.element_types import DataType
from tt_xla.runtime.emulator.kernels.collective import reduced_at, reduced_everywhere, scattered_dim

_ON_CHIP = {torch.bfloat16: DataType.BF16, torch.float16: DataType.F32, torch.float32: DataType.F32}
"""Types on the chip of the dtypes whose sums are rounded there."""

_PLAIN: dict[str, Callable[[Any, Any], Any]] = {
    "sum": operator.add,
    "mean": operator.add,
    "prod": operator.mul,
    "max": torch.maximum,
    "min": torch.minimum,
    "and": torch.bitwise_and,
    "or": torch.bitwise_or,
    "xor": torch.bitwise_xor,
}
"""Reductions of integers and wider floats, one rank after the other."""

REDUCTIONS = {
    dist.ReduceOp.SUM: "sum",
    dist.ReduceOp.PREMUL_SUM: "sum",
    dist.ReduceOp.AVG: "mean",
    dist.ReduceOp.PRODUCT: "prod",
    dist.ReduceOp.MAX: "max",
    dist.ReduceOp.MIN: "min",
    dist.ReduceOp.BAND: "and",
    dist.ReduceOp.BOR: "or",
    dist.ReduceOp.BXOR: "xor",
}
"""Names of the reductions of ``torch.distributed``."""


def reduced(parts: Sequence[torch.Tensor], kind: str, *, silicon: bool | None = None) -> torch.Tensor:
    """Returns what every rank gets from the tensors of all, in TT-NN's order of sums.

    Args:
        parts: CPU tensors of one shape, in the order of the ranks.
        kind: a value of :data:`REDUCTIONS`.
        silicon: whether sums are rounded as on the chip; None for what the options of the session say.
    """
    on_chip = _type_on_chip(parts[0], kind)
    if on_chip is None:
        return _plain(parts, kind)
    return reduced_everywhere(parts, kind, parts[0].shape, on_chip, silicon=_is_silicon(silicon)).to(parts[0].dtype)


def reduced_part(parts: Sequence[torch.Tensor], rank: int, kind: str, *, silicon: bool | None = None) -> torch.Tensor:
    """Returns what one rank gets from the parts that all send to it; otherwise as :func:`reduced`."""
    on_chip = _type_on_chip(parts[0], kind)
    if on_chip is None:
        return _plain(parts, kind)
    return reduced_at(parts, rank, kind, on_chip, silicon=_is_silicon(silicon)).to(parts[0].dtype)


def scattered(
    tensor: torch.Tensor, count: int, kind: str, *, silicon: bool | None = None
) -> tuple[int | None, list[torch.Tensor]]:
    """Splits what a rank gives to a reduction, so that each rank reduces one part for all.

    :func:`reduced_part` of the parts, joined, is then :func:`reduced` of the whole.

    Args:
        tensor: CPU tensor of the rank.
        count: number of ranks.
        kind, silicon: as for :func:`reduced`.

    Returns:
        The dimension along which TT-NN scatters, and the parts. None where it does not scatter: then every element is
        the same however the tensor is split, ``silicon`` of :func:`reduced_part` has to be false, and the parts have
        one dimension.
    """
    dim = scattered_dim(tensor.shape, count)
    if dim is None or kind not in ("sum", "mean") or _type_on_chip(tensor, kind) is None or not _is_silicon(silicon):
        return None, [*tensor.reshape(-1).tensor_split(count)]
    return dim, [*tensor.chunk(count, dim)]


def _type_on_chip(part: torch.Tensor, kind: str) -> DataType | None:
    """Returns the type in which TT-NN reduces; None for what it does not reduce, or not in the tensor's own dtype."""
    return None if kind in ("and", "or", "xor") else _ON_CHIP.get(part.dtype)


def _is_silicon(wanted: bool | None) -> bool:
    return settings.current().with_own({}).numerics != "exact" if wanted is None else wanted


def _plain(parts: Sequence[torch.Tensor], kind: str) -> torch.Tensor:
    if kind != "mean":
        return functools.reduce(_PLAIN[kind], parts)
    if parts[0].is_floating_point() or parts[0].is_complex():
        return functools.reduce(operator.add, parts) / len(parts)
    return functools.reduce(operator.add, [part.to(torch.int64) for part in parts]) // len(parts)  # no sum wraps


__all__ = ["REDUCTIONS", "reduced", "reduced_part", "scattered"]
