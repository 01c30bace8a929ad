"""Layers as flax and common JAX code write them, with no regard for a compiler."""

import jax
import jax.numpy as jnp
from jax import lax


def dense(params, x):
    return x @ params["kernel"].astype(x.dtype) + params["bias"].astype(x.dtype)


def layer_norm(params, x, epsilon=1e-6):
    """flax's LayerNorm: statistics in float32, variance as mean of squares minus square of mean."""
    wide = x.astype(jnp.float32)
    mean = jnp.mean(wide, axis=-1, keepdims=True)
    variance = jnp.maximum(jnp.mean(lax.square(wide), axis=-1, keepdims=True) - lax.square(mean), 0)
    scale = lax.rsqrt(variance + epsilon) * params["scale"]
    return ((wide - mean) * scale + params["bias"]).astype(x.dtype)


def rms_norm(params, x, epsilon=1e-6):
    """transformers' LlamaRMSNorm."""
    wide = x.astype(jnp.float32)
    wide = wide * lax.rsqrt(jnp.mean(jnp.square(wide), axis=-1, keepdims=True) + epsilon)
    return params["scale"] * wide.astype(x.dtype)


def batch_norm(params, x, epsilon=1e-5):
    """Inference form over the last axis."""
    scale = params["scale"] * lax.rsqrt(params["variance"] + epsilon)
    return ((x - params["mean"]) * scale + params["bias"]).astype(x.dtype)


def conv(params, x, strides=(1, 1), padding="SAME", groups=1):
    """Convolves NHWC images with an HWIO kernel, as flax does."""
    result = lax.conv_general_dilated(
        x,
        params["kernel"].astype(x.dtype),
        strides,
        padding,
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
        feature_group_count=groups,
    )
    return result + params["bias"].astype(x.dtype) if "bias" in params else result


def conv_transpose(params, x, strides=(2, 2)):
    result = lax.conv_transpose(x, params["kernel"], strides, "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    return result + params["bias"]


def max_pool(x, window=(2, 2), strides=(2, 2), padding="VALID"):
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, *window, 1), (1, *strides, 1), padding)


def split_heads(x, heads):
    batch, length, width = x.shape
    return x.reshape(batch, length, heads, width // heads)


def attention(params, x, heads, mask=None, memory=None):
    """Computes multi-head attention over [batch, length, width]; with ``memory``, cross-attention."""
    source = x if memory is None else memory
    query, key, value = (
        split_heads(dense(params[name], tensor), heads) for name, tensor in (("q", x), ("k", source), ("v", source))
    )
    query = query / jnp.sqrt(query.shape[-1]).astype(x.dtype)
    scores = jnp.einsum("bqhd,bkhd->bhqk", query, key)
    if mask is not None:
        scores = jnp.where(mask, scores, jnp.finfo(x.dtype).min)
    weights = jax.nn.softmax(scores.astype(jnp.float32), axis=-1).astype(x.dtype)
    mixed = jnp.einsum("bhqk,bkhd->bqhd", weights, value)
    return dense(params["out"], mixed.reshape(x.shape))


def causal_mask(length):
    return jnp.tril(jnp.ones((length, length), dtype=bool))[None, None]


def rotate_half(x):
    first, second = jnp.split(x, 2, axis=-1)
    return jnp.concatenate((-second, first), axis=-1)


def rotary(x, cos, sin):
    """Applies the rotary embedding to [batch, heads, length, head width], as transformers writes it."""
    return x * cos + rotate_half(x) * sin


def rotary_tables(positions, width, dtype):
    frequencies = 1.0 / (10000.0 ** (jnp.arange(0, width, 2, dtype=jnp.float32) / width))
    angles = positions[:, None].astype(jnp.float32) * frequencies[None]
    angles = jnp.concatenate((angles, angles), axis=-1)
    return jnp.cos(angles).astype(dtype), jnp.sin(angles).astype(dtype)


def repeat_kv(x, times):
    """Repeats key heads for grouped-query attention, where each serves several query heads."""
    batch, heads, length, width = x.shape
    spread = jnp.broadcast_to(x[:, :, None], (batch, heads, times, length, width))
    return spread.reshape(batch, heads * times, length, width)


def cross_entropy(logits, labels):
    logs = jax.nn.log_softmax(logits.astype(jnp.float32))
    return -jnp.mean(jnp.sum(jax.nn.one_hot(labels, logits.shape[-1]) * logs, axis=-1))
