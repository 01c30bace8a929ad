"""Draws calls of ops whose arguments depend on each other, by calling a function of PyTorch that leads to the op.

PyTorch itself then computes the arguments of inner ops and of backward passes. A recipe for an op that PyTorch's CPU
takes apart returns the call itself.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F

from tests.fuzz import values
from tests.fuzz.torch_programs import tensors
from tests.fuzz.torch_programs.calls import Call

aten = torch.ops.aten
prims = torch.ops.prims


@dataclass
class Chance:
    """Draws the operands of a recipe.

    Attributes:
        random: the generator.
        dtype: type of the floats.
        special: whether floats may be special values.
        grad: whether floats require gradients.
    """

    random: random.Random
    dtype: torch.dtype
    special: bool = False
    grad: bool = True

    def int(self, low: int, high: int) -> int:
        """Returns an integer between two, both included."""
        return self.random.randint(low, high)

    def one(self, *choices: Any) -> Any:
        """Returns one of the choices."""
        return self.random.choice(choices)

    def sizes(self, low: int, high: int, *ranks: int) -> list[int]:
        """Returns a shape of one of the ranks."""
        return [self.int(low, high) for _ in range(self.one(*ranks))]

    def float(self, *shape: int) -> torch.Tensor:
        """Returns floats, which may lie in memory in any way."""
        drawn = tensors.elements(self.random, shape, self.dtype, special=self.special)
        return tensors.laid_out(self.random, drawn).requires_grad_(self.grad)

    def positive(self, *shape: int) -> torch.Tensor:
        """Returns floats from 0.5 on."""
        drawn = tensors.elements(self.random, shape, self.dtype).abs() + 0.5
        return drawn.requires_grad_(self.grad)

    def any(self, *shape: int) -> torch.Tensor:
        """Returns elements of any type."""
        from tt_xla.frontends.torch.aten.registry import DTYPES

        if self.random.random() < 0.5:
            return self.float(*shape)
        dtype = self.one(*DTYPES)
        return tensors.laid_out(self.random, tensors.elements(self.random, shape, dtype, special=self.special))

    def like(self, tensor: torch.Tensor, *shape: int) -> torch.Tensor:
        """Returns elements of the same type."""
        drawn = tensors.elements(self.random, shape, tensor.dtype, special=self.special)
        return tensors.laid_out(self.random, drawn)

    def index(self, count: int, *shape: int, negative: bool = False) -> torch.Tensor:
        """Returns positions among ``count`` elements."""
        low = -count if negative else 0
        total = math.prod(shape)
        drawn = [self.random.randrange(low, count) if count else 0 for _ in range(total)]
        dtype = torch.int64 if self.random.random() < 0.7 else torch.int32
        return torch.tensor(drawn, dtype=dtype).reshape(shape)

    def mask(self, *shape: int) -> torch.Tensor:
        """Returns booleans."""
        return tensors.elements(self.random, shape, torch.bool)

    def maybe(self, value: Any) -> Any:
        """Returns the value or None."""
        return value if self.random.random() < 0.6 else None

    def flag(self) -> bool:
        """Returns true or false."""
        return self.random.random() < 0.5


def _convolution(c: Chance) -> Any:
    rank = c.one(1, 1, 2, 2, 2, 3)
    groups = c.one(1, 1, 1, 2, 3)
    one, other = groups * c.int(1, 3), groups * c.int(1, 3)
    kernel = [c.int(1, 3) for _ in range(rank)]
    stride, dilation = ([c.one(1, 1, 2, 3) for _ in range(rank)] for _ in range(2))
    padding = [c.int(0, 2) for _ in range(rank)]
    size = [(k - 1) * d + 1 + c.int(0, 6) for k, d in zip(kernel, dilation, strict=True)]
    x = c.float(c.int(1, 3), one, *size)
    if c.random.random() < 0.3:
        extra = [c.int(0, max(s, d) - 1) for s, d in zip(stride, dilation, strict=True)]
        weight = c.float(one, other // groups, *kernel)
        bias = c.maybe(c.float(other))
        return aten.convolution(x, weight, bias, stride, padding, dilation, True, extra, groups)
    weight = c.float(other, one // groups, *kernel)
    return aten.convolution(x, weight, c.maybe(c.float(other)), stride, padding, dilation, False, [0] * rank, groups)


def _pool(function: Callable[..., Any], rank: int, average: bool) -> Callable[[Chance], Any]:
    def recipe(c: Chance) -> Any:
        kernel = [c.int(1, 3) for _ in range(rank)]
        stride = c.one([], [c.int(1, 3) for _ in range(rank)])
        padding = [c.int(0, k // 2) for k in kernel]
        x = c.float(*c.one([], [c.int(1, 2)]), c.int(1, 3), *[k + c.int(0, 5) for k in kernel])
        if average:
            if rank == 1:
                return Call(function.default, (x.detach(), kernel, stride, padding, c.flag(), c.flag()))
            divisor = [c.one(None, None, 3)]
            return function(x, kernel, stride, padding, c.flag(), c.flag(), *divisor)
        return function(x, kernel, stride, padding, [c.one(1, 1, 2) for _ in range(rank)], c.flag())

    return recipe


def _adaptive(function: Callable[..., Any]) -> Callable[[Chance], Any]:
    return lambda c: function(
        c.float(*c.one([], [2]), c.int(1, 3), c.int(1, 7), c.int(1, 7)), [c.int(1, 4), c.int(1, 4)]
    )


def _interpolate(mode: str, rank: int, antialias: bool = False) -> Callable[[Chance], Any]:
    def recipe(c: Chance) -> Any:
        x = c.float(c.int(1, 2), c.int(1, 3), *[c.int(1, 6) for _ in range(rank)])
        options: dict[str, Any] = {"mode": mode}
        if "nearest" not in mode:
            options |= {"align_corners": c.flag(), "antialias": antialias}
        if c.flag():
            return F.interpolate(x, size=[c.int(1, 9) for _ in range(rank)], **options)
        factors = [c.one(0.5, 0.7, 1.0, 1.5, 2.0, 3.0) for _ in range(rank)]
        return F.interpolate(x, scale_factor=factors, recompute_scale_factor=c.one(None, True), **options)

    return recipe


def _padded(rank: int) -> Callable[[Chance], Any]:
    return lambda c: F.pad(
        c.float(c.int(1, 2), c.int(1, 2), *[c.int(2, 5) for _ in range(rank)]),
        [c.int(0, 3) for _ in range(2 * rank)],
        mode="replicate",
    )


def _grid(c: Chance) -> Any:
    """The grid has no special values, with which PyTorch's gradient reads outside of its memory."""
    x = c.float(2, c.int(1, 3), c.int(1, 5), c.int(1, 5))
    grid = tensors.elements(c.random, (2, c.int(1, 4), c.int(1, 4), 2), c.dtype).requires_grad_()
    return F.grid_sample(
        x, grid, c.one("bilinear", "nearest", "bicubic"), c.one("zeros", "border", "reflection"), align_corners=c.flag()
    )


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


