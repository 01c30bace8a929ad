"""A ResNet of Flax with random weights, for the examples ``python/resnet.py`` and ``cpp/resnet.py``."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx


class Block(nnx.Module):
    """A bottleneck: three convolutions with batch norms, and a short cut around them."""

    def __init__(self, width: int, out: int, stride: int, inputs: int, *, rngs: nnx.Rngs) -> None:
        sizes = ((inputs, width, 1, 1), (width, width, 3, stride), (width, out, 1, 1))
        self.layers = nnx.List([_convolution(*each, rngs=rngs) for each in sizes])
        self.norms = nnx.List([_norm(each[1], rngs=rngs) for each in sizes])
        self.shortcut = _convolution(inputs, out, 1, stride, rngs=rngs) if (stride, inputs) != (1, out) else None

    def __call__(self, x: jax.Array) -> jax.Array:
        residual = x if self.shortcut is None else self.shortcut(x)
        for index, (layer, norm) in enumerate(zip(self.layers, self.norms, strict=True)):
            x = norm(layer(nnx.relu(x) if index else x))
        return nnx.relu(x + residual)


class ResNet(nnx.Module):
    """A ResNet for images in NHWC.

    Args:
        depths: number of blocks of each stage; (3, 4, 6, 3) is ResNet-50.
        classes: number of classes.
        rngs: source of the random weights.
    """

    def __init__(self, depths: tuple[int, ...] = (3, 4, 6, 3), classes: int = 1000, *, rngs: nnx.Rngs) -> None:
        self.stem, self.norm = _convolution(3, 64, 7, 2, rngs=rngs), _norm(64, rngs=rngs)
        blocks: list[Block] = []
        inputs = 64
        for stage, depth in enumerate(depths):
            width = 64 << stage
            for index in range(depth):
                stride = 2 if stage and not index else 1
                blocks.append(Block(width, 4 * width, stride, inputs, rngs=rngs))
                inputs = 4 * width
        self.blocks = nnx.List(blocks)
        self.head = nnx.Linear(inputs, classes, rngs=rngs)

    def __call__(self, x: jax.Array) -> jax.Array:
        x = nnx.relu(self.norm(self.stem(x)))
        x = nnx.max_pool(x, (3, 3), strides=(2, 2), padding="SAME")
        for block in self.blocks:
            x = block(x)
        return self.head(jnp.mean(x, axis=(1, 2)))


def _convolution(inputs: int, outputs: int, size: int, stride: int, *, rngs: nnx.Rngs) -> nnx.Conv:
    return nnx.Conv(inputs, outputs, (size, size), strides=stride, use_bias=False, rngs=rngs)


def _norm(width: int, *, rngs: nnx.Rngs) -> nnx.BatchNorm:
    return nnx.BatchNorm(width, use_running_average=True, rngs=rngs)


def forward(graphdef: Any, state: Any, x: jax.Array) -> jax.Array:
    return nnx.merge(graphdef, state)(x)


def resnet50() -> tuple[Any, Any, jax.Array]:
    """Returns the graph and state of a ResNet-50, and an image."""
    with jax.default_device(jax.devices("cpu")[0]):
        graphdef, state = nnx.split(ResNet(rngs=nnx.Rngs(0)))
        return graphdef, state, jax.random.normal(jax.random.key(0), (1, 224, 224, 3))
