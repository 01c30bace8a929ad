"""Convolution, pooling and other windows."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from small_programs.common import Array, cases_of, inside, ints, normal, truth

case = cases_of(__name__)

# Convolution and pooling.


def convolution(x: Array, w: Array, layout: str = "NCHW", kernel: str = "OIHW", **rest: Any) -> Array:
    rest = {"window_strides": (1,) * (len(layout) - 2), "padding": "VALID"} | rest
    return lax.conv_general_dilated(x, w, dimension_numbers=(layout, kernel, layout), **rest)


conv = functools.partial
case("conv_nchw", conv(convolution), normal(2, 3, 8, 9), normal(4, 3, 3, 3))
case("conv_nhwc", conv(convolution, layout="NHWC", kernel="HWIO"), normal(2, 8, 9, 3), normal(3, 3, 3, 4))
case(  # oneDNN reads such weights wrong where they are not row-major
    "conv_groups_of_transposed_weights",
    lambda x, w: convolution(x, w.transpose(0, 2, 3, 1), layout="NHWC", feature_group_count=2),
    normal(1, 1, 6, 16),
    normal(2, 3, 8, 1),
)
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


def conv_of_three(name: str, *shapes: tuple[int, ...], names: tuple[str, str, str], **options: Any) -> None:
    case(
        f"conv_three_{name}",
        lambda x, w: lax.conv_general_dilated(
            x, w, **{"window_strides": (1, 1, 1), "padding": "SAME", "dimension_numbers": names} | options
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

# Windows that TT-NN's pooling does not support.

for _name, _reduced in {"max": lax.cummax, "min": lax.cummin, "prod": lax.cumprod}.items():
    case(f"window_cum{_name}", functools.partial(_reduced, axis=1), normal(3, 13))
    case(f"window_cum{_name}_reverse", lambda x, f=_reduced: f(x, axis=0, reverse=True), ints(7, 5))
    case(
        f"window_cum{_name}_uint8",
        functools.partial(_reduced, axis=0),
        ints(6, 4, low=0, high=200).astype(np.uint8),
    )
    case(f"window_cum{_name}_int8", functools.partial(_reduced, axis=0), ints(6, 4, low=-99, high=99).astype(np.int8))
case(
    "window_cummax_uint32",
    functools.partial(lax.cummax, axis=0),
    np.array([3_000_000_000, 4, 4_000_000_001, 7, 2**31], np.uint32),
)
case("window_cumsum_reverse", lambda x: lax.cumsum(x, axis=1, reverse=True), normal(3, 13))


def window(kind: Callable[..., Any], initial: Any, **options: Any) -> Any:
    def reduced(x: Array) -> Array:
        dims = {"padding": "SAME", "window_strides": (1,) * x.ndim} | options
        return lax.reduce_window(x, np.array(initial, x.dtype), kind, **dims)

    return reduced


case("window_min", window(lax.min, np.inf, window_dimensions=(3, 2), window_strides=(2, 1)), normal(7, 6))
case("window_product", window(lax.mul, 1, window_dimensions=(1, 3, 5), window_dilation=(1, 2, 1)), inside(2, 9, 6))
case("window_max_of_integers", window(lax.max, -(2**31), window_dimensions=(3, 3)), ints(6, 7) * 100_000_007)
case("window_sum_of_integers", window(lax.add, 0, window_dimensions=(7, 2), padding=((5, 0), (-1, 2))), ints(6, 7))
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
case("padded_with_exact", lambda x: jnp.pad(x, ((1, 0), (2, 3)), constant_values=16_777_217), ints(3, 4))
case("pool_strided_only", _MAX((1, 1), (2, 1), "VALID"), normal(6, 3))
case(
    "pool_far_beyond",
    _MAX((1, 9000, 9000, 1), (1, 9000, 9000, 1), ((0, 0), (0, 8998), (4500, 4497), (0, 0))),
    normal(2, 2, 3, 4),
)
case("sum_pool_far_beyond", _SUM((1, 9000, 9000), (1, 9000, 9000), ((0, 0), (0, 8998), (4500, 4497))), normal(4, 2, 3))
case("pool_of_nothing", _MAX((1, 1, 1, 1), (1, 1, 1, 1), "VALID"), normal(2, 3, 4, 5))
case(
    "max_pool_dilated",
    lambda x: lax.reduce_window(
        x, -jnp.inf, lax.max, (1, 1, 2, 2), (1, 1, 1, 1), "VALID", window_dilation=(1, 1, 2, 3)
    ),
    normal(2, 3, 6, 8),
)
case(
    "sum_pool_dilated",
    lambda x: lax.reduce_window(x, 0.0, lax.add, (1, 2, 3, 1), (1, 2, 1, 1), "SAME", window_dilation=(1, 2, 2, 1)),
    normal(2, 6, 8, 3),
)
case("window_like_cumsum", _SUM((1, 4), (1, 1), ((0, 0), (3, 0))), normal(3, 4))
case(
    "window_dilated_like_cumsum",
    window(lax.add, 0, window_dimensions=(1, 2), padding=((0, 0), (1, 0)), window_dilation=(1, 2)),
    normal(3, 2),
)
case("window_unlike_cumsum", _SUM((1, 4), (1, 1), ((0, 0), (0, 3))), normal(3, 4))


def pooling_gradient(x: Array, size: int, stride: int, padding: Any = "VALID") -> Array:
    def total(x: Array) -> Array:
        pooled = lax.reduce_window(x, -jnp.inf, lax.max, (1, size, size, 1), (1, stride, stride, 1), padding)
        return (pooled * jnp.arange(1, 1 + pooled.size, dtype=x.dtype).reshape(pooled.shape) / pooled.size).sum()

    return jax.grad(total)(x)


TIES = np.asarray(np.round(normal(2, 8, 8, 3)) + 0.0, np.float32)
"""Values with equal elements in a window, where the first one receives the gradient."""

case("gradient_of_max_pool", lambda x: pooling_gradient(x, 2, 2), TIES)
case(
    "gradient_of_max_pool_that_overlaps",
    lambda x: pooling_gradient(jnp.pad(x, ((0, 0), (1, 0), (0, 1), (0, 0)), constant_values=-np.inf), 3, 2),
    TIES,
)
# No equal elements: XLA's CPU client would not choose the first of them where the op itself pads.
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
_WITH_NAN = np.array([-np.inf, -1, -0.0, 0, 1, np.inf, np.nan, -np.nan], np.float32)
for _method in ("scan", "scan_unrolled", "sort", "compare_all"):
    _search = functools.partial(jnp.searchsorted, method=_method)
    case(f"place_among_sorted_{_method}", _search, _WITH_NAN, _WITH_NAN, correlates=False)
case(
    "signs_of_zero_sorted",
    """func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
      %r = "stablehlo.sort"(%x) <{dimension = 0 : i64, is_stable = true}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %c = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %c : tensor<i1>
      }) : (tensor<8xf32>) -> tensor<8xf32>
      %one = stablehlo.constant dense<1.0> : tensor<8xf32>
      %s = stablehlo.divide %one, %r : tensor<8xf32>
      return %s : tensor<8xf32> }""",
    np.array([0, -0.0, 2, 0, -0.0, -2, 0, -0.0], np.float32),
    correlates=False,
)
case("sort_bytes", lambda x: jnp.sort(x), ints(3, 9).astype(np.int8))
case("sort_booleans", lambda x: jnp.argsort(x), truth(3, 9))
case(
    "sort_others_along",
    lambda x, y, n: lax.sort((y, x, n), dimension=0, num_keys=1),
    ints(9, 4).astype(np.float32),
    normal(9, 4),
    ints(9, 4),
)
case("top_k", lambda x: lax.top_k(x, 3), TIES[0], correlates=False)
case("sort_positions_of_top_k", lambda x: lax.sort(lax.top_k(x, 2)[1].astype("int32").reshape(-1)), TIES[0])
case("top_k_of_bytes", lambda x: lax.top_k(x, 2), ints(3, 9).astype(np.uint8))
case("integers_of_32_bits_sorted", lambda x: lax.top_k(jnp.sort(x), 2), ints(3, 9) * 200000011)
case("two_keys_sorted", lambda x, y: lax.sort((x, y), num_keys=2), ints(3, 9).astype(np.float32), normal(3, 9))
