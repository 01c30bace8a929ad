# ruff: noqa: E501 (tables of one-line cases)
"""Compares each lowering rule with eager torch: JAX's CPU client runs the module that the rule produces."""

from __future__ import annotations

import functools
import math
import re

import pytest
import torch
import torch.nn.functional as F
from torch.fx.experimental.proxy_tensor import make_fx

from tt_xla.errors import UnsupportedOpError
from tt_xla.frontends.torch.aten import LOWERINGS
from tt_xla.frontends.torch.aten.decompositions import decompositions
from tt_xla.frontends.torch.aten.registry import lower
from tt_xla.frontends.torch.lowering import Argument, lower_to_stablehlo
from tt_xla.ir.program import Role

aten = torch.ops.aten


def f(*shape, dtype=torch.float32, low=-3.0, high=3.0):
    torch.manual_seed(sum(shape) + len(shape))
    return (torch.rand(shape) * (high - low) + low).to(dtype)


def i(*shape, low=-9, high=9, dtype=torch.int64):
    torch.manual_seed(sum(shape) + len(shape))
    return torch.randint(low, high, shape, dtype=dtype)


POINTWISE = {
    "abs": torch.abs, "acos": lambda x: torch.acos(x / 4), "asin": lambda x: torch.asin(x / 4), "atan": torch.atan,
    "asinh": torch.asinh, "acosh": lambda x: torch.acosh(x.abs() + 1), "atanh": lambda x: torch.atanh(x / 4),
    "ceil": torch.ceil, "cos": torch.cos, "cosh": torch.cosh, "erf": torch.erf, "erfc": torch.erfc,
    "erfinv": lambda x: torch.erfinv(x / 4), "exp": torch.exp, "exp2": torch.exp2, "expm1": torch.expm1,
    "floor": torch.floor, "isnan": lambda x: torch.isnan(x.log()), "isinf": lambda x: torch.isinf(x * math.inf),
    "isfinite": lambda x: torch.isfinite(x.log()), "lgamma": torch.lgamma, "digamma": lambda x: torch.digamma(x + 4),
    "log": lambda x: x.abs().log(), "log10": lambda x: x.abs().log10(), "log1p": lambda x: x.abs().log1p(),
    "log2": lambda x: x.abs().log2(), "logical_not": torch.logical_not, "neg": torch.neg, "positive": torch.positive,
    "reciprocal": torch.reciprocal, "round": torch.round, "rsqrt": lambda x: x.abs().rsqrt(), "sign": torch.sign,
    "sgn": torch.sgn, "sin": torch.sin, "sinh": torch.sinh, "sqrt": lambda x: x.abs().sqrt(), "square": torch.square,
    "tan": torch.tan, "tanh": torch.tanh, "trunc": torch.trunc, "frac": torch.frac, "signbit": torch.signbit,
    "nan_to_num": lambda x: torch.nan_to_num(x.log(), 1.0), "deg2rad": torch.deg2rad, "logit": lambda x: torch.logit(x / 4, 1e-3),
    "pow2": lambda x: x**2, "pow3": lambda x: x**3, "pow_1": lambda x: x**-1, "pow5": lambda x: x**5,
    "pow_half": lambda x: x.abs() ** 0.5, "pow_minus_half": lambda x: x.abs() ** -0.5, "pow_1.7": lambda x: x.abs() ** 1.7,
    "scalar_pow": lambda x: 2**x, "rsub": lambda x: 1 - x, "radd": lambda x: 2 + x, "rdiv": lambda x: 2 / x,
    "clamp": lambda x: x.clamp(-1, 1), "clamp_min": lambda x: x.clamp(min=0.5), "clamp_max": lambda x: x.clamp(max=0.5),
    "remainder": lambda x: x % 2, "remainder_negative": lambda x: x % -2, "fmod": lambda x: torch.fmod(x, 2),
    "floor_divide": lambda x: x // 0.7, "to_int": lambda x: x.to(torch.int32), "to_bool": lambda x: x.round().bool(),
    "to_bf16": lambda x: x.to(torch.bfloat16), "to_f64": lambda x: x.double(), "ge": lambda x: x >= 0, "ne": lambda x: x != 0,
    "view_as_int": lambda x: x.view(torch.int32), "masked_fill": lambda x: x.masked_fill(x > 0, 7),
    "where_scalar": lambda x: torch.where(x > 0, x, 0.0), "heaviside": lambda x: torch.heaviside(x, x * 0 + 2),
}  # fmt: skip

