"""Spellings of rotary embeddings, attention and heads."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from spellings.common import BF16, Array, bf16, fused, normal, not_fused


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


def rotate_pairs(x: Array, cos: Array, sin: Array, sign: float = 1) -> Array:
    a, b = x[..., ::2], x[..., 1::2]
    return jnp.stack([a * cos - b * sin, sign * (a * sin) + b * cos], -1).reshape(x.shape)


def rotate_rows_by_pairs(x: Array, cos: Array, sin: Array) -> Array:
    """Rotates one row by each row of the tables."""
    a, b = x[..., ::2], x[..., 1::2]
    turned = jnp.stack([a * cos - b * sin, b * cos + a * sin], -1)
    return turned.reshape(*turned.shape[:-2], -1)


def rotate_complex(x: Array, cos: Array, sin: Array) -> Array:
    pairs = x.astype(jnp.float32).reshape(*x.shape[:-1], -1, 2)
    turned = jax.lax.complex(pairs[..., 0], pairs[..., 1]) * jax.lax.complex(cos, sin)
    return jnp.stack([turned.real, turned.imag], -1).reshape(x.shape).astype(x.dtype)


def rotate_every_two(x: Array, cos: Array, sin: Array) -> Array:
    return x * cos + jnp.stack([-x[..., 1::2], x[..., ::2]], -1).reshape(x.shape) * sin


ANGLES = np.linspace(0, 3, 32 * 32, dtype=np.float32).reshape(1, 1, 32, 32)
TURNS = np.cos(ANGLES), np.sin(ANGLES)
EVERY_TWO = ("matmul", "multiply", "multiply", "add")
TABLES_TWICE = ("reshape", "concat", "reshape") * 2
fused(
    "rotary_by_pairs",
    lambda x: rotate_pairs(x, *(table.astype(x.dtype) for table in TURNS)), normal(2, 3, 32, 64),
    into=(*TABLES_TWICE, *EVERY_TWO),
)  # fmt: skip
fused(
    "rotary_by_complex_numbers",
    lambda x: rotate_complex(x, *TURNS), normal(2, 3, 32, 64),
    into=(*TABLES_TWICE, *EVERY_TWO),
)  # fmt: skip
fused(
    "rotary_by_pairs_of_one_row",
    rotate_rows_by_pairs, normal(1, 1, 1, 64), normal(32, 32, seed=1), normal(32, 32, seed=2),
    into=(*TABLES_TWICE, *EVERY_TWO),
)  # fmt: skip
fused("rotary_of_every_two", rotate_every_two, normal(2, 3, 32, 64), *TABLES, into=EVERY_TWO)
not_fused("rotary_by_pairs_wrongly", lambda x: rotate_pairs(x, *TURNS, sign=-1), normal(2, 3, 32, 64), into="matmul")
not_fused(
    "pairs_of_one_wide_row",
    lambda x: jnp.stack([-x[..., 1::2], x[..., ::2]], -1).reshape(x.shape), normal(2, 1024),
    into="matmul",
)  # fmt: skip

# Attention and heads.


def attend(q: Array, k: Array, v: Array, mask: Array | None = None, scale: float = 0.125) -> Array:
    """Computes attention over [B, S, H, D] as JAX does: scores in the input's type, softmax in float32."""
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) * scale
    if mask is not None:
        scores = jnp.where(mask, scores, jnp.finfo(q.dtype).min)
    weights = jax.nn.softmax(scores.astype(jnp.float32), axis=-1).astype(q.dtype)
    return jnp.einsum("bhqk,bkhd->bqhd", weights, v)


def attend_heads_first(q: Array, k: Array, v: Array) -> Array:
    """Computes attention over [B, H, S, D] as torch's decomposition does."""
    scores = (q @ k.swapaxes(-1, -2)) / 8.0
    return jax.nn.softmax(scores, axis=-1) @ v


def attend_safely(q: Array, k: Array, v: Array, hidden: Array) -> Array:
    """Computes attention over [B, H, S, D] with a boolean mask as torch does: a masked row has weights of 0."""
    scores = jnp.where(hidden, -jnp.inf, (q @ k.swapaxes(-1, -2)) * 0.125)
    blind = jnp.max(scores, axis=-1, keepdims=True) == -jnp.inf
    return jnp.where(blind, 0, jax.nn.softmax(scores, axis=-1)) @ v


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
SEEN = np.random.default_rng(5).random((2, 1, 48, 40)) < 0.7
SEEN[0, 0, 3], SEEN[1, 0, 47] = False, False  # fully masked rows
fused(
    "attention_guarded",
    lambda q, k, v, visible: attend_safely(q, k, v, ~visible),
    *FIRST,
    SEEN,
    into=("where", "max", "ne", "scaled_dot_product_attention", "where"),
)
fused(
    "attention_guarded_by_what_is_hidden",
    attend_safely,
    *FIRST,
    ~SEEN,
    into=("where", "max", "ne", "scaled_dot_product_attention", "where"),
)
not_fused(
    "attention_guarded_by_the_minimum",
    lambda q, k, v, hidden: (
        lambda s: jnp.where(jnp.min(s, axis=-1, keepdims=True) == -jnp.inf, 0, jax.nn.softmax(s, axis=-1)) @ v
    )(jnp.where(hidden, -jnp.inf, q @ k.swapaxes(-1, -2))),
    *(bf16(2, 4, 32, 32, seed=n) * BF16.type(0.2) for n in range(3)),
    np.arange(32)[None, :] > np.arange(31, 63)[:, None],
    into="scaled_dot_product_attention",
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
