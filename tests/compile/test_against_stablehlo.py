"""Small programs compiled, run on the emulated card, and compared with XLA's CPU client on the same module.

With ``numerics=exact`` the compiler's meaning is judged, with tight tolerances; in bfloat16 with the chip's own
numerics the correlation is. Inputs are arguments, so nothing folds away.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass
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
from tt_xla.compiler.stablehlo import parse_module
from tt_xla.ir.program import Program
from tt_xla.options import CompileOptions
from tt_xla.runtime import get_device
from tt_xla.target import load_target
from tt_xla.testing import pcc

Array = Any
BF16 = np.dtype(ml_dtypes.bfloat16)


@dataclass(frozen=True)
class Case:
    """A program as a JAX function or as StableHLO text, and its inputs."""

    program: Callable[..., Any] | str
    inputs: tuple[np.ndarray, ...]
    atol: float = 2e-5
    correlates: bool = True
    """Whether bfloat16 may be expected to correlate; not where a rounded input jumps."""


CASES: dict[str, Case] = {}


def case(name: str, program: Callable[..., Any] | str, *inputs: np.ndarray, **rest: Any) -> None:
    assert name not in CASES
    CASES[name] = Case(program, inputs, **rest)


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    generator = np.random.default_rng([seed, *shape])
    return np.asarray(generator.standard_normal(shape), np.float32)


def positive(*shape: int, seed: int = 0) -> np.ndarray:
    return np.abs(normal(*shape, seed=seed)) + np.float32(0.25)


def inside(*shape: int) -> np.ndarray:
    """In (-0.9, 0.9)."""
    return np.asarray(np.random.default_rng([7, *shape]).uniform(-0.9, 0.9, shape), np.float32)


def whole(*shape: int, low: int = -9, high: int = 9, seed: int = 0) -> np.ndarray:
    return np.random.default_rng([seed, *shape]).integers(low, high, shape).astype(np.int32)


def truth(*shape: int, seed: int = 0) -> np.ndarray:
    return whole(*shape, low=0, high=2, seed=seed).astype(bool)


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
    case(f"compare_{_name}", getattr(jnp, _name), whole(4, 9), whole(4, 9, seed=1))
    case(f"compare_floats_{_name}", getattr(jnp, _name), np.round(normal(4, 9)), np.round(normal(4, 9, seed=1)))
case("where", lambda p, x, y: jnp.where(p > 0, x, y), normal(3, 5), normal(3, 5, seed=1), normal(3, 5, seed=2))
case("where_of_bool_input", jnp.where, truth(3, 5), normal(3, 5, seed=1), normal(3, 5, seed=2))
case(
    "where_of_scalar_condition",
    lambda p, x, y: lax.select(p.sum() > 0, x, y),
    normal(4),
    normal(3, 5),
    normal(3, 5, seed=1),
)
case("where_on_integers", lambda p, x, y: jnp.where(p, x, y), truth(3, 5), whole(3, 5) * 100003, whole(3, 5, seed=1))
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
case("clamp_integers", lambda x: jnp.clip(x, -2, 3), whole(4, 6))
case("nan_to_num", jnp.nan_to_num, np.array([[1.0, np.nan, -2.0, np.nan]], np.float32), correlates=False)

# Integers and booleans.

for _name in ("add", "subtract", "multiply", "maximum", "minimum", "bitwise_and", "bitwise_or", "bitwise_xor"):
    case(f"integer_{_name}", getattr(jnp, _name), whole(5, 6, high=99), whole(5, 6, seed=1, high=99))
for _name in ("logical_and", "logical_or", "logical_xor"):
    case(f"bool_{_name}", getattr(jnp, _name), truth(4, 7), truth(4, 7, seed=1))
case("integer_not", jnp.bitwise_not, whole(3, 4))
case("bool_not", jnp.logical_not, truth(3, 4))
case("integer_negate_abs_sign", lambda x: (-x, jnp.abs(x), jnp.sign(x)), whole(3, 4))
case("integer_floor_divide", lambda x, y: x // y, whole(5, 6, low=-50, high=50), whole(5, 6, low=1, high=9))
case("integer_divide", lax.div, whole(5, 6, low=-50, high=50), whole(5, 6, low=1, high=9))
case("integer_remainder", lax.rem, whole(5, 6, low=-50, high=50), whole(5, 6, low=1, high=9))
case("shift_left", jnp.left_shift, whole(3, 4, low=0), whole(3, 4, low=0, seed=1))
case("shift_right_logical", lax.shift_right_logical, whole(3, 4, low=0, high=999), whole(3, 4, low=0, high=5, seed=1))
case("shift_right_logical_negative", lax.shift_right_logical, whole(3, 4), whole(3, 4, low=1, high=5, seed=1))
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
case("precision_5_0", lambda x: lax.reduce_precision(x, 5, 0), np.array([*_ROUNDED, np.inf], np.float32))
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
case("unsigned", lambda x: x * np.uint32(3) + np.uint32(7), whole(3, 4, low=0).astype(np.uint32))
case("big_integers", lambda x, y: x + y, np.array([2**30, -(2**30), 16777217], np.int32), np.array([1, 2, 3], np.int32))
case("big_integers_compare", lambda x: x > 16777216, np.array([2**30, 16777217, 16777216, -5], np.int32))
case("integer_to_float", lambda x: x.astype(jnp.float32) / 3, whole(4, 5))
case("float_to_integer", lambda x: x.astype(jnp.int32), normal(4, 5) * 9, correlates=False)
case("float_to_bool", lambda x: x.astype(bool), np.array([[0.0, 1e-3, -2, 0.0]], np.float32))
case("bool_to_float", lambda x: x.astype(jnp.float32) * 2, truth(4, 5))
case("integer_to_bool", lambda x: x.astype(bool), whole(4, 5, low=-1, high=2))
case("bool_to_integer", lambda x: x.astype(jnp.int32) + 1, truth(4, 5))
case("half_constant_to_integer", lambda x: x + jnp.int32(2.7), whole(4))
case("uint8", lambda x: x.astype(jnp.float32) * (1 / 255), whole(4, 6, low=0, high=255).astype(np.uint8))
case("popular_int8", lambda x: x.astype(jnp.int32) * 2, whole(4, 6).astype(np.int8))

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
    whole(4, 7).astype(np.int64),
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
    whole(4, 7).astype(np.int64),
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
# Reductions.

for _name in ("sum", "max", "min", "mean", "prod"):
    case(f"{_name}_last", functools.partial(getattr(jnp, _name), axis=-1), positive(4, 5, 6))
    case(f"{_name}_middle_kept", functools.partial(getattr(jnp, _name), axis=1, keepdims=True), positive(4, 5, 6))
    case(f"{_name}_first_and_last", functools.partial(getattr(jnp, _name), axis=(0, 2)), positive(2, 5, 3))
    case(f"{_name}_all", getattr(jnp, _name), positive(2, 5), atol=1e-4)
case("sum_integers", lambda x: x.sum(1), whole(4, 40, low=-99, high=99))
case("sum_large_integers", lambda x: x.sum(1), np.full((2, 3), 16777217, np.int32))
case("max_integers", lambda x: x.max(1), np.array([[16777217, 16777216], [-(2**31), -5]], np.int32))
case("min_integers", lambda x: x.min(0), whole(4, 40))
case("prod_integers", lambda x: x.prod(0), whole(4, 5))
case("any", lambda x: jnp.any(x > 1, axis=0), normal(3, 9))
case("all", lambda x: jnp.all(x > -1, axis=1), normal(3, 9))
case("argmax", lambda x: jnp.argmax(x, axis=1), normal(4, 17))
case("argmax_first", lambda x: jnp.argmax(x, axis=0), normal(9, 6))
case("argmax_middle", lambda x: jnp.argmax(x, axis=1), normal(3, 9, 6))
case("argmax_ties", lambda x: jnp.argmax(x, axis=-1), np.array([[1, 3, 3, 2], [5, 5, 5, 5]], np.float32))
case("argmax_flat", jnp.argmax, normal(4, 6))
case("argmin", lambda x: jnp.argmin(x, axis=1), normal(4, 17))
case("argmax_integers", lambda x: jnp.argmax(x, axis=1), whole(4, 17))
case("variance", lambda x: jnp.var(x, axis=-1), normal(4, 20))
case("standard_deviation", lambda x: jnp.std(x, axis=(0, 1)), normal(4, 5, 6))
case("norm", lambda x: jnp.linalg.norm(x, axis=1), normal(4, 7))
case("cumsum", lambda x: jnp.cumsum(x, axis=1), normal(4, 9))
case("cumsum_first", lambda x: jnp.cumsum(x, axis=0), normal(6, 3))
case("cumsum_reverse", lambda x: lax.cumsum(x, axis=1, reverse=True), normal(4, 9))
case("cumsum_integers", lambda x: jnp.cumsum(x, axis=1), whole(4, 9))
case("logsumexp", lambda x: jax.nn.logsumexp(x, axis=-1), normal(4, 9))


def reduction(reducer: str, initial: str, dims: str, result: str, source: str = "4x6xf32") -> str:
    """Text of a reduction with any initial value."""
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
case("reduce_or_from_true", reduction("or", "true", "1", "4xi1", "4x6xi1"), truth(4, 6))
case("reduce_maximum_integers_from_0", reduction("maximum", "0", "1", "4xi32", "4x6xi32"), whole(4, 6, low=-9, high=2))
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
case("concatenate_integers", lambda x, y: jnp.concatenate([x, y]), whole(3) * 1000003, whole(4))
case("slice", lambda x: x[1:3, 2:], normal(4, 7))
case("slice_with_steps", lambda x: x[::2, 1::3], normal(5, 11))
case("slice_backwards", lambda x: x[:, ::-1], normal(3, 5))
case("split", lambda x: jnp.split(x, 3, axis=1), normal(2, 9))
case("reverse_long_integers", lambda x: lax.rev(x, (1,)), whole(3, 600) * 50000017)
case("reverse_two", lambda x: lax.rev(x, (0, 2)), normal(3, 4, 5))
case("roll", lambda x: jnp.roll(x, 2, axis=1), normal(3, 7))
case("pad_behind", lambda x: jnp.pad(x, ((0, 2), (0, 3)), constant_values=1.5), normal(3, 4))
case("pad_before", lambda x: jnp.pad(x, ((2, 1), (3, 0))), normal(3, 4))
case("pad_negative", lambda x: lax.pad(x, x.dtype.type(0), ((-1, 0, 0), (0, -2, 0))), normal(3, 5))
case("pad_mixed", lambda x: lax.pad(x, x.dtype.type(2), ((-1, 2, 0), (3, -2, 0))), normal(3, 5))
case(
    "pad_with_minus_infinity", lambda x: jnp.maximum(lax.pad(x, x.dtype.type(-jnp.inf), ((1, 1, 0),)), -1e30), normal(5)
)
case("pad_between", lambda x: lax.pad(x, x.dtype.type(2), ((0, 0, 2), (1, -1, 1))), normal(3, 5))
case("pad_integers", lambda x: jnp.pad(x, ((1, 0), (0, 2)), constant_values=7), whole(3, 5))
case("pad_bools", lambda x: jnp.pad(x, ((1, 0), (0, 2)), constant_values=True), truth(3, 5))
case("iota", lambda x: x + jnp.arange(7.0), normal(3, 7))
case("iota_first", lambda x: x + lax.broadcasted_iota(jnp.float32, (3, 7), 0), normal(3, 7))
case("iota_integers", lambda x: x * lax.broadcasted_iota(jnp.int32, (2, 3, 4), 1), whole(2, 3, 4))
case("iota_bool", lambda x: jnp.tril(x), normal(5, 5))
case("eye", lambda x: x + jnp.eye(4), normal(4, 4))
case("constant_array", lambda x: x * jnp.array([[1.0, 2.0, 3.0], [4.0, -5.0, 6.0]]), normal(2, 3))
case(
    "constant_infinities",
    lambda x: jnp.maximum(x + jnp.array([[0, -np.inf, -np.inf], [0, 0, -np.inf]], x.dtype), -9),
    normal(2, 3),
)
case("constant_integers", lambda x: x + jnp.array([70000, -3, 2**31 - 9]), whole(3, low=0, high=8))
case("constant_bools", lambda x: jnp.where(jnp.array([True, False, True]), x, 0), normal(3))
case("constant_result", lambda x: (x, jnp.full((2, 3), 4.5)), normal(2))
case("argument_result", lambda x, y: (y, x, x), normal(2), normal(3))
case("same_result_twice", lambda x: (lambda y: (y, y, x))(jnp.exp(x)), normal(2, 3))
case("unused_argument", lambda x, y: jnp.exp(x), normal(2), normal(3))
case("unused_result", lambda x: (jnp.exp(x), jnp.log(jnp.abs(x)))[0], normal(4))

case("embedding", lambda t, i: t[i], normal(9, 5), whole(3, 4, low=0))
case("embedding_vector", lambda t, i: jnp.take(t, i, axis=0), normal(9, 5), whole(6, low=0))
case("take_second_dimension", lambda t, i: jnp.take(t, i, axis=1), normal(5, 9), whole(4, low=0))
case("take_3d_middle", lambda t, i: jnp.take(t, i, axis=1), normal(3, 9, 4), whole(2, 2, low=0))
case("take_clip", lambda t, i: jnp.take(t, i, axis=0, mode="clip"), normal(9, 5), whole(6, low=-4, high=20))
case("take_rank1", lambda t, i: t[i], normal(9), whole(4, low=0))
case("take_one", lambda t: t[jnp.array([2, 0])], normal(4, 3))
case("take_scalar_index", lambda t, i: jnp.take(t, i, axis=0), normal(9, 5), np.int32(4).reshape(()))
case("take_integers", lambda t, i: t[i], whole(9, 5, high=200) * 1000003, whole(4, low=0))
case("take_integers_rank1", lambda t, i: t[i], whole(9) * -100000007, whole(2, 4, low=0))
case("take_unsigned", lambda t, i: t[i], whole(9, 3, low=0).astype(np.uint32) * 400000003, whole(4, low=0))
case("take_bytes", lambda t, i: t[i], whole(9, 3, low=0, high=256).astype(np.uint8), whole(4, low=0))
case("take_bools", lambda t, i: t[i], truth(9, 3), whole(4, low=0))
case("take_two_coordinates", lambda t, i, j: t[i, j], normal(5, 6, 3), whole(4, low=0, high=5), whole(4, low=0, high=6))
case("take_along_axis", lambda t, i: jnp.take_along_axis(t, i, axis=1), normal(5, 6), whole(5, 3, low=0, high=6))
case(
    "gathered_elements_keep_their_dimension",
    """func.func @main(%table: tensor<5x6xf32>, %at: tensor<5x1xi32>) -> tensor<5x1xf32> {
      %0 = "stablehlo.gather"(%table, %at) <{dimension_numbers = #stablehlo.gather<offset_dims = [1],
        operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 1>,
        slice_sizes = array<i64: 1, 1>}> : (tensor<5x6xf32>, tensor<5x1xi32>) -> tensor<5x1xf32>
      return %0 : tensor<5x1xf32>
    }""",
    normal(5, 6),
    whole(5, 1, low=0, high=6),
)
case(
    "take_out_of_range_fill",
    lambda t, i: t.at[i].get(mode="fill", fill_value=3.0),
    normal(9, 5),
    whole(6, low=0, high=20),
)

ROWS = np.array([[0, 3], [6, 9], [3, -9]], np.int32)
"""Of a table of 7: one comes twice, two lie outside."""

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
case("scatter_add_integers", lambda x, i, u: x.at[i].add(u), whole(7, 5) * 90000007, ROWS[:, 0], whole(3, 5))
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
case("gradient_of_rows", jax.grad(lambda t, i: (jnp.take(t, i, axis=0) ** 2).sum()), normal(9, 5), whole(4, 2, low=0))
case("gradient_of_columns", jax.grad(lambda t, i: (jnp.take(t, i, axis=1) ** 2).sum()), normal(5, 9), whole(3, low=0))
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
case("mean_of_integers", lambda x: x.sum(1) // 6, whole(4, 6))
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
case("relu_of_integers", lambda x: jnp.maximum(x, 0), whole(4, 9))
case("relu6_by_clip", lambda x: jnp.clip(x, 0, 6), normal(4, 9) * 6)
case("reciprocal_of_integers", lambda x: jax.lax.div(np.int32(1), x), whole(4, 5, low=1, high=4))
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

# Convolution and pooling.


def convolution(x: Array, w: Array, layout: str = "NCHW", kernel: str = "OIHW", **rest: Any) -> Array:
    rest = {"window_strides": (1,) * (len(layout) - 2), "padding": "VALID"} | rest
    return lax.conv_general_dilated(x, w, dimension_numbers=(layout, kernel, layout), **rest)


conv = functools.partial
case("conv_nchw", conv(convolution), normal(2, 3, 8, 9), normal(4, 3, 3, 3))
case("conv_nhwc", conv(convolution, layout="NHWC", kernel="HWIO"), normal(2, 8, 9, 3), normal(3, 3, 3, 4))
case("conv_strided", conv(convolution, window_strides=(2, 3)), normal(2, 3, 9, 10), normal(4, 3, 3, 2))
case("conv_padded", conv(convolution, padding=((1, 2), (0, 3))), normal(1, 3, 7, 6), normal(4, 3, 3, 3))
case("conv_same", conv(convolution, padding="SAME", window_strides=(2, 2)), normal(1, 3, 7, 8), normal(4, 3, 3, 3))
case("conv_dilated", conv(convolution, rhs_dilation=(2, 1)), normal(1, 3, 9, 8), normal(4, 3, 3, 3))
case("conv_grouped", conv(convolution, feature_group_count=2), normal(1, 4, 6, 6), normal(6, 2, 3, 3))
case("conv_depthwise", conv(convolution, feature_group_count=4), normal(1, 4, 6, 6), normal(4, 1, 3, 3))
case("conv_pointwise", conv(convolution), normal(2, 3, 5, 4), normal(6, 3, 1, 1))
case("conv_odd_layout", conv(convolution, layout="CHNW", kernel="WOHI"), normal(3, 7, 2, 6), normal(2, 4, 3, 3))
case("conv_1d", conv(convolution, layout="NCH", kernel="OIH"), normal(2, 3, 9), normal(4, 3, 3))
case(
    "conv_1d_channels_last",
    conv(convolution, layout="NHC", kernel="HIO", padding=((2, 1),)),
    normal(2, 9, 3),
    normal(3, 3, 4),
)
case(
    "conv_1d_strided_dilated",
    conv(convolution, layout="NCH", kernel="OIH", window_strides=(2,), rhs_dilation=(2,)),
    normal(2, 3, 12),
    normal(4, 3, 3),
)
case(
    "conv_bias_relu",
    lambda x, w, b: jax.nn.relu(convolution(x, w) + b[None, :, None, None]),
    normal(2, 3, 8, 9),
    normal(4, 3, 3, 3),
    normal(4),
)
case(
    "conv_bias_channels_last",
    lambda x, w, b: convolution(x, w, "NHWC", "HWIO") + b,
    normal(2, 8, 9, 3),
    normal(3, 3, 3, 4),
    normal(4),
)
case(
    "conv_bias_on_height",
    lambda x, w, b: convolution(x, w) + b[:, None],
    normal(1, 4, 6, 6),
    normal(4, 4, 3, 3),
    normal(4),
)
case(
    "conv_bias_twice",
    lambda x, w, b: convolution(x, w) + b[:, None, None] + b[:, None, None],
    normal(1, 4, 6, 6),
    normal(4, 4, 3, 3),
    normal(4),
)
case(
    "conv_chain",
    lambda x, w, v, b: convolution(jnp.tanh(convolution(x, w) + b[:, None, None]), v),
    normal(1, 3, 8, 8),
    normal(4, 3, 3, 3),
    normal(5, 4, 3, 3),
    normal(4),
)
case("conv_residual", lambda x, w: convolution(x, w, padding="SAME") + x, normal(1, 3, 8, 8), normal(3, 3, 3, 3))
case(
    "conv_then_dense",
    lambda x, w, d: convolution(x, w).reshape(2, -1) @ d,
    normal(2, 3, 5, 5),
    normal(4, 3, 3, 3),
    normal(36, 5),
)
case("conv_then_mean", lambda x, w: convolution(x, w).mean((2, 3)), normal(2, 3, 5, 5), normal(4, 3, 3, 3))
case("conv_transposed", lambda x, w: lax.conv_transpose(x, w, (2, 2), "SAME"), normal(1, 5, 4, 3), normal(3, 3, 3, 2))
case(
    "conv_transposed_bias_silu",
    lambda x, w, b: jax.nn.silu(lax.conv_transpose(x, w, (2, 1), "VALID", rhs_dilation=(1, 2)) + b),
    normal(2, 5, 4, 3),
    normal(3, 2, 3, 4),
    normal(4),
)
case(
    "conv_transposed_padded_at_the_end",
    conv(convolution, lhs_dilation=(3, 2), padding=((1, 4), (1, 2))),
    normal(2, 3, 5, 4),
    normal(4, 3, 3, 2),
)
case(
    "conv_transposed_padded_before",
    conv(convolution, lhs_dilation=(2, 2), padding=((3, 1), (0, 3))),
    normal(2, 3, 5, 4),
    normal(4, 3, 3, 2),
)
case("conv_transposed_1d", lambda x, w: lax.conv_transpose(x, w, (3,), "VALID"), normal(2, 5, 3), normal(4, 3, 2))
case(
    "gradient_of_conv",
    jax.grad(lambda w, x: (convolution(x, w, window_strides=(2, 2), padding="SAME") ** 2).mean(), argnums=1),
    normal(4, 3, 3, 3),
    normal(1, 3, 8, 8),
)
case(
    "conv_reversed_kernel",
    """
