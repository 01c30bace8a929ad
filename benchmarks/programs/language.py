"""Transformers: encoders, decoders, decoders with a cache."""

import jax
import jax.numpy as jnp
from jax import lax

from benchmarks.programs.layers import (
    attention,
    causal_mask,
    dense,
    layer_norm,
    repeat_kv,
    rms_norm,
    rotary,
    rotary_tables,
)
from benchmarks.programs.parameters import fc, norm


def _attention_parameters(width, dtype):
    return {name: fc(width, width, dtype) for name in ("q", "k", "v", "out")}


def block_parameters(width, dtype, *, cross=False):
    parameters = {
        "attention": _attention_parameters(width, dtype),
        "norm1": norm(width),
        "norm2": norm(width),
        "up": fc(width, 4 * width, dtype),
        "down": fc(4 * width, width, dtype),
    }
    if cross:
        parameters |= {"cross": _attention_parameters(width, dtype), "norm3": norm(width)}
    return parameters


def bert(params, tokens, mask, heads=4):
    """Runs a post-norm encoder with token and position embeddings and a padding mask."""
    x = params["tokens"][tokens] + params["positions"][None, : tokens.shape[1]]
    x = layer_norm(params["norm"], x)
    visible = mask[:, None, None, :] > 0
    for block in params["blocks"]:
        x = layer_norm(block["norm1"], x + attention(block["attention"], x, heads, visible))
        y = dense(block["down"], jax.nn.gelu(dense(block["up"], x), approximate=False))
        x = layer_norm(block["norm2"], x + y)
    return jnp.tanh(dense(params["pooler"], x[:, 0]))


def bert_parameters(dtype, layers=2, width=256, vocabulary=1024, length=128):
    return {
        "tokens": jax.ShapeDtypeStruct((vocabulary, width), dtype),
        "positions": jax.ShapeDtypeStruct((length, width), dtype),
        "norm": norm(width),
        "blocks": [block_parameters(width, dtype) for _ in range(layers)],
        "pooler": fc(width, width, dtype),
    }


def gpt(params, tokens, heads=4):
    """Runs a pre-norm causal decoder whose output projection is the embedding."""
    x = params["tokens"][tokens] + params["positions"][None, : tokens.shape[1]]
    mask = causal_mask(tokens.shape[1])
    for block in params["blocks"]:
        x = x + attention(block["attention"], layer_norm(block["norm1"], x), heads, mask)
        x = x + dense(block["down"], jax.nn.gelu(dense(block["up"], layer_norm(block["norm2"], x))))
    return layer_norm(params["norm"], x) @ params["tokens"].T


def gpt_parameters(dtype, layers=2, width=256, vocabulary=1024, length=128):
    parameters = bert_parameters(dtype, layers, width, vocabulary, length)
    return {name: value for name, value in parameters.items() if name != "pooler"}


def encoder_decoder(params, source, target, heads=4):
    """Translates: the decoder attends to the encoder's result."""
    memory = source
    for block in params["encoder"]:
        memory = memory + attention(block["attention"], layer_norm(block["norm1"], memory), heads)
        memory = memory + dense(block["down"], jax.nn.relu(dense(block["up"], layer_norm(block["norm2"], memory))))
    x, mask = target, causal_mask(target.shape[1])
    for block in params["decoder"]:
        x = x + attention(block["attention"], layer_norm(block["norm1"], x), heads, mask)
        x = x + attention(block["cross"], layer_norm(block["norm3"], x), heads, memory=memory)
        x = x + dense(block["down"], jax.nn.relu(dense(block["up"], layer_norm(block["norm2"], x))))
    return x


def encoder_decoder_parameters(dtype, layers=2, width=256):
    return {
        "encoder": [block_parameters(width, dtype) for _ in range(layers)],
        "decoder": [block_parameters(width, dtype, cross=True) for _ in range(layers)],
    }


def _matrix(inputs, outputs, dtype):
    return jax.ShapeDtypeStruct((inputs, outputs), dtype)