def _matrices(*, batched: bool) -> Callable[[Chance], tuple[torch.Tensor, torch.Tensor]]:
    def operands(c: Chance) -> tuple[torch.Tensor, torch.Tensor]:
        rows, inner, columns = (c.one(0, 1, 2, 3, 5, 8, 17, 32, 33, 40) for _ in range(3))
        batch = [c.int(1, 3)] if batched else []
        x = c.any(*batch, rows, inner)
        return x, c.like(x, *batch, inner, columns)

    return operands


def _added(function: Callable[..., Any], operands: Callable[[Chance], Any]) -> Callable[[Chance], Any]:
    def recipe(c: Chance) -> Any:
        x, y = operands(c)
        shape = [*x.shape[:-1], y.shape[-1]]
        bias = c.like(x, *c.one(shape, shape[-1:], [1] * len(shape)))
        whole = not (x.is_floating_point() or x.is_complex())
        factors = [c.one(0, 1, 1, 2, -1, 3) if whole else c.one(0, 1, 1, 2, 0.5, -1.5) for _ in range(2)]
        return function(bias, x, y, beta=factors[0], alpha=factors[1])

    return recipe


def _matmul(c: Chance) -> Any:
    inner = c.one(1, 2, 5, 33)
    left = [*c.sizes(1, 3, 0, 1, 2), *c.one([], [c.one(1, 4, 33)])]
    right = [inner, *c.one([], [c.one(1, 4, 33)])]
    if len(right) == 2 and c.flag():
        right = [c.one(1, left[0]) if len(left) > 1 else 1, *right]
    x = c.any(*left, inner)
    return Call(aten.matmul.default, (x.detach(), c.like(x, *right)))


