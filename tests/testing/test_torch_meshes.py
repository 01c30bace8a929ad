"""Tests of testers of torch programs for several chips."""

from __future__ import annotations

import pytest
import torch

from tt_xla.errors import TTXLAError
from tt_xla.frontends.torch import compilation, session
from tt_xla.testing import (
    Framework,
    RunMode,
    TorchModelTester,
    enable_spmd,
    get_mesh,
    run_graph_test_with_random_inputs,
    run_op_test,
)


@pytest.fixture(autouse=True)
def n300(monkeypatch):
    """Two chips in SPMD mode."""
    monkeypatch.setenv("TTXLA_SYSTEM", "n300")
    with session.fresh():
        enable_spmd()
        yield
    torch.compiler.reset()


class Mlp(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.up, self.down = torch.nn.Linear(16, 64), torch.nn.Linear(64, 8)

    def forward(self, x):
        return self.down(torch.relu(self.up(x)))


def collectives() -> list[str]:
    """Returns the ops between chips of the one program for several chips that a test compiled."""
    [program] = [program for program in compilation.compiled_programs() if program.mesh is not None]
    exchanges = ("ttnn.all_gather", "ttnn.all_reduce", "ttnn.reduce_scatter")
    return [step.op for function in program.functions for step in function.body if step.op in exchanges]


def weight_specs(model):
    return {model.up.weight: ("model", None), model.up.bias: ("model",), model.down.weight: (None, "model")}


def batch_specs(args, kwargs):
    return {args[0]: ("batch", None)}


def both_specs(model, args, kwargs):
    return {**weight_specs(model), **batch_specs(args, kwargs)}


def test_meshes():
    mesh = get_mesh((1, 2), ("batch", "model"))
    assert (mesh.mesh_shape, mesh.axis_names, list(mesh.device_ids)) == ((1, 2), ("batch", "model"), [0, 1])
    assert get_mesh(None, ()) is None
    with pytest.raises(ValueError, match=r"IDs \(2\) must match mesh size \(8\)"):
        get_mesh((2, 4), ("batch", "model"))


@pytest.mark.parametrize(
    ("shape", "specs", "exchanges"),
    [((1, 2), weight_specs, 1), ((2, 1), batch_specs, 0), ((1, 2), both_specs, 1)],
    ids=["tensor parallel", "data parallel", "both"],
)
def test_an_op_on_a_mesh(shape, specs, exchanges):
    result = run_op_test(Mlp(), [torch.randn(4, 16)], mesh=get_mesh(shape, ("batch", "model")), shard_spec_fn=specs)
    assert result.pcc > 0.999
    assert len(collectives()) == exchanges


def test_a_graph_of_a_function_on_a_mesh():
    run_graph_test_with_random_inputs(
        lambda x, y: x @ y,
        [(4, 32), (32, 8)],
        framework=Framework.TORCH,
        mesh=get_mesh((1, 2), ("batch", "model")),
        shard_spec_fn=lambda args, kwargs: {args[0]: (None, "model"), args[1]: ("model", None)},
    )
    assert len(collectives()) == 1


def test_without_a_mesh_nothing_is_split():
    run_op_test(Mlp(), [torch.randn(4, 16)], shard_spec_fn=weight_specs)
    assert compilation.compiled_programs()[-1].mesh is None


def test_what_is_refused():
    mesh = get_mesh((1, 2), ("batch", "model"))
    with pytest.raises(TTXLAError, match=r"parameters \(model\), but the test has no torch.nn.Module"):
        run_op_test(torch.relu, [torch.ones(4)], mesh=mesh, shard_spec_fn=weight_specs)
    with pytest.raises(TTXLAError, match="tests of PyTorch; this test is of JAX"):
        run_op_test(abs, [1.0], framework=Framework.JAX, mesh=mesh)


class MlpTester(TorchModelTester):
    def _get_model(self):
        return Mlp()

    def _get_input_activations(self):
        return torch.randn(4, 16, generator=torch.Generator().manual_seed(1))

    def _get_mesh(self):
        return get_mesh((1, 2), ("batch", "model"))

    def _get_shard_specs_function(self):
        return weight_specs


def test_inference_of_a_model():
    (result,), _ = MlpTester().test()
    assert result.pcc > 0.999
    assert len(collectives()) == 1


def test_training_of_a_model():
    backward, forward = MlpTester(run_mode=RunMode.TRAINING).test()
    assert min(backward.pcc, forward.pcc) > 0.999
    assert compilation.compiled_programs()[-1].mesh is not None


def test_constrained_activations():
    """A constraint that splits the output turns the sum over the chips into reduce_scatter."""

    class Constrained(MlpTester):
        def _get_activation_shard_spec_function(self):
            return lambda model: {model.down: (None, "model")}

    (result,), _ = Constrained().test()
    assert result.pcc > 0.999
    assert collectives() == ["ttnn.reduce_scatter"]