func.func @main(%x: tensor<1x3x6x7xf32>, %w: tensor<4x3x3x2xf32>) -> tensor<1x4x4x6xf32> {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1],

    window = {stride = [1, 1], pad = [[0, 0], [0, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [1, 1]}
    {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
    : (tensor<1x3x6x7xf32>, tensor<4x3x3x2xf32>) -> tensor<1x4x4x6xf32>
  return %0 : tensor<1x4x4x6xf32>
}""",
    normal(1, 3, 6, 7),
    normal(4, 3, 3, 2),
)
case(
    "conv_output_layout_differs",
    """
func.func @main(%x: tensor<2x6x7x3xf32>, %w: tensor<4x3x3x2xf32>) -> tensor<6x6x2x4xf32> {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[o, i, 0, 1]->[0, 1, b, f],
    window = {stride = [1, 1], pad = [[1, 1], [0, 0]]}
    {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
    : (tensor<2x6x7x3xf32>, tensor<4x3x3x2xf32>) -> tensor<6x6x2x4xf32>
  return %0 : tensor<6x6x2x4xf32>
}""",
    normal(2, 6, 7, 3),
    normal(4, 3, 3, 2),
)


def conv_of_batches(*shapes: tuple[int, ...], names: tuple[str, str, str], strides: tuple[int, ...]) -> None:
    case(
        f"conv_batch_groups_{names[0]}",
        lambda x, w: lax.conv_general_dilated(x, w, strides, "SAME", dimension_numbers=names, batch_group_count=3),
        *(normal(*sizes) for sizes in shapes),
    )


conv_of_batches((6, 4, 7, 8), (9, 4, 3, 3), names=("NCHW", "OIHW", "NCHW"), strides=(1, 2))
conv_of_batches((7, 4, 6), (3, 4, 9), names=("WCN", "WIO", "NWC"), strides=(2,))
conv_of_batches((4, 7, 8, 6), (3, 3, 4, 6), names=("CHWN", "HWIO", "CHWN"), strides=(1, 1))


def conv_of_three(name: str, *shapes: tuple[int, ...], names: tuple[str, str, str], **given: Any) -> None:
    case(
        f"conv_three_{name}",
        lambda x, w: lax.conv_general_dilated(
            x, w, **{"window_strides": (1, 1, 1), "padding": "SAME", "dimension_numbers": names} | given
        ),
        *(normal(*sizes) for sizes in shapes),
        atol=1e-4,
    )


_FIRST, _LAST = ("NCDHW", "OIDHW", "NCDHW"), ("NDHWC", "DHWIO", "NDHWC")
conv_of_three("first", (2, 3, 5, 6, 7), (4, 3, 3, 2, 3), names=_FIRST, window_strides=(2, 1, 2))
conv_of_three("last", (2, 5, 6, 7, 3), (2, 3, 3, 3, 4), names=_LAST, padding=((1, 2), (0, 1), (2, 0)))
conv_of_three("dilated", (1, 2, 7, 6, 6), (3, 2, 2, 2, 2), names=_FIRST, rhs_dilation=(2, 1, 2))
conv_of_three("grouped", (2, 6, 4, 5, 4), (4, 3, 2, 3, 3), names=_FIRST, feature_group_count=2)
conv_of_three("flat", (2, 3, 4, 5, 6), (4, 3, 1, 1, 1), names=("NCDHW", "OIDHW", "CNHWD"))
conv_of_three("spread", (1, 2, 3, 4, 3), (2, 2, 2, 3, 2), names=_FIRST, lhs_dilation=(2, 2, 1), padding=((1, 1),) * 3)


def pool(
    kind: Callable[..., Any], initial: float, size: tuple[int, ...], strides: tuple[int, ...], padding: Any
) -> Any:
    def pooled(x: Array) -> Array:
        return lax.reduce_window(x, np.array(initial, x.dtype), kind, size, strides, padding)

    return pooled


_MAX = functools.partial(pool, lax.max, -np.inf)
_SUM = functools.partial(pool, lax.add, 0.0)
case("max_pool", _MAX((1, 1, 2, 2), (1, 1, 2, 2), "VALID"), normal(2, 3, 6, 8))
case("max_pool_channels_last", _MAX((1, 3, 2, 1), (1, 2, 2, 1), "SAME"), normal(2, 7, 8, 3))
case("max_pool_padded", _MAX((1, 1, 3, 3), (1, 1, 2, 2), ((0, 0), (0, 0), (1, 1), (1, 0))), normal(2, 3, 7, 8) - 5)
case("max_pool_1d", _MAX((1, 1, 3), (1, 1, 2), "VALID"), normal(2, 3, 9))
case("max_pool_matrix", _MAX((2, 2), (2, 2), "VALID"), normal(6, 8))
case("max_pool_vector", _MAX((3,), (2,), "VALID"), normal(9))
case("max_pool_first_dimension", _MAX((2, 1, 1, 1), (2, 1, 1, 1), "VALID"), normal(4, 3, 2, 5))
case("max_pool_first_and_last", _MAX((2, 1, 1, 2), (2, 1, 1, 1), "VALID"), normal(4, 3, 2, 5))
case("max_pool_5d", _MAX((1, 1, 1, 2, 2), (1, 1, 1, 2, 2), "VALID"), normal(2, 3, 2, 4, 4))
case("sum_pool", _SUM((1, 1, 2, 2), (1, 1, 2, 2), "VALID"), normal(2, 3, 6, 8))
case("sum_pool_padded", _SUM((1, 1, 3, 3), (1, 1, 2, 2), ((0, 0), (0, 0), (1, 1), (1, 0))), normal(2, 3, 7, 8))
case("sum_pool_1d", _SUM((1, 2, 1), (1, 2, 1), "VALID"), normal(2, 8, 3))
case("avg_pool", lambda x: _SUM((1, 2, 2, 1), (1, 2, 2, 1), "VALID")(x) / 4, normal(2, 6, 8, 3))
case(
    "avg_pool_counting",
    lambda x: _SUM((1, 3, 3, 1), (1, 1, 1, 1), "SAME")(x) / _SUM((1, 3, 3, 1), (1, 1, 1, 1), "SAME")(jnp.ones_like(x)),
    normal(2, 6, 5, 3),
)

# Windows that TT-NN's pooling does not take.

for _name, _reduced in {"max": lax.cummax, "min": lax.cummin, "prod": lax.cumprod}.items():
    case(f"window_cum{_name}", functools.partial(_reduced, axis=1), normal(3, 13))
    case(f"window_cum{_name}_reverse", lambda x, f=_reduced: f(x, axis=0, reverse=True), whole(7, 5))
    case(f"window_cum{_name}_uint8", functools.partial(_reduced, axis=0), whole(6, 4, low=0, high=200).astype(np.uint8))
    case(f"window_cum{_name}_int8", functools.partial(_reduced, axis=0), whole(6, 4, low=-99, high=99).astype(np.int8))
case("window_cummax_uint32", functools.partial(lax.cummax, axis=0), _LARGE)
case("window_cumsum_reverse", lambda x: lax.cumsum(x, axis=1, reverse=True), normal(3, 13))


def window(kind: Callable[..., Any], initial: Any, **given: Any) -> Any:
    def reduced(x: Array) -> Array:
        dims = {"padding": "SAME", "window_strides": (1,) * x.ndim} | given
        return lax.reduce_window(x, np.array(initial, x.dtype), kind, **dims)

    return reduced


case("window_min", window(lax.min, np.inf, window_dimensions=(3, 2), window_strides=(2, 1)), normal(7, 6))
case("window_product", window(lax.mul, 1, window_dimensions=(1, 3, 5), window_dilation=(1, 2, 1)), inside(2, 9, 6))
case("window_max_of_integers", window(lax.max, -(2**31), window_dimensions=(3, 3)), whole(6, 7) * 100_000_007)
case("window_sum_of_integers", window(lax.add, 0, window_dimensions=(7, 2), padding=((5, 0), (-1, 2))), whole(6, 7))
case(
    "window_of_three", window(lax.max, -np.inf, window_dimensions=(2, 2, 3), window_strides=(1, 2, 2)), normal(4, 5, 6)
)
case("window_dilated_input", window(lax.add, 0, window_dimensions=(3, 2), base_dilation=(2, 3)), normal(4, 5))
case("window_any", window(lax.bitwise_or, False, window_dimensions=(2, 3)), truth(5, 6))
case("window_all", window(lax.bitwise_and, True, window_dimensions=(2, 1)), truth(5, 6))
case("window_far_padding", _MAX((4, 1), (1, 1), ((3, 3), (0, 0))), normal(5, 4))
case(
    "padded_with_computed",
    lambda x, v: lax.pad(x, v.sum(), ((1, 2, 1), (0, -1, 0), (2, 0, 2))),
    normal(3, 4, 2),
    inside(2),
)
case("padded_with_exact", lambda x: jnp.pad(x, ((1, 0), (2, 3)), constant_values=16_777_217), whole(3, 4))
case("pool_strided_only", _MAX((1, 1), (2, 1), "VALID"), normal(6, 3))
case("pool_of_nothing", _MAX((1, 1, 1, 1), (1, 1, 1, 1), "VALID"), normal(2, 3, 4, 5))
case(
    "max_pool_dilated",
    lambda x: lax.reduce_window(
        x, -jnp.inf, lax.max, (1, 1, 2, 2), (1, 1, 1, 1), "VALID", window_dilation=(1, 1, 2, 3)
    ),
    normal(2, 3, 6, 8),
)
case("window_like_cumsum", _SUM((1, 4), (1, 1), ((0, 0), (3, 0))), normal(3, 4))
case("window_unlike_cumsum", _SUM((1, 4), (1, 1), ((0, 0), (0, 3))), normal(3, 4))

# Functions, and whole graphs.

case("called_function", lambda x: jax.jit(jnp.tanh)(jax.jit(jnp.tanh)(x) + 1), normal(3, 4))
case("checkpointed", jax.checkpoint(lambda x: jnp.sin(jnp.sin(x))), normal(3, 4))
case("custom_jvp", lambda x: jax.nn.relu(jax.nn.silu(x)), normal(3, 4))
case("gradient", jax.grad(lambda w, x: jnp.tanh(x @ w).sum()), normal(7, 3), normal(5, 7))
case("gradient_of_relu", jax.grad(lambda w, x: (jax.nn.relu(x @ w) ** 2).mean()), normal(7, 3), normal(5, 7))
case("gradient_of_softmax", jax.grad(lambda x: jax.nn.log_softmax(x)[:, 1].sum()), normal(4, 6))
case(
    "attention",
    lambda q, k, v: jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(jnp.einsum("bqhd,bkhd->bhqk", q, k) / 2), v),
    normal(2, 6, 2, 4),
    normal(2, 6, 2, 4, seed=1),
    normal(2, 6, 2, 4, seed=2),
)
case(
    "rotary",
    lambda x, c, s: x * c + jnp.concatenate([-x[..., 4:], x[..., :4]], -1) * s,
    normal(2, 3, 5, 8),
    normal(5, 8),
    normal(5, 8, seed=1),
)
case("one_hot", lambda i: jax.nn.one_hot(i, 6), whole(5, low=0, high=6))
case(
    "cross_entropy",
    lambda x, i: -(jax.nn.log_softmax(x) * jax.nn.one_hot(i, 6)).sum(-1).mean(),
    normal(5, 6),
    whole(5, low=0, high=6),
)
case("positional_encoding", lambda x: x + jnp.sin(jnp.arange(6.0)[:, None] / 10 ** (jnp.arange(4.0) / 4)), normal(6, 4))
case(
    "swiglu",
    lambda x, a, b, c: (jax.nn.silu(x @ a) * (x @ b)) @ c,
    normal(5, 7),
    normal(7, 9),
    normal(7, 9, seed=1),
    normal(9, 7),
)

# What runs on the host.

case("host_fourier", lambda x: jnp.abs(jnp.fft.fft(x * 2)) + 1, normal(3, 8), correlates=False)
case("host_between_matrix_products", lambda x: jnp.fft.fft(x @ x).real @ x, normal(6, 6), correlates=False)
case("host_twice_with_work_between", lambda x: jnp.sort(jnp.sort(x)[:, ::-1] * 2 + x[:, :1]), normal(3, 8))
case("host_linear_algebra", lambda x: jnp.linalg.cholesky(x @ x.T + 4 * jnp.eye(4)), normal(4, 4), correlates=False)
case("complex_numbers_within", lambda x: jnp.real(lax.complex(x, x) * lax.complex(x, -x)), normal(5), correlates=False)
case("fp8_within", lambda x: x.astype(jnp.float8_e4m3fn).astype(jnp.float32), normal(5, 7), correlates=False)
case("int4_within", lambda x: x.astype(jnp.int4).astype(jnp.int32), whole(5, 7, low=-8, high=8))
case("no_elements", lambda x: x[:0] * 2, normal(3, 4), correlates=False)
case("sum_of_no_elements", lambda x: x[:0].sum(0) + x[0], normal(3, 4))
case("beside_no_elements", lambda x: (jnp.concatenate([x[:0], x]) @ x.T, x[:0] @ x.T), normal(4, 4), correlates=False)
case("product_over_no_elements", lambda x: x[:, :0] @ x[:0], normal(4, 4) * 3, correlates=False)

# Control flow.

case("loop_of_known_steps", lambda x: lax.fori_loop(0, 5, lambda i, c: c * 1.5 + i, x), normal(4, 8))
case("scan", lambda x: lax.scan(lambda c, row: (c + row, c * row), jnp.zeros(8), x), normal(4, 8))
case("map", lambda x: lax.map(lambda row: jnp.tanh(row).sum(), x), normal(4, 8))
case(
    "loop_of_unknown_steps",
    lambda x: lax.while_loop(lambda c: c.sum() < 10, lambda c: c + 1, x),
    normal(4, 8),
    correlates=False,
)
case(
    "loop_within_a_loop",
    lambda x: lax.fori_loop(0, 3, lambda i, c: lax.fori_loop(0, i + 1, lambda j, d: d + j, c), x),
    normal(3),
)
case(
    "kept_loop_with_weights",
    lambda x, w: lax.fori_loop(0, 20, lambda i, c: jnp.tanh(c @ w) + x * i.astype(x.dtype) / 20, x),
    normal(4, 8),
    normal(8, 8, seed=1) / 4,
)
case(
    "kept_scan_with_rows_in_and_out",
    lambda x, w: lax.scan(lambda c, row: (jnp.tanh(c @ w + row), c.sum()), jnp.zeros(8, x.dtype), x),
    normal(12, 8),
    normal(8, 8, seed=1) / 4,
)
case(
    "kept_loops_nested",
    lambda x, w: lax.fori_loop(
        0, 7, lambda i, c: lax.fori_loop(0, 9, lambda j, d: jnp.tanh(d * w[j % 3] + i.astype(d.dtype)), c), x
    ),
    normal(4, 8),
    normal(3, 8, seed=1),
)
case(
    "kept_loop_of_integers_and_truths",
    lambda x: lax.fori_loop(0, 12, lambda i, c: (c[0] * 3 % 101, c[1] ^ (c[0] > 50), c[2].at[i].set(i)), (x, x > 2, x)),
    whole(12, low=0, high=90),
)
case(
    "kept_loop_to_a_given_limit",
    lambda n, x: lax.fori_loop(0, n, lambda i, c: c * 0.9 + i.astype(c.dtype) / 8, x),
    np.array(6, np.int32),
    normal(4, 8),
)
case(
    "kept_loop_of_no_rounds",
    lambda n, x: lax.fori_loop(3, n, lambda i, c: c * 2 + 1, x),
    np.array(2, np.int32),
    normal(4, 8),
)
case(
    "kept_loop_with_states_that_take_turns",
    lambda x: lax.fori_loop(0, 11, lambda i, c: (c[1], c[2], jnp.tanh(c[0] + c[1])), (x, x + 1, x * 2)),
    normal(4, 8),
)
case(
    "kept_loop_gradient",
    lambda x, w: jax.grad(lambda w: lax.scan(lambda c, _: (jnp.tanh(c @ w), None), x, None, length=10)[0].sum())(w),
    normal(4, 8),
    normal(8, 8, seed=1) / 4,
)
case(
    "kept_loop_downwards",
    lambda x: lax.while_loop(lambda c: c[0] > 0, lambda c: (c[0] - 3, jnp.tanh(c[1] * 1.1)), (40, x)),
    normal(4, 8),
)
for _at in (-1, 0, 2, 7):
    case(
        f"kept_branches_{_at}",
        lambda i, x, w: lax.switch(
            i,
            [
                lambda v: jax.nn.softmax(jnp.tanh(v @ w) @ w),
                lambda v: jnp.exp(-jnp.abs(v @ w)) * jnp.sin(v),
                lambda v: jnp.tanh(jax.nn.softmax(v) @ w) + jnp.cos(v),
            ],
            x,
        ),
        np.array(_at, np.int32),
        normal(4, 8),
        normal(8, 8, seed=1) / 4,
    )
case("branch", lambda x: lax.cond(x.sum() > 0, lambda v: v + 1, lambda v: v - 1, normal(4, 8)), normal(4, 8))
case(
    "switch",
    lambda i, x: lax.switch(i, [lambda v: v + 1, lambda v: v - 1, lambda v: v * 2], x),
    np.array(1, np.int32),
    normal(4, 8),
)
case("barrier", lambda x: lax.optimization_barrier((x, x + 1))[1], normal(4))

# Slices whose place is computed.

for _at in (-1, 2, 22):
    _start = np.array(_at, np.int32)
    case(f"dynamic_slice_at_{_at}", lambda i, x: lax.dynamic_slice(x, (i, i, 0), (2, 3, 5)), _start, normal(6, 8, 5))
    case(
        f"dynamic_update_at_{_at}",
        lambda i, x, u: lax.dynamic_update_slice(x, u, (i, i, 0)),
        _start,
        normal(6, 8, 5),
        normal(2, 3, 5, seed=1),
    )
    case(
        f"cache_update_at_{_at}",
        lambda i, x, u: lax.dynamic_update_slice(x, u, (0, i, 0)),
        _start,
        normal(6, 8, 5),
        normal(6, 1, 5, seed=1),
    )
case("static_update", lambda x, u: lax.dynamic_update_slice(x, u, (2, 1, 0)), normal(6, 8, 5), normal(2, 3, 5, seed=1))
case(
    "slices_by_row",
    jax.vmap(lambda row, at: lax.dynamic_slice(row, (at, 0), (3, 2))),
    normal(6, 8, 5),
    np.array([0, 3, 9, -2, 5, 1], np.int32),
)
case("indices_of_two_dimensions", lambda x, i: x[:, i], normal(6, 8), np.array([[1, 2], [5, 0]], np.int32))

# Ops of CHLO that jaxlib writes in simpler ones.

for _name in ("digamma", "lgamma", "erf_inv", "bessel_i1e"):
    case(f"chlo_{_name}", getattr(lax, _name), inside(4, 7) * 0.5 + 0.5, correlates=False, atol=1e-4)
case("chlo_next_after", lax.nextafter, normal(4, 7), normal(4, 7, seed=1), correlates=False)

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


def pooling_gradient(x: Array, size: int, stride: int, padding: Any = "VALID") -> Array:
    def total(x: Array) -> Array:
        pooled = lax.reduce_window(x, -jnp.inf, lax.max, (1, size, size, 1), (1, stride, stride, 1), padding)
        return (pooled * jnp.arange(1, 1 + pooled.size, dtype=x.dtype).reshape(pooled.shape) / pooled.size).sum()

    return jax.grad(total)(x)


TIES = np.asarray(np.round(normal(2, 8, 8, 3)) + 0.0, np.float32)
"""Of equal elements the first takes the gradient."""

case("gradient_of_max_pool", lambda x: pooling_gradient(x, 2, 2), TIES)
case(
    "gradient_of_max_pool_that_overlaps",
    lambda x: pooling_gradient(jnp.pad(x, ((0, 0), (1, 0), (0, 1), (0, 0)), constant_values=-np.inf), 3, 2),
    TIES,
)
# Without equal elements: of those XLA's CPU client takes another than the first where the op itself pads.
case("gradient_of_max_pool_same", lambda x: pooling_gradient(x, 3, 2, "SAME"), normal(2, 8, 8, 3))
case(
    "gradient_of_max_pool_padded",
    lambda x: pooling_gradient(x, 3, 1, ((0, 0), (1, 1), (1, 0), (0, 0))),
    normal(2, 8, 8, 3),
)
case(
    "gradient_of_max_pool_on_lines",
    jax.grad(lambda x: (_MAX((1, 1, 2), (1, 1, 2), "VALID")(x) ** 2).sum()),
    normal(2, 3, 8),
)


case("sort", lambda x: jnp.sort(x, axis=1), TIES[0])
case("sort_descending", lambda x: jnp.sort(x, axis=0, descending=True), normal(9, 5))
case("sort_vector", jnp.sort, normal(40))
case("sort_positions", lambda x: jnp.argsort(x, axis=-1), TIES[0], correlates=False)
case("sort_bytes", lambda x: jnp.sort(x), whole(3, 9).astype(np.int8))
case("sort_booleans", lambda x: jnp.argsort(x), truth(3, 9))
case(
    "sort_others_along",
    lambda x, y, n: lax.sort((y, x, n), dimension=0, num_keys=1),
    whole(9, 4).astype(np.float32),
    normal(9, 4),
    whole(9, 4),
)
case("top_k", lambda x: lax.top_k(x, 3), TIES[0], correlates=False)
case("sort_positions_of_top_k", lambda x: lax.sort(lax.top_k(x, 2)[1].astype("int32").reshape(-1)), TIES[0])
case("top_k_of_bytes", lambda x: lax.top_k(x, 2), whole(3, 9).astype(np.uint8))
case("integers_of_32_bits_sorted", lambda x: lax.top_k(jnp.sort(x), 2), whole(3, 9) * 200000011)
case("two_keys_sorted", lambda x, y: lax.sort((x, y), num_keys=2), whole(3, 9).astype(np.float32), normal(3, 9))


def lowered(program: Callable[..., Any] | str, inputs: tuple[np.ndarray, ...]) -> Any:
    """The StableHLO module of a case."""
    if isinstance(program, str):
        return parse_module(program)
    return jax.jit(program, keep_unused=True).lower(*inputs).compiler_ir("stablehlo")


def on_cpu(module: Any, inputs: tuple[np.ndarray, ...]) -> list[np.ndarray]:
    client = jax_backend.get_backend("cpu")
    devices = jaxlib._jax.DeviceList(tuple(client.local_devices()[:1]))
    executable = client.compile_and_load(module.operation.get_asm(), devices)
    with jax.enable_x64(True):
        arrays = [jax.device_put(value, client.local_devices()[0]) for value in inputs]
        return [np.asarray(value) for value in executable.execute(arrays)]


def on_card(module: Any, inputs: tuple[np.ndarray, ...], runs: int = 1, **options: Any) -> list[np.ndarray]:
    target = load_target("n150")
    program = compile_module(module, CompileOptions.parse(options), target)
    executable = get_device("n150").load(Program.from_bytes(program.to_bytes()))
    for _ in range(runs):
        results = executable.run([to_torch(value) for value in inputs], [0] * len(inputs))
    return [to_numpy(value) for value in results]


def to_torch(array: np.ndarray) -> torch.Tensor:
    if array.dtype == BF16:
        return torch.from_numpy(np.array(array).view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(np.array(array))


def to_numpy(tensor: torch.Tensor) -> np.ndarray:
    if tensor.dtype is torch.bfloat16:
        return tensor.contiguous().view(torch.int16).numpy().view(BF16)
    return tensor.numpy()


@functools.cache
def expected(name: str) -> tuple[Any, list[np.ndarray]]:
    module = lowered(CASES[name].program, CASES[name].inputs)
    return module, on_cpu(module, CASES[name].inputs)


def takes_floats(found: Case) -> bool:
    return any(value.dtype == np.float32 for value in found.inputs)


ON_CHIP = (
    *(
        "beside",
        "bits",
        "conv_batch",
        "conv_three",
        "gradient",
        "index_put",
        "kept",
        "padded",
        "precision",
        "scatter",
        "sort",
        "top_k",
    ),
    *("unsigned", "window"),
)
"""What the names of cases begin with whose every op the chip runs."""


@pytest.mark.parametrize("name", [name for name in CASES if name.startswith(ON_CHIP)])
def test_nothing_is_left_to_the_host(name: str) -> None:
    module, _ = expected(name)
    assert compile_module(module, CompileOptions.parse({}), load_target("n150")).host_ops == ()


@pytest.mark.parametrize(
    ("name", "native"),
    [
        ("conv_transposed_bias_silu", True),
        ("conv_transposed_padded_at_the_end", True),
        ("conv_transposed_padded_before", False),
    ],
)
def test_convolutions_of_dilated_inputs_are_transposed_ones(name: str, native: bool) -> None:
    """Where no padding goes before the input beyond the kernel's reach."""
    module, _ = expected(name)
    program = compile_module(module, CompileOptions.parse({}), load_target("n150"))
    ops = [instruction.op for instruction in program.functions[0].body]
    assert ("ttnn.conv_transpose2d" in ops, "ttnn.conv2d" in ops) == (native, not native)


@pytest.mark.parametrize("level", [0, 2])
@pytest.mark.parametrize("name", CASES)
def test_exact(name: str, level: int) -> None:
    module, wanted = expected(name)
    got = on_card(module, CASES[name].inputs, numerics="exact", optimization_level=level)
    assert len(got) == len(wanted)
    for one, other in zip(got, wanted, strict=True):
        assert one.dtype == other.dtype
        assert one.shape == other.shape
        if other.dtype.kind == "f":
            np.testing.assert_allclose(one, other, rtol=2e-5, atol=CASES[name].atol)
        else:
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", CASES)
def test_exact_with_parameters_and_a_trace(name: str) -> None:
    """All inputs but the first are parameters, so const-eval takes what it can; the third run replays a trace."""
    module, wanted = expected(name)
    source = str(module)
    for index in range(1, len(CASES[name].inputs)):
        source = re.sub(rf"(%arg{index}: tensor<[^>]*>)", r'\1 {ttcore.argument_type = "parameter"}', source, count=1)
    got = on_card(
        parse_module(source), CASES[name].inputs, 3, optimization_level=2, enable_trace=True, numerics="exact"
    )
    for one, other in zip(got, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=CASES[name].atol)


@pytest.mark.parametrize("level", [0, 2])
@pytest.mark.parametrize("name", [name for name, found in CASES.items() if found.correlates and takes_floats(found)])
def test_bfloat16_on_silicon_numerics_correlates(name: str, level: int) -> None:
    """The program in bfloat16 under the chip's numerics, against the same program in float32."""
    _, wanted = expected(name)
    inputs = tuple(value.astype(BF16) if value.dtype == np.float32 else value for value in CASES[name].inputs)
    program = CASES[name].program
    if isinstance(program, str):
        program = program.replace("f32", "bf16")
    got = on_card(lowered(program, inputs), inputs, optimization_level=level)
    for one, other in zip(got, wanted, strict=True):
        if other.dtype.kind == "f":
            assert_correlated(one.astype(np.float32), other)


def assert_correlated(got: np.ndarray, wanted: np.ndarray) -> None:
    assert got.shape == wanted.shape
    finite = np.isfinite(wanted)
    np.testing.assert_array_equal(np.isfinite(got), finite)
    got, wanted = got[finite].astype(np.float64), wanted[finite].astype(np.float64)
    scale = np.abs(wanted).max(initial=0)
    if wanted.size < 3 or wanted.std() < 1e-2 * scale:
        np.testing.assert_allclose(got, wanted, rtol=0.05, atol=0.05 * scale + 0.02)
        return
    assert pcc(got, wanted, rtol=0, atol=0) > 0.99
    assert np.abs(got).max() == pytest.approx(scale, rel=0.1)