def _linear(c: Chance) -> Any:
    inner, out = c.one(1, 3, 8, 33), c.one(1, 2, 5, 40)
    x, weight, bias = c.float(*c.sizes(1, 4, 0, 1, 2), inner), c.float(out, inner), c.maybe(c.float(out))
    return Call(aten.linear.default, (x.detach(), weight.detach(), None if bias is None else bias.detach()))


def _grouped_mm(c: Chance) -> Any:
    """Groups of rows; PyTorch wants widths of whole 16 bytes."""
    groups, inner, out = c.int(1, 4), 8 * c.int(1, 3), 8 * c.int(1, 3)
    ends = sorted(c.int(0, 12) for _ in range(groups - 1))
    x = tensors.elements(c.random, (ends[-1] + 3 if ends else 5, inner), torch.bfloat16)
    y = tensors.elements(c.random, (groups, inner, out), torch.bfloat16)
    return aten._grouped_mm(x, y, torch.tensor([*ends, len(x)], dtype=torch.int32))


def _solve(c: Chance) -> Any:
    size, columns, batch = c.int(1, 5), c.int(1, 3), c.sizes(1, 2, 0, 1)
    matrix = c.float(*batch, size, size).detach() + 3 * torch.eye(size, dtype=c.dtype)
    left = c.flag()
    other = c.float(*batch, *((size, columns) if left else (columns, size)))
    return torch.linalg.solve_triangular(matrix, other, upper=c.flag(), left=left, unitriangular=c.flag())


def _trilinear(c: Chance) -> Any:
    shape = [c.int(1, 4), c.int(1, 4)]
    x, y, z = c.float(*shape), c.float(shape[0], 3), c.float(2, shape[1], 3)
    return aten._trilinear(x, z, y, [1, 3], [0], [1, 2], [2, 3])


def _batch(c: Chance) -> tuple[torch.Tensor, tuple[Any, ...], int]:
    channels = c.int(1, 5)
    x = c.float(c.int(2, 4), channels, *c.sizes(1, 5, 0, 1, 2))
    affine = c.maybe((c.float(channels), c.float(channels))) or (None, None)
    return x, affine, channels


def _batch_norm(function: Callable[..., Any], *, stats: str) -> Callable[[Chance], Any]:
    def recipe(c: Chance) -> Any:
        x, affine, channels = _batch(c)
        numbers = [c.one(0.1, 0.3), c.one(1e-5, 1e-2)]
        mean, variance = c.float(channels).detach(), c.positive(channels).detach()
        if stats == "none":
            return function(x, *affine, True, *numbers)
        if stats == "fixed":
            return function(x, *affine, mean, variance, *numbers)
        return function(x, *affine, mean, variance, c.flag(), *numbers)

    return recipe


def _normalized(c: Chance) -> tuple[torch.Tensor, list[int]]:
    shape = c.sizes(1, 7, 1, 2, 3)
    if c.random.random() < 0.3:
        shape[-1] = c.one(31, 32, 33, 64, 65)
    return c.float(*shape), shape[c.int(0, len(shape) - 1) :]


