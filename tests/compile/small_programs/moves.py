"""Reductions, and ops that move elements."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from small_programs.common import cases_of, ints, normal, positive, truth

case = cases_of(__name__)

# Reductions.

for _name in ("sum", "max", "min", "mean", "prod"):
    case(f"{_name}_last", functools.partial(getattr(jnp, _name), axis=-1), positive(4, 5, 6))
    case(f"{_name}_middle_kept", functools.partial(getattr(jnp, _name), axis=1, keepdims=True), positive(4, 5, 6))
    case(f"{_name}_first_and_last", functools.partial(getattr(jnp, _name), axis=(0, 2)), positive(2, 5, 3))
    case(f"{_name}_all", getattr(jnp, _name), positive(2, 5), atol=1e-4)
case("sum_integers", lambda x: x.sum(1), ints(4, 40, low=-99, high=99))
case("sum_large_integers", lambda x: x.sum(1), np.full((2, 3), 16777217, np.int32))
case("max_integers", lambda x: x.max(1), np.array([[16777217, 16777216], [-(2**31), -5]], np.int32))
case("min_integers", lambda x: x.min(0), ints(4, 40))
case("prod_integers", lambda x: x.prod(0), ints(4, 5))
case("any", lambda x: jnp.any(x > 1, axis=0), normal(3, 9))
case("all", lambda x: jnp.all(x > -1, axis=1), normal(3, 9))
case("argmax", lambda x: jnp.argmax(x, axis=1), normal(4, 17))
case("argmax_first", lambda x: jnp.argmax(x, axis=0), normal(9, 6))
case("argmax_middle", lambda x: jnp.argmax(x, axis=1), normal(3, 9, 6))
case("argmax_ties", lambda x: jnp.argmax(x, axis=-1), np.array([[1, 3, 3, 2], [5, 5, 5, 5]], np.float32))
case("argmax_flat", jnp.argmax, normal(4, 6))
case("argmin", lambda x: jnp.argmin(x, axis=1), normal(4, 17))
case("argmax_integers", lambda x: jnp.argmax(x, axis=1), ints(4, 17))
case("variance", lambda x: jnp.var(x, axis=-1), normal(4, 20))
case("standard_deviation", lambda x: jnp.std(x, axis=(0, 1)), normal(4, 5, 6))
case("norm", lambda x: jnp.linalg.norm(x, axis=1), normal(4, 7))
case("cumsum", lambda x: jnp.cumsum(x, axis=1), normal(4, 9))
case("cumsum_first", lambda x: jnp.cumsum(x, axis=0), normal(6, 3))
case("cumsum_reverse", lambda x: lax.cumsum(x, axis=1, reverse=True), normal(4, 9))
case("cumsum_integers", lambda x: jnp.cumsum(x, axis=1), ints(4, 9))
case("logsumexp", lambda x: jax.nn.logsumexp(x, axis=-1), normal(4, 9))


def reduction(reducer: str, initial: str, dims: str, result: str, source: str = "4x6xf32") -> str:
    """Returns the text of a reduction with an initial value."""
    element = source.rpartition("x")[2]
    return f"""
func.func @main(%x: tensor<{source}>) -> tensor<{result}> {{
  %init = stablehlo.constant dense<{initial}> : tensor<{element}>
  %0 = stablehlo.reduce(%x init: %init) applies stablehlo.{reducer} across dimensions = [{dims}]
    : (tensor<{source}>, tensor<{element}>) -> tensor<{result}>
  return %0 : tensor<{result}>
}}"""


case("reduce_add_from_3", reduction("add", "3.0", "1", "4xf32"), normal(4, 6))
case("reduce_maximum_from_0", reduction("maximum", "0.0", "0", "6xf32"), normal(4, 6))
case("reduce_minimum_from_0", reduction("minimum", "0.0", "0, 1", "f32"), normal(4, 6))
case("reduce_multiply_from_2", reduction("multiply", "2.0", "1", "4xf32"), normal(4, 6))
for _name, _initial in (("and", "true"), ("and", "false"), ("or", "true"), ("or", "false")):
    case(f"reduce_{_name}_from_{_initial}", reduction(_name, _initial, "1", "4xi1", "4x6xi1"), np.tri(4, 6, 3) > 0)
case("reduce_maximum_integers_from_0", reduction("maximum", "0", "1", "4xi32", "4x6xi32"), ints(4, 6, low=-9, high=2))
case("reduce_over_nothing", reduction("add", "0.0", "", "4x6xf32"), normal(4, 6))
case(
    "reduce_from_argument",
    """
