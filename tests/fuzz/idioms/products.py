"""Matrix products, convolutions and poolings with what is fused into them."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tests.fuzz.idioms.drawing import Array, Drawer, idiom

_ACTIVATIONS = (jax.nn.relu, jax.nn.relu6, jax.nn.silu, jax.nn.sigmoid, jax.nn.gelu, jnp.tanh, lambda x: x)


@idiom("ttir.matmul_with_bias", "ttir.flattened_permute", "ttir.dot_general", "ttir.transposed_product",
       "ttnn.fuse_into_product", "ttnn.sink_reshape_past_rows", "ttnn.sink_reshape", "ttir.narrow",
       "ttir.transposed_matmul")  # fmt: skip
def linear(d: Drawer) -> Array:
    """Products with transposes, batches, flattened and permuted rows, and biases of other shapes."""
    dtype = d.or_else(d.dtype(), "int32", chance=0.05)
    rows, inner, columns = d.size(), d.one(1, 3, 8, 31, 32, 33, 64), d.one(1, 3, 8, 31, 32, 33)
    batch = d.one((), (), (2,), (3,), (2, 2))
    way = d.one("plain", "plain", "images", "joined", "batched", "turned")
    if way == "images":
        sizes = (d.one(1, 2, 4), d.one(1, 2, 3), d.one(2, 3), d.one(2, 4))
        order = d.or_else((0, 3, 1, 2), (0, 2, 3, 1), (1, 0, 2, 3), (0, 1, 3, 2), chance=0.4)
        x = d.keep(d.input(sizes, dtype).transpose(order), 0.05)
        x = x.reshape(x.shape[0], -1) if d.maybe(0.8) else x.reshape(-1, x.shape[-1])
        rows, inner = x.shape
    elif way == "joined":
        x = d.input((*batch, rows, inner), dtype)
        x = x.reshape(-1, inner)
        rows = x.shape[0]
    elif way == "batched":
        x = d.input((*batch, rows, inner), dtype)
    elif way == "turned":
        x = d.input((d.one(2, 4), d.one(2, 4), d.one(2, 4, 8)), dtype).transpose(
            d.or_else((0, 2, 1), (2, 1, 0), (2, 0, 1))
        )
        rows, inner = x.shape[-2:]
    else:
        x = d.input((rows, inner), dtype).reshape(rows, inner) if d.maybe() else d.input((inner, rows), dtype).T
    weights_batch = batch if way == "batched" and d.maybe() else ()
    turned = d.maybe()
    w = d.input(
        (*weights_batch, columns, inner) if turned else (*weights_batch, inner, columns), dtype, parameter=d.maybe(0.7)
    )
    w = jnp.swapaxes(w, -1, -2) if turned else w
    y = d.keep(x @ w, 0.06)
    if d.maybe(0.15):
        y = jnp.swapaxes(y, -1, -2)
    if way == "joined" and d.maybe(0.7):
        y = y.reshape(*batch, -1, columns) if y.shape[-1] == columns else y
    if d.maybe(0.75):
        last = y.shape[-1:]
        shape = d.or_else(last, (*y.shape[:-1], 1), (1,), y.shape, (1,) * (y.ndim + 1) + last, (1, *last), chance=0.4)
        bias = d.input(shape, d.or_else(y.dtype.name, "float32"), parameter=d.maybe(0.7))
        y = y - bias if d.maybe(0.2) else d.either_way(jnp.add, d.cast(y), bias)
    y = d.keep(y, 0.05)
    return d.one(*_ACTIVATIONS)(y) if jnp.issubdtype(y.dtype, jnp.floating) else y


@idiom("ttir.transposed_product", "ttir.dot_general")
def gradients(d: Drawer) -> Any:
    """Gradients of a layer, in which products are transposed."""
    rows, inner, columns = d.size(), d.size(), d.size()
    x, w = d.input((rows, inner), d.dtype()), d.input((inner, columns), "float32")
    activation = d.one(*_ACTIVATIONS)

    def loss(w: Array, x: Array) -> Array:
        return (activation(x.astype(w.dtype) @ w) * d.one(1.0, 0.5)).sum()

    first, second = jax.grad(loss, (0, 1))(w, x)
    return first.T if d.maybe(0.3) else first, second


@idiom("ttir.conv_with_bias", "ttir.scaled_conv", "ttir.sum_of_convs", "ttir.identity_as_conv", "ttir.padded_conv",
       "ttir.channels_last", "ttir.convolution_of_one_window", "ttir.patch_convolution", "ttir.rows_as_channels",
       "ttir.pointwise_convolution", "ttir.product_by_channel", "ttir.reduction_of_images",
       "ttir.sink_past_elementwise", "ttir.sink_past_concat", "ttir.sink_past_pad", "ttir.sink_past_slice",
       "ttnn.fuse_into_convolution", "ttnn.row_major_convolution", "ttnn.reshape_on_host",
       "ttnn.fill_in_result_layout", "ttir.padded_pool", "ttir.widened", special=False)  # fmt: skip
def convolutions(d: Drawer) -> Array:
    """One to three convolutions with pads, scales, biases, residuals, branches, poolings and moves between them."""
    dtype = d.one("float32", "bfloat16", "bfloat16")
    channels = d.one(1, 3, 4, 8, 16, 32)
    last = d.maybe(0.3)
    size = (d.one(1, 1, 2, 3), channels, d.one(1, 3, 6, 8, 14, 17), d.one(1, 2, 6, 8, 14))
    x = d.input(size, dtype)
    if d.maybe(0.3):
        x = x.reshape(x.shape)
    for _ in range(d.one(1, 1, 2, 3)):
        x = _block(d, x)
        x = d.one(*_ACTIVATIONS)(d.keep(x, 0.04))
        if d.maybe(0.25):
            x = _moved(d, x)
        if d.maybe(0.2) and min(x.shape[2:]) >= 2:
            x = pooled(d, x)
        if d.maybe(0.15):
            x = _squeezed(d, x)
    if d.maybe(0.3):
        x = d.one(jnp.mean, jnp.sum, jnp.max)(x, d.or_else((2, 3), (1, 2), (3,), (1,)), keepdims=d.maybe())
    return x.transpose(0, 2, 3, 1) if last and x.ndim == 4 else x


def _weights(d: Drawer, x: Array, outputs: int, kernel: tuple[int, int], groups: int) -> Array:
    shape = (outputs, x.shape[1] // groups, *kernel)
    return d.input(shape, x.dtype.name, scale=0.5, parameter=d.maybe(0.85))


def _conv(d: Drawer, x: Array, outputs: int, kernel: tuple[int, int], **rest: Any) -> Array:
    groups = rest.pop("groups", 1)
    return lax.conv_general_dilated(
        x, _weights(d, x, outputs, kernel, groups), dimension_numbers=("NCHW", "OIHW", "NCHW"),
        feature_group_count=groups, **rest,
    )  # fmt: skip


def _block(d: Drawer, x: Array) -> Array:
    """Returns a convolution of images with what often follows it."""
    channels = x.shape[1]
    outputs = d.one(channels, 4, 8, 32)
    kernel = d.one(
        (1, 1), (1, 1), (3, 3), (3, 3), (2, 2), (1, 3), tuple(x.shape[2:]) if max(x.shape[2:]) <= 8 else (3, 1)
    )
    touching = d.maybe(0.25)
    strides = kernel if touching else d.one((1, 1), (1, 1), (2, 2), (1, 2))
    dilation = d.or_else((1, 1), (2, 2), (1, 2))
    groups = d.or_else(1, channels, 2, chance=0.2)
    if channels % groups or outputs % groups:
        groups = 1
    reach = [(one - 1) * each + 1 for one, each in zip(kernel, dilation, strict=True)]
    low = [max(0, (need - have + 1) // 2) for need, have in zip(reach, x.shape[2:], strict=True)]
    if touching and not any(low):
        padding: Any = "VALID"
    else:
        padding = [(least + d.one(0, 0, 1), least + d.one(0, 0, 1)) for least in low]
    before = x
    if d.maybe(0.3):
        value = jnp.asarray(d.or_else(0.0, 1.0, -np.inf), x.dtype)
        amounts = [
            (0, 0, 0),
            d.or_else((0, 0, 0), (0, 2, 0)),
            *((d.one(0, 1), d.one(0, 1, 2), d.or_else(0, 1)) for _ in "hw"),
        ]
        x = d.keep(lax.pad(x, value, amounts), 0.05)
        if x.shape[1] % groups:
            groups = 1
    rest = {"window_strides": strides, "padding": padding, "rhs_dilation": dilation}
    y = _conv(d, x, outputs, kernel, groups=groups, **rest)
    y = d.keep(y, 0.04)
    if d.maybe(0.1) and padding != "VALID":
        smaller = (1, 1)
        margin = [(have - 1) // 2 for have in reach]
        if all(have % 2 for have in reach) and all(
            p[0] >= m and p[1] >= m for p, m in zip(padding, margin, strict=True)
        ):
            inner = [(p[0] - m, p[1] - m) for p, m in zip(padding, margin, strict=True)]
            y = y + _conv(d, x, outputs, smaller, groups=groups, window_strides=strides, padding=inner)
    if y.shape == before.shape and d.maybe(0.3):
        scale = d.input((1, channels, 1, 1), x.dtype.name, parameter=True)
        y = y + (
            before * scale + d.input((1, channels, 1, 1), x.dtype.name, parameter=True) if d.maybe(0.6) else before
        )
    for way in ("scale", "bias", "scale"):
        if d.maybe(0.35):
            shape = d.or_else(
                (1, outputs, 1, 1), (outputs, 1, 1), (1, 1, 1, y.shape[3]), (), (y.shape[0], outputs, 1, 1), chance=0.25
            )
            value = d.input(shape, d.or_else(x.dtype.name, "float32"), positive=way == "scale", parameter=d.maybe(0.85))
            cast = d.cast(y)
            if way == "scale":
                y = cast / value if d.maybe(0.2) else d.either_way(jnp.multiply, cast, value)
            else:
                y = cast - value if d.maybe(0.2) else d.either_way(jnp.add, cast, value)
            y = y.astype(x.dtype)
    return y


def _moved(d: Drawer, x: Array) -> Array:
    """Returns images after a concatenation, pad, slice, reverse or transposition."""
    way = d.one("concat", "pad", "slice", "reverse", "transpose", "shuffle")
    if way == "concat":
        return jnp.concatenate(
            [x, d.one(jnp.exp, jnp.abs)(x) if d.maybe() else d.input(x.shape, x.dtype.name)], d.or_else(1, 2, 0)
        )
    if way == "pad":
        return jnp.pad(x, ((0, 0), d.or_else((0, 0), (1, 1)), (d.one(0, 1), 1), (1, d.one(0, 1))))
    if way == "slice":
        return x[:, : max(1, x.shape[1] // d.one(1, 2)), :: d.one(1, 1, 2), d.or_else(0, 1) if x.shape[3] > 1 else 0 :]
    if way == "reverse":
        return x[:, :, ::-1] if d.maybe() else x[:, ::-1]
    if way == "shuffle" and x.shape[1] % 2 == 0:
        n, c, h, w = x.shape
        return x.reshape(n, 2, c // 2, h, w).transpose(0, 2, 1, 3, 4).reshape(n, c, h, w)
    return x.transpose(0, 1, 3, 2)


def _squeezed(d: Drawer, x: Array) -> Array:
    """Returns images multiplied by one number for each image and channel, as squeeze and excitation does."""
    gate = jax.nn.sigmoid(x.mean(d.or_else((2, 3), (1, 2)), keepdims=True))
    return d.either_way(d.one(jnp.multiply, jnp.add), x, d.keep(gate, 0.05))


def pooled(d: Drawer, x: Array) -> Array:
    """Returns a pooling of images, with a pad before it or in it."""
    kernel = d.one((2, 2), (3, 3), (1, 2))
    kernel = tuple(min(one, size) for one, size in zip(kernel, x.shape[2:], strict=True))
    strides = d.one((1, 1), (2, 2), kernel)
    most = d.maybe()
    start = d.or_else(-np.inf if most else 0.0, 0.0, -1.0)
    if d.maybe(0.4):
        amounts = [
            (0, 0, 0),
            d.or_else((0, 0, 0), (1, 0, 0)),
            (d.one(0, 1), d.one(0, 1), 0),
            (d.one(0, 1), 0, d.or_else(0, 1)),
        ]
        x = lax.pad(x, jnp.asarray(start, x.dtype), amounts)
    padding = [(0, 0), (0, 0), *((d.one(0, 0, 1) if one > 1 else 0,) * 2 for one in kernel)]
    init = -np.inf if most else 0.0
    y = lax.reduce_window(
        x, np.array(init, x.dtype), lax.max if most else lax.add, (1, 1, *kernel), (1, 1, *strides), padding
    )
    if most:
        return y
    if d.maybe(0.3):
        ones = lax.reduce_window(
            jnp.ones_like(x), np.array(0, x.dtype), lax.add, (1, 1, *kernel), (1, 1, *strides), padding
        )
        return y / ones
    return y / d.or_else(kernel[0] * kernel[1], kernel[0] + 1)


@idiom("ttir.padded_pool", "ttir.sink_past_pad", "ttir.sink_past_reduction")
def poolings(d: Drawer) -> Array:
    """Poolings with pads before them, channels first and last."""
    x = d.input((d.one(1, 2), d.one(1, 3, 8, 32), d.one(4, 6, 9), d.one(4, 5, 8)), d.dtype())
    y = pooled(d, d.one(*_ACTIVATIONS)(x))
    return pooled(d, y) if d.maybe(0.3) and min(y.shape[2:]) > 1 else y
