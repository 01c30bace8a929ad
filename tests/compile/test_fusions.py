"""Each fusion in the spellings that frameworks have for it, and what looks like it but is not.

A positive case must compile to the ops that it names and no others; a negative one must not have the op that it names.
All are run on the emulated card and compared with XLA's CPU client on the same module.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import jaxlib
import ml_dtypes
import numpy as np
import pytest
import torch
from jax import lax
from jax.extend import backend as jax_backend

from tt_xla.compiler.pipeline import compile_module
from tt_xla.compiler.ttir import fuse
from tt_xla.compiler.ttnn import fuse_rotary, fuse_unary
from tt_xla.ir.program import Program
from tt_xla.options import CompileOptions
from tt_xla.runtime import get_device
from tt_xla.target import load_target

Array = Any
BF16 = np.dtype(ml_dtypes.bfloat16)
UNCOUNTED = {"deallocate", "get_device", "full", "load_cached", "to_layout", "constant", "to_device"}


@dataclass(frozen=True)
class Case:
    program: Callable[..., Any]
    inputs: tuple[np.ndarray, ...]
    ops: tuple[str, ...]
    """All TTNN ops of a positive case; the one that must be absent from a negative one."""
    atol: float


FUSED: dict[str, Case] = {}
NOT_FUSED: dict[str, Case] = {}


def fused(
    name: str, program: Callable[..., Any], *inputs: np.ndarray, into: tuple[str, ...], atol: float = 2e-2
) -> None:
    assert name not in FUSED
    FUSED[name] = Case(program, inputs, into, atol)


def not_fused(name: str, program: Callable[..., Any], *inputs: np.ndarray, into: str, atol: float = 2e-2) -> None:
    assert name not in NOT_FUSED
    NOT_FUSED[name] = Case(program, inputs, (into,), atol)


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(np.float32)


def bf16(*shape: int, seed: int = 0) -> np.ndarray:
    return normal(*shape, seed=seed).astype(BF16)


def positive(*shape: int, seed: int = 0) -> np.ndarray:
    return np.abs(normal(*shape, seed=seed)) + np.float32(0.25)


# Normalisation.


def two_pass_norm(x: Array, g: Array, b: Array, eps: float = 1e-5) -> Array:
    mean = x.mean(-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(-1, keepdims=True)
    return (x - mean) * lax.rsqrt(variance + eps) * g + b


def divided_norm(x: Array, g: Array, b: Array) -> Array:
    return (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5) * g + b


def flax_norm(x: Array, g: Array, b: Array) -> Array:
    """flax's: statistics in float32, mean of squares minus square of mean, the scale joined with the root."""
    wide = x.astype(jnp.float32)
    mean, squares = wide.mean(-1), lax.square(wide).mean(-1)
    variance = jnp.maximum(0.0, squares - lax.square(mean))
    y = wide - jnp.expand_dims(mean, -1)
    return (y * (lax.rsqrt(jnp.expand_dims(variance, -1) + 1e-6) * g) + b).astype(x.dtype)


def rms(x: Array, g: Array) -> Array:
    """transformers' LlamaRMSNorm: computed in float32, scaled in the input's type."""
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


def rotate(x: Array, cos: Array, sin: Array, sign: float = -1) -> Array:
    first, second = jnp.split(x, 2, axis=-1)
    return x * cos + jnp.concatenate([sign * second, first], axis=-1) * sin


TABLES = normal(32, 64, seed=1), normal(32, 64, seed=2)
fused("rotary", rotate, normal(2, 3, 32, 64), *TABLES, into=("reshape", "reshape", "rotary_embedding"))
fused(
    "rotary_twice_by_the_same_tables",
    lambda x, y, cos, sin: (rotate(x, cos, sin), rotate(y, cos, sin)),
    normal(2, 3, 32, 64),
    normal(2, 1, 32, 64, seed=3),
    *TABLES,
    into=("reshape", "reshape", "rotary_embedding", "rotary_embedding"),
)


def rotate_halves(x: Array, cos: Array, sin: Array, sign: float = 1) -> Array:
    a, b = jnp.split(x, 2, axis=-1)
    return jnp.concatenate([a * cos - b * sin, sign * (a * sin) + b * cos], axis=-1)