ACTIVATIONS = {
    "relu": F.relu, "relu6": F.relu6, "leaky_relu": F.leaky_relu, "elu": F.elu, "selu": F.selu, "celu": F.celu,
    "gelu": F.gelu, "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"), "silu": F.silu, "mish": F.mish,
    "softplus": F.softplus, "softsign": F.softsign, "softshrink": F.softshrink, "hardshrink": F.hardshrink,
    "tanhshrink": F.tanhshrink, "hardtanh": F.hardtanh, "hardswish": F.hardswish, "hardsigmoid": F.hardsigmoid,
    "sigmoid": torch.sigmoid, "logsigmoid": F.logsigmoid, "threshold": lambda x: F.threshold(x, 0.5, 2.0),
    "rrelu": lambda x: F.rrelu(x), "glu": lambda x: F.glu(x, 0), "prelu": lambda x: F.prelu(x, x.new_full((1,), 0.2)),
    "softmax": lambda x: F.softmax(x, -1), "softmin": lambda x: F.softmin(x, 0),
    "log_softmax": lambda x: F.log_softmax(x, 1), "normalize": lambda x: F.normalize(x, dim=0),
}  # fmt: skip


@pytest.mark.parametrize("name", POINTWISE)
def test_pointwise(name, check_case):
    check_case(POINTWISE, name, f(4, 6))


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activation(name, check_case):
    check_case(ACTIVATIONS, name, f(4, 6))


@pytest.mark.parametrize("name", ["relu", "gelu", "silu", "softmax", "log_softmax", "hardswish", "elu"])
def test_activation_in_bfloat16(name, check_case):
    check_case(ACTIVATIONS, name, f(4, 6).bfloat16(), rtol=4e-2, atol=4e-2)


def gradients_of(functions):
    """Returns the gradient of each function of one tensor."""

    def gradient(function, x):
        x = x.detach().requires_grad_()
        return torch.autograd.grad(function(x).sin().sum(), x)[0]

    return {name: functools.partial(gradient, function) for name, function in functions.items()}


GRADIENTS_OF_ACTIVATIONS = gradients_of({name: each for name, each in ACTIVATIONS.items() if name != "rrelu"})


@pytest.mark.parametrize("name", GRADIENTS_OF_ACTIVATIONS)
def test_gradient_of_activation(name, check_case):
    check_case(GRADIENTS_OF_ACTIVATIONS, name, f(4, 6))


BINARY = {
    "add": lambda x, y: x + y, "add_alpha": lambda x, y: torch.add(x, y, alpha=2), "sub": lambda x, y: x - y,
    "sub_alpha": lambda x, y: torch.sub(x, y, alpha=3), "mul": lambda x, y: x * y, "div": lambda x, y: x / y,
    "div_floor": lambda x, y: torch.div(x, y, rounding_mode="floor"), "maximum": torch.maximum, "minimum": torch.minimum,
    "div_trunc": lambda x, y: torch.div(x, y, rounding_mode="trunc"), "remainder": torch.remainder, "fmod": torch.fmod,
    "eq": torch.eq, "ne": torch.ne, "lt": torch.lt, "le": torch.le, "gt": torch.gt, "ge": torch.ge,
    "logical_and": torch.logical_and, "logical_or": torch.logical_or, "logical_xor": torch.logical_xor,
    "where": lambda x, y: torch.where(x > y, x, y), "clamp_tensor": lambda x, y: torch.clamp(x, y, y + 1),
}  # fmt: skip


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize(
    "operands",
    [(f(4, 6), f(6)), (i(4, 6), i(4, 6, low=1)), (f(4, 1), i(4, 6, low=1)), (f(2).bfloat16(), f(3, 2).abs() + 1)],
    ids=["float", "int", "float_int", "bf16_float"],
)
def test_binary(name, operands, check_case):
    check_case(BINARY, name, *operands)


def test_more_elementwise(check):
    x, y = f(3, 4), f(3, 4)
    check(torch.atan2, x, y)
    check(lambda x, y: x.abs() ** y, x, y)
    check(lambda x, y: x**y, i(3, 4), i(3, 4, low=0, high=5))
    check(lambda x, y: (x & y, x | y, x ^ y, ~x), i(3, 4), i(3, 4))
    check(lambda x, y: (x & y, x | y, x ^ y, ~x), i(3, 4) > 0, i(3, 4) > 2)
    check(lambda x, y: (x << y, x >> y), i(3, 4), i(3, 4, low=0, high=5))
    check(lambda x, y: torch.addcmul(x, x, y, value=0.5), x, y)
    check(lambda x, y: torch.addcdiv(x, x, y, value=0.5), x, y)
    check(lambda x, y: torch.lerp(x, y, 0.3), x, y)
    check(torch.logaddexp, x, y)
    check(lambda x: x + True, i(3))
    check(lambda x: x * 2.5, i(3))
    check(lambda x: x > 0.5, i(3))


