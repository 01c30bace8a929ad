"""Elementwise ops, integers and booleans."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from small_programs.common import BF16, cases_of, inside, ints, normal, positive, truth

case = cases_of(__name__)

# Elementwise ops.

for _name, _input in {
    "abs": normal,
    "arccos": inside,
    "arcsin": inside,
    "arcsinh": normal,
    "arctan": normal,
    "arctanh": inside,
    "cbrt": normal,
    "ceil": normal,
    "cos": normal,
    "cosh": normal,
    "exp": normal,
    "expm1": normal,
    "floor": normal,
    "isfinite": normal,
    "log": positive,
    "log1p": positive,
    "negative": normal,
    "reciprocal": positive,
    "sign": normal,
    "sin": normal,
    "sinh": normal,
    "sqrt": positive,
    "square": normal,
    "tan": inside,
    "tanh": normal,
}.items():
    jumps = _name in ("ceil", "floor", "isfinite")
    case(_name, getattr(jnp, _name), _input(5, 33), correlates=not jumps)
case("arccosh", lambda x: jnp.arccosh(x + 1), positive(5, 33))
for _name in ("erf", "erfc", "rsqrt"):
    case(_name, getattr(lax, _name), positive(3, 40))
for _name in (
    "gelu",
    "hard_sigmoid",
    "hard_swish",
    "leaky_relu",
    "mish",
    "relu",
    "relu6",
    "sigmoid",
    "silu",
    "softplus",
):
    case(f"nn_{_name}", getattr(jax.nn, _name), normal(4, 3, 8))
case("nn_gelu_exact", functools.partial(jax.nn.gelu, approximate=False), normal(4, 64))
case("elu", jax.nn.elu, normal(4, 8))
case("round", jnp.round, np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 2.4, -2.6, 0.0], np.float32), correlates=False)
case(
    "round_away",
    lambda x: lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO),
    np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 2.4, -2.6, 0.0, 0.49], np.float32),
    correlates=False,
)
case("isfinite_edges", jnp.isfinite, np.array([[np.inf, -np.inf, np.nan, 0, 1e38]], np.float32), correlates=False)
for _name in ("add", "arctan2", "divide", "maximum", "minimum", "multiply", "power", "subtract"):
    case(f"binary_{_name}", getattr(jnp, _name), positive(6, 5), positive(6, 5, seed=1))
case("remainder", lax.rem, normal(6, 50) * 5, positive(6, 50), correlates=False)
case("mod", jnp.mod, normal(6, 50) * 5, positive(6, 50), correlates=False)
case("rank0", lambda x, y: x * y + 1, normal(), normal(seed=1))
case("rank0_to_matrix", lambda x, y: x * y, normal(), normal(3, 4))
case("rank5", lambda x: jnp.tanh(x).sum(2), normal(2, 3, 4, 2, 3))
case("bias_of_lower_rank", lambda x, y: x + y, normal(2, 3, 4), normal(4))
case("column_times_row", lambda x, y: x * y, normal(5, 1), normal(1, 7))
case("two_sided_broadcast", lambda x, y: x[:, None, :] - y[None, :, :], normal(4, 6), normal(5, 6, seed=1))

for _name in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"):
    case(f"compare_{_name}", getattr(jnp, _name), ints(4, 9), ints(4, 9, seed=1))
    case(f"compare_floats_{_name}", getattr(jnp, _name), np.round(normal(4, 9)), np.round(normal(4, 9, seed=1)))
_ORDERED = np.array([-np.nan, -np.inf, -1, -0.0, 0.0, 1, np.inf, np.nan], np.float32)
for _direction in ("EQ", "NE", "LT", "LE", "GT", "GE"):
    for _element, _type in (("f32", np.float32), ("bf16", BF16)):
        case(
            f"total_order_{_direction.lower()}_{_element}",
            f"""func.func @main(%x: tensor<8x8x{_element}>, %y: tensor<8x8x{_element}>) -> tensor<8x8xi1> {{
              %r = stablehlo.compare {_direction}, %x, %y, TOTALORDER
                : (tensor<8x8x{_element}>, tensor<8x8x{_element}>) -> tensor<8x8xi1>
              return %r : tensor<8x8xi1> }}""",
            *np.broadcast_arrays(_ORDERED[:, None].astype(_type), _ORDERED.astype(_type)),
            correlates=False,
        )
case("where", lambda p, x, y: jnp.where(p > 0, x, y), normal(3, 5), normal(3, 5, seed=1), normal(3, 5, seed=2))
case("where_of_bool_input", jnp.where, truth(3, 5), normal(3, 5, seed=1), normal(3, 5, seed=2))
case(
    "where_of_scalar_condition",
    lambda p, x, y: lax.select(p.sum() > 0, x, y),
    normal(4),
    normal(3, 5),
    normal(3, 5, seed=1),
)
case(
    "where_on_integers",
    lambda p, x, y: jnp.where(p, x, y),
    truth(3, 5),
    ints(3, 5) * 100003,
    ints(3, 5, seed=1),
)
case("where_with_broadcast", lambda p, x: jnp.where(p[:, None], x, 0.0), truth(3), normal(3, 5))
case("clamp_by_constants", lambda x: jnp.clip(x, -0.5, 0.75), normal(4, 6))
case(
    "clamp_by_tensors",
    lambda lo, x, hi: lax.clamp(lo, x, hi),
    -positive(4, 6),
    normal(4, 6) * 2,
    positive(4, 6, seed=3),
)
case("clamp_by_scalars", lambda lo, x, hi: lax.clamp(lo, x, hi), -positive(), normal(4, 6) * 2, positive(seed=3))
case("clamp_integers", lambda x: jnp.clip(x, -2, 3), ints(4, 6))
case("nan_to_num", jnp.nan_to_num, np.array([[1.0, np.nan, -2.0, np.nan]], np.float32), correlates=False)

# Integers and booleans.

for _name in ("add", "subtract", "multiply", "maximum", "minimum", "bitwise_and", "bitwise_or", "bitwise_xor"):
    case(f"integer_{_name}", getattr(jnp, _name), ints(5, 6, high=99), ints(5, 6, seed=1, high=99))
for _name in ("logical_and", "logical_or", "logical_xor"):
    case(f"bool_{_name}", getattr(jnp, _name), truth(4, 7), truth(4, 7, seed=1))
case("integer_not", jnp.bitwise_not, ints(3, 4))
case("bool_not", jnp.logical_not, truth(3, 4))
case("integer_negate_abs_sign", lambda x: (-x, jnp.abs(x), jnp.sign(x)), ints(3, 4))
case("integer_floor_divide", lambda x, y: x // y, ints(5, 6, low=-50, high=50), ints(5, 6, low=1, high=9))
case("integer_divide", lax.div, ints(5, 6, low=-50, high=50), ints(5, 6, low=1, high=9))
case("integer_remainder", lax.rem, ints(5, 6, low=-50, high=50), ints(5, 6, low=1, high=9))
case("shift_left", jnp.left_shift, ints(3, 4, low=0), ints(3, 4, low=0, seed=1))
case(
    "shift_right_logical",
    lax.shift_right_logical,
    ints(3, 4, low=0, high=999),
    ints(3, 4, low=0, high=5, seed=1),
)
case("shift_right_logical_negative", lax.shift_right_logical, ints(3, 4), ints(3, 4, low=1, high=5, seed=1))
_BITS = np.array([0, 1, -1, 2**31 - 1, -(2**31), 255, 4096, -77], np.int32)
for _type in ("int8", "int16", "int32", "uint8", "uint16", "uint32"):
    case(f"bits_set_{_type}", lax.population_count, _BITS.astype(_type))
    case(f"bits_leading_{_type}", lax.clz, _BITS.astype(_type))
_ROUNDED = np.array(
    [0.0, -0.0, 1.0, -1.00390625, 1.01171875, 65519.0, 65520.0, -7e4, 3e-5, 6e-5, 1e38, 1e-38, 3.14159], np.float32
)
for _exponent, _mantissa in ((8, 23), (8, 7), (8, 10), (5, 10), (5, 2), (4, 3)):
    case(
        f"precision_{_exponent}_{_mantissa}",
        functools.partial(lax.reduce_precision, exponent_bits=_exponent, mantissa_bits=_mantissa),
        np.array([*_ROUNDED, np.inf, -np.inf, np.nan], np.float32),
        correlates=False,
    )
case(
    "precision_5_0",
    lambda x: lax.reduce_precision(x, 5, 0),
    np.array([*_ROUNDED, np.inf, np.nan], np.float32),
    correlates=False,
)
case("precision_of_bfloat16", lambda x: lax.reduce_precision(x, 8, 3), normal(4, 5).astype(BF16))
_LARGE = np.array([3_000_000_000, 4, 4_000_000_001, 7, 6, 2, 2**31], np.uint32)
_DIVISORS = np.array([2, 3_000_000_000, 3, 4_000_000_000, 7, 1, 2**31], np.uint32)
case("unsigned_quotient", lax.div, _LARGE, _DIVISORS)
case("unsigned_rest", lax.rem, _LARGE, _DIVISORS)
case("unsigned_constant", lambda x: x + np.uint32(3_000_000_000), _DIVISORS)
case("unsigned_constants", lambda x: x ^ _LARGE, _DIVISORS)
case("unsigned_compared", lambda x, y: jnp.where(x > y, jnp.maximum(x, y), x - y), _LARGE, _DIVISORS)
case("unsigned_8_wraps", lambda x: x * x - np.uint8(200), np.array([100, 5, 255], np.uint8))
case("unsigned_16_wraps", lambda x: x * x + np.uint16(65535), np.array([1000, 0, 65535], np.uint16))
case("unsigned", lambda x: x * np.uint32(3) + np.uint32(7), ints(3, 4, low=0).astype(np.uint32))
case("big_integers", lambda x, y: x + y, np.array([2**30, -(2**30), 16777217], np.int32), np.array([1, 2, 3], np.int32))
case("big_integers_compare", lambda x: x > 16777216, np.array([2**30, 16777217, 16777216, -5], np.int32))
case("integer_to_float", lambda x: x.astype(jnp.float32) / 3, ints(4, 5))
case("float_to_integer", lambda x: x.astype(jnp.int32), normal(4, 5) * 9, correlates=False)
case("float_to_bool", lambda x: x.astype(bool), np.array([[0.0, 1e-3, -2, 0.0]], np.float32))
case("bool_to_float", lambda x: x.astype(jnp.float32) * 2, truth(4, 5))
case("integer_to_bool", lambda x: x.astype(bool), ints(4, 5, low=-1, high=2))
case("bool_to_integer", lambda x: x.astype(jnp.int32) + 1, truth(4, 5))
case("half_constant_to_integer", lambda x: x + jnp.int32(2.7), ints(4))
case("uint8", lambda x: x.astype(jnp.float32) * (1 / 255), ints(4, 6, low=0, high=255).astype(np.uint8))
case("popular_int8", lambda x: x.astype(jnp.int32) * 2, ints(4, 6).astype(np.int8))

case(
    "bool_add_and_multiply",
    """
