"""Recipes for layers of networks: convolutions, pooling, resizing, products, norms, and their gradients."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

from tests.fuzz import values
from tests.fuzz.torch_programs import tensors
from tests.fuzz.torch_programs.calls import Call
from tests.fuzz.torch_programs.chance import Chance

aten = torch.ops.aten


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


def _adaptive(function: Callable[..., Any], rank: int = 2) -> Callable[[Chance], Any]:
    return lambda c: function(
        c.float(*c.one([], [2]), c.int(1, 3), *[c.int(1, 7) for _ in range(rank)]), [c.int(1, 4) for _ in range(rank)]
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
        # PyTorch's decomposition saves no statistics for the gradient outside of training on the CPU, but elsewhere.
        training = True if function is aten._native_batch_norm_legit_functional else c.flag()
        return function(x, *affine, mean, variance, training, *numbers)

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


def _softmax(function: Callable[..., Any]) -> Callable[[Chance], Any]:
    def recipe(c: Chance) -> Any:
        shape = c.sizes(1, 9, 0, 1, 2, 3)
        return function(c.float(*shape), c.int(-max(len(shape), 1), max(len(shape), 1) - 1))

    return recipe


def _grown(rank: int, exact: bool) -> Callable[[Chance], Any]:
    return _interpolate("nearest-exact" if exact else "nearest", rank)


def _weight_norm(c: Chance) -> Any:
    v, dim = c.float(c.int(1, 5), c.int(1, 5)), c.int(0, 1)
    g = c.float(*[size if axis == dim else 1 for axis, size in enumerate(v.shape)])
    return torch._weight_norm(v, g, dim)


def _rrelu(c: Chance) -> Any:
    x = c.float(*values.shape(c.random))
    return aten.rrelu_with_noise_functional(x.detach(), torch.empty_like(x.detach()), 0.1, c.one(0.1, 0.3), False)


LAYERS: dict[str, Callable[[Chance], Any]] = {
    "aten::_softmax": _softmax(torch.softmax),
    "aten::_safe_softmax": _softmax(lambda x, dim: aten._safe_softmax(x.detach(), dim)),
    "aten::_log_softmax": _softmax(torch.log_softmax),
    "aten::_softmax_backward_data": _softmax(torch.softmax),
    "aten::_log_softmax_backward_data": _softmax(torch.log_softmax),
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
    "aten::mm": lambda c: aten.mm(*_matrices(batched=False)(c)),
    "aten::bmm": lambda c: aten.bmm(*_matrices(batched=True)(c)),
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
    "aten::_adaptive_avg_pool3d": _adaptive(aten._adaptive_avg_pool3d, 3),
    "aten::_adaptive_avg_pool3d_backward": _adaptive(aten._adaptive_avg_pool3d, 3),
    "aten::threshold_backward": lambda c: torch.relu(c.float(*values.shape(c.random))),
    "aten::hardshrink_backward": lambda c: F.hardshrink(c.float(*values.shape(c.random)), c.one(0.5, 0.0, 1.0)),
    "aten::softshrink_backward": lambda c: F.softshrink(c.float(*values.shape(c.random)), c.one(0.5, 0.0, 1.0)),
    "aten::rrelu_with_noise_functional": _rrelu,
}
"""Recipes by name of the op, with its overload where the overloads differ."""

__all__ = ["LAYERS"]