HALVES = normal(1, 1, 32, 32, seed=1), normal(1, 1, 32, 32, seed=2)
fused("rotary_by_halves", rotate_halves, normal(2, 3, 32, 64), *HALVES, into=("concat", "concat", "rotary_embedding"))
fused(
    "rotary_by_halves_twice",
    lambda x, y, *tables: (rotate_halves(x, *tables), rotate_halves(y, *tables)),
    normal(2, 3, 32, 64),
    normal(2, 1, 32, 64, seed=3),
    *HALVES,
    into=("concat", "concat", "rotary_embedding", "rotary_embedding"),
)
not_fused(
    "rotary_by_halves_wrongly",
    lambda *x: rotate_halves(*x, sign=-1),
    normal(2, 3, 32, 64),
    *HALVES,
    into="rotary_embedding",
)
not_fused("rotary_the_other_way", lambda *x: rotate(*x, sign=1), normal(2, 3, 32, 64), *TABLES, into="rotary_embedding")
fused(
    "rotary_of_31_rows",
    rotate, normal(2, 3, 31, 64), normal(31, 64, seed=1), normal(31, 64, seed=2),
    into=("reshape", "reshape", "rotary_embedding", "slice_static"),
)  # fmt: skip
fused(
    "rotary_of_one_row",
    rotate, normal(2, 3, 1, 32), normal(1, 1, 1, 32, seed=1), normal(1, 1, 1, 32, seed=2),
    into=("rotary_embedding", "slice_static"),
)  # fmt: skip
not_fused(
    "rotary_by_tables_of_each_batch",
    rotate, normal(2, 3, 32, 64), normal(2, 1, 32, 64, seed=1), normal(2, 1, 32, 64, seed=2),
    into="rotary_embedding",
)  # fmt: skip
not_fused(
    "rotary_of_96_elements",
    rotate, normal(2, 3, 32, 96), normal(32, 96, seed=1), normal(32, 96, seed=2),
    into="rotary_embedding",
)  # fmt: skip

# Attention and heads.


def attend(q: Array, k: Array, v: Array, mask: Array | None = None, scale: float = 0.125) -> Array:
    """[B, S, H, D], as JAX writes it: scores in the input's type, softmax in float32."""
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) * scale
    if mask is not None:
        scores = jnp.where(mask, scores, jnp.finfo(q.dtype).min)
    weights = jax.nn.softmax(scores.astype(jnp.float32), axis=-1).astype(q.dtype)
    return jnp.einsum("bhqk,bkhd->bqhd", weights, v)


def attend_heads_first(q: Array, k: Array, v: Array) -> Array:
    """[B, H, S, D], as torch's decomposition has it."""
    scores = (q @ k.swapaxes(-1, -2)) / 8.0
    return jax.nn.softmax(scores, axis=-1) @ v


def attend_grouped(q: Array, k: Array, v: Array) -> Array:
    return attend_heads_first(q, jnp.repeat(k, 2, axis=1), jnp.repeat(v, 2, axis=1))


def project(x: Array, wq: Array, wk: Array, wv: Array) -> Array:
    q, k, v = ((x @ w).reshape(2, 48, 2, 32) for w in (wq, wk, wv))
    return attend(q, k, v).reshape(2, 48, 64)


QKV = bf16(2, 48, 2, 64), bf16(2, 48, 2, 64, seed=1), bf16(2, 48, 2, 64, seed=2)
FIRST = bf16(2, 4, 48, 64), bf16(2, 4, 40, 64, seed=1), bf16(2, 4, 40, 64, seed=2)
WEIGHTS = tuple(bf16(64, 64, seed=seed) * BF16.type(0.1) for seed in range(3))
MOVED = ("permute",) * 3

