"""A residual network, flax nnx, with batch normalisation by running statistics."""

import jax
from flax import nnx

from ....jax_models import JaxLoader


class Block(nnx.Module):
    def __init__(self, before: int, after: int, stride: int, rngs: nnx.Rngs) -> None:
        self.first = nnx.Conv(before, after, (3, 3), strides=stride, use_bias=False, rngs=rngs)
        self.norm = nnx.BatchNorm(after, use_running_average=True, rngs=rngs)
        self.second = nnx.Conv(after, after, (3, 3), use_bias=False, rngs=rngs)
        self.last_norm = nnx.BatchNorm(after, use_running_average=True, rngs=rngs)
        self.short = nnx.Conv(before, after, (1, 1), strides=stride, use_bias=False, rngs=rngs)

    def __call__(self, x: jax.Array) -> jax.Array:
        y = nnx.relu(self.norm(self.first(x)))
        return nnx.relu(self.last_norm(self.second(y)) + self.short(x))


class ResNet(nnx.Module):
    def __init__(self, widths: tuple[int, ...], depth: int, rngs: nnx.Rngs) -> None:
        self.stem = nnx.Conv(3, widths[0], (7, 7), strides=2, use_bias=False, rngs=rngs)
        blocks, before = [], widths[0]
        for number, width in enumerate(widths):
            for index in range(depth):
                blocks.append(Block(before, width, 2 if number and not index else 1, rngs))
                before = width
        self.blocks = nnx.List(blocks)
        self.head = nnx.Linear(before, 64, rngs=rngs)

    def __call__(self, x: jax.Array) -> jax.Array:
        x = nnx.max_pool(nnx.relu(self.stem(x)), (3, 3), strides=(2, 2), padding="SAME")
        for block in self.blocks:
            x = block(x)
        return self.head(x.mean((1, 2)))


class ModelLoader(JaxLoader):
    sizes = {"small": {"widths": (16, 32), "depth": 1}, "full": {"widths": (64, 128, 256, 512), "depth": 2}}
    shapes = {"small": (32, 32, 3), "full": (224, 224, 3)}

    def build(self, widths: tuple[int, ...], depth: int) -> ResNet:
        return ResNet(widths, depth, nnx.Rngs(0))
