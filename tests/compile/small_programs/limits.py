"""Programs at the limits of integer types, and those that look like something that a rewriting knows."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from small_programs.common import Array, cases_of, ints, normal, truth

case = cases_of(__name__)


def wide(x: Array) -> Array:
    """Shows what an integer is: one beyond its type would keep its value here."""
    return x.astype(jnp.int32)


# Integers wrap at the width that the program declares.

for _type in (np.int8, np.int16, np.uint8, np.uint16):
    _name, _most = np.dtype(_type).name, np.iinfo(_type).max
    _large = np.full((3, 4), _most * 4 // 5, _type)
    case(f"product_of_{_name}", lambda a, b: wide(jnp.dot(a, b)), _large, _large.T.copy())
    case(f"running_sum_of_{_name}", lambda x: wide(jnp.cumsum(x, axis=1)), _large)
    case(f"running_product_of_{_name}", lambda x: wide(jnp.cumprod(x, axis=1)), _large)
    case(f"sum_of_{_name}", lambda x: wide(lax.reduce(x, x.dtype.type(0), lax.add, (1,))), _large)
    case(
        f"sum_at_positions_of_{_name}", lambda x, i, u: wide(x.at[i].add(u)), _large, ints(2, low=0, high=3), _large[:2]
    )
    case(
        f"window_sum_of_{_name}",
        lambda x: wide(lax.reduce_window(x, x.dtype.type(0), lax.add, (1, 2), (1, 1), "SAME")),
        _large,
    )
    case(f"square_of_{_name}", lambda x: wide(x**2 + x), _large)
    case(f"positions_in_{_name}", lambda x: wide(lax.iota(x.dtype, 300)) + wide(x)[0, 0], _large)
    case(f"all_but_last_of_{_name}", lambda x: wide(-x) // 3, _large)
case(
    "convolution_of_int8",
    lambda x, w: wide(lax.conv(x, w, (1, 1), "VALID")),
    *(np.full((1, 2, n, n), 90, np.int8) for n in (4, 3)),
)

case("sum_of_no_int8", lambda x: wide(jnp.sum(jnp.arange(0, dtype=jnp.int8), dtype=jnp.int8)) + x, ints(3))

case(
    "wide_product_of_uint8",
    lambda a, b: lax.dot(a, b, preferred_element_type=jnp.int32),
    *(np.full(shape, 250, np.uint8) for shape in ((2, 3), (3, 2))),
)
case(
    "clamp_beyond_int32", lambda x: lax.clamp(np.uint32(0), x, np.uint32(2)), np.array([0, 1, 7, 2**32 - 7], np.uint32)
)

# Positions do not wrap at the width of an index.

for _type in (np.uint8, np.int8):
    _at = np.array(min(254, np.iinfo(_type).max), _type)
    case(f"slice_at_{np.dtype(_type).name}", lambda x, i: lax.dynamic_slice(x, (i,), (3,)), normal(300), _at)
    case(
        f"update_at_{np.dtype(_type).name}",
        lambda x, u, i: lax.dynamic_update_slice(x, u, (i,)),
        normal(300),
        normal(3),
        _at // 8,  # XLA's CPU client clamps beyond 41 at the width of the index
    )
    case(
        f"rows_at_{np.dtype(_type).name}",
        lambda x, i: lax.dynamic_slice_in_dim(x, i, 2),
        normal(300, 2),
        _at,
    )

# Counters do.

for _type, _limit, _step in ((np.uint8, 250, 100), (np.int8, 120, 100), (np.uint8, 200, 7)):
    case(
        f"loop_that_wraps_{np.dtype(_type).name}_{_step}",
        lambda x, limit=_limit, step=_step, kind=_type: lax.while_loop(
            lambda s: s[0] < kind(limit), lambda s: (s[0] + kind(step), s[1] + 1), (kind(0), x)
        ),
        np.int32(0),
    )
    case(
        f"loop_to_a_computed_limit_{np.dtype(_type).name}_{_step}",
        lambda x, limit, step=_step, kind=_type: lax.while_loop(
            lambda s: s[0] < limit, lambda s: (s[0] + kind(step), s[1] + 1), (kind(3), x)
        ),
        np.int32(0),
        np.array(_limit, _type),
    )
case(
    "loop_that_counts_down_to_nothing",
    lambda x: lax.while_loop(lambda s: s[0] > 0, lambda s: (s[0] - np.uint8(3), s[1] + 1), (np.uint8(10), x)),
    np.int32(0),
)

# A loop of the branch that is not taken may have no end.

case(
    "loop_in_a_branch",
    lambda n: lax.cond(n > 0, lambda n: lax.while_loop(lambda i: i != n, lambda i: i + 1, 0), lambda n: n * 0, n),
    np.int32(-1),
)

# Constants behind conversions.

case(
    "padding_that_was_rounded",
    """func.func @main(%x: tensor<2xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<0.1> : tensor<f32>
  %b = stablehlo.convert %c : (tensor<f32>) -> tensor<bf16>
  %f = stablehlo.convert %b : (tensor<bf16>) -> tensor<f32>
  %r = stablehlo.pad %x, %f, low = [1], high = [1], interior = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<4xf32>
  return %r : tensor<4xf32> }""",
    np.ones(2, np.float32),
)
case(
    "padding_that_was_wrapped",
    """func.func @main(%x: tensor<2xui8>) -> tensor<4xui8> {
  %c = stablehlo.constant dense<300> : tensor<i32>
  %u = stablehlo.convert %c : (tensor<i32>) -> tensor<ui8>
  %r = stablehlo.pad %x, %u, low = [1], high = [1], interior = [0] : (tensor<2xui8>, tensor<ui8>) -> tensor<4xui8>
  return %r : tensor<4xui8> }""",
    np.array([3, 250], np.uint8),
)

# Zeros keep their signs.

case("divided_by_negative_zero", lambda x: jnp.transpose(x / -0.0), np.array([[1.0, -2.0]], np.float32))
case("rounded_negative_zero", lambda x: 1 / lax.round(x), np.array([-0.0, 0.0, -0.3, 2.0, -2.5, np.inf], np.float32))
case("times_negative_zero", lambda x: 1 / jnp.reshape(x * -0.0, (2, 1)), np.array([1.0, -2.0], np.float32))

# What only looks like something known.

case(
    "host_sort_by_a_clipped_key",
    """func.func @main(%x: tensor<6xf32>) -> tensor<6xf32> {
  %r = "stablehlo.sort"(%x) ({ ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %five = stablehlo.constant dense<5.0> : tensor<f32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %p = stablehlo.compare GT, %a, %five : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %q = stablehlo.compare GT, %b, %five : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c = stablehlo.select %p, %zero, %a : tensor<i1>, tensor<f32>
    %d = stablehlo.select %q, %zero, %b : tensor<i1>, tensor<f32>
    %l = stablehlo.compare LT, %c, %d : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %l : tensor<i1>
  }) {dimension = 0 : i64, is_stable = true} : (tensor<6xf32>) -> tensor<6xf32>
  return %r : tensor<6xf32> }""",
    np.array([3, 9, 1, 7, 2, 8], np.float32),
    correlates=False,
)
case("mish_of_some", lambda x, m: x * jnp.tanh(jnp.where(m, x, jnp.log1p(jnp.exp(x)))), normal(4, 9), truth(4, 9))
case("mish", lambda x: jax.nn.mish(x), normal(4, 9))
case(
    "choice_by_a_float_below_a_limit",
    lambda x: ((jnp.where(jnp.clip(x, -1, 1) < 0.5, jnp.clip(x, -1, 1), 0.0) * 10).astype(jnp.int32) > 0).astype(
        jnp.int32
    ),
    np.array([0.4, -0.3, 0.9, 0.45], np.float32),
    correlates=False,
)
case(
    "sum_that_bfloat16_rounds_up",
    lambda x: ((jnp.clip(x, 0, 256).astype(jnp.bfloat16) + jnp.bfloat16(3)).astype(jnp.int32) < 260).astype(jnp.int32),
    np.array([0.0, 255.0, 256.0], np.float32),
    correlates=False,
)
case(
    "floor_division_of_another_number",
    lambda x: ((jnp.sign(x.astype(jnp.uint8).astype(jnp.int32)) != 1) & (lax.rem(x, 3) != 0)).astype(jnp.int32),
    np.array([256, -256, 5, -5, 512], np.int32),
)
for _direction in ("NE", "EQ"):
    case(
        f"truth_of_a_broadcast_truth_{_direction}",
        f"""func.func @main(%x: tensor<1x4xi32>, %y: tensor<1x4xi32>) -> tensor<3x4xi1> {{
  %t = stablehlo.compare LT, %x, %y : (tensor<1x4xi32>, tensor<1x4xi32>) -> tensor<1x4xi1>
  %b = stablehlo.broadcast_in_dim %t, dims = [0, 1] : (tensor<1x4xi1>) -> tensor<3x4xi1>
  %f = stablehlo.constant dense<false> : tensor<3x4xi1>
  %r = stablehlo.compare {_direction}, %b, %f : (tensor<3x4xi1>, tensor<3x4xi1>) -> tensor<3x4xi1>
  return %r : tensor<3x4xi1> }}""",
        ints(1, 4),
        ints(1, 4, seed=1),
    )
case("acosh_of_large_numbers", jnp.arccosh, np.array([1.0, 1.5, 1e20, 3e38], np.float32), correlates=False)
case(
    "sum_at_a_row_of_two_dimensions",
    """func.func @main(%x: tensor<4x3xf32>, %i: tensor<2x1xi32>, %u: tensor<2xf32>) -> tensor<4x3xf32> {
  %r = "stablehlo.scatter"(%x, %i, %u) ({ ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0, 1],
      scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}
    : (tensor<4x3xf32>, tensor<2x1xi32>, tensor<2xf32>) -> tensor<4x3xf32>
  return %r : tensor<4x3xf32> }""",
    normal(4, 3),
    np.array([[2], [3]], np.int32),
    normal(2),
)
