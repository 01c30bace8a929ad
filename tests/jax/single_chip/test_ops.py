"""Tests of JAX on one chip, in the forms that upstream's page on test infrastructure shows."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

pytest.importorskip("tt_xla.frontends.jax.pjrt.trampoline", reason="the C part of the plugin is not built")
nn = pytest.importorskip("flax.linen", reason="the extra jax-examples is not installed")

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402

from tt_xla.testing import (  # noqa: E402
    ComparisonConfig,
    JaxModelTester,
    RunMode,
    run_graph_test_with_random_inputs,
    run_op_test_with_random_inputs,
)

pytestmark = [pytest.mark.push, pytest.mark.single_device]


@pytest.mark.filecheck(["add.ttnn.mlir"])
def test_add(request: pytest.FixtureRequest) -> None:
    def add(x: jax.Array, y: jax.Array) -> jax.Array:
        return jnp.add(x, y)

    run_op_test_with_random_inputs(add, [(32, 32), (32, 32)], request=request)


@pytest.mark.filecheck(["matmul_fusion.ttir.mlir", "matmul_fusion.ttnn.mlir"])
def test_linear(request: pytest.FixtureRequest) -> None:
    def linear(x: jax.Array, weight: jax.Array, bias: jax.Array) -> jax.Array:
        return x @ weight + bias

    run_graph_test_with_random_inputs(linear, [(32, 64), (64, 32), (32,)], request=request)


class MNISTMLPModel(nn.Module):
    hidden_sizes: tuple[int, ...]

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        x = x.reshape((x.shape[0], -1))
        for size in self.hidden_sizes:
            x = nn.relu(nn.Dense(features=size)(x))
        return nn.softmax(nn.Dense(features=10)(x))


class MNISTMLPTester(JaxModelTester):
    def __init__(
        self,
        hidden_sizes: Sequence[int],
        comparison_config: ComparisonConfig | None = None,
        run_mode: RunMode = RunMode.INFERENCE,
    ) -> None:
        self._hidden_sizes = tuple(hidden_sizes)
        super().__init__(comparison_config, run_mode)

    def _get_model(self) -> nn.Module:
        return MNISTMLPModel(self._hidden_sizes)

    def _get_forward_method_name(self) -> str:
        return "apply"

    def _get_input_activations(self) -> jax.Array:
        return jax.random.normal(jax.random.PRNGKey(37), (4, 28, 28, 1))  # batch, height, width, channels

    def _get_forward_method_args(self) -> Sequence[object]:
        images = self._get_input_activations()
        return [self._model.init(jax.random.PRNGKey(42), images), images]


@pytest.fixture
def inference_tester(request: pytest.FixtureRequest) -> MNISTMLPTester:
    return MNISTMLPTester(request.param)


@pytest.mark.parametrize("inference_tester", [(64, 32)], indirect=True, ids=str)
def test_mnist_mlp_inference(inference_tester: MNISTMLPTester) -> None:
    inference_tester.test()
