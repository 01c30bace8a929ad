"""A recurrent network over words, flax linen: the steps are a loop of the program."""

import jax
from flax import linen as nn

from ....jax_models import JaxLoader


class Classifier(nn.Module):
    vocabulary: int
    width: int

    @nn.compact
    def __call__(self, ids: jax.Array) -> jax.Array:
        x = nn.RNN(nn.OptimizedLSTMCell(self.width))(nn.Embed(self.vocabulary, self.width)(ids))
        return nn.Dense(64)(x[:, -1])


class ModelLoader(JaxLoader):
    sizes = {"small": {"vocabulary": 512, "width": 32}, "full": {"vocabulary": 30000, "width": 512}}
    shapes = {"small": (12,), "full": (64,)}

    def build(self, **size: int) -> Classifier:
        return Classifier(**size)
