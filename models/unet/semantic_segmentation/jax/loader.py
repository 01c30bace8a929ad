"""A U-Net, equinox: convolutions down, transposed convolutions up, with connections across."""

import equinox as eqx
import jax
import jax.numpy as jnp

from ....jax_models import JaxLoader


class UNet(eqx.Module):
    down: list[eqx.nn.Conv2d]
    bottom: eqx.nn.Conv2d
    up: list[eqx.nn.ConvTranspose2d]
    merge: list[eqx.nn.Conv2d]
    head: eqx.nn.Conv2d
    pool: eqx.nn.MaxPool2d

    def __init__(self, widths: tuple[int, ...]) -> None:
        keys = iter(jax.random.split(jax.random.key(0), 3 * len(widths) + 2))
        inward = zip((3, *widths), widths, strict=False)
        self.down = [eqx.nn.Conv2d(a, b, 3, padding=1, key=next(keys)) for a, b in inward]
        self.bottom = eqx.nn.Conv2d(widths[-1], 2 * widths[-1], 3, padding=1, key=next(keys))
        outward = list(zip((2 * widths[-1], *widths[::-1]), widths[::-1], strict=False))
        self.up = [eqx.nn.ConvTranspose2d(a, b, 2, stride=2, key=next(keys)) for a, b in outward]
        self.merge = [eqx.nn.Conv2d(2 * b, b, 3, padding=1, key=next(keys)) for _, b in outward]
        self.head = eqx.nn.Conv2d(widths[0], 8, 1, key=next(keys))
        self.pool = eqx.nn.MaxPool2d(2, 2)

    def __call__(self, images: jax.Array) -> jax.Array:
        return jax.vmap(self.segment)(images)

    def segment(self, x: jax.Array) -> jax.Array:
        across = []
        for layer in self.down:
            across.append(jax.nn.relu(layer(x)))
            x = self.pool(across[-1])
        x = jax.nn.relu(self.bottom(x))
        for up, merge, other in zip(self.up, self.merge, across[::-1], strict=True):
            x = jax.nn.relu(merge(jnp.concatenate([up(x), other])))
        return self.head(x)


class ModelLoader(JaxLoader):
    sizes = {"small": {"widths": (8, 16)}, "full": {"widths": (64, 128, 256, 512)}}
    shapes = {"small": (3, 32, 32), "full": (3, 256, 256)}

    def build(self, widths: tuple[int, ...]) -> UNet:
        return UNet(widths)
