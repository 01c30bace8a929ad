"""Trains two layers with JAX on a mesh: one axis splits the batch, the other one the hidden layer."""

import os

os.environ.setdefault("JAX_PLATFORMS", "tt,cpu")

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from pydantic import Field

from tt_xla.profiling.workload import TrainingWorkload, begin

FEATURES = 256


class Config(TrainingWorkload):
    hidden_size: int = Field(gt=0)


def loss_of(weights, inputs, targets):
    first, second = weights
    return jnp.mean((jax.nn.relu(inputs @ first) @ second - targets) ** 2)


def train_step(weights, inputs, targets, learning_rate):
    loss, slopes = jax.value_and_grad(loss_of)(weights, inputs, targets)
    return [weight - learning_rate * slope for weight, slope in zip(weights, slopes, strict=True)], loss


def main() -> None:
    config = begin(Config, __doc__)
    chips = int(np.prod(config.mesh_shape))
    mesh = Mesh(np.array(jax.devices()[:chips]).reshape(config.mesh_shape), ("batch", "model"))
    draw = np.random.default_rng(config.seed)

    def put(array, *axes):
        return jax.device_put(array.astype(np.float32), NamedSharding(mesh, PartitionSpec(*axes)))

    size = config.hidden_size
    weights = [
        put(draw.normal(0, (2 / FEATURES) ** 0.5, (FEATURES, size)), None, "model"),
        put(draw.normal(0, (1 / size) ** 0.5, (size, FEATURES)), "model", None),
    ]
    solution = draw.normal(0, FEATURES**-0.5, (FEATURES, FEATURES))
    step_of = jax.jit(train_step, compiler_options=config.compile_options)
    for step in range(config.max_steps):
        inputs = draw.normal(0, 1, (config.batch_size, FEATURES))
        targets = put(inputs @ solution, "batch", None)
        weights, loss = step_of(weights, put(inputs, "batch", None), targets, config.learning_rate)
        print(f"step {step + 1}: loss {float(loss):.4f}")


if __name__ == "__main__":
    main()
