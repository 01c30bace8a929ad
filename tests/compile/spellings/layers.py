"""Spellings of activations, norms, softmax, convolutions and products."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from spellings.common import Array, bf16, fused, normal, not_fused, positive


def two_pass_norm(x: Array, g: Array, b: Array, eps: float = 1e-5) -> Array:
    mean = x.mean(-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(-1, keepdims=True)
    return (x - mean) * lax.rsqrt(variance + eps) * g + b


def divided_norm(x: Array, g: Array, b: Array) -> Array:
    return (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5) * g + b


def flax_norm(x: Array, g: Array, b: Array) -> Array:
    """Normalises as flax does: statistics in float32, mean of squares minus square of mean, scale joined with the
    root."""
    wide = x.astype(jnp.float32)
    mean, squares = wide.mean(-1), lax.square(wide).mean(-1)
    variance = jnp.maximum(0.0, squares - lax.square(mean))
    y = wide - jnp.expand_dims(mean, -1)
    return (y * (lax.rsqrt(jnp.expand_dims(variance, -1) + 1e-6) * g) + b).astype(x.dtype)


def rms(x: Array, g: Array) -> Array:
    """Normalises as LlamaRMSNorm of transformers does: in float32, scaled in the input's type."""
    wide = x.astype(jnp.float32)
    return (wide * lax.rsqrt(jnp.mean(wide * wide, -1, keepdims=True) + 1e-6)).astype(x.dtype) * g


fused("layer_norm", two_pass_norm, normal(4, 6, 32), normal(32), normal(32, seed=1), into=("layer_norm",))
fused("layer_norm_divided", divided_norm, normal(4, 6, 32), normal(32), normal(32, seed=1), into=("layer_norm",))
fused("layer_norm_of_flax", flax_norm, normal(4, 6, 32), normal(32), normal(32, seed=1), into=("layer_norm",))
fused(
    "layer_norm_of_flax_in_bf16", flax_norm, bf16(4, 6, 32), normal(32), normal(32, seed=1), into=("layer_norm",),
    atol=5e-2,
)  # fmt: skip
fused(
    "layer_norm_without_weight",
    lambda x: (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5),
    normal(4, 32),
    into=("layer_norm",),
)
fused(
    "layer_norm_over_two_dimensions",
    lambda x: (x - x.mean((1, 2), keepdims=True)) * lax.rsqrt(x.var((1, 2), keepdims=True) + 1e-5),
    normal(4, 6, 32),
    into=("reshape", "layer_norm", "reshape"),
)
fused("rms_norm", rms, normal(4, 6, 32), normal(32), into=("rms_norm",))
fused("rms_norm_in_bf16", rms, bf16(4, 6, 32), bf16(32), into=("rms_norm",), atol=5e-2)
fused(
    "rms_norm_divided",
    lambda x: x / jnp.sqrt(jnp.mean(x**2, -1, keepdims=True) + 1e-6),
    normal(4, 32),
    into=("rms_norm",),
)
fused(
    "unit_length",
    lambda x: x * lax.rsqrt((x * x).sum(-1, keepdims=True) + 1e-6),
    normal(4, 32),
    into=("rms_norm",),
)
not_fused(
    "norm_over_rows",
    lambda x: (x - x.mean(0, keepdims=True)) * lax.rsqrt(x.var(0, keepdims=True) + 1e-5),
    normal(32, 32),
    into="layer_norm",
)
not_fused(
    "norm_by_another_mean",
    lambda x, y: (x - y.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5),
    normal(4, 32),
    normal(4, 32, seed=1),
    into="layer_norm",
)
not_fused(
    "norm_with_unbiased_variance",
    lambda x: (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True, ddof=1) + 1e-5),
    normal(4, 32),
    into="layer_norm",
)
not_fused(
    "norm_of_columns_by_rows",  # square, so that shapes alone do not tell
    lambda x: (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1) + 1e-5),
    normal(32, 32),
    into="layer_norm",
)
not_fused(
    "rms_of_another_tensor",
    lambda x, y: x * lax.rsqrt((y * y).mean(-1, keepdims=True) + 1e-6),
    normal(4, 32),
    normal(4, 32, seed=1),
    into="rms_norm",
)
not_fused(
    "root_of_a_mean", lambda x: x * lax.rsqrt(jnp.abs(x).mean(-1, keepdims=True) + 1e-6), normal(4, 32), into="rms_norm"
)

