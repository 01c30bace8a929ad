"""Runs JAX models on all chips of an emulated system in two ways, and compares each with the CPU.

    TTXLA_SYSTEM=n300 python examples/several_chips_jax.py

Tensor parallel: each chip has a part of every weight of a small Llama. FSDP: parameters, the state of the optimizer and
the batch are split over the same chips, and a training step exchanges them. ``several_chips.py`` is in PyTorch.
"""

import os

os.environ.setdefault("TTXLA_SYSTEM", "n300")

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

HEADS, WIDTH, HIDDEN, VOCABULARY, LAYERS = 8, 128, 256, 512, 2

TENSOR_PARALLEL = {
    **dict.fromkeys(("query", "key", "value", "gate", "up"), P(None, "model")),
    **dict.fromkeys(("output", "down"), P("model", None)),
}
"""Dimension of each weight that is split: outputs of a first product, inputs of the product after it."""


def llama_parameters(rng):
    def matrix(rows, columns):
        return rng.normal(0, rows**-0.5, (rows, columns)).astype(np.float32)

    square = dict.fromkeys(("query", "key", "value", "output"), (WIDTH, WIDTH))
    shapes = square | {"gate": (WIDTH, HIDDEN), "up": (WIDTH, HIDDEN), "down": (HIDDEN, WIDTH)}
    layers = [{name: matrix(*shape) for name, shape in shapes.items()} for _ in range(LAYERS)]
    return {"embedding": matrix(VOCABULARY, WIDTH), "layers": layers, "head": matrix(WIDTH, VOCABULARY)}


def normalized(x):
    return x * jax.lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + 1e-6)


def rotated(x):
    """Rotates pairs of elements by an angle that grows with the position."""
    first, second = jnp.split(x, 2, axis=-1)
    angles = jnp.arange(x.shape[1])[:, None] * 10000.0 ** -(jnp.arange(first.shape[-1]) / first.shape[-1])
    cos, sin = jnp.cos(angles)[:, None], jnp.sin(angles)[:, None]
    return jnp.concatenate([first * cos - second * sin, first * sin + second * cos], axis=-1)


def attention(layer, x):
    query, key, value = ((x @ layer[name]).reshape(*x.shape[:2], HEADS, -1) for name in ("query", "key", "value"))
    mixed = jax.nn.dot_product_attention(rotated(query), rotated(key), value, is_causal=True)
    return mixed.reshape(x.shape) @ layer["output"]


@jax.jit
def llama(parameters, tokens):
    """Returns the logits of all positions."""
    x = parameters["embedding"][tokens]
    for layer in parameters["layers"]:
        x = x + attention(layer, normalized(x))
        inner = normalized(x)
        x = x + (jax.nn.silu(inner @ layer["gate"]) * (inner @ layer["up"])) @ layer["down"]
    return normalized(x) @ parameters["head"]


def tensor_parallel(mesh):
    """Splits the heads and the MLPs of a Llama; each layer sums over the chips twice."""
    rng = np.random.default_rng(0)
    parameters, tokens = llama_parameters(rng), rng.integers(VOCABULARY, size=(1, 32), dtype=np.int32)
    shardings = jax.tree_util.tree_map_with_path(
        lambda path, _: NamedSharding(mesh, TENSOR_PARALLEL.get(path[-1].key, P())), parameters
    )
    split = jax.device_put(parameters, shardings), jax.device_put(tokens, NamedSharding(mesh, P()))
    report("tensor-parallel Llama", llama(*split), on_cpu(llama, parameters, tokens))
    print_time(mesh, llama, *split)


OPTIMIZER = optax.sgd(0.1, momentum=0.9)


@jax.jit
def training_step(parameters, state, inputs, labels):
    """Returns the loss, and the parameters and the optimizer's state after a step."""

    def loss(parameters):
        hidden = jax.nn.relu(inputs @ parameters["up"])
        scores = hidden @ parameters["down"]
        return optax.softmax_cross_entropy_with_integer_labels(scores, labels).mean()

    value, gradients = jax.value_and_grad(loss)(parameters)
    updates, state = OPTIMIZER.update(gradients, state, parameters)
    return value, optax.apply_updates(parameters, updates), state


def fsdp(mesh):
    """Takes three training steps with parameters, optimizer state and batch split over the same chips."""
    rng = np.random.default_rng(0)
    shapes = {"up": (64, 256), "down": (256, 16)}
    parameters = {name: rng.normal(0, shape[0] ** -0.5, shape).astype(np.float32) for name, shape in shapes.items()}
    batch = 16 * mesh.size
    inputs = rng.normal(size=(batch, 64)).astype(np.float32)
    labels = rng.integers(16, size=batch, dtype=np.int32)
    state = jax.device_get(on_cpu(OPTIMIZER.init, parameters))
    expected, actual = (parameters, state), jax.device_put((parameters, state), shards(mesh, (parameters, state)))
    data = jax.device_put((inputs, labels), shards(mesh, (inputs, labels)))
    for number in range(3):
        expected_loss, *expected = on_cpu(training_step, *expected, inputs, labels)
        loss, *actual = training_step(*actual, *data)
        report(f"FSDP, loss of step {number + 1}", loss, expected_loss)
    for name in shapes:
        report(f"FSDP, weights '{name}'", actual[0][name], expected[0][name])
        assert actual[0][name].addressable_shards[0].data.shape[0] == shapes[name][0] // mesh.size
    print_time(mesh, training_step, *actual, *data)


def shards(mesh, tree):
    """Returns shardings that split the first dimension of each array over all chips; scalars are replicated."""
    return jax.tree.map(lambda leaf: NamedSharding(mesh, P("model") if np.ndim(leaf) else P()), tree)


def on_cpu(function, *arguments):
    with jax.default_device(jax.devices("cpu")[0]):
        return function(*jax.device_get(arguments))


def report(name, actual, expected):
    """Prints the largest difference from the CPU, relative to the largest element.

    Raises:
        AssertionError: the difference is 2 % or more.
    """
    actual, expected = np.asarray(actual), np.asarray(expected)
    difference = float(np.abs(actual - expected).max() / np.abs(expected).max())
    print(f"{name}: {difference:.4%} from the CPU")
    assert difference < 0.02, f"{name} differs from the CPU by {difference:.2%}"


def print_time(mesh, function, *arguments):
    """Prints the predicted time of a call."""
    seconds = function.lower(*arguments).compile().cost_analysis()["optimal_seconds"]
    print(f"  {mesh.size} chips, predicted {seconds * 1e6:.0f} us")


def main():
    devices = jax.devices("tt")
    mesh = Mesh(np.array(devices), ("model",))
    tensor_parallel(mesh)
    fsdp(mesh)


if __name__ == "__main__":
    main()
