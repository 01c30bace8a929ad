"""Tests of ops, graphs and models, including the examples of the documentation, unmodified."""

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
import torch

from tests.libraries import import_or_skip
from tt_xla.testing import (
    ComparisonConfig,
    CompilerConfig,
    Framework,
    JaxModelTester,
    RunMode,
    TorchModelTester,
    random_image,
    random_tensor,
    run_graph_test,
    run_graph_test_with_random_inputs,
    run_op_test,
    run_op_test_with_random_inputs,
)

jax = pytest.importorskip("jax")
import jax.numpy as jnp  # noqa: E402

from tt_xla.testing import artifacts, frameworks  # noqa: E402

needs_plugin = pytest.mark.usefixtures("plugin")


@pytest.fixture
def plugin():
    pytest.importorskip("tt_xla.frontends.jax.pjrt.trampoline", reason="the C part of the plugin is not built")


@needs_plugin
@pytest.mark.parametrize("x_shape, y_shape", [((32, 32), (32, 32))])  # noqa: PT006
def test_add(x_shape: tuple, y_shape: tuple):
    def add(x: jax.Array, y: jax.Array) -> jax.Array:
        return jnp.add(x, y)

    run_op_test_with_random_inputs(add, [x_shape, y_shape])


class MyOp(torch.nn.Module):
    def forward(self, x):
        return x + x


def test_my_op(request):
    run_op_test(MyOp(), [torch.randn(32, 32)], request=request)


def test_graphs():
    result = run_graph_test(lambda x, y: torch.relu(x) @ y, [torch.ones(4, 8), torch.ones(8, 4)])
    assert result.equal
    result = run_graph_test_with_random_inputs(
        lambda x: torch.softmax(x, -1), [(4, 32)], framework=Framework.TORCH, torch_options={"numerics": "exact"}
    )
    assert result.atol < 1e-6


@needs_plugin
def test_options_reach_the_compiler():
    exact = run_op_test(jnp.tanh, [jnp.linspace(-2, 2, 64)], compiler_config=CompilerConfig())
    rough = run_op_test(
        jnp.matmul,
        [random_tensor((64, 64)), random_tensor((64, 64), random_seed=1)],
        compiler_config=CompilerConfig(math_fidelity="lofi"),
    )
    fine = run_op_test(
        jnp.matmul,
        [random_tensor((64, 64)), random_tensor((64, 64), random_seed=1)],
        compiler_config=CompilerConfig(math_fidelity="hifi4", fp32_dest_acc_en=True),
    )
    assert exact.passed
    assert fine.rel_l2 < rough.rel_l2


def test_a_wrong_result_fails():
    def different(x):
        return x if x.device.type == "tt" else -x

    with pytest.raises(AssertionError, match="PCC comparison failed"):
        run_op_test(different, [torch.randn(8, 8)])
    config = ComparisonConfig(assert_on_failure=False)
    assert not run_op_test(different, [torch.randn(8, 8)], config).passed


def test_a_custom_comparator_judges_instead():
    calls = []
    run_op_test(MyOp(), [torch.ones(4)], custom_comparator=lambda *arguments: calls.append(arguments))
    ((actual, expected, args, kwargs),) = calls
    assert actual.device.type == "cpu"
    assert torch.equal(expected, 2 * args[0])
    assert kwargs == {}


def test_frameworks_are_found():
    assert Framework.of(lambda x: torch.relu(x)) is Framework.TORCH
    assert Framework.of(torch.nn.functional.gelu) is Framework.TORCH
    assert Framework.of(lambda x: jnp.tanh(x)) is Framework.JAX
    assert Framework.of(lambda x: x + x, [torch.ones(1)]) is Framework.TORCH
    assert Framework.of(lambda x: x + x, [np.ones(1)]) is Framework.JAX


def test_random_inputs():
    for framework in Framework:
        x = random_tensor((64, 64), minval=2.0, maxval=3.0, framework=framework)
        assert 2 <= float(x.min()) < float(x.max()) < 3
        assert str(random_tensor((2,), "int32", framework=framework).dtype).endswith("int32")
        assert not np.array_equal(x, random_tensor((64, 64), random_seed=1, minval=2, maxval=3, framework=framework))
        assert random_image(8, framework).shape == (8, 8, 3)


def test_unknown_names_are_told():
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'option'"):
        run_graph_test(MyOp(), [torch.ones(4)], option=1)


class Perceptron(TorchModelTester):
    def _get_model(self):
        torch.manual_seed(0)
        return torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.GELU(), torch.nn.Linear(32, 8))

    def _get_input_activations(self):
        return torch.randn(4, 16, generator=torch.Generator().manual_seed(1))


class Keywords(Perceptron):
    def _get_input_activations(self) -> Mapping:
        return {"input": super()._get_input_activations()}


@pytest.mark.parametrize("tester", [Perceptron, Keywords])
def test_torch_inference(tester):
    (result,), output = tester().test()
    assert result.pcc > 0.999
    assert output.shape == (4, 8)


def test_torch_training():
    backward, forward = Perceptron(run_mode=RunMode.TRAINING).test()
    assert min(backward.pcc, forward.pcc) > 0.999