# Activations.

ROOT_2, TANH_SCALE = np.float32(np.sqrt(2)), np.float32(np.sqrt(2 / np.pi))

fused("relu", lambda x: jnp.maximum(x, 0), normal(4, 32), into=("relu",))
fused("relu6", jax.nn.relu6, normal(4, 32) * 6, into=("relu6",))
fused("relu6_by_clip", lambda x: jnp.clip(x, 0, 6), normal(4, 32) * 6, into=("relu6",))
fused("hardsigmoid", jax.nn.hard_sigmoid, normal(4, 32) * 3, into=("hardsigmoid",))
fused("hardswish", jax.nn.hard_swish, normal(4, 32) * 3, into=("multiply",))
fused("sigmoid", lambda x: 1 / (1 + jnp.exp(-x)), normal(4, 32), into=("sigmoid",))
fused("silu", jax.nn.silu, normal(4, 32), into=("silu",))
fused("silu_divided", lambda x: x / (1 + jnp.exp(-x)), normal(4, 32), into=("silu",))
fused("mish", jax.nn.mish, normal(4, 32), into=("mish",))
fused("mish_by_log1p", lambda x: x * jnp.tanh(jnp.log1p(jnp.exp(x))), normal(4, 32), into=("mish",))
fused("gelu", lambda x: jax.nn.gelu(x, approximate=False), normal(4, 32), into=("gelu",))
fused("gelu_by_erf", lambda x: x * (0.5 * (1 + lax.erf(x / ROOT_2))), normal(4, 32), into=("gelu",))
fused("gelu_by_tanh", jax.nn.gelu, normal(4, 32), into=("gelu",))
fused("gelu_by_tanh_in_bf16", jax.nn.gelu, bf16(4, 32), into=("gelu",), atol=5e-2)
fused(
    "gelu_by_tanh_factored",
    lambda x: 0.5 * x * (1 + jnp.tanh(TANH_SCALE * x * (1 + 0.044715 * x * x))),
    normal(4, 32),
    into=("gelu",),
)
fused(
    "gelu_in_float32_of_bf16",
    lambda x: jax.nn.gelu(x.astype(jnp.float32), approximate=False).astype(x.dtype),
    bf16(4, 32),
    into=("gelu",),
    atol=5e-2,
)
fused("rsqrt", lambda x: 1 / jnp.sqrt(x), positive(4, 32), into=("rsqrt",))
fused("clamp", lambda x: jnp.minimum(jnp.maximum(x, -0.5), 0.75), normal(4, 32), into=("clamp_scalar",))
not_fused("relu_of_one", lambda x: jnp.maximum(x, 1), normal(4, 32), into="relu")
not_fused("relu5", lambda x: jnp.clip(x, 0, 5), normal(4, 32) * 6, into="relu6")
not_fused("hardsigmoid_by_5", lambda x: jnp.clip(x + 3, 0, 6) / 5, normal(4, 32), into="hardsigmoid")
not_fused("sigmoid_of_2", lambda x: 1 / (2 + jnp.exp(-x)), normal(4, 32), into="sigmoid")
not_fused("silu_of_two", lambda x, y: x * jax.nn.sigmoid(y), normal(4, 32), normal(4, 32, seed=1), into="silu")
not_fused("mish_of_softplus_2", lambda x: x * jnp.tanh(jnp.log1p(jnp.exp(2 * x))), normal(4, 32), into="mish")
not_fused("gelu_unscaled", lambda x: x * (1 + lax.erf(x / ROOT_2)), normal(4, 32), into="gelu")
not_fused(
    "gelu_by_tanh_of_another_cube",
    lambda x: 0.5 * x * (1 + jnp.tanh(TANH_SCALE * (x + 0.05 * x**3))),
    normal(4, 32),
    into="gelu",
)
not_fused(
    "gelu_by_tanh_of_two",
    lambda x, y: 0.5 * y * (1 + jnp.tanh(TANH_SCALE * (x + 0.044715 * x**3))),
    normal(4, 32),
    normal(4, 32, seed=1),
    into="gelu",
)
not_fused("clamp_with_bounds_crossed", lambda x: jnp.minimum(jnp.maximum(x, 2), 1), normal(4, 32), into="clamp_scalar")

