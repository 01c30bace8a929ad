"""Draws calls of ops whose arguments depend on each other, by calling a function of PyTorch that leads to the op.

PyTorch itself then computes the arguments of inner ops and of backward passes. A recipe for an op that PyTorch's CPU
takes apart returns the call itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F

from tests.fuzz import values
from tests.fuzz.torch_programs import tensors
from tests.fuzz.torch_programs.chance import Chance
from tests.fuzz.torch_programs.layers import LAYERS

aten = torch.ops.aten
prims = torch.ops.prims


def _fft(name: str) -> Callable[[Chance], Any]:
    def recipe(c: Chance) -> Any:
        dtype = c.one(torch.float32, torch.float64)
        shape = [c.int(1, 9) for _ in range(c.int(1, 3))]
        x = tensors.elements(c.random, shape, dtype if name == "rfftn" else c.one(torch.complex64, torch.complex128))
        dims = c.random.sample(range(len(shape)), c.int(1, len(shape)))
        function = getattr(torch.fft, c.one(name, "ifftn") if name == "fftn" else name)
        return function(x, dim=dims, norm=c.one(None, "ortho", "forward"))

    return recipe


def _gather(c: Chance) -> tuple[torch.Tensor, int, torch.Tensor]:
    shape = c.sizes(1, 5, 1, 2, 2, 3)
    dim = c.int(0, len(shape) - 1)
    count = shape[dim]
    sizes = [c.int(1, 6) if axis == dim else c.int(1, size) for axis, size in enumerate(shape)]
    return c.any(*shape), c.one(dim, dim - len(shape)), c.index(count, *sizes)


def _without_repetition(c: Chance) -> tuple[torch.Tensor, int, torch.Tensor]:
    """Like :func:`_gather`, with no position twice along the dimension, as writes need."""
    x, dim, _ = _gather(c)
    keys = torch.tensor([c.random.random() for _ in range(x.numel())]).reshape(x.shape)
    return x, dim, keys.argsort(dim)[tuple(slice(c.int(1, size)) for size in x.shape)]


def _scatter_add(c: Chance) -> Any:
    x, dim, index = _gather(c)
    return aten.scatter_add(x, dim, index.long(), c.like(x, *index.shape))


def _scatter_reduce(c: Chance) -> Any:
    x, dim, index = _gather(c)
    kind = c.one("sum", "prod", "mean", "amax", "amin")
    return aten.scatter_reduce(x, dim, index.long(), c.like(x, *index.shape), kind, include_self=c.flag())


def _scatter_src(c: Chance) -> Any:
    x, dim, index = _without_repetition(c)
    return aten.scatter(x, dim, index, c.like(x, *index.shape))


def _indices(c: Chance, shape: Sequence[int]) -> list[torch.Tensor | None]:
    """Draws indices of :func:`torch.index`: tensors of positions that broadcast, masks, and None."""
    if len(shape) and c.random.random() < 0.2:
        return [c.mask(*shape[: c.int(1, len(shape))])]
    sizes = c.sizes(1, 4, 0, 1, 2)
    drawn: list[torch.Tensor | None] = []
    for size in shape[: c.int(1, len(shape))]:
        if c.random.random() < 0.3:
            drawn.append(None)
        else:
            kept = [1 if c.random.random() < 0.3 else each for each in sizes]
            drawn.append(c.index(size, *kept[c.int(0, len(kept)) if c.flag() else 0 :], negative=True))
    return drawn if any(each is not None for each in drawn) else [c.index(shape[0], *sizes)]


def _index(function: Callable[..., Any]) -> Callable[[Chance], Any]:
    def recipe(c: Chance) -> Any:
        shape = c.sizes(1, 5, 1, 2, 3)
        return function(c.any(*shape), _indices(c, shape))

    return recipe


def _index_put(function: Callable[..., Any]) -> Callable[[Chance], Any]:
    def recipe(c: Chance) -> Any:
        shape = c.sizes(1, 5, 1, 2, 3)
        x, indices, accumulate = c.any(*shape), _indices(c, shape), c.flag()
        written = tuple(
            slice(None) if each is None else each.long() if each.dtype is torch.int32 else each for each in indices
        )
        target = x.detach()[written]
        if not accumulate:  # of several writes to one position, any may be the last
            places = torch.arange(math.prod(shape)).reshape(shape)[written].flatten()
            if len(places.unique()) < len(places):
                accumulate = x.dtype is not torch.bool
        values_ = c.like(x, *c.one(target.shape, target.shape, target.shape[1:], ()))
        return function(x, indices, values_, accumulate)

    return recipe


_ORDERS = (0.0, 1.0, 2.0, 3.0, 1.5, float("inf"))
"""Orders of norms."""


def _cdist(c: Chance) -> Any:
    batch, width = c.sizes(1, 2, 0, 0, 1), c.int(1, 5)
    one, other = c.float(*batch, c.int(1, 5), width), c.float(*batch, c.int(1, 5), width)
    return torch.cdist(one, other, p=c.one(*_ORDERS), compute_mode="donot_use_mm_for_euclid_dist")


def _searchsorted(c: Chance) -> Any:
    batch = c.sizes(1, 3, 0, 1)
    line = c.any(*batch, c.int(1, 9)).detach()
    line = line.sort(-1).values if not line.is_complex() else line
    options = c.one({"right": c.flag()}, {"side": c.one("left", "right")})
    return aten.searchsorted(line, c.like(line, *batch, c.int(1, 6)), out_int32=c.flag(), **options)


def _bucketize(scalar: bool) -> Callable[[Chance], Any]:
    def recipe(c: Chance) -> Any:
        line = c.any(c.int(1, 9)).detach()
        line = line.sort(-1).values if not line.is_complex() else line
        x = c.one(0, 1, -1, 0.5, 2) if scalar else c.like(line, *values.shape(c.random, (0, 1, 2), 64))
        return aten.bucketize(x, line, out_int32=c.flag(), right=c.flag())

    return recipe


def _strided(c: Chance) -> tuple[list[int], list[int], int]:
    sizes = c.sizes(1, 4, 0, 1, 2, 3)
    return sizes, [c.int(0, 4) for _ in sizes], c.int(0, 3)


def _as_strided(c: Chance) -> Any:
    sizes, strides, offset = _strided(c)
    last = offset + sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=True))
    return aten.as_strided(
        c.any(last + 1 + c.int(0, 3)).detach().contiguous(), sizes, strides, c.one(offset, offset, None)
    )


def _dense(c: Chance) -> tuple[list[int], list[int]]:
    sizes = c.sizes(1, 4, 0, 1, 2, 3)
    order = c.random.sample(range(len(sizes)), len(sizes))
    made = torch.empty([sizes[axis] for axis in order]).permute([order.index(axis) for axis in range(len(sizes))])
    return sizes, list(made.stride())


def _any_dtype(c: Chance) -> torch.dtype:
    from tt_xla.frontends.torch.aten.registry import DTYPES

    return c.one(*DTYPES)


def _expand(c: Chance) -> Any:
    shape = [c.one(1, 1, 3, 5) for _ in range(c.int(0, 3))]
    target = [c.one(-1, size) if size != 1 else c.one(1, 2, 4) for size in shape]
    return aten.expand(c.any(*shape), [*c.sizes(1, 3, 0, 0, 1), *target])


def _split(c: Chance) -> Any:
    shape = c.sizes(1, 6, 1, 2, 3)
    dim = c.int(0, len(shape) - 1)
    first = c.int(0, shape[dim])
    return aten.split_with_sizes(c.any(*shape), [first, shape[dim] - first], c.one(dim, dim - len(shape)))


def _scatter_view(view: str) -> Callable[[Chance], Any]:
    """Writes to a view, whose shape PyTorch says."""

    def recipe(c: Chance) -> Any:
        shape = c.sizes(1, 6, 2, 3)
        x, count = c.any(*shape).detach(), len(shape)
        if view == "diagonal":
            args = (c.int(-2, 2), *c.random.sample(range(-count, 0), 2))
        elif view == "slice":
            args = (c.int(-count, count - 1), c.one(None, c.int(-7, 7)), c.one(None, c.int(-7, 7)), c.int(1, 3))
        else:
            dim = c.int(-count, count - 1)
            args = (dim, c.int(-shape[dim], shape[dim] - 1))
        target = getattr(aten, view)(x, *args)
        return getattr(aten, f"{view}_scatter")(x, c.like(x, *target.shape), *args)

    return recipe


def _histc(c: Chance) -> Any:
    low = c.one(0, -2, -1.5)
    return aten.histc(
        c.float(*values.shape(c.random, (1, 2))).detach(), c.int(1, 9), *c.one((), (low, low + c.one(1, 3, 4)))
    )


def _complex(c: Chance, dtype: torch.dtype | None = None) -> torch.Tensor:
    drawn = tensors.elements(c.random, c.sizes(1, 5, 0, 1, 2), dtype or c.one(*tensors.COMPLEX))
    return tensors.laid_out(c.random, drawn)


def _pairs(c: Chance) -> Any:
    shape = values.shape(c.random)
    dtype = c.one(torch.float32, torch.float64)
    return [tensors.elements(c.random, shape, dtype, special=c.special) for _ in range(2)]


def _masked_scatter(c: Chance) -> Any:
    shape = c.sizes(1, 5, 1, 2)
    x, mask = c.any(*shape), c.mask(*shape)
    return torch.masked_scatter(x, mask, c.like(x, math.prod(shape) + c.int(0, 3)))


def _masked_scatter_backward(c: Chance) -> Any:
    shape = c.sizes(1, 5, 1, 2)
    mask = c.mask(*shape)
    return torch.masked_scatter(c.float(*shape), mask, c.float(math.prod(shape)))


def _embedding(c: Chance) -> Any:
    rows = c.int(1, 9)
    padding = c.one(None, c.int(-rows, rows - 1))
    return F.embedding(
        c.index(rows, *c.sizes(1, 5, 0, 1, 2)), c.float(rows, c.one(1, 4, 33)), padding, scale_grad_by_freq=c.flag()
    )


def _take(c: Chance) -> Any:
    x = c.any(*c.sizes(1, 5, 0, 1, 2))
    return aten.take(x, c.index(x.numel(), *c.sizes(1, 4, 0, 1, 2), negative=True).long())


def _index_select(c: Chance) -> Any:
    x, dim, _ = _gather(c)
    return aten.index_select(x, dim, c.index(x.shape[dim], c.int(0, 6)))


def _experts(c: Chance) -> Any:
    groups, inner, out = c.int(1, 4), c.int(1, 9), c.int(1, 9)
    ends = sorted(c.int(0, 9) for _ in range(groups - 1))
    x, y = c.float((ends[-1] if ends else 0) + c.int(1, 4), inner), c.float(groups, inner, out)
    return torch.ops.transformers.grouped_mm_fallback(x, y, torch.tensor([*ends, len(x)], dtype=torch.int32))


RECIPES: dict[str, Callable[[Chance], Any]] = LAYERS | {
    "aten::_reshape_alias": lambda c: aten._reshape_alias(
        c.any(4, 6).contiguous(), *c.one(([24], [1]), ([8, 3], [3, 1]), ([2, 2, 6], [12, 6, 1]))
    ),
    "aten::expand": _expand,
    "aten::split_with_sizes": _split,
    "aten::diagonal_scatter": _scatter_view("diagonal"),
    "aten::slice_scatter": _scatter_view("slice"),
    "aten::select_scatter": _scatter_view("select"),
    "aten::complex": lambda c: aten.complex(*_pairs(c)),
    "aten::polar": lambda c: aten.polar(*_pairs(c)),
    "aten::view_as_complex": lambda c: aten.view_as_complex(
        tensors.elements(c.random, (*c.sizes(1, 5, 0, 1, 2), 2), c.one(torch.float32, torch.float64))
    ),
    "aten::view_as_real": lambda c: aten.view_as_real(_complex(c).resolve_conj()),
    "aten::_conj": lambda c: torch.conj(_complex(c)),
    "prims::conj_physical": lambda c: prims.conj_physical(_complex(c)),
    "aten::histc": _histc,
    "aten::masked_scatter_backward": _masked_scatter_backward,
    "aten::_cdist_forward": _cdist,
    "aten::_pdist_forward": lambda c: F.pdist(c.float(c.int(1, 5), c.int(1, 5)), c.one(*_ORDERS)),
    "aten::_cdist_backward": _cdist,
    "aten::_efficientzerotensor": lambda c: aten._efficientzerotensor(values.shape(c.random), dtype=_any_dtype(c)),
    "aten::empty_permuted": lambda c: aten.empty_permuted([2, 3, 4], c.random.sample(range(3), 3), dtype=_any_dtype(c)),
    "aten::empty_strided": lambda c: aten.empty_strided(*_dense(c), dtype=_any_dtype(c)),
    "aten::new_empty_strided": lambda c: aten.new_empty_strided(c.any(2), *_dense(c), dtype=_any_dtype(c)),
    "prims::empty_strided": lambda c: prims.empty_strided(
        *_dense(c), dtype=_any_dtype(c), device=torch.device("cpu"), requires_grad=False
    ),
    "prims::scalar_tensor": lambda c: prims.scalar_tensor(
        c.one(0, 1, -2, 0.5, True), dtype=_any_dtype(c), device=torch.device("cpu")
    ),
    "prims::iota": lambda c: prims.iota(
        c.int(0, 9),
        start=c.int(-5, 5),
        step=c.one(-3, -1, 1, 2),
        dtype=c.one(torch.int64, torch.int32, torch.int16),
        device=torch.device("cpu"),
        requires_grad=False,
    ),
    "aten::_fft_c2c": _fft("fftn"),
    "aten::_fft_r2c": _fft("rfftn"),
    "aten::_fft_c2r": _fft("irfftn"),
    "aten::embedding": _embedding,
    "aten::embedding_dense_backward": _embedding,
    "aten::take": _take,
    "aten::index_select": _index_select,
    "aten::gather": lambda c: aten.gather(*_gather(c)),
    "aten::scatter.value": lambda c: aten.scatter(*_without_repetition(c), c.one(0, 1, 2)),
    "aten::scatter.src": _scatter_src,
    "aten::scatter_add": _scatter_add,
    "aten::scatter_reduce": _scatter_reduce,
    "aten::index": _index(aten.index),
    "aten::_unsafe_index": _index(aten._unsafe_index),
    "aten::index_put": _index_put(aten.index_put),
    "aten::_unsafe_index_put": _index_put(aten._unsafe_index_put),
    "aten::masked_scatter": _masked_scatter,
    "aten::mv": lambda c: aten.mv((x := c.any(c.one(1, 5, 33), c.one(1, 4, 40))), c.like(x, x.shape[1])),
    "aten::dot": lambda c: aten.dot((x := c.any(c.one(1, 5, 33))), c.like(x, x.shape[0])),
    "aten::fill.Tensor": lambda c: aten.fill(c.any(*values.shape(c.random)), c.any().detach()),
    "aten::searchsorted": _searchsorted,
    "aten::bucketize.Tensor": _bucketize(False),
    "aten::bucketize.Scalar": _bucketize(True),
    "aten::as_strided": _as_strided,
    **dict.fromkeys(("transformers::grouped_mm_fallback", "transformers::grouped_mm_fallback_backward"), _experts),
    "prims::device_put": lambda c: prims.device_put(c.any(*values.shape(c.random)), torch.device("cpu")),
    "tt::weight_dtype_override": lambda c: torch.ops.tt.weight_dtype_override(c.float(3, 4).detach(), "bfp_bf8"),
}
"""Recipes by name of the op, with its overload where the overloads differ."""

OTHERS = ("transformers::grouped_mm_fallback", "transformers::grouped_mm_fallback_backward")
"""Ops of other libraries, by name."""


def op_of(name: str) -> Any:
    """Returns an op of another library, which defines it when it is imported."""
    import transformers.integrations.moe  # noqa: F401

    namespace, _, base = name.partition("::")
    return getattr(getattr(torch.ops, namespace), base).default


__all__ = ["OTHERS", "RECIPES", "op_of"]
