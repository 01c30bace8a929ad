"""A vision transformer, flax linen."""

import jax
import jax.numpy as jnp
from flax import linen as nn

from ....jax_models import JaxLoader


class ViT(nn.Module):
    patch: int
    width: int
    heads: int
    layers: int

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        size = self.patch, self.patch
        x = nn.Conv(self.width, size, strides=size)(x).reshape(x.shape[0], -1, self.width)
        first = self.param("class_token", nn.initializers.normal(0.02), (1, 1, self.width))
        x = jnp.concatenate([jnp.tile(first, (x.shape[0], 1, 1)), x], 1)
        x = x + self.param("positions", nn.initializers.normal(0.02), (1, *x.shape[1:]))
        for _ in range(self.layers):
            y = nn.LayerNorm()(x)
            x = x + nn.MultiHeadDotProductAttention(self.heads)(y, y)
            x = x + nn.Dense(self.width)(nn.gelu(nn.Dense(4 * self.width)(nn.LayerNorm()(x))))
        return nn.Dense(64)(nn.LayerNorm()(x)[:, 0])


class ModelLoader(JaxLoader):
    sizes = {
        "small": {"patch": 8, "width": 64, "heads": 4, "layers": 2},
        "full": {"patch": 16, "width": 768, "heads": 12, "layers": 12},
    }
    shapes = {"small": (32, 32, 3), "full": (224, 224, 3)}

    def build(self, **size: int) -> ViT:
        return ViT(**size)
