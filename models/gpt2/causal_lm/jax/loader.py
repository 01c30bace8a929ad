"""GPT-2, flax nnx."""

import jax
import jax.numpy as jnp
from flax import nnx

from ....jax_models import JaxLoader


class Block(nnx.Module):
    def __init__(self, width: int, heads: int, rngs: nnx.Rngs) -> None:
        self.norm = nnx.LayerNorm(width, rngs=rngs)
        self.attention = nnx.MultiHeadAttention(heads, width, decode=False, rngs=rngs)
        self.mlp_norm = nnx.LayerNorm(width, rngs=rngs)
        self.up = nnx.Linear(width, 4 * width, rngs=rngs)
        self.down = nnx.Linear(4 * width, width, rngs=rngs)

    def __call__(self, x: jax.Array, mask: jax.Array) -> jax.Array:
        x = x + self.attention(self.norm(x), mask=mask)
        return x + self.down(nnx.gelu(self.up(self.mlp_norm(x))))


class GPT2(nnx.Module):
    def __init__(self, vocabulary: int, positions: int, width: int, heads: int, layers: int, rngs: nnx.Rngs) -> None:
        self.words = nnx.Embed(vocabulary, width, rngs=rngs)
        self.positions = nnx.Embed(positions, width, rngs=rngs)
        self.blocks = nnx.List([Block(width, heads, rngs) for _ in range(layers)])
        self.norm = nnx.LayerNorm(width, rngs=rngs)

    def __call__(self, ids: jax.Array) -> jax.Array:
        x = self.words(ids) + self.positions(jnp.arange(ids.shape[1]))
        mask = nnx.make_causal_mask(ids)
        for block in self.blocks:
            x = block(x, mask)
        return self.words.attend(self.norm(x))


class ModelLoader(JaxLoader):
    sizes = {
        "small": {"vocabulary": 512, "positions": 64, "width": 64, "heads": 4, "layers": 2},
        "full": {"vocabulary": 50257, "positions": 1024, "width": 768, "heads": 12, "layers": 12},
    }
    shapes = {"small": (32,), "full": (128,)}

    def build(self, **size: int) -> GPT2:
        return GPT2(**size, rngs=nnx.Rngs(0))