def _layer_norm(c: Chance) -> Any:
    x, inner = _normalized(c)
    return aten.native_layer_norm(x, inner, c.maybe(c.float(*inner)), c.maybe(c.float(*inner)), c.one(1e-5, 1e-2, 0.1))


def _rms_norm(c: Chance) -> Any:
    x, inner = _normalized(c)
    weight = c.maybe(c.float(*inner).detach())
    return Call(aten._fused_rms_norm.default, (x.detach(), inner, weight, c.one(None, 1e-5, 0.1)))


def _group_norm(c: Chance) -> Any:
    groups, batch, inner = c.int(1, 3), c.int(1, 3), c.sizes(1, 5, 0, 1, 2)
    channels = groups * c.int(1, 3)
    x = c.float(batch, channels, *inner)
    affine = c.maybe(c.float(channels)), c.maybe(c.float(channels))
    return aten.native_group_norm(x, *affine, batch, channels, math.prod(inner), groups, c.one(1e-5, 0.1))


def _cdist(c: Chance) -> Any:
    batch, width = c.sizes(1, 2, 0, 0, 1), c.int(1, 5)
    one, other = c.float(*batch, c.int(1, 5), width), c.float(*batch, c.int(1, 5), width)
    return torch.cdist(
        one, other, p=c.one(0.0, 1.0, 2.0, 3.0, 1.5, float("inf")), compute_mode="donot_use_mm_for_euclid_dist"
    )


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


def _weight_norm(c: Chance) -> Any:
    v, dim = c.float(c.int(1, 5), c.int(1, 5)), c.int(0, 1)
    g = c.float(*[size if axis == dim else 1 for axis, size in enumerate(v.shape)])
    return torch._weight_norm(v, g, dim)


def _masked_scatter(c: Chance) -> Any:
    shape = c.sizes(1, 5, 1, 2)
    x, mask = c.any(*shape), c.mask(*shape)
    return torch.masked_scatter(x, mask, c.like(x, math.prod(shape) + c.int(0, 3)))


def _rrelu(c: Chance) -> Any:
    x = c.float(*values.shape(c.random))
    return aten.rrelu_with_noise_functional(x.detach(), torch.empty_like(x.detach()), 0.1, c.one(0.1, 0.3), False)


def _masked_scatter_backward(c: Chance) -> Any:
    shape = c.sizes(1, 5, 1, 2)
    mask = c.mask(*shape)
    return torch.masked_scatter(c.float(*shape), mask, c.float(math.prod(shape)))


def _softmax(function: Callable[..., Any]) -> Callable[[Chance], Any]:
    def recipe(c: Chance) -> Any:
        shape = c.sizes(1, 9, 0, 1, 2, 3)
        return function(c.float(*shape), c.int(-max(len(shape), 1), max(len(shape), 1) - 1))

    return recipe


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


def _grown(rank: int, exact: bool) -> Callable[[Chance], Any]:
    return _interpolate("nearest-exact" if exact else "nearest", rank)


