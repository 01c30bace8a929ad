"""MLP-Mixer, flax linen."""

import jax
from flax import linen as nn

from ....jax_models import JaxLoader


class Mlp(nn.Module):
    hidden: int

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        return nn.Dense(x.shape[-1])(nn.gelu(nn.Dense(self.hidden)(x)))


class Mixer(nn.Module):
    patch: int
    width: int
    layers: int
    tokens: int
    channels: int

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        size = self.patch, self.patch
        x = nn.Conv(self.width, size, strides=size)(x)
        x = x.reshape(x.shape[0], -1, self.width)
        for _ in range(self.layers):
            x = x + Mlp(self.tokens)(nn.LayerNorm()(x).swapaxes(1, 2)).swapaxes(1, 2)
            x = x + Mlp(self.channels)(nn.LayerNorm()(x))
        return nn.Dense(64)(nn.LayerNorm()(x).mean(1))


class ModelLoader(JaxLoader):
    sizes = {
        "small": {"patch": 8, "width": 64, "layers": 2, "tokens": 32, "channels": 128},
        "full": {"patch": 16, "width": 768, "layers": 12, "tokens": 384, "channels": 3072},
    }
    shapes = {"small": (32, 32, 3), "full": (224, 224, 3)}

    def build(self, **size: int) -> Mixer:
        return Mixer(**size)