class TwoHeads(torch.nn.Module):
    """A backward pass from the first result gives ``second`` no gradient in eager torch, and zeros when compiled."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = torch.nn.Linear(8, 8), torch.nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return self.first(x), self.second(x)


def test_a_gradient_that_eager_torch_leaves_out_is_zero() -> None:
    class Tester(TorchModelTester):
        def _get_model(self):
            return TwoHeads()

        def _get_input_activations(self):
            return torch.ones(4, 8)

    backward, _ = Tester(run_mode=RunMode.TRAINING).test()
    assert backward.passed


def test_torch_dtype():
    _, output = Perceptron(dtype_override=torch.bfloat16).test()
    assert output.dtype == torch.bfloat16


def test_a_model_that_differs():
    class Different(Perceptron):
        def _get_model(self):
            return Negated()

    class Negated(torch.nn.Module):
        def forward(self, x):
            return x if x.device.type == "tt" else -x

    with pytest.raises(AssertionError, match=r"^Evaluation result 0 failed: PCC comparison failed"):
        Different().test()


def mnist():
    """Returns the tester of the documentation's model."""
    import flax.linen as nn

    class MNISTMLPModel(nn.Module):
        hidden_sizes: tuple[int]

        @nn.compact
        def __call__(self, x: jax.Array):
            x = x.reshape((x.shape[0], -1))
            for h in self.hidden_sizes:
                x = nn.Dense(features=h)(x)
                x = nn.relu(x)
            x = nn.Dense(features=10)(x)
            x = nn.softmax(x)
            return x

    class MNISTMLPTester(JaxModelTester):
        def __init__(
            self,
            hidden_sizes: Sequence[int],
            comparison_config: ComparisonConfig = ComparisonConfig(),  # noqa: B008
            run_mode: RunMode = RunMode.INFERENCE,
        ) -> None:
            self._hidden_sizes = hidden_sizes
            super().__init__(comparison_config, run_mode)

        # @override
        def _get_model(self) -> nn.Module:
            return MNISTMLPModel(self._hidden_sizes)

        # @override
        def _get_forward_method_name(self) -> str:
            return "apply"

        # @override
        def _get_input_activations(self) -> Sequence[jax.Array]:
            key = jax.random.PRNGKey(37)
            img = jax.random.normal(key, (4, 28, 28, 1))  # B, H, W, C
            # Channels is 1 as MNIST is in grayscale.
            return img

        # @override
        def _get_forward_method_args(self):
            inp = self._get_input_activations()
            parameters = self._model.init(jax.random.PRNGKey(42), inp)
            return [parameters, inp]

    return MNISTMLPTester


@pytest.fixture
def inference_tester(request, plugin):
    pytest.importorskip("flax", reason="the extra jax-examples is not installed")
    return mnist()(request.param)


@pytest.mark.parametrize("inference_tester", [(256, 128, 64)], indirect=True, ids=lambda val: f"{val}")
def test_mnist_mlp_inference(inference_tester):
    """The compiled module has the model's name."""
    with artifacts.recording(None) as compilations:
        inference_tester.test()
    assert [compilation.name for compilation in compilations][-1] == "jit_MNISTMLPModel"


@needs_plugin
def test_mnist_mlp_training():
    pytest.importorskip("flax", reason="the extra jax-examples is not installed")
    backward, forward = mnist()((32,), run_mode=RunMode.TRAINING).test()
    assert min(backward.pcc, forward.pcc) > 0.99


@needs_plugin
@pytest.mark.parametrize("run_mode", RunMode, ids=str)
def test_nnx(run_mode):
    nnx = import_or_skip("flax.nnx")

    class Tester(JaxModelTester):
        def _get_model(self):
            return nnx.Sequential(nnx.Linear(8, 16, rngs=nnx.Rngs(0)), nnx.relu, nnx.Linear(16, 4, rngs=nnx.Rngs(1)))

        def _get_input_activations(self):
            return jax.random.normal(jax.random.key(0), (4, 8))

    Tester(run_mode=run_mode).test()


@pytest.mark.nightly
@needs_plugin
def test_linen_with_batch_norm_and_dropout():
    nn = import_or_skip("flax.linen")

    class Model(nn.Module):
        @nn.compact
        def __call__(self, x, *, train: bool):
            return nn.BatchNorm(use_running_average=not train)(nn.Dense(8)(x))

    class Tester(JaxModelTester):
        has_batch_norm = True

        def _get_model(self):
            return Model()

        def _get_input_parameters(self):
            return self._model.init(jax.random.PRNGKey(0), self._get_input_activations(), train=False)

        def _get_input_activations(self):
            return jax.random.normal(jax.random.key(0), (32, 8))

    Tester().test()
    Tester(run_mode=RunMode.TRAINING).test()


def test_a_function_runs_on_the_device_that_is_asked_for():
    """Arguments that lie on another device move: the CPU judges the chip, so nothing of it may run on the chip."""
    cpu, chip = jax.devices("cpu")[0], frameworks.jax_device()
    rows = np.linspace(-3, 3, 64, dtype=np.float32)
    expected = np.asarray(jax.jit(jnp.exp)(jax.device_put(rows, cpu)))
    np.testing.assert_array_equal(frameworks.run_jax(jnp.exp, [jax.device_put(rows, chip)], {}, device=cpu), expected)
    there = frameworks.run_jax(jnp.exp, [jax.device_put(rows, cpu)], {}, device=chip)
    assert not np.array_equal(there, expected)
