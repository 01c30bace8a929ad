"""The base class of loaders of Flax and Equinox models with random weights."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from .base import ZooLoader


class JaxLoader(ZooLoader):
    """Loads a float32 model with one input: token ids if the model has a vocabulary, otherwise floats.

    Attributes:
        sizes: arguments of ``build`` by variant; a model with argument ``vocabulary`` gets token ids.
        shapes: shape of one input sample by variant.
    """

    sizes: ClassVar[Mapping[str, Mapping[str, Any]]]
    shapes: ClassVar[Mapping[str, tuple[int, ...]]]

    @abc.abstractmethod
    def build(self, **size: Any) -> Any:
        """Returns the model of a size."""

    def load_model(self) -> Any:
        """Returns the model."""
        return self.build(**self.sizes[self._variant])

    def load_inputs(self, batch_size: int = 2) -> jax.Array:
        """Returns the input, of shape (batch_size, *shape of a sample)."""
        key, shape = jax.random.key(1), (batch_size, *self.shapes[self._variant])
        vocabulary = self.sizes[self._variant].get("vocabulary")
        return jax.random.normal(key, shape) if vocabulary is None else jax.random.randint(key, shape, 0, vocabulary)


def rotated(x: jax.Array) -> jax.Array:
    """Applies rotary position embeddings to an array [B, S, H, D] with even D."""
    length, half = x.shape[1], x.shape[3] // 2
    angles = jnp.arange(length)[:, None] * 10000.0 ** (-jnp.arange(half) / half)
    cos, sin = jnp.cos(angles)[:, None, :], jnp.sin(angles)[:, None, :]
    first, second = x[..., :half], x[..., half:]
    return jnp.concatenate([first * cos - second * sin, second * cos + first * sin], -1)