REDUCTIONS = {
    "sum": lambda x: x.sum(), "sum_dim": lambda x: x.sum(1), "sum_dims": lambda x: x.sum((0, -1), keepdim=True),
    "sum_int": lambda x: (x > 0).sum(0), "mean": lambda x: x.mean(), "mean_dims": lambda x: x.mean((1, 2)),
    "amax": lambda x: x.amax((0, 1)), "amin": lambda x: x.amin(-1, keepdim=True), "max": lambda x: x.max(),
    "min": lambda x: x.min(), "max_dim": lambda x: x.max(1), "min_dim": lambda x: x.min(-1, keepdim=True),
    "argmax": lambda x: x.argmax(1), "argmax_all": lambda x: x.argmax(), "argmin": lambda x: x.argmin(-1, keepdim=True),
    "any": lambda x: (x > 2).any(), "any_dim": lambda x: (x > 2).any(1), "all": lambda x: (x > -2).all(),
    "all_dim": lambda x: (x > -2).all(0, keepdim=True), "prod": lambda x: x.prod(), "prod_dim": lambda x: x.prod(1),
    "var": lambda x: x.var(), "var_dim": lambda x: x.var(1), "var_biased": lambda x: x.var((0, 2), correction=0),
    "std": lambda x: x.std(), "std_dim": lambda x: x.std(-1, keepdim=True), "var_mean": lambda x: torch.var_mean(x, 1),
    "norm": lambda x: x.norm(), "norm_1": lambda x: x.norm(1, dim=1), "norm_inf": lambda x: x.norm(math.inf, dim=0),
    "norm_3": lambda x: torch.linalg.vector_norm(x, 3, (0, 1)), "cumsum": lambda x: x.cumsum(1),
    "cumprod": lambda x: x.cumprod(-1), "logsumexp": lambda x: x.logsumexp(1), "sort": lambda x: x.sort(1),
    "sort_descending": lambda x: x.sort(-1, descending=True), "topk": lambda x: x.topk(2, 1),
    "topk_smallest": lambda x: x.topk(2, largest=False), "argsort": lambda x: x.argsort(0),
    "median_by_sort": lambda x: x.sort(0).values[1], "count_nonzero": lambda x: torch.count_nonzero(x > 0, 1),
    "aminmax": lambda x: torch.aminmax(x, dim=1), "softmax": lambda x: x.softmax(1),
}  # fmt: skip


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reduction(name, check_case):
    check_case(REDUCTIONS, name, f(3, 5, 4))


@pytest.mark.parametrize("descending", [False, True])
def test_sorts_keep_the_order_of_equal_elements(descending, lowered):
    module = lowered(lambda x: x.sort(dim=0, descending=descending, stable=True), f(5)).module
    assert "is_stable = true" in str(module)


def test_sum_of_bools_and_promotion(check):
    check(lambda x: x.sum(dtype=torch.float32), i(3, 4))
    check(lambda x: x.mean(dtype=torch.float32), f(3, 4).bfloat16())


SHAPES = {
    "reshape": lambda x: x.reshape(4, -1), "view": lambda x: x.view(2, 12), "flatten": lambda x: x.flatten(1),
    "permute": lambda x: x.permute(2, 0, 1), "transpose": lambda x: x.transpose(0, -1), "T": lambda x: x[0].t(),
    "squeeze": lambda x: x[:1].squeeze(), "unsqueeze": lambda x: x.unsqueeze(-2), "expand": lambda x: x[:, :1].expand(2, 7, 4),
    "repeat": lambda x: x.repeat(2, 1, 3), "repeat_more": lambda x: x.repeat(2, 1, 1, 2), "cat": lambda x: torch.cat([x, x[:1]], 0),
    "cat_legacy": lambda x: torch.cat([x.new_empty(0), x, x], 0), "stack": lambda x: torch.stack([x, x * 2], 1),
    "slice": lambda x: x[:, 1:3], "slice_step": lambda x: x[..., ::2], "slice_negative": lambda x: x[:, -2:-1],
    "select": lambda x: x[:, -1], "narrow": lambda x: x.narrow(1, 1, 2), "split": lambda x: x.split(2, 1),
    "split_sizes": lambda x: x.split([1, 2], 1), "chunk": lambda x: x.chunk(2, -1), "unbind": lambda x: x.unbind(1),
    "pad": lambda x: F.pad(x, (1, 2, 0, 1), value=3.0), "pad_negative": lambda x: F.pad(x, (-1, 1)),
    "pad_reflect": lambda x: F.pad(x, (2, 1), mode="reflect"), "pad_replicate": lambda x: F.pad(x, (2, 1), mode="replicate"),
    "pad_circular": lambda x: F.pad(x, (2, 1), mode="circular"), "flip": lambda x: x.flip(0, 2), "roll": lambda x: x.roll(1, 2),
    "roll_flat": lambda x: x.roll(5), "tril": lambda x: x.tril(), "triu": lambda x: x.triu(1), "diagonal": lambda x: x.diagonal(0, 1, 2),
    "diagonal_offset": lambda x: x.diagonal(1, 1, 2), "diagonal_below": lambda x: x.diagonal(-1, 1, 2),
    "unfold": lambda x: x.unfold(2, 2, 1), "as_strided": lambda x: x.as_strided((2, 3), (1, 4), 2),
    "pixel_shuffle": lambda x: F.pixel_shuffle(x.reshape(1, 4, 3, 2), 2), "meshgrid": lambda x: torch.meshgrid(x[0, 0], x[1, 0], indexing="ij"),
    "movedim": lambda x: x.movedim(0, 2), "rot90": lambda x: x.rot90(), "repeat_interleave": lambda x: x.repeat_interleave(2, 1),
    "slice_scatter": lambda x: x.slice_scatter(x[:, :1] * 0, 1, 1, 2), "slice_scatter_step": lambda x: x.slice_scatter(x[..., :2] * 0, 2, 0, 4, 2),
    "select_scatter": lambda x: x.select_scatter(x[0] * 0, 0, 1), "broadcast_to": lambda x: x[:1].broadcast_to(5, 3, 4),
}  # fmt: skip


