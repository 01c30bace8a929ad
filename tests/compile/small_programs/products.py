"""Matrix products, patterns that fuse, and patterns that only look like them."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from small_programs.common import cases_of, ints, normal, positive, truth

case = cases_of(__name__)

# Matrix products.

case("matmul", jnp.matmul, normal(5, 7), normal(7, 3))
case("matmul_batched", jnp.matmul, normal(2, 5, 7), normal(2, 7, 3))
case("matmul_broadcast_batch", jnp.matmul, normal(2, 5, 7), normal(7, 3))
case("matmul_4d", jnp.matmul, normal(2, 3, 4, 5), normal(2, 3, 5, 6))
case("matmul_vector_matrix", jnp.matmul, normal(7), normal(7, 3))
case("matmul_matrix_vector", jnp.matmul, normal(5, 7), normal(7))
case("vector_dot", jnp.dot, normal(7), normal(7, seed=1))
case("outer", jnp.outer, normal(4), normal(5))
case("matmul_transposed_right", lambda x, y: x @ y.T, normal(5, 7), normal(3, 7))
case("matmul_transposed_left", lambda x, y: x.T @ y, normal(7, 5), normal(7, 3))
case("matmul_transposed_both", lambda x, y: x.T @ y.T, normal(7, 5), normal(3, 7))
case("attention_scores", lambda q, k: jnp.einsum("bqhd,bkhd->bhqk", q, k), normal(2, 3, 4, 5), normal(2, 6, 4, 5))
case("attention_values", lambda p, v: jnp.einsum("bhqk,bkhd->bqhd", p, v), normal(2, 4, 3, 6), normal(2, 6, 4, 5))
case("einsum_multi_contract", lambda x, y: jnp.einsum("abc,cbd->ad", x, y), normal(3, 4, 5), normal(5, 4, 2))
case("einsum_odd_order", lambda x, y: jnp.einsum("abc,dca->bd", x, y), normal(3, 4, 5), normal(2, 5, 3))
case("einsum_free_only", lambda x, y: jnp.einsum("ab,cd->abcd", x, y), normal(2, 3), normal(4, 5))
case("einsum_batch_only", lambda x, y: jnp.einsum("ab,ab->ab", x, y), normal(2, 3), normal(2, 3, seed=1))
case("einsum_two_batches", lambda x, y: jnp.einsum("abcd,badc->abc", x, y), normal(2, 3, 4, 5), normal(3, 2, 5, 4))
case("dot_keeps_left_dims", lambda x, y: jnp.einsum("abcd,de->abce", x, y), normal(2, 3, 4, 5), normal(5, 6))
case(
    "dot_general_batch_last",
    lambda x, y: lax.dot_general(x, y, (((0,), (1,)), ((2,), (0,)))),
    normal(3, 4, 5),
    normal(5, 3, 2),
)
case("linear", lambda x, w, b: x @ w + b, normal(5, 7), normal(7, 3), normal(3))
case("linear_torch", lambda x, w, b: x @ w.T + b, normal(2, 5, 7), normal(3, 7), normal(3))
case("bias_on_rows", lambda x, w, b: x @ w + b[:, None], normal(5, 7), normal(7, 5), normal(5))
case("bias_square_ambiguous", lambda x, w, b: x @ w + b[:, None], normal(4, 4), normal(4, 4, seed=1), normal(4))
case("bias_full", lambda x, w, b: x @ w + b, normal(5, 7), normal(7, 3), normal(5, 3))
case("bias_scalar", lambda x, w, b: x @ w + b, normal(5, 7), normal(7, 3), normal())
case("bias_of_one_element", lambda x, y, b: (x @ y).reshape(()) + b, normal(1, 7), normal(7, 1), normal())
case("bias_first", lambda x, w, b: b + x @ w, normal(5, 7), normal(7, 3), normal(1, 3))
case("residual", lambda x, w: (x @ w + x) @ w, normal(6, 6), normal(6, 6, seed=1) / 3)
case("product_used_twice", lambda x, w, b: (lambda y: (y + b, y * 2))(x @ w), normal(5, 7), normal(7, 3), normal(3))
case("product_plus_product", lambda x, w: x @ w + (x @ w).T, normal(4, 4), normal(4, 4, seed=1))
case("matmul_column_count_1", lambda x, w, b: x @ w + b, normal(5, 7), normal(7, 1), normal(1))
case("mlp", lambda x, w, b, v: jax.nn.relu(x @ w + b) @ v, normal(5, 7), normal(7, 9), normal(9), normal(9, 2))
case("mlp_silu", lambda x, w, b, v: jax.nn.silu(x @ w + b) @ v, normal(5, 7), normal(7, 9), normal(9), normal(9, 2))
case("mlp_gelu", lambda x, w, b: jax.nn.gelu(x @ w + b, approximate=False), normal(5, 7), normal(7, 9), normal(9))
case("mlp_tanh", lambda x, w, b: jnp.tanh(x @ w + b), normal(5, 7), normal(7, 9), normal(9))
case("sigmoid_of_product", lambda x, w: jax.nn.sigmoid(x @ w).reshape(35), normal(5, 7), normal(7, 7))

# Patterns that fuse, and ones that look like them.

case("softmax", lambda x: jax.nn.softmax(x, axis=-1), normal(4, 9))
case("softmax_middle", lambda x: jax.nn.softmax(x, axis=1), normal(3, 4, 5))
case("softmax_first_square", lambda x: jax.nn.softmax(x, axis=0), normal(5, 5))
case("softmax_plain", lambda x: jnp.exp(x) / jnp.exp(x).sum(-1, keepdims=True), normal(4, 9))
case("softmax_other_spread", lambda x: jnp.exp(x) / jnp.exp(x).sum(0)[:, None], normal(5, 5))
case("softmax_other_maximum", lambda x: (lambda e: e / e.sum(-1, keepdims=True))(jnp.exp(x - x.max(0))), normal(5, 5))
case("softmax_of_total", lambda x: jnp.exp(x) / jnp.exp(x).sum(), normal(5, 5))
case(
    "softmax_shifted_by_transposed_maximum",
    lambda x: (lambda e: e / e.sum(-1, keepdims=True))(jnp.exp(x - x.max(-1))),
    normal(5, 5),
)
case("log_softmax", lambda x: jax.nn.log_softmax(x, axis=-1), normal(4, 9))
case("masked_softmax", lambda x: jax.nn.softmax(jnp.where(jnp.tril(jnp.ones((6, 6), bool)), x, -jnp.inf)), normal(6, 6))
case("mean_by_reciprocal", lambda x: x.sum(1) * (1 / 6), normal(4, 6))
case("not_a_mean", lambda x: x.sum(1) / 5, normal(4, 6))
case("mean_then_spread", lambda x: x - x.mean(0, keepdims=True), normal(4, 6))
case("mean_of_integers", lambda x: x.sum(1) // 6, ints(4, 6))
case("unbiased_variance", lambda x: jnp.var(x, axis=1, ddof=1), normal(2, 300))
case("not_a_mean_of_many", lambda x: x.sum(1) / 299, positive(2, 300))
case("mean_used_with_sum", lambda x: (x.sum(1) / 6, x.sum(1)), normal(4, 6))
case("gelu_by_erf", lambda x: 0.5 * x * (1 + lax.erf(x / np.float32(np.sqrt(2)))), normal(4, 9))
case("gelu_by_erf_2", lambda x: x * (0.5 * (1 + lax.erf(x * np.float32(np.sqrt(0.5))))), normal(4, 9))
case("gelu_by_erfc", lambda x: x * 0.5 * lax.erfc(-x * np.float32(np.sqrt(0.5))), normal(4, 9))
case("not_gelu_scale", lambda x: x * (1 + lax.erf(x / np.float32(np.sqrt(2)))), normal(4, 9))
case(
    "not_gelu_other",
    lambda x, y: 0.5 * y * (1 + lax.erf(x / np.float32(np.sqrt(2)))),
    normal(4, 9),
    normal(4, 9, seed=1),
)
case("not_gelu_argument", lambda x: 0.5 * x * (1 + lax.erf(x)), normal(4, 9))
case("silu_near_miss", lambda x, y: x * jax.nn.sigmoid(y), normal(4, 9), normal(4, 9, seed=1))
case("relu_of_other_constant", lambda x: jnp.maximum(x, 0.1), normal(4, 9))
case("relu_spreads", lambda x: jnp.maximum(x, jnp.zeros((4, 9))), normal(1, 9))
case("relu_of_integers", lambda x: jnp.maximum(x, 0), ints(4, 9))
case("relu6_by_clip", lambda x: jnp.clip(x, 0, 6), normal(4, 9) * 6)
case("reciprocal_of_integers", lambda x: jax.lax.div(np.int32(1), x), ints(4, 5, low=1, high=4))
case("sum_keepdims_by_reshape_elsewhere", lambda x: x.sum(1).reshape(1, 4), normal(4, 6))
case("sum_keepdims_by_reshape_square", lambda x: x.sum(0).reshape(6, 1), normal(6, 6))
case(
    "layer_norm",
    lambda x, g, b: (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5) * g + b,
    normal(4, 32),
    normal(32),
    normal(32, seed=1),
)
case("rms_norm", lambda x, g: x * lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-6) * g, normal(4, 32), normal(32))
case(
    "batch_norm",
    lambda x, m, v: (x - m[:, None, None]) / jnp.sqrt(v[:, None, None] + 1e-5),
    normal(2, 3, 4, 5),
    normal(3),
    positive(3),
)
case("neutral_constants", lambda x: ((x + 0) * 1 - 0) / 1, normal(4, 5))
case("neutral_constant_spreads", lambda x: x + jnp.zeros((4, 5)), normal(1, 5))
case("zero_minus", lambda x: 0 - x, normal(4, 5))
case("one_over", lambda x: 1 / x, positive(4, 5))
case("casts_back_and_forth", lambda x: x.astype(jnp.int32).astype(jnp.float32), normal(4, 5) * 4, correlates=False)
case("cast_constant", lambda x: x + jnp.full((4,), 3, jnp.int32).astype(jnp.float32), normal(4))
case(
    "permute_past_scalar",
    lambda x, s: (x.transpose(0, 2, 3, 1) * s).transpose(0, 3, 1, 2),
    normal(2, 3, 4, 5),
    normal(),
)
case(
    "permute_past_row", lambda x, s: (x.transpose(0, 2, 3, 1) * s).transpose(0, 3, 1, 2), normal(2, 3, 8, 8), normal(3)
)
case(
    "permute_past_where",
    lambda x, p: jnp.where(p.transpose(1, 0), x.transpose(1, 0), 0.0).sum(0),
    normal(8, 9),
    truth(8, 9),
)
case("permute_past_clamp", lambda x: jnp.clip(x.transpose(1, 2, 0), -0.5, 0.5).max(2), normal(3, 4, 5))
case(
    "permutes_that_differ",
    lambda x, y: x.transpose(1, 0, 2) + y.transpose(2, 1, 0),
    normal(3, 4, 5),
    normal(5, 3, 4, seed=1),
)
case("permute_used_twice", lambda x: (lambda y: (jnp.exp(y), y.sum(0)))(x.T), normal(3, 4))
case("permute_past_reduction", lambda x: x.transpose(2, 0, 1, 3).sum((0, 3)), normal(2, 3, 4, 5))
case("permute_past_reduction_kept", lambda x: x.transpose(2, 0, 1, 3).max((1, 3), keepdims=True), normal(2, 3, 4, 5))
case("permute_past_argmax", lambda x: jnp.argmax(x.transpose(2, 0, 1), axis=1), normal(4, 5, 6))
case(
    "permute_past_concat",
    lambda x, y: jnp.concatenate([x.transpose(1, 2, 0), y.transpose(1, 2, 0)], axis=2),
    normal(3, 4, 5),
    normal(2, 4, 5),
)
case("permute_of_unit_dims", lambda x: x.transpose(2, 0, 1).reshape(15), normal(3, 1, 5))
case("permute_past_softmax", lambda x: jax.nn.softmax(x.transpose(0, 2, 1), axis=-1), normal(2, 3, 4))
case("permute_past_cumsum", lambda x: jnp.cumsum(x.T, axis=0), normal(3, 4))
case("permute_broadcast_lower_rank", lambda x, y: x.transpose(2, 1, 0) + y, normal(2, 3, 40), normal(2))
case("permute_broadcast_whole", lambda x, y: x.transpose(1, 0) * y, normal(40, 2), normal(2, 40))
case("permute_cast", lambda x: x.T.astype(jnp.int32) + 1, normal(3, 4) * 5, correlates=False)
case("permute_of_broadcast_first", lambda x, y: (x.T * y).sum(0), normal(1, 6), normal(6, 40))