# Softmax.

fused("softmax", jax.nn.softmax, normal(4, 32), into=("softmax",))
fused("softmax_in_bf16", jax.nn.softmax, bf16(4, 32), into=("softmax",), atol=5e-2)
fused(
    "softmax_in_float32_of_bf16",
    lambda x: jax.nn.softmax(x.astype(jnp.float32)).astype(x.dtype),
    bf16(4, 32),
    into=("softmax",),
    atol=5e-2,
)
fused("softmax_plain", lambda x: jnp.exp(x) / jnp.exp(x).sum(-1, keepdims=True), normal(4, 32), into=("softmax",))
fused(
    "softmax_by_reciprocal",
    lambda x: jnp.exp(x) * (1 / jnp.exp(x).sum(-1, keepdims=True)),
    normal(4, 32),
    into=("softmax",),
)
fused(
    "softmax_guarded",
    lambda x: (lambda e: e / e.sum(-1, keepdims=True))(
        jnp.exp(x - (lambda m: jnp.where(jnp.isfinite(m), m, 0))(x.max(-1, keepdims=True)))
    ),
    normal(4, 32),
    into=("softmax",),
)
not_fused("softmax_over_all", lambda x: jnp.exp(x) / jnp.exp(x).sum(), normal(32, 32), into="softmax")
not_fused("softmax_by_rows", lambda x: jnp.exp(x) / jnp.exp(x).sum(-1), normal(32, 32), into="softmax")

# Functions before and after an op of two operands.

fused("relu_after_add", lambda x, y: jax.nn.relu(x + y), normal(4, 32), normal(4, 32, seed=1), into=("add",))
fused("silu_times", lambda x, y: jax.nn.silu(x) * y, bf16(4, 32), bf16(4, 32, seed=1), into=("multiply",), atol=5e-2)
fused("minus_exp", lambda x, y: x - jnp.exp(y), normal(4, 32), normal(4, 32, seed=1), into=("subtract",))
fused(
    "three_functions_of_one_op",
    lambda x, y: jnp.tanh(jnp.exp(x) / jax.nn.sigmoid(y)),
    normal(4, 32),
    normal(32),
    into=("divide",),
)
fused(
    "function_used_twice",
    lambda x, y: (lambda e: (e + y, e))(jnp.exp(x)),
    normal(4, 32),
    normal(4, 32, seed=1),
    into=("exp", "add"),
)
fused(
    "function_of_integers",
    lambda x, y: jnp.abs(x) + y,
    np.arange(-4, 4, dtype=np.int32),
    np.arange(8, dtype=np.int32),
    into=("abs", "add"),
)

# Products, convolutions, reductions, moves.

fused("linear", lambda x, w, b: x @ w + b, normal(4, 32), normal(32, 8), normal(8), into=("linear",))
fused("linear_minus", lambda x, w, b: x @ w - b, normal(4, 32), normal(32, 8), normal(8), into=("neg", "linear"))
fused("transposed", lambda x, w: x @ w.T, normal(4, 32), normal(8, 32), into=("matmul",))
fused("mean", lambda x: x.mean(-1), normal(4, 32), into=("mean",))
fused("mean_by_reciprocal", lambda x: x.sum(-1) * (1 / 32), normal(4, 32), into=("mean",))
fused("transposes_cancel", lambda x: jnp.exp(x.T).T, normal(4, 32), into=("exp",))
fused(
    "moving_average",
    lambda m, g: 0.9 * m + 0.1 * g,
    normal(4, 32),
    normal(4, 32, seed=1),
    into=("add",),
    atol=1e-5,
)
fused(
    "moving_average_of_squares",
    lambda v, g: 0.999 * v + 0.001 * (g * g),
    positive(4, 32),
    normal(4, 32, seed=1),
    into=("add",),
    atol=1e-5,
)
fused(
    "step_of_adam",
    lambda p, m, v, u, w: p - 1e-3 * (m / u) / (jnp.sqrt(v / w) + 1e-8),
    normal(4, 32),
    normal(4, 32, seed=1),
    positive(4, 32, seed=2),
    positive(1, 1, seed=3),
    positive(1, 1, seed=4),
    into=("divide", "divide", "divide", "subtract"),
    atol=1e-5,
)
fused("constant_first", lambda x, y: (1 - x) * (y - 3), normal(4, 32), normal(4, 32, seed=1), into=("multiply",))
fused("functions_in_bf16", lambda x, y: jnp.tanh(0.5 * x + y), bf16(4, 32), bf16(4, 32, seed=1), into=("add",))
fused(
    "used_twice",
    lambda x, y: (2 * x) + (2 * x) * y,
    normal(4, 32),
    normal(4, 32, seed=1),
    into=("multiply", "multiply", "add"),
)
fused("factors_join", lambda x: x * 2 * 3 / 4, normal(4, 32), into=("multiply",))
fused("negations_cancel", lambda x, y: x - (-y), normal(4, 32), normal(4, 32, seed=1), into=("add",))
fused("powers", lambda x: x**-0.5, positive(4, 32), into=("rsqrt",))
fused(
    "casts_around_a_sum",
    lambda x: x.astype(jnp.float32).sum(-1).astype(x.dtype),
    bf16(4, 32),
    into=("sum",),
    atol=1e-1,
)
not_fused(
    "linear_of_columns", lambda x, w, b: x @ w + b[:, None], normal(8, 32), normal(32, 8), normal(8), into="linear"
)
not_fused("mean_of_31", lambda x: x.sum(-1) / 31, normal(4, 32), into="mean")
not_fused("softplus_alone", lambda x: jnp.log1p(jnp.exp(x)), normal(4, 32), into="mish")


