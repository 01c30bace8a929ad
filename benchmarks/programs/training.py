"""Training steps: loss, gradient, update."""

import jax
import jax.numpy as jnp

from benchmarks.programs.layers import cross_entropy, dense


def mlp(params, x):
    for layer in params[:-1]:
        x = jax.nn.relu(dense(layer, x))
    return dense(params[-1], x)


def sgd_step(forward):
    """Returns a gradient descent step for ``forward(params, inputs)``."""

    def step(params, inputs, labels):
        loss, gradients = jax.value_and_grad(lambda p: cross_entropy(forward(p, inputs), labels))(params)
        return loss, jax.tree.map(lambda p, g: (p - 0.01 * g).astype(p.dtype), params, gradients)

    return step


def adam_step(forward):
    """Returns an Adam step for ``forward(params, inputs)``; its state is two trees like the parameters and a count."""

    def step(params, first, second, count, inputs, labels):
        loss, gradients = jax.value_and_grad(lambda p: cross_entropy(forward(p, inputs), labels))(params)
        count = count + 1
        first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, gradients)
        second = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * jnp.square(g), second, gradients)
        power = count.astype(jnp.float32)
        unbiased = 1 - 0.9**power, 1 - 0.999**power

        def update(p, m, v):
            return (p - 1e-3 * (m / unbiased[0]) / (jnp.sqrt(v / unbiased[1]) + 1e-8)).astype(p.dtype)

        return loss, jax.tree.map(update, params, first, second), first, second, count

    return step