@pytest.mark.parametrize("name", SHAPES)
def test_shape(name, check_case):
    check_case(SHAPES, name, f(2, 3, 4))


def test_matrix_products(check):
    x, y, z = f(3, 4), f(4, 5), f(2, 3, 4)
    check(torch.mm, x, y)
    check(torch.matmul, z, y)
    check(torch.matmul, z, f(2, 4, 3))
    check(torch.matmul, f(2, 1, 3, 4), f(5, 4, 2))
    check(torch.matmul, x, f(4))
    check(torch.matmul, f(4), y)
    check(torch.dot, f(4), f(4))
    check(torch.addmm, f(5), x, y)
    check(lambda b, x, y: torch.addmm(b, x, y, beta=0.5, alpha=2), f(5), x, y)
    check(torch.baddbmm, f(2, 3, 3), z, f(2, 4, 3))
    check(lambda x, y: torch.einsum("bij,jk->bki", x, y), z, y)
    check(F.linear, z, f(5, 4), f(5))
    check(F.bilinear, f(3, 2), f(3, 4), f(5, 2, 4))
    check(torch.outer, f(3), f(4))
    check(torch.mm, x.bfloat16(), y.bfloat16(), rtol=2e-2, atol=2e-2)


def test_infinite_factors_and_complex_infinities(check):
    check(lambda x: F.elu(x, -math.inf), torch.tensor([0.0, -0.0, -1.0, 2.0]))
    check(lambda x: torch.isinf(x).float(), torch.tensor([1 + 1j, math.inf + 0j, complex(1, -math.inf)]))


def test_factors_of_a_product_are_not_rounded_to_16_bits(monkeypatch):
    """PyTorch multiplies by ``alpha`` and ``beta`` before it rounds, and -4.775 has no bfloat16."""
    monkeypatch.setenv("TTXLA_NUMERICS", "exact")
    x = torch.randn(8, 8, generator=torch.Generator().manual_seed(0)).bfloat16()
    on_device = torch.addmm(x.to("tt"), x.to("tt"), x.to("tt"), beta=-4.775, alpha=2.0315)
    assert torch.equal(on_device.cpu(), torch.addmm(x, x, x, beta=-4.775, alpha=2.0315))


CONVOLUTIONS = {
    "conv1d": (F.conv1d, (2, 4, 9), (6, 4, 3), {"padding": 1}),
    "conv1d_grouped": (F.conv1d, (2, 4, 9), (6, 2, 3), {"groups": 2, "stride": 2}),
    "conv2d": (F.conv2d, (2, 3, 8, 7), (4, 3, 3, 2), {}),
    "conv2d_all": (F.conv2d, (2, 4, 9, 9), (8, 2, 3, 3), {"stride": 2, "padding": (2, 1), "dilation": 2, "groups": 2}),
    "conv2d_depthwise": (F.conv2d, (1, 4, 6, 6), (4, 1, 3, 3), {"groups": 4, "padding": 1}),
    "conv2d_same": (F.conv2d, (1, 3, 6, 6), (4, 3, 3, 3), {"padding": "same"}),
    "conv3d_strided": (
        F.conv3d,
        (2, 4, 7, 8, 9),
        (6, 2, 2, 3, 2),
        {"stride": (2, 1, 2), "dilation": (3, 2, 1), "padding": (1, 0, 1), "groups": 2},
    ),
    "conv3d": (F.conv3d, (1, 2, 4, 5, 6), (3, 2, 2, 3, 2), {"padding": 1}),
    "transposed1d": (F.conv_transpose1d, (2, 4, 5), (4, 3, 3), {"stride": 2}),
    "transposed2d": (F.conv_transpose2d, (2, 4, 5, 4), (4, 3, 3, 3), {"stride": 2, "padding": 1, "output_padding": 1}),
    "transposed2d_grouped": (F.conv_transpose2d, (1, 4, 5, 5), (4, 3, 3, 3), {"groups": 2, "dilation": 2}),
}


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolution(name, check):
    op, shape, weight, options = CONVOLUTIONS[name]
    outputs = weight[1] * options.get("groups", 1) if name.startswith("transposed") else weight[0]
    x, w, b = f(*shape), f(*weight), f(outputs)
    check(lambda x, w, b: op(x, w, b, **options), x, w, b, rtol=1e-4, atol=1e-4)

    def gradients(x, w, b):
        tensors = [tensor.detach().requires_grad_() for tensor in (x, w, b)]
        return torch.autograd.grad(op(*tensors, **options).sin().sum(), tensors)

    check(gradients, x, w, b, rtol=1e-3, atol=1e-3)