RECIPES: dict[str, Callable[[Chance], Any]] = {
    "aten::_reshape_alias": lambda c: aten._reshape_alias(c.any(4, 6), *c.one(([24], [1]), ([8, 3], [3, 1]), ([2, 2, 6], [12, 6, 1]))),
    "aten::expand": _expand,
    "aten::split_with_sizes": _split,
    "aten::diagonal_scatter": _scatter_view("diagonal"),
    "aten::slice_scatter": _scatter_view("slice"),
    "aten::select_scatter": _scatter_view("select"),
    "aten::complex": lambda c: aten.complex(*_pairs(c)),
    "aten::polar": lambda c: aten.polar(*_pairs(c)),
    "aten::view_as_complex": lambda c: aten.view_as_complex(tensors.elements(c.random, (*c.sizes(1, 5, 0, 1, 2), 2), c.one(torch.float32, torch.float64))),
    "aten::view_as_real": lambda c: aten.view_as_real(_complex(c).resolve_conj()),
    "aten::_conj": lambda c: aten._conj(_complex(c)),
    "prims::conj_physical": lambda c: prims.conj_physical(_complex(c)),
    "aten::_softmax": _softmax(torch.softmax),
    "aten::_safe_softmax": _softmax(lambda x, dim: aten._safe_softmax(x.detach(), dim)),
    "aten::_log_softmax": _softmax(torch.log_softmax),
    "aten::_softmax_backward_data": _softmax(torch.softmax),
    "aten::_log_softmax_backward_data": _softmax(torch.log_softmax),
    "aten::histc": _histc,
    "aten::convolution": _convolution,
    "aten::convolution_backward": _convolution,
    "aten::upsample_nearest1d_backward": _grown(1, False),
    "aten::upsample_nearest3d_backward": _grown(3, False),
    "aten::_upsample_nearest_exact1d_backward": _grown(1, True),
    "aten::_upsample_nearest_exact2d_backward": _grown(2, True),
    "aten::_upsample_nearest_exact3d_backward": _grown(3, True),
    "aten::upsample_linear1d_backward": _interpolate("linear", 1),
    "aten::upsample_trilinear3d_backward": _interpolate("trilinear", 3),
    "aten::upsample_bicubic2d_backward": _interpolate("bicubic", 2),
    "aten::upsample_nearest2d": _grown(2, False),
    "aten::upsample_nearest2d_backward": _grown(2, False),
    "aten::upsample_bilinear2d": _interpolate("bilinear", 2),
    "aten::upsample_bilinear2d_backward": _interpolate("bilinear", 2),
    "aten::_upsample_bilinear2d_aa": _interpolate("bilinear", 2, antialias=True),
    "aten::_upsample_bilinear2d_aa_backward": _interpolate("bilinear", 2, antialias=True),
    "aten::_upsample_bicubic2d_aa": _interpolate("bicubic", 2, antialias=True),
    "aten::_upsample_bicubic2d_aa_backward": _interpolate("bicubic", 2, antialias=True),
    "aten::replication_pad1d_backward": _padded(1),
    "aten::replication_pad2d_backward": _padded(2),
    "aten::replication_pad3d_backward": _padded(3),
    "aten::grid_sampler_2d_backward": _grid,
    "aten::_weight_norm_interface_backward": _weight_norm,
    "aten::masked_scatter_backward": _masked_scatter_backward,
    "aten::_cdist_forward": _cdist,
    "aten::_cdist_backward": _cdist,
    "aten::_efficientzerotensor": lambda c: aten._efficientzerotensor(values.shape(c.random), dtype=_any_dtype(c)),
    "aten::empty_permuted": lambda c: aten.empty_permuted([2, 3, 4], c.random.sample(range(3), 3), dtype=_any_dtype(c)),
    "aten::empty_strided": lambda c: aten.empty_strided(*_dense(c), dtype=_any_dtype(c)),
    "aten::new_empty_strided": lambda c: aten.new_empty_strided(c.any(2), *_dense(c), dtype=_any_dtype(c)),
    "prims::empty_strided": lambda c: prims.empty_strided(*_dense(c), dtype=_any_dtype(c), device=torch.device("cpu"), requires_grad=False),
    "prims::scalar_tensor": lambda c: prims.scalar_tensor(c.one(0, 1, -2, 0.5, True), dtype=_any_dtype(c), device=torch.device("cpu")),
    "prims::iota": lambda c: prims.iota(c.int(0, 9), start=c.int(-5, 5), step=c.one(-3, -1, 1, 2), dtype=c.one(torch.int64, torch.int32, torch.int16), device=torch.device("cpu"), requires_grad=False),
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
    "aten::mm": lambda c: aten.mm(*_matrices(batched=False)(c)),
    "aten::bmm": lambda c: aten.bmm(*_matrices(batched=True)(c)),
    "aten::mv": lambda c: aten.mv((x := c.any(c.one(1, 5, 33), c.one(1, 4, 40))), c.like(x, x.shape[1])),
    "aten::dot": lambda c: aten.dot((x := c.any(c.one(1, 5, 33))), c.like(x, x.shape[0])),
    "aten::matmul": _matmul,
    "aten::addmm": _added(aten.addmm, _matrices(batched=False)),
    "aten::baddbmm": _added(aten.baddbmm, _matrices(batched=True)),
    "aten::_trilinear": _trilinear,
    "aten::linear": _linear,
    "aten::_grouped_mm": _grouped_mm,
    "aten::linalg_solve_triangular": _solve,
    "aten::_native_batch_norm_legit_no_training": _batch_norm(aten._native_batch_norm_legit_no_training, stats="fixed"),
    "aten::_native_batch_norm_legit": _batch_norm(aten._native_batch_norm_legit.no_stats, stats="none"),
    "aten::_native_batch_norm_legit_functional": _batch_norm(aten._native_batch_norm_legit_functional, stats="both"),
    "aten::native_batch_norm_backward": _batch_norm(aten.native_batch_norm, stats="both"),
    "aten::native_layer_norm": _layer_norm,
    "aten::native_group_norm": _group_norm,
    "aten::_fused_rms_norm": _rms_norm,
    "aten::max_pool2d_with_indices": _pool(aten.max_pool2d_with_indices, 2, average=False),
    "aten::max_pool2d_with_indices_backward": _pool(aten.max_pool2d_with_indices, 2, average=False),
    "aten::max_pool3d_with_indices": _pool(aten.max_pool3d_with_indices, 3, average=False),
    "aten::max_pool3d_with_indices_backward": _pool(aten.max_pool3d_with_indices, 3, average=False),
    "aten::avg_pool1d": _pool(aten.avg_pool1d, 1, average=True),
    "aten::avg_pool2d": _pool(aten.avg_pool2d, 2, average=True),
    "aten::avg_pool2d_backward": _pool(aten.avg_pool2d, 2, average=True),
    "aten::avg_pool3d": _pool(aten.avg_pool3d, 3, average=True),
    "aten::avg_pool3d_backward": _pool(aten.avg_pool3d, 3, average=True),
    "aten::adaptive_max_pool2d": _adaptive(aten.adaptive_max_pool2d),
    "aten::adaptive_max_pool2d_backward": _adaptive(aten.adaptive_max_pool2d),
    "aten::_adaptive_avg_pool2d": _adaptive(aten._adaptive_avg_pool2d),
    "aten::_adaptive_avg_pool2d_backward": _adaptive(aten._adaptive_avg_pool2d),
    "aten::threshold_backward": lambda c: torch.relu(c.float(*values.shape(c.random))),
    "aten::hardshrink_backward": lambda c: F.hardshrink(c.float(*values.shape(c.random)), c.one(0.5, 0.0, 1.0)),
    "aten::softshrink_backward": lambda c: F.softshrink(c.float(*values.shape(c.random)), c.one(0.5, 0.0, 1.0)),
    "aten::rrelu_with_noise_functional": _rrelu,
    "aten::fill.Tensor": lambda c: aten.fill((x := c.any(*values.shape(c.random))), c.any().detach()),
    "aten::searchsorted": _searchsorted,
    "aten::bucketize.Tensor": _bucketize(False),
    "aten::bucketize.Scalar": _bucketize(True),
    "aten::as_strided": _as_strided,
    "prims::device_put": lambda c: prims.device_put(c.any(*values.shape(c.random)), torch.device("cpu")),
    "tt::weight_dtype_override": lambda c: torch.ops.tt.weight_dtype_override(c.float(3, 4).detach(), "bfp_bf8"),
}  # fmt: skip
"""Recipes by name of the op, with its overload where the overloads differ."""

UNREACHED: dict[str, str] = {
    "aten::convolution_overrideable": "a name under which devices other than the CPU compute a convolution",
    "aten::convolution_backward_overrideable": "a name under which devices other than the CPU compute its gradient",
}
"""Rules that PyTorch's CPU cannot judge, with the reason."""
