"""Fixtures that the benchmarks share: the digits network and its StableHLO."""

import pytest

BATCH = 64


@pytest.fixture(scope="session")
def network():
    """Returns the digits network in bfloat16, in evaluation mode."""
    import torch

    from examples.network import DigitsNetwork

    torch.manual_seed(0)
    return DigitsNetwork().eval().to(torch.bfloat16)


@pytest.fixture(scope="session")
def images():
    import torch

    return torch.randn(BATCH, 1, 28, 28, dtype=torch.bfloat16)


@pytest.fixture(scope="session")
def network_mlir(tmp_path_factory, network, images):
    """Writes the network as StableHLO text, as ``jax.jit(f).lower(...).as_text()`` prints it, and returns the path."""
    import jax
    import jax.numpy as jnp
    from jax import lax

    def forward(conv1, bias1, conv2, bias2, fc1, bias3, fc2, bias4, x):
        layout = ("NCHW", "OIHW", "NCHW")
        for weight, bias in ((conv1, bias1), (conv2, bias2)):
            x = lax.conv_general_dilated(x, weight, (1, 1), "VALID", dimension_numbers=layout)
            x = jnp.maximum(x + bias.reshape(1, -1, 1, 1), 0)
        x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")
        x = jnp.maximum(x.reshape(x.shape[0], -1) @ fc1.T + bias3, 0)
        return jax.nn.log_softmax(x @ fc2.T + bias4, axis=1)

    shapes = [tuple(parameter.shape) for parameter in network.parameters()] + [tuple(images.shape)]
    arguments = [jax.ShapeDtypeStruct(shape, jnp.bfloat16) for shape in shapes]
    path = tmp_path_factory.mktemp("stablehlo") / "digits.mlir"
    path.write_text(jax.jit(forward).lower(*arguments).as_text())
    return path