POOLS = {
    "max": lambda x: F.max_pool2d(x, 2), "max_overlap": lambda x: F.max_pool2d(x, 3, 2, 1),
    "max_ceil": lambda x: F.max_pool2d(x, 3, 2, ceil_mode=True), "max_dilated": lambda x: F.max_pool2d(x, 2, 1, 0, 2),
    "max_1d": lambda x: F.max_pool1d(x[0], 3, 2), "max_indices": lambda x: F.max_pool2d(x, 3, 2, 1, return_indices=True),
    "max_3d": lambda x: F.max_pool3d(x, (1, 2, 2)), "avg": lambda x: F.avg_pool2d(x, 2),
    "avg_pad": lambda x: F.avg_pool2d(x, 3, 2, 1), "avg_not_counting": lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
    "avg_ceil": lambda x: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True), "avg_divisor": lambda x: F.avg_pool2d(x, 2, divisor_override=3),
    "avg_1d": lambda x: F.avg_pool1d(x[0], 3, 2, 1), "avg_3d": lambda x: F.avg_pool3d(x, (1, 2, 2)),
    "adaptive_1": lambda x: F.adaptive_avg_pool2d(x, 1), "adaptive_even": lambda x: F.adaptive_avg_pool2d(x, (4, 2)),
    "adaptive_uneven": lambda x: F.adaptive_avg_pool2d(x, (3, 5)), "adaptive_1d": lambda x: F.adaptive_avg_pool1d(x[0], 3),
    "adaptive_volume": lambda x: F.adaptive_avg_pool3d(x, (2, 3, 5)), "adaptive_volume_1": lambda x: F.adaptive_avg_pool3d(x, 1),
    "adaptive_volume_even": lambda x: F.adaptive_avg_pool3d(x, (1, 4, 2)),
    "adaptive_max": lambda x: F.adaptive_max_pool2d(x, (4, 2)), "lp": lambda x: F.lp_pool2d(x.abs(), 2, 2),
    "nearest": lambda x: F.interpolate(x, scale_factor=2), "nearest_uneven": lambda x: F.interpolate(x, size=(11, 5)),
    "bilinear": lambda x: F.interpolate(x, size=(12, 12), mode="bilinear"),
    "bilinear_smooth": lambda x: F.interpolate(x, size=(3, 12), mode="bilinear", antialias=True),
    "bicubic_smooth": lambda x: F.interpolate(x, scale_factor=0.4, mode="bicubic", antialias=True),
    "bicubic_corners": lambda x: F.interpolate(x, (12, 3), mode="bicubic", antialias=True, align_corners=True),
}  # fmt: skip


MAX_POOLS = {name: pool for name, pool in POOLS.items() if name.startswith("max")}
GRADIENTS_OF_POOLS = gradients_of({name: pool for name, pool in POOLS.items() if "indices" not in name})


@pytest.mark.parametrize("name", POOLS)
def test_pool(name, check_case):
    check_case(POOLS, name, f(2, 3, 8, 8))


@pytest.mark.parametrize("name", MAX_POOLS)
def test_pool_of_equal_elements(name, check_case):
    check_case(MAX_POOLS, name, f(2, 3, 9, 7).round())


@pytest.mark.parametrize("name", GRADIENTS_OF_POOLS)
def test_gradient_of_pool(name, check_case):
    check_case(GRADIENTS_OF_POOLS, name, f(2, 3, 8, 8))


@pytest.mark.parametrize("ceil_mode", [False, True])
def test_windows_that_differ_by_dimension(ceil_mode, check):
    x, options = f(2, 3, 9, 7).round(), {"kernel_size": (3, 2), "stride": (1, 2), "padding": (1, 0)}
    check(lambda x: F.max_pool2d(x, ceil_mode=ceil_mode, return_indices=True, dilation=(2, 1), **options), x.bfloat16())
    check(lambda x: F.avg_pool2d(x, ceil_mode=ceil_mode, count_include_pad=False, **options), x)


def test_only_images_of_bfloat16_are_pooled_with_positions_by_the_chips_op(lowered):
    """The chip's op takes images of bfloat16; a graph that reads no positions needs the maxima alone."""

    def composite(function, *shape, dtype=torch.bfloat16):
        return "tenstorrent.max_pool2d_with_indices" in str(lowered(function, f(*shape).to(dtype)).module)

    def positions(x):
        return F.max_pool2d(x, 2, return_indices=True)

    assert composite(positions, 1, 3, 4, 4)
    assert not composite(positions, 3, 4, 4)  # without a batch
    assert not composite(positions, 1, 3, 4, 4, dtype=torch.float32)
    assert not composite(lambda x: F.max_pool2d(x, 2), 1, 3, 4, 4)
    assert not composite(lambda x: F.max_pool3d(x, 2, return_indices=True), 3, 4, 4, 4)