fused("attention", attend, *QKV, into=(*MOVED, "scaled_dot_product_attention", "permute"))
fused("attention_heads_first", attend_heads_first, *FIRST, into=("scaled_dot_product_attention",))
fused(
    "attention_of_groups",
    attend_grouped,
    bf16(2, 4, 48, 64),
    bf16(2, 2, 40, 64, seed=1),
    bf16(2, 2, 40, 64, seed=2),
    into=("scaled_dot_product_attention",),
)
fused(
    "attention_causal",
    lambda q, k, v: attend(q, k, v, jnp.tril(jnp.ones((48, 48), bool))),
    *QKV,
    into=(*MOVED, "scaled_dot_product_attention", "permute"),
)
fused(
    "attention_masked",
    attend,
    *QKV,
    np.arange(48)[None, None, :] < np.array([[[[40]]], [[[48]]]]),
    into=("where", "repeat", *MOVED, "scaled_dot_product_attention", "permute"),
)
fused(
    "attention_of_projections",
    project,
    bf16(2, 48, 64),
    *WEIGHTS,
    into=(
        "concat", "matmul", "split_query_key_value_and_split_heads", "scaled_dot_product_attention",
        "concatenate_heads",
    ),
)  # fmt: skip
not_fused(
    "attention_in_float32",
    attend,
    *(normal(2, 8, 2, 32, seed=n) for n in range(3)),
    into="scaled_dot_product_attention",
)
not_fused(
    "attention_of_48_elements",
    attend,
    *(bf16(2, 8, 2, 48, seed=n) for n in range(3)),
    into="scaled_dot_product_attention",
)
not_fused(
    "attention_whose_weights_are_used",
    lambda q, k, v: (lambda p: (p @ v, p))(jax.nn.softmax(q @ k.swapaxes(-1, -2), axis=-1)),
    *(bf16(2, 4, 8, 32, seed=n) * BF16.type(0.2) for n in range(3)),
    into="scaled_dot_product_attention",
)
not_fused(
    "attention_over_queries",
    lambda q, k, v: jax.nn.softmax(q @ k.swapaxes(-1, -2), axis=-2) @ v,
    *(bf16(2, 4, 32, 32, seed=n) * BF16.type(0.2) for n in range(3)),
    into="scaled_dot_product_attention",
)
not_fused(
    "attention_of_transposed_weights",
    lambda q, k, v: jax.nn.softmax(q @ k.swapaxes(-1, -2), axis=-1).swapaxes(-1, -2) @ v,
    *(bf16(2, 4, 32, 32, seed=n) * BF16.type(0.2) for n in range(3)),
    into="scaled_dot_product_attention",
)
not_fused(
    "heads_of_16", lambda x: x.transpose(0, 2, 1, 3).reshape(2, 8, 64), bf16(2, 4, 8, 16), into="concatenate_heads"
)
not_fused(
    "projections_of_two_inputs",
    lambda x, y, wq, wk, wv: attend(*(t.reshape(2, 48, 2, 32) for t in (x @ wq, y @ wk, y @ wv))),
    bf16(2, 48, 64),
    bf16(2, 48, 64, seed=1),
    *WEIGHTS,
    into="split_query_key_value_and_split_heads",
)


@cache
def lowered(name: str) -> Any:
    case = (FUSED | NOT_FUSED)[name]
    return jax.jit(case.program).lower(*case.inputs).compiler_ir("stablehlo")


def program_of(name: str, **options: Any) -> Program:
    return compile_module(lowered(name), CompileOptions.parse(options), load_target("n150"))


def counted(program: Program) -> Counter[str]:
    names = [step.op.partition(".")[2] for function in program.functions for step in function.body]
    return Counter(name for name in names if name not in UNCOUNTED)


@pytest.mark.parametrize("name", FUSED)
def test_fuses(name: str) -> None:
    assert counted(program_of(name)) == Counter(FUSED[name].ops)


@pytest.mark.parametrize("name", NOT_FUSED)
def test_does_not_fuse(name: str) -> None:
    assert NOT_FUSED[name].ops[0] not in counted(program_of(name))


def to_torch(array: np.ndarray) -> torch.Tensor:
    if array.dtype == BF16:
        return torch.from_numpy(array.view(np.int16).copy()).view(torch.bfloat16)
    return torch.from_numpy(array)


@pytest.mark.parametrize("level", [0, 2])
@pytest.mark.parametrize("name", [*FUSED, *NOT_FUSED])
def test_equals_its_parts(name: str, level: int) -> None:
    """Within what the chip's numerics and the tanh form of gelu allow."""
    case = (FUSED | NOT_FUSED)[name]
    client = jax_backend.get_backend("cpu")
    devices = jaxlib._jax.DeviceList(tuple(client.local_devices()[:1]))
    executable = client.compile_and_load(lowered(name).operation.get_asm(), devices)
    wanted = executable.execute([jax.device_put(value, client.local_devices()[0]) for value in case.inputs])
    program = program_of(name, optimization_level=level)
    got = get_device("n150").load(program).run([to_torch(value) for value in case.inputs], [0] * len(case.inputs))
    for one, other in zip(got, wanted, strict=True):
        expected = np.asarray(other).astype(np.float32)
        np.testing.assert_allclose(one.to(torch.float32).numpy(), expected, atol=case.atol, rtol=2e-2)


def test_tanh_form_of_gelu_keeps_its_parts_under_exact_numerics() -> None:
    """It differs from the function itself by 5e-4, and exact numerics judge the compiler's meaning."""
    assert "gelu" not in counted(program_of("gelu_by_tanh", numerics="exact"))


def test_every_pattern_is_described() -> None:
    described = (Path(__file__).parents[2] / "docs" / "fusions.md").read_text()
    patterns = (
        *fuse.PATTERNS,
        *fuse_rotary.PATTERNS,
        *fuse_unary.PATTERNS,
        *fuse.linear.TRANSPOSES,
        *fuse.activation.APPROXIMATE,
    )
    assert [pattern.name for pattern in patterns if f"`{pattern.name}`" not in described] == []