func.func @main(%x: tensor<4x7xi1>, %y: tensor<4x7xi1>) -> (tensor<4x7xi1>, tensor<4x7xi1>) {
  %0 = stablehlo.add %x, %y : tensor<4x7xi1>
  %1 = stablehlo.multiply %x, %y : tensor<4x7xi1>
  return %0, %1 : tensor<4x7xi1>, tensor<4x7xi1>
}""",
    truth(4, 7),
    truth(4, 7, seed=1),
)
case(
    "wide_integers_narrow",
    """
func.func @main(%x: tensor<4x7xi64>) -> tensor<4x7xi64> {
  %c = stablehlo.constant dense<-3> : tensor<4x7xi64>
  %0 = stablehlo.multiply %x, %c : tensor<4x7xi64>
  return %0 : tensor<4x7xi64>
}""",
    ints(4, 7).astype(np.int64),
)
case(
    "wide_integers_maximum",
    """
func.func @main(%x: tensor<4x7xi64>) -> tensor<4xi64> {
  %c = stablehlo.constant dense<-9223372036854775808> : tensor<i64>
  %0 = stablehlo.reduce(%x init: %c) applies stablehlo.maximum across dimensions = [1]
    : (tensor<4x7xi64>, tensor<i64>) -> tensor<4xi64>
  return %0 : tensor<4xi64>
}""",
    ints(4, 7).astype(np.int64),
)
case(
    "half_floats",
    lambda x, y: x * y + 1,
    normal(3, 4).astype(np.float16),
    normal(3, 4, seed=1).astype(np.float16),
    atol=2e-3,
)

case(
    "bits_as_a_uniform_number",
    lambda x: lax.bitcast_convert_type((x >> 9) | np.uint32(0x3F800000), np.float32) - 1,
    np.array([0, 1, 511, 512, 2**31, 2**32 - 1], np.uint32),
)
case("bits_of_a_number", lambda x: lax.bitcast_convert_type(x, np.uint32) >> 23, normal(4, 5), correlates=False)

# Integers of 8 and 16 bits wrap.

for _type in ("int8", "int16", "uint8", "uint16", "uint32"):
    _limits = np.iinfo(_type)
    _any = [
        np.random.default_rng(s).integers(_limits.min, _limits.max, (4, 8), endpoint=True).astype(_type) for s in (0, 1)
    ]
    for _name in ("add", "subtract", "multiply"):
        case(f"{_name}_{_type}", getattr(jnp, _name), *_any)
    case(f"sum_{_type}", lambda x: lax.reduce(x, x.dtype.type(0), lax.add, (0,)), _any[0])
    for _name in ("shift_left", "shift_right_logical", "shift_right_arithmetic"):
        case(f"{_name}_{_type}", getattr(lax, _name), _any[0], (_any[1] % _limits.bits).astype(_type))
    case(f"convert_{_type}_to_int8", lambda x: x.astype(jnp.int8), _any[0])
case(
    "convert_float_to_int8_within_its_range",
    lambda x: lax.convert_element_type(x, np.int8),
    normal(9) * 300,
    correlates=False,
)
