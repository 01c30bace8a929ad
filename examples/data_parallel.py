"""Trains a classifier of 8 x 8 digits with JAX on the eight chips of an emulated LoudBox, each with part of the batch.

    TTXLA_SYSTEM=n300-llmbox python examples/data_parallel.py

The parameters are replicated, so each step sums the gradients over the chips. The shardings alone say so.
"""

import os

os.environ.setdefault("TTXLA_SYSTEM", "n300-llmbox")

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec
from sklearn.datasets import load_digits


def loss(parameters, images, labels):
    first, second = parameters
    scores = jax.nn.log_softmax(jax.nn.relu(images @ first) @ second)
    return -jnp.take_along_axis(scores, labels[:, None], axis=1).mean()


@jax.jit
def step(parameters, images, labels):
    value, gradients = jax.value_and_grad(loss)(parameters, images, labels)
    return value, jax.tree.map(lambda parameter, gradient: parameter - 0.5 * gradient, parameters, gradients)


def main():
    devices = jax.devices("tt")
    mesh = jax.make_mesh((len(devices),), ("data",), devices=devices)
    split, replicated = NamedSharding(mesh, PartitionSpec("data")), NamedSharding(mesh, PartitionSpec())
    digits = load_digits()
    images = jax.device_put(digits.data[:1600].astype(np.float32) / 16, split)
    labels = jax.device_put(digits.target[:1600].astype(np.int32), split)
    rng = np.random.default_rng(0)
    shapes = (64, 128), (128, 10)
    parameters = [rng.normal(0, shape[0] ** -0.5, shape).astype(np.float32) for shape in shapes]
    parameters = jax.device_put(parameters, replicated)
    for number in range(40):
        value, parameters = step(parameters, images, labels)
        if number % 10 == 9:
            print(f"step {number + 1}: loss {float(value):.3f}")
    first, second = jax.device_get(parameters)
    right = (np.maximum(digits.data[1600:] / 16 @ first, 0) @ second).argmax(1) == digits.target[1600:]
    print(
        f"{len(devices)} chips, {images.addressable_shards[0].data.shape[0]} images on each; {right.mean():.1%} right"
    )
    predicted = step.lower(parameters, images, labels).compile().cost_analysis()["optimal_seconds"]
    print(f"a step takes {predicted * 1e6:.0f} us on the chips, as predicted")


if __name__ == "__main__":
    main()