def _conv(x: Array, w: Array, stride: int = 1) -> Array:
    """A convolution of [N, C, H, W] without padding."""
    return lax.conv_general_dilated(x, w, (stride, stride), "VALID", dimension_numbers=("NCHW", "OIHW", "NCHW"))


def _pool(x: Array, start: float, step: Callable[..., Array]) -> Array:
    """A pooling of [N, C, H, W] over windows of 3 by 3."""
    return lax.reduce_window(x, start, step, (1, 1, 3, 3), (1, 1, 2, 2), "VALID")


_HEIGHT_AND_WIDTH = ((0, 0), (0, 0), (0, 1), (2, 1))

fused(
    "padded_conv",
    lambda x, w: _conv(jnp.pad(x, _HEIGHT_AND_WIDTH), w, 2),
    normal(1, 8, 6, 6),
    normal(4, 8, 3, 3),
    into=("permute", "reshape", "conv2d", "reshape", "permute"),
    atol=5e-2,
)
fused(
    "padded_maximum",
    lambda x: _pool(
        lax.pad(x, np.array(-np.inf, x.dtype), ((0, 0, 0), (0, 0, 0), (0, 1, 0), (1, 1, 0))), -jnp.inf, lax.max
    ),
    bf16(1, 8, 6, 6),
    into=("permute", "reshape", "max_pool2d", "reshape", "permute"),
)


# Sorts.

fused("sorted_downwards", lambda x: jnp.sort(x, descending=True), normal(4, 64), into=("sort",))
fused("greatest_of_sort", lambda x: jnp.sort(x, descending=True)[:, :8], normal(4, 64), into=("topk",))
fused("least_of_sort", lambda x: jnp.sort(x)[:, :8], normal(4, 64), into=("topk",))
not_fused("last_of_sort", lambda x: jnp.sort(x)[:, 8:], normal(4, 64), into="topk")
not_fused("rows_of_sort", lambda x: jnp.sort(x)[:2], normal(4, 64), into="topk")
not_fused(
    "sort_whose_positions_count",
    lambda x: [part[:, :8] for part in lax.sort_key_val(x, lax.broadcasted_iota(jnp.int32, x.shape, 1))],
    normal(4, 64),
    into="topk",
)

fused("split_and_joined", lambda x: jnp.exp(jnp.concatenate(jnp.split(x, 4, 1), 1)), normal(4, 64), into=("exp",))
fused("neighbours", lambda x: jnp.concatenate([x[:, 8:16], x[:, 16:40]], 1), normal(4, 64), into=("slice_static",))
fused(
    "rolled",
    lambda x: jnp.concatenate([x[8:], x[:8]]),
    normal(16, 32),
    into=("slice_static", "slice_static", "concat"),
)


# Rotary embedding.