def llama_parameters(dtype, layers=2, width=256, heads=8, kv_heads=2, hidden=688, vocabulary=1024):
    head = width // heads
    scale = {"scale": jax.ShapeDtypeStruct((width,), dtype)}
    return {
        "tokens": jax.ShapeDtypeStruct((vocabulary, width), dtype),
        "blocks": [
            {
                "norm1": scale,
                "norm2": scale,
                "q": _matrix(width, heads * head, dtype),
                "k": _matrix(width, kv_heads * head, dtype),
                "v": _matrix(width, kv_heads * head, dtype),
                "o": _matrix(heads * head, width, dtype),
                "gate": _matrix(width, hidden, dtype),
                "up": _matrix(width, hidden, dtype),
                "down": _matrix(hidden, width, dtype),
            }
            for _ in range(layers)
        ],
        "norm": scale,
        "head": _matrix(width, vocabulary, dtype),
    }


def _heads(x, heads):
    batch, length, width = x.shape
    return x.reshape(batch, length, heads, width // heads).transpose(0, 2, 1, 3)


def _llama_attention(block, x, tables, mask, heads, kv_heads, cache=None, position=None):
    query, key, value = (_heads(x @ block[name], n) for name, n in (("q", heads), ("k", kv_heads), ("v", kv_heads)))
    query, key = rotary(query, *tables), rotary(key, *tables)
    if cache is not None:
        key = lax.dynamic_update_slice(cache[0], key, (0, 0, position, 0))
        value = lax.dynamic_update_slice(cache[1], value, (0, 0, position, 0))
    new_entries = (key, value)
    key, value = repeat_kv(key, heads // kv_heads), repeat_kv(value, heads // kv_heads)
    scores = jnp.matmul(query, key.swapaxes(2, 3)) * (query.shape[-1] ** -0.5)
    scores = jnp.where(mask, scores, jnp.finfo(x.dtype).min)
    weights = jax.nn.softmax(scores.astype(jnp.float32), axis=-1).astype(x.dtype)
    mixed = jnp.matmul(weights, value).transpose(0, 2, 1, 3).reshape(*x.shape[:2], -1)
    return mixed @ block["o"], new_entries


def _llama_mlp(block, x):
    return (jax.nn.silu(x @ block["gate"]) * (x @ block["up"])) @ block["down"]


def llama_prefill(params, tokens, heads=8, kv_heads=2):
    """Computes the logits of all positions at once, with a causal mask."""
    x = params["tokens"][tokens]
    tables = rotary_tables(jnp.arange(tokens.shape[1]), x.shape[-1] // heads, x.dtype)
    for block in params["blocks"]:
        y, _ = _llama_attention(
            block, rms_norm(block["norm1"], x), tables, causal_mask(tokens.shape[1]), heads, kv_heads
        )
        x = x + y
        x = x + _llama_mlp(block, rms_norm(block["norm2"], x))
    return rms_norm(params["norm"], x) @ params["head"]


def llama_decode(params, caches, token, position, heads=8, kv_heads=2):
    """Decodes one token with the keys and values of earlier tokens in caches. Returns logits and new caches."""
    x = params["tokens"][token]
    tables = rotary_tables(position[None], x.shape[-1] // heads, x.dtype)
    mask = (jnp.arange(caches[0][0].shape[2]) <= position)[None, None, None]
    updated_caches = []
    for block, cache in zip(params["blocks"], caches, strict=True):
        y, pair = _llama_attention(block, rms_norm(block["norm1"], x), tables, mask, heads, kv_heads, cache, position)
        updated_caches.append(pair)
        x = x + y
        x = x + _llama_mlp(block, rms_norm(block["norm2"], x))
    return rms_norm(params["norm"], x) @ params["head"], updated_caches


def cache_shapes(dtype, layers=2, kv_heads=2, length=128, head=32, batch=1):
    shape = jax.ShapeDtypeStruct((batch, kv_heads, length, head), dtype)
    return [(shape, shape) for _ in range(layers)]