def test_pool_far_beyond_its_input(check):
    """Windows of this size would take too long and too much memory unless they are cut to the input."""
    x = f(2, 3, 2, 3)
    check(lambda x: F.max_pool2d(x, 3000, ceil_mode=True, return_indices=True), x)
    check(lambda x: F.max_pool2d(x, 3000, 2, 1500, ceil_mode=True), x)
    check(lambda x: F.avg_pool2d(x, 3000, ceil_mode=True), x)
    check(lambda x: F.avg_pool2d(x, 3000, 2, 1500, count_include_pad=False), x)


def test_max_pool_of_minus_infinity_has_valid_indices(check):
    x = torch.full((1, 1, 4, 4), -math.inf)
    check(lambda x: F.max_pool2d(x, 3, 2, 1, return_indices=True), x)


@pytest.mark.parametrize("train", [False, True])
def test_batch_norm(train, check):
    x, w, b = f(4, 3, 5, 5), f(3), f(3)
    check(lambda x, w, b: F.batch_norm(x, b * 0 + 0.3, w.abs() + 1, w, b, train), x, w, b, rtol=1e-4, atol=1e-4)

    def gradients(x, w, b):
        tensors = [tensor.detach().requires_grad_() for tensor in (x, w, b)]
        result = F.batch_norm(tensors[0], b * 0 + 0.3, w.abs() + 1, *tensors[1:], train)
        return torch.autograd.grad(result.sin().sum(), tensors)

    check(gradients, x, w, b, rtol=1e-3, atol=1e-3)


def test_batch_norm_of_half_precision_rounds_its_shift_once(check):
    """The result for zeros is the shift: bias - mean * weight / sqrt(variance)."""
    vectors = [tensor.to(torch.bfloat16) for tensor in (f(999), f(999, low=0.1), f(1, 999)[0], f(3, 333).reshape(999))]
    zeros = torch.zeros(1, 999, 1, dtype=torch.bfloat16)
    check(lambda x, mean, var, w, b: F.batch_norm(x, mean, var, w, b), zeros, *vectors, rtol=0.0, atol=2**-12)


NORMS = {
    "layer": lambda x, w, b: F.layer_norm(x, (6,), w, b), "layer_plain": lambda x, w, b: F.layer_norm(x, (3, 6)),
    "group": lambda x, w, b: F.group_norm(x.reshape(4, 6, 3), 2, w, b), "rms": lambda x, w, b: F.rms_norm(x, (6,), w),
    "instance": lambda x, w, b: F.instance_norm(x.reshape(4, 6, 3), weight=w, bias=b),
    "local_response": lambda x, w, b: F.local_response_norm(x.reshape(4, 6, 3), 2),
}  # fmt: skip


@pytest.mark.parametrize("name", NORMS)
def test_norm(name, check):
    x, w, b = f(4, 3, 6), f(6), f(6)
    check(NORMS[name], x, w, b, rtol=1e-4, atol=1e-4)

    def gradients(x, w, b):
        tensors = [tensor.detach().requires_grad_() for tensor in (x, w, b)]
        grads = torch.autograd.grad(NORMS[name](*tensors).sin().sum(), tensors, allow_unused=True)
        return tuple(grad for grad in grads if grad is not None)

    check(gradients, x, w, b, rtol=1e-3, atol=1e-3)


def test_norm_of_bfloat16_computes_in_float32(check):
    x, w, b = (tensor.bfloat16() for tensor in (f(4, 64), f(64), f(64)))
    check(lambda x, w, b: F.layer_norm(x, (64,), w, b), x, w, b, rtol=1e-2, atol=2e-2)


INDEXING = {
    "embedding": lambda x, n: F.embedding(n, x), "index_select": lambda x, n: x.index_select(1, n[0] % 4),
    "index": lambda x, n: x[n], "index_two": lambda x, n: x[n, n % 4], "index_middle": lambda x, n: x.reshape(2, 5, 2, 2)[:, n % 5],
    "index_apart": lambda x, n: x.reshape(2, 5, 2, 2)[n % 2, :, n % 2], "index_negative": lambda x, n: x[-n - 1],
    "gather": lambda x, n: x.gather(1, n[:1].expand(10, 3) % 4), "gather_one": lambda x, n: x.gather(1, torch.arange(10)[:, None] % 4),
    "take_along": lambda x, n: x.take_along_dim(x.argsort(0), 0), "scatter": lambda x, n: x.scatter(0, n, 5.0),
    "scatter_one": lambda x, n: x.scatter(1, torch.arange(10)[:, None] % 4, 5.0),
    "scatter_src": lambda x, n: x.scatter(1, x.argsort(1), x), "scatter_add": lambda x, n: x.scatter_add(0, n, x),
    "index_add": lambda x, n: x.index_add(0, n[0], x[:3]), "index_put": lambda x, n: x.index_put((n[0],), x[:1]),
    "index_put_accumulate": lambda x, n: x.index_put((n[0] % 2,), x[:3], accumulate=True), "one_hot": lambda x, n: (n[..., None] == torch.arange(10)).float(),
    "mask_put": lambda x, n: x.index_put((x > 0,), x.new_zeros(())), "index_copy": lambda x, n: x.index_copy(0, n[0], x[:3]),
    "index_fill": lambda x, n: x.index_fill(0, n[0], 1.0), "masked_setitem": lambda x, n: torch.where(x > 0, 0.0, x),
}  # fmt: skip