func.func @main(%x: tensor<4x6xf32>, %init: tensor<f32>) -> tensor<4xf32> {
  %0 = stablehlo.reduce(%x init: %init) applies stablehlo.add across dimensions = [1]
    : (tensor<4x6xf32>, tensor<f32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}""",
    normal(4, 6),
    normal(),
)

# Moving elements.

case("transpose", lambda x: x.T, normal(4, 7))
case("transpose_3d", lambda x: jnp.transpose(x, (2, 0, 1)), normal(3, 4, 5))
case("transpose_cycle_twice", lambda x: jnp.transpose(jnp.exp(jnp.transpose(x, (2, 0, 1))), (2, 0, 1)), normal(3, 4, 5))
case("reshape", lambda x: x.reshape(6, 10), normal(3, 4, 5))
case("reshape_transpose_reshape", lambda x: x.reshape(2, 3, 4).transpose(1, 0, 2).reshape(3, 8), normal(6, 4))
case("squeeze_expand", lambda x: jnp.expand_dims(jnp.squeeze(x, 1), (0, 3)), normal(3, 1, 5))
case("broadcast_in_new_dims", lambda x: lax.broadcast_in_dim(x, (3, 4, 2), (1,)), normal(4))
case(
    "broadcast_out_of_order",
    """
func.func @main(%x: tensor<3x4xf32>) -> tensor<4x2x3xf32> {
  %0 = stablehlo.broadcast_in_dim %x, dims = [2, 0] : (tensor<3x4xf32>) -> tensor<4x2x3xf32>
  return %0 : tensor<4x2x3xf32>
}""",
    normal(3, 4),
)
case("tile", lambda x: jnp.tile(x, (2, 3)), normal(3, 4))
case("repeat", lambda x: jnp.repeat(x, 3, axis=1), normal(3, 4))
case("concatenate", lambda x, y: jnp.concatenate([x, y, x], axis=1), normal(3, 4), normal(3, 2))
case("concatenate_first", lambda x, y: jnp.concatenate([x, y], axis=0), normal(3, 4), normal(2, 4))
case("concatenate_with_empty", lambda x: jnp.concatenate([x, jnp.zeros((3, 0), x.dtype)], axis=1), normal(3, 4))
case("stack", lambda x, y: jnp.stack([x, y], axis=-1), normal(3, 4), normal(3, 4, seed=1))
case("concatenate_integers", lambda x, y: jnp.concatenate([x, y]), ints(3) * 1000003, ints(4))
case("slice", lambda x: x[1:3, 2:], normal(4, 7))
case("slice_with_steps", lambda x: x[::2, 1::3], normal(5, 11))
case("slice_backwards", lambda x: x[:, ::-1], normal(3, 5))
case("split", lambda x: jnp.split(x, 3, axis=1), normal(2, 9))
case("reverse_long_integers", lambda x: lax.rev(x, (1,)), ints(3, 600) * 50000017)
case("reverse_two", lambda x: lax.rev(x, (0, 2)), normal(3, 4, 5))
case("roll", lambda x: jnp.roll(x, 2, axis=1), normal(3, 7))
case("pad_behind", lambda x: jnp.pad(x, ((0, 2), (0, 3)), constant_values=1.5), normal(3, 4))
case("pad_before", lambda x: jnp.pad(x, ((2, 1), (3, 0))), normal(3, 4))
case("pad_negative", lambda x: lax.pad(x, x.dtype.type(0), ((-1, 0, 0), (0, -2, 0))), normal(3, 5))
case("pad_mixed", lambda x: lax.pad(x, x.dtype.type(2), ((-1, 2, 0), (3, -2, 0))), normal(3, 5))
case(
    "pad_with_minus_infinity", lambda x: jnp.maximum(lax.pad(x, x.dtype.type(-jnp.inf), ((1, 1, 0),)), -1e30), normal(5)
)
case("pad_that_removes_all", lambda x: lax.pad(x, x.dtype.type(2), ((2, -3, 0), (-1, 1, 1))), normal(3, 5))
case("pad_between", lambda x: lax.pad(x, x.dtype.type(2), ((0, 0, 2), (1, -1, 1))), normal(3, 5))
case("pad_integers", lambda x: jnp.pad(x, ((1, 0), (0, 2)), constant_values=7), ints(3, 5))
case("pad_bools", lambda x: jnp.pad(x, ((1, 0), (0, 2)), constant_values=True), truth(3, 5))
case("iota", lambda x: x + jnp.arange(7.0), normal(3, 7))
case("iota_first", lambda x: x + lax.broadcasted_iota(jnp.float32, (3, 7), 0), normal(3, 7))
case("iota_integers", lambda x: x * lax.broadcasted_iota(jnp.int32, (2, 3, 4), 1), ints(2, 3, 4))
case("iota_bool", lambda x: jnp.tril(x), normal(5, 5))
case("eye", lambda x: x + jnp.eye(4), normal(4, 4))
case("constant_array", lambda x: x * jnp.array([[1.0, 2.0, 3.0], [4.0, -5.0, 6.0]]), normal(2, 3))
case(
    "constant_infinities",
    lambda x: jnp.maximum(x + jnp.array([[0, -np.inf, -np.inf], [0, 0, -np.inf]], x.dtype), -9),
    normal(2, 3),
)
case("constant_integers", lambda x: x + jnp.array([70000, -3, 2**31 - 9]), ints(3, low=0, high=8))
case("constant_bools", lambda x: jnp.where(jnp.array([True, False, True]), x, 0), normal(3))
case("constant_result", lambda x: (x, jnp.full((2, 3), 4.5)), normal(2))
case("argument_result", lambda x, y: (y, x, x), normal(2), normal(3))
case("same_result_twice", lambda x: (lambda y: (y, y, x))(jnp.exp(x)), normal(2, 3))
case("unused_argument", lambda x, y: jnp.exp(x), normal(2), normal(3))
case("unused_result", lambda x: (jnp.exp(x), jnp.log(jnp.abs(x)))[0], normal(4))

case("embedding", lambda t, i: t[i], normal(9, 5), ints(3, 4, low=0))
case("embedding_vector", lambda t, i: jnp.take(t, i, axis=0), normal(9, 5), ints(6, low=0))
case("take_second_dimension", lambda t, i: jnp.take(t, i, axis=1), normal(5, 9), ints(4, low=0))
case("take_3d_middle", lambda t, i: jnp.take(t, i, axis=1), normal(3, 9, 4), ints(2, 2, low=0))
case("take_clip", lambda t, i: jnp.take(t, i, axis=0, mode="clip"), normal(9, 5), ints(6, low=-4, high=20))
case("take_rank1", lambda t, i: t[i], normal(9), ints(4, low=0))
case("take_one", lambda t: t[jnp.array([2, 0])], normal(4, 3))
case("take_scalar_index", lambda t, i: jnp.take(t, i, axis=0), normal(9, 5), np.int32(4).reshape(()))
case("take_integers", lambda t, i: t[i], ints(9, 5, high=200) * 1000003, ints(4, low=0))
case("take_integers_rank1", lambda t, i: t[i], ints(9) * -100000007, ints(2, 4, low=0))
case("take_unsigned", lambda t, i: t[i], ints(9, 3, low=0).astype(np.uint32) * 400000003, ints(4, low=0))
case("take_bytes", lambda t, i: t[i], ints(9, 3, low=0, high=256).astype(np.uint8), ints(4, low=0))
case("take_bools", lambda t, i: t[i], truth(9, 3), ints(4, low=0))
case(
    "take_two_coordinates",
    lambda t, i, j: t[i, j],
    normal(5, 6, 3),
    ints(4, low=0, high=5),
    ints(4, low=0, high=6),
)
case("take_along_axis", lambda t, i: jnp.take_along_axis(t, i, axis=1), normal(5, 6), ints(5, 3, low=0, high=6))
case("covariance_of_one_variable", jnp.cov, normal(1, 3))
case(
    "gathered_elements_keep_their_dimension",
    """func.func @main(%table: tensor<5x6xf32>, %at: tensor<5x1xi32>) -> tensor<5x1xf32> {
      %0 = "stablehlo.gather"(%table, %at) <{dimension_numbers = #stablehlo.gather<offset_dims = [1],
        operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 1>,
        slice_sizes = array<i64: 1, 1>}> : (tensor<5x6xf32>, tensor<5x1xi32>) -> tensor<5x1xf32>
      return %0 : tensor<5x1xf32>
    }""",
    normal(5, 6),
    ints(5, 1, low=0, high=6),
)
case(
    "take_out_of_range_fill",
    lambda t, i: t.at[i].get(mode="fill", fill_value=3.0),
    normal(9, 5),
    ints(6, low=0, high=20),
)

ROWS = np.array([[0, 3], [6, 9], [3, -9]], np.int32)
"""Row numbers for a table of 7 rows: one occurs twice, two are out of bounds."""

case("scatter_add", lambda x, i, u: x.at[i].add(u), normal(7, 5), ROWS, normal(3, 2, 5))
case("scatter_multiply", lambda x, i, u: x.at[i].multiply(u, mode="drop"), normal(7, 5), ROWS, normal(3, 2, 5))
case("scatter_set", lambda x, i, u: x.at[i].set(u), normal(7, 5), np.array([1, 9, 4, -3], np.int32), normal(4, 5))
case(
    "scatter_set_clipped",
    lambda x, i, u: x.at[i].set(u, mode="clip"),
    normal(7, 5),
    np.array([1, 9], np.int32),
    normal(2, 5),
)
case("scatter_set_booleans", lambda x, i, u: x.at[i].set(u), truth(7, 5), np.array([1, 9, 4], np.int32), truth(3, 5))
case("scatter_add_integers", lambda x, i, u: x.at[i].add(u), ints(7, 5) * 90000007, ROWS[:, 0], ints(3, 5))
case("scatter_add_bytes", lambda x, i: x.at[i].add(i), np.arange(9, dtype=np.uint8), np.array([1, 7, 7], np.uint8))
case("scatter_columns", lambda x, i, u: x.at[:, i].add(u), normal(5, 7), ROWS[:, 1], normal(5, 3))
case("scatter_elements", lambda x, i, u: x.at[i, i - 1].add(u), normal(7, 5), ROWS[:, 0], normal(3))
case("scatter_part_of_rows", lambda x, i, u: x.at[i, 1:3].add(u), normal(7, 5), ROWS[:, 1], normal(3, 2))
case(
    "scatter_cache", lambda x, i, u: x.at[:, :, i].set(u), normal(2, 3, 8, 4), np.int32(5).reshape(()), normal(2, 3, 4)
)
case("scatter_batched", jax.vmap(lambda x, i, u: x.at[i].add(u)), normal(2, 7, 5), ROWS[:2], normal(2, 2, 5))
_AGAIN = np.array([1, 6, 1, 9, -3, 6, 4], np.int32)
case("scatter_maximum_again", lambda x, i, u: x.at[i].max(u, mode="drop"), normal(7), _AGAIN, normal(7, seed=1) + 1)
case("scatter_minimum_again", lambda x, i, u: x.at[i].min(u), normal(7, 5), _AGAIN, normal(7, 5, seed=1))
case("scatter_maximum_part", lambda x, i, u: x.at[i, 1:3].max(u), normal(7, 5), _AGAIN, normal(7, 2))
case("scatter_minimum_columns", lambda x, i, u: x.at[:, i].min(u), normal(3, 7), _AGAIN, normal(3, 7, seed=1))
case("scatter_maximum_once", lambda x, i, u: x.at[i].max(u, unique_indices=True), normal(7), ROWS[:2, 1], normal(2))
case("scatter_divide_once", lambda x, i, u: x.at[i].divide(u), normal(7), np.int32(5).reshape(()), positive())


def scatter_with_body(name: str) -> str:
    """Returns the text of a scatter that combines two rows, each with another old row, by an op."""
    return f"""
func.func @main(%x: tensor<7x5xf32>, %i: tensor<2x1xi32>, %u: tensor<2x5xf32>) -> tensor<7x5xf32> {{
  %0 = "stablehlo.scatter"(%x, %i, %u) <{{unique_indices = true,
    scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0],
      scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}}> ({{
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.{name} %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }}) : (tensor<7x5xf32>, tensor<2x1xi32>, tensor<2x5xf32>) -> tensor<7x5xf32>
  return %0 : tensor<7x5xf32>
}}"""


for _name in ("add", "divide", "maximum", "minimum", "multiply", "subtract"):
    case(
        f"scatter_body_{_name}", scatter_with_body(_name), normal(7, 5), np.array([[5], [2]], np.int32), positive(2, 5)
    )

case("gradient_of_rows", jax.grad(lambda t, i: (jnp.take(t, i, axis=0) ** 2).sum()), normal(9, 5), ints(4, 2, low=0))
case("gradient_of_columns", jax.grad(lambda t, i: (jnp.take(t, i, axis=1) ** 2).sum()), normal(5, 9), ints(3, low=0))
case(
    "gradient_of_a_window",
    jax.grad(lambda x, i: (lax.dynamic_slice(x, (i, 1), (2, 3)) ** 2).sum()),
    normal(7, 5),
    np.int32(9),
)
case(
    "index_put_of_torch",
    """
    func.func @main(%x: tensor<7x5xf32>, %i: tensor<3x1xi64>, %u: tensor<3x5xf32>) -> tensor<7x5xf32> {
      %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1],
        inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
        ^bb0(%a: tensor<f32>, %b: tensor<f32>):
          stablehlo.return %b : tensor<f32>
        }) : (tensor<7x5xf32>, tensor<3x1xi64>, tensor<3x5xf32>) -> tensor<7x5xf32>
      return %0 : tensor<7x5xf32>
    }
    """,
    normal(7, 5),
    np.array([[2], [0], [6]]),
    normal(3, 5),
)

# Tensors without elements.

case(
    "without_elements",
    lambda e, z, x: (
        jnp.concatenate([e, x], 0) @ x.T,
        z.sum(-1) + x[:4, 0],
        z.max(1, initial=-7.5) * x[:4, 0],
        jnp.pad(z, ((0, 0), (1, 2)), constant_values=2.5) + x[:4, :3],
        z @ jnp.ones((0, 5)) + x[:4, :5],
        x.at[jnp.zeros((0,), jnp.int32)].add(e) * 2,
        lax.dynamic_update_slice(x, e, (3, 0)) - 1,
    ),
    normal(0, 16),
    normal(4, 0),
    normal(8, 16),
)
case(
    "without_elements_computed_start",
    lambda z, s: (lax.reduce(z, jnp.sin(s), lax.add, (1,)), lax.pad(z, jnp.cos(s), ((0, 0, 0), (2, 1, 0)))),
    normal(4, 0),
    np.float32(0.5),
)
case("without_elements_given_back", lambda e, x: (e @ x.T, x[3:3] + 1, x * 2), normal(0, 16), normal(8, 16))

case("update_of_a_whole_tensor", lambda x, y: x.at[-4:].add(y), normal(4, 6), normal(4, 6))
