"""Trains a multi-layer perceptron on scikit-learn's handwritten digits with JAX and optax."""

import itertools
import os

os.environ.setdefault("JAX_PLATFORMS", "tt,cpu")

import jax
import jax.numpy as jnp
import numpy as np
import optax
from pydantic import Field
from sklearn.datasets import load_digits

from tt_xla.profiling.workload import TrainingWorkload, begin


class Config(TrainingWorkload):
    layer_sizes: tuple[int, ...] = Field(min_length=2)


def initial(sizes, seed):
    """Draws the weights and biases of each layer."""
    draw = np.random.default_rng(seed)
    pairs = itertools.pairwise(sizes)
    return [
        (jnp.asarray(draw.normal(0, (2 / n) ** 0.5, (n, m)), jnp.float32), jnp.zeros(m, jnp.float32)) for n, m in pairs
    ]


def scores(layers, images):
    for weights, bias in layers[:-1]:
        images = jax.nn.relu(images @ weights + bias)
    weights, bias = layers[-1]
    return images @ weights + bias


def loss_of(layers, images, labels):
    return optax.softmax_cross_entropy_with_integer_labels(scores(layers, images), labels).mean()


def train_step(optimizer, layers, state, images, labels):
    loss, slopes = jax.value_and_grad(loss_of)(layers, images, labels)
    updates, state = optimizer.update(slopes, state, layers)
    return optax.apply_updates(layers, updates), state, loss


def main() -> None:
    config = begin(Config, __doc__)
    step_of = jax.jit(train_step, static_argnums=0, compiler_options=config.compile_options)
    draw = np.random.default_rng(config.seed)
    data, classes = load_digits(return_X_y=True)
    optimizer = optax.adam(config.learning_rate)
    layers = initial(config.layer_sizes, config.seed)
    state = optimizer.init(layers)
    for step in range(config.max_steps):
        chosen = draw.integers(0, len(data), config.batch_size)
        images, labels = jnp.asarray(data[chosen] / 16, jnp.float32), jnp.asarray(classes[chosen], jnp.int32)
        layers, state, loss = step_of(optimizer, layers, state, images, labels)
        print(f"step {step + 1}: loss {float(loss):.4f}")


if __name__ == "__main__":
    main()