POSITIONS = torch.tensor([[0, 7, 3], [9, 1, 4]])
INDEXING_BY_CONSTANTS = {name: functools.partial(each, n=POSITIONS) for name, each in INDEXING.items()}


@pytest.mark.parametrize("name", INDEXING)
def test_indexing(name, check_case):
    check_case(INDEXING, name, f(10, 4), POSITIONS)
    check_case(INDEXING_BY_CONSTANTS, name, f(10, 4))


REPEATED = torch.tensor([[0, 7, 3], [9, 0, 4]])
GRADIENTS_OF_INDEXING = gradients_of({
    "embedding": lambda x: F.embedding(REPEATED, x), "index": lambda x: x[REPEATED],
    "embedding_padding": lambda x: F.embedding(REPEATED, x, padding_idx=0), "gather": lambda x: x.gather(0, REPEATED),
    "index_select": lambda x: x.index_select(0, REPEATED[0]), "max": lambda x: x.max(1).values,
    "cross_entropy": lambda x: F.cross_entropy(x, REPEATED.flatten()[:1].expand(10) % 4),
    "nll_loss": lambda x: F.nll_loss(x, torch.arange(10) % 4, ignore_index=1), "cumsum": lambda x: x.cumsum(0),
    "topk": lambda x: x.topk(2).values, "std": lambda x: x.std(1), "prod": lambda x: x.prod(1),
    "attention": lambda x: F.scaled_dot_product_attention(x[None], x[None], x[None], is_causal=True),
})  # fmt: skip


