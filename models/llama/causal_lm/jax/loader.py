"""Llama, equinox: root mean square norms, rotary positions, keys and values shared by groups of heads."""

import equinox as eqx
import jax
import jax.numpy as jnp

from ....jax_models import JaxLoader, rotated


def matrix(key: jax.Array, rows: int, columns: int) -> jax.Array:
    return jax.random.normal(key, (rows, columns)) * rows**-0.5


def normed(x: jax.Array, scale: jax.Array) -> jax.Array:
    return x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-5) * scale


class Layer(eqx.Module):
    norm: jax.Array
    query: jax.Array
    key_value: jax.Array
    out: jax.Array
    mlp_norm: jax.Array
    gate_up: jax.Array
    down: jax.Array
    heads: int = eqx.field(static=True)
    groups: int = eqx.field(static=True)

    def __init__(self, key: jax.Array, width: int, heads: int, groups: int, hidden: int) -> None:
        keys = jax.random.split(key, 5)
        self.norm, self.mlp_norm = jnp.ones(width), jnp.ones(width)
        self.query, self.out = matrix(keys[0], width, width), matrix(keys[1], width, width)
        self.key_value = matrix(keys[2], width, 2 * groups * (width // heads))
        self.gate_up, self.down = matrix(keys[3], width, 2 * hidden), matrix(keys[4], hidden, width)
        self.heads, self.groups = heads, groups

    def __call__(self, x: jax.Array) -> jax.Array:
        batch, length, width = x.shape
        y = normed(x, self.norm)
        query = rotated((y @ self.query).reshape(batch, length, self.heads, -1))
        keys, values = jnp.split((y @ self.key_value).reshape(batch, length, 2 * self.groups, -1), 2, axis=2)
        attended = jax.nn.dot_product_attention(query, rotated(keys), values, is_causal=True)
        x = x + attended.reshape(batch, length, width) @ self.out
        gate, up = jnp.split(normed(x, self.mlp_norm) @ self.gate_up, 2, axis=-1)
        return x + (jax.nn.silu(gate) * up) @ self.down


class Llama(eqx.Module):
    words: jax.Array
    layers: list[Layer]
    norm: jax.Array

    def __init__(self, vocabulary: int, width: int, heads: int, groups: int, hidden: int, layers: int) -> None:
        first, *keys = jax.random.split(jax.random.key(0), layers + 1)
        self.words = jax.random.normal(first, (vocabulary, width))
        self.layers = [Layer(key, width, heads, groups, hidden) for key in keys]
        self.norm = jnp.ones(width)

    def __call__(self, ids: jax.Array) -> jax.Array:
        x = self.words[ids]
        for layer in self.layers:
            x = layer(x)
        return normed(x, self.norm) @ self.words.T


class ModelLoader(JaxLoader):
    sizes = {
        "small": {"vocabulary": 512, "width": 64, "heads": 4, "groups": 2, "hidden": 128, "layers": 2},
        "full": {"vocabulary": 32000, "width": 1024, "heads": 16, "groups": 4, "hidden": 2816, "layers": 8},
    }
    shapes = {"small": (32,), "full": (128,)}

    def build(self, **size: int) -> Llama:
        return Llama(**size)
