"""Models of flax and equinox, with random weights."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from .base import ZooLoader


class JaxLoader(ZooLoader):
    """A model in float32 and one input: images or other numbers, token ids for a model with a vocabulary.

    Attributes:
        sizes: what ``build`` is given, by variant; ``vocabulary`` makes the input token ids.
        shapes: of one sample of the input, by variant.
    """

    sizes: ClassVar[Mapping[str, Mapping[str, Any]]]
    shapes: ClassVar[Mapping[str, tuple[int, ...]]]

    @abc.abstractmethod
    def build(self, **size: Any) -> Any:
        """The model of a size."""

    def load_model(self) -> Any:
        return self.build(**self.sizes[self._variant])

    def load_inputs(self, batch_size: int = 2) -> jax.Array:
        key, shape = jax.random.key(1), (batch_size, *self.shapes[self._variant])
        vocabulary = self.sizes[self._variant].get("vocabulary")
        return jax.random.normal(key, shape) if vocabulary is None else jax.random.randint(key, shape, 0, vocabulary)


def rotated(x: jax.Array) -> jax.Array:
    """Rotary embedding of positions, [B, S, H, D] with D even."""
    length, half = x.shape[1], x.shape[3] // 2
    angles = jnp.arange(length)[:, None] * 10000.0 ** (-jnp.arange(half) / half)
    cos, sin = jnp.cos(angles)[:, None, :], jnp.sin(angles)[:, None, :]
    first, second = x[..., :half], x[..., half:]
    return jnp.concatenate([first * cos - second * sin, second * cos + first * sin], -1)