@pytest.mark.parametrize("name", GRADIENTS_OF_INDEXING)
def test_gradient_of_indexing(name, check_case):
    check_case(GRADIENTS_OF_INDEXING, name, f(10, 4), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("is_causal", [False, True])
def test_gradient_of_the_cpus_attention(check, is_causal):
    query, key, value, grad = (f(1, 2, 6, 4) * shift for shift in (1, -1, 0.5, 2))
    mask = None if is_causal else f(1, 2, 6, 6)
    aten = torch.ops.aten
    out, sums = aten._scaled_dot_product_flash_attention_for_cpu(query, key, value, 0.0, is_causal, attn_mask=mask)
    backward = aten._scaled_dot_product_flash_attention_for_cpu_backward
    tensors = (grad, query, key, value, out, sums)
    check(lambda *tensors: backward(*tensors, 0.0, is_causal, attn_mask=mask), *tensors, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_labels_after_the_first_negative_one_do_not_count(check, reduction):
    labels = torch.tensor([[2, 0, -1, 1], [-1, 1, 1, 1], [3, 2, 1, 0]])
    check(lambda x: F.multilabel_margin_loss(x, labels, reduction=reduction), f(3, 4))
    check(lambda x: F.multilabel_margin_loss(x, labels[0], reduction=reduction), f(4))


def test_factories(check):
    check(lambda x: x + torch.arange(4), f(4))
    check(lambda x: x + torch.arange(1, 9, 2), f(4))
    check(lambda x: x + torch.arange(0, 1, 0.25), f(4))
    check(lambda x: x + torch.linspace(0, 1, 4), f(4))
    check(lambda x: (torch.zeros_like(x), torch.ones(3), torch.full((2,), 7), x.new_ones(2), x.new_zeros(1)), f(4))
    check(lambda x: (torch.eye(3), torch.full_like(x, 2.5), torch.tensor([1.0, 2.0]), x.new_full((2,), 3)), f(4))


def test_dropout_draws_the_same_numbers_as_torch(lowered):
    x = f(64)
    torch.manual_seed(3)
    expected = F.dropout(x, 0.4)
    result = lowered(lambda x: F.dropout(x, 0.4), x)
    assert result.constant == [False]
    torch.manual_seed(3)
    (mask,) = [make() for make in result.extras]
    assert torch.equal(mask != 0, expected != 0)


def test_large_constant_becomes_an_argument(check, lowered):
    table = torch.arange(100.0)
    graph = make_fx(lambda x: (x + table,), tracing_mode="fake", _allow_non_fake_inputs=True)(f(100))
    result = lower_to_stablehlo(graph)
    assert result.constant == [True]
    assert 'ttcore.argument_type = "constant"' in str(result.module)
    check(lambda x: x + table, f(100))


def test_arguments_carry_role_and_name():
    graph = make_fx(lambda x, w: (x @ w,), tracing_mode="fake")(f(2, 3), f(3, 2))
    result = lower_to_stablehlo(graph, [Argument("args_0"), Argument("fc.weight", Role.PARAMETER)])
    main = str(result.module).partition("{\n")[2]
    assert re.search(r'%arg0: [^{]*\{ttcore.argument_type = "input", ttir.name = "args_0"\}', main)
    assert re.search(r'%arg1: [^{]*\{ttcore.argument_type = "parameter", ttir.name = "fc.weight"\}', main)


def test_max_pool_and_relu_have_the_form_that_the_compiler_matches(lowered):
    text = str(lowered(lambda x: F.max_pool2d(F.relu(x), 2), f(1, 1, 4, 4)).module)
    assert "stablehlo.reduce_window" in text
    assert "0xFF800000" in text
    assert "call @" not in text
    assert text.count("stablehlo.maximum") == 2


def test_unsupported_op_names_op_shapes_and_line(lowered):
    with pytest.raises(UnsupportedOpError) as caught:
        lowered(lambda x: torch.linalg.qr(x).Q, f(4, 4))
    assert "aten.linalg_qr.default" in str(caught.value)
    assert "float32[4, 4]" in str(caught.value)


def test_rule_refuses_a_use_it_does_not_cover(lowered):
    with pytest.raises(UnsupportedOpError, match="output size does not divide"):
        lowered(lambda x: F.adaptive_max_pool2d(x, 3), f(1, 1, 7, 7))


def test_duplicate_rule_is_an_error():
    with pytest.raises(ValueError, match="duplicate lowering rule for"):
        lower(aten.relu.default)(lambda ctx, x: x)


def test_decompositions_leave_ops_with_a_rule_whole():
    undecomposed = set(LOWERINGS) & set(decompositions())
    assert all(decompositions()[op](torch.ones(2), torch.ones(2)) is NotImplemented for op in undecomposed)


def test_histograms(check):
    x = f(60, low=-1, high=7)
    check(lambda x: torch.histc(x, 5, 0, 6), x)
    check(lambda x: torch.histc(x, 4), x)  # the least and the greatest element are the bounds
    check(lambda x: torch.histc(x, 4), torch.ones(3))  # equal bounds are widened
    check(lambda x: torch.histc(x, 4, 0, 3), torch.tensor([0.0, 0, 1, 3, 3, 3, 5, -1]))  # the last bin is closed


def test_grouped_products(check):
    """Multiplies groups of rows, one of them empty, by one matrix each."""
    x, y = f(10, 16, dtype=torch.bfloat16), f(4, 16, 32, dtype=torch.bfloat16)
    offsets = torch.tensor([3, 3, 8, 10], dtype=torch.int32)
    check(lambda x, y, offsets: torch._grouped_mm(x, y, offs=offsets), x, y, offsets, rtol=2e-2, atol=2e-2)


def test_grouped_products_of_gradients(check):
    """Sums over groups of rows, one of them empty, and multiplies matrices by groups of columns."""
    offsets = torch.tensor([3, 3, 8, 16], dtype=torch.int32)
    narrow = {"dtype": torch.bfloat16}

    def function(x, y, offsets):
        return torch._grouped_mm(x, y, offs=offsets)

    check(function, f(16, 16, **narrow), f(16, 32, **narrow), offsets, rtol=2e-2, atol=2e-2)
    check(function, f(4, 8, 16, **narrow), f(16, 16, **narrow), offsets, rtol=2e-2, atol=2e-2)


def test_mixtures_of_experts_of_transformers(check):
    """Lowers ops of another library, whose rules are registered by name, in float32 and with gradients."""
    pytest.importorskip("transformers.integrations.moe")
    offsets = torch.tensor([3, 3, 8, 10], dtype=torch.int32)

    def function(x, y, offsets):
        product = torch.ops.transformers.grouped_mm_fallback(x, y, offsets)
        grads = torch.ops.transformers.grouped_mm_fallback_backward(x, y, offsets, product * 2)
        return product, *grads

    check(function, f(10, 16), f(4, 16, 32), offsets, rtol=1e-4, atol=1e-4)


def test_assertions_about_values_are_ignored(lowered):
    module = lowered(lambda x: (torch._assert_async((x > -9).all()), x + 1)[1], f(3)).module
    assert "stablehlo.add" in str(module)


def test_masked_scatter(check):
    x, source = f(3, 4, 5), f(60, low=10, high=20)
    for mask in (f(3, 4, 5) > 0, f(3, 4, 1) > 0, f(4, 5) > 0, f(3, 1, 1) > -1, f(1) > -9):
        check(torch.masked_scatter, x, mask, source)
    check(torch.masked_scatter, x, f(3, 4, 5) > 9, source[:7])
