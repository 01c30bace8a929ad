"""Data and tensor parallelism of the model runner."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch

from tt_xla.errors import SystemDescriptionError
from tt_xla.frontends.torch import compilation, session
from tt_xla.testing.models import execution, loading, processes
from tt_xla.testing.models.config import Expectation
from tt_xla.testing.models.discovery import Case
from tt_xla.testing.models.parallel import Parallelism, reason_to_skip
from tt_xla.testing.models.processes import Limits

MODELS = Path(__file__).parents[2] / "models"
LOADER = """
import torch
from tt_xla.testing.models.protocol import ForgeModel, ModelInfo

class ModelLoader(ForgeModel):
    @classmethod
    def _get_model_info(cls, variant):
        return ModelInfo("m", variant, "generality", "nlp", "custom", "pytorch")

    def load_inputs(self, dtype_override=None, batch_size=4):
        return torch.ones(batch_size, 8, dtype=dtype_override)

    def load_model(self, dtype_override=None):
        torch.manual_seed(0)
        return torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Linear(16, 8)).to(dtype_override)
"""
MESH = """
    def get_mesh_config(self, num_devices):
        return (1, num_devices), ("batch", "model")
"""
SPECS = """
    def load_shard_spec(self, model):
        return {model[0].weight: ("model", None), model[1].weight: (None, "model")}
"""
CONSTRAINT = """
    def load_activation_shard_spec(self, model):
        return {model[1]: (None, "model")}
"""


@pytest.fixture
def run(monkeypatch, tmp_path):
    """Runs a loader's test on a system in this process."""

    def run(source: str, parallelism: str, run_mode: str = "inference", system: str = "n300"):
        monkeypatch.setenv("TTXLA_SYSTEM", system)
        path = tmp_path / "m" / "pytorch" / "loader.py"
        path.parent.mkdir(parents=True)
        path.write_text(source)
        case = Case("m/pytorch", None, parallelism, run_mode)
        return execution.run(tmp_path, case, Expectation(), lambda stage: None)

    with session.fresh():
        yield run
    torch.compiler.reset()


def last_program():
    return compilation.compiled_programs()[-1]


def collectives() -> list[str]:
    exchanges = ("ttnn.all_gather", "ttnn.all_reduce", "ttnn.reduce_scatter")
    return [step.op for function in last_program().functions for step in function.body if step.op in exchanges]


@pytest.mark.parametrize("system", ["n300", "n300-llmbox"])
def test_data_parallel(run, system):
    record = run(LOADER, "data_parallel", system=system)
    assert (record.outcome, record.error) == ("passed", "")
    chips = {"n300": 2, "n300-llmbox": 8}[system]
    assert last_program().mesh.shape == (1, chips)
    batches = [argument.global_shape[0] for argument in last_program().arguments if argument.shape == (4, 8)]
    assert batches == [4 * chips]
    assert collectives() == []


def test_data_parallel_training(run):
    record = run(LOADER, "data_parallel", "training")
    assert (record.outcome, record.error) == ("passed", "")
    assert last_program().mesh.shape == (1, 2)


def test_tensor_parallel(run):
    record = run(LOADER + MESH + SPECS, "tensor_parallel")
    assert (record.outcome, record.error) == ("passed", "")
    assert len(collectives()) == 1
    assert record.samples_per_s > 0


def test_activations_of_tensor_parallel(run):
    record = run(LOADER + MESH + SPECS + CONSTRAINT, "tensor_parallel")
    assert (record.outcome, record.error) == ("passed", "")
    assert collectives() == ["ttnn.reduce_scatter"]


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (LOADER, "the loader has no mesh or shard specs (get_mesh_config, load_shard_spec)"),
        (LOADER + MESH, "the loader has no shard specs for tensor parallelism (load_shard_spec)"),
    ],
    ids=["no mesh", "no specs"],
)
def test_loaders_that_do_not_split_their_weights(run, source, reason):
    record = run(source, "tensor_parallel")
    assert (record.outcome, record.reason) == ("skipped", f"tensor_parallel: {reason}")


def test_a_wrong_spec_fails(run):
    record = run(LOADER + MESH + SPECS.replace('"model", None', '"rows", None'), "tensor_parallel")
    assert record.outcome == "failed"
    assert re.search(r"names 'rows'; the mesh has the axes", record.error)


def test_a_model_of_transformers_on_eight_chips(run, monkeypatch):
    """The mesh has two chips for the two heads of keys and values, and four along the axis of the batch."""
    monkeypatch.setenv("TTXLA_SYSTEM", "n300-llmbox")
    case = Case("llama/causal_lm/pytorch", "small", "tensor_parallel", "inference")
    record = execution.run(MODELS, case, Expectation(), lambda stage: None)
    assert (record.outcome, record.error) == ("passed", "")
    assert last_program().mesh.shape == (4, 2)
    assert len(collectives()) == 4


@pytest.mark.nightly
@pytest.mark.parametrize("kind", ["data_parallel", "tensor_parallel"])
def test_a_model_of_flax_on_eight_chips(monkeypatch, kind):
    pytest.importorskip("flax", reason="the extra jax-examples is not installed")
    pytest.importorskip("tt_xla.frontends.jax.pjrt.trampoline", reason="the C part of the plugin is not built")
    monkeypatch.setenv("TTXLA_SYSTEM", "n300-llmbox")
    case = Case("mnist/image_classification/jax", "small", kind, "inference")
    record = processes.run_test(MODELS, case, Expectation(), Limits(400))
    assert (record.outcome, record.error) == ("passed", "")
    assert record.pcc > 0.99


SHARD_LOADER = """
import jax, jax.numpy as jnp
from flax import linen as nn
from jax.sharding import PartitionSpec
from tt_xla.testing import (
    initialize_flax_linen_parameters_on_cpu as initialize,
    make_flax_linen_parameters_partition_specs_on_cpu as make_specs,
)

class Mlp(nn.Module):
    axis_name: str
    num_devices: int

    @nn.compact
    def __call__(self, x):
        split = lambda *axes: nn.with_partitioning(nn.initializers.lecun_normal(), axes)
        up = self.param("up", split(None, self.axis_name), (x.shape[-1], 64 // self.num_devices))
        down = self.param("down", split(self.axis_name, None), (64 // self.num_devices, 8))
        return jax.lax.psum(nn.relu(x @ up) @ down, self.axis_name)

class ModelLoader:
    def __init__(self, variant=None):
        pass

    def load_multichip_model(self, axis_name="X", num_devices=2, train_mode=False):
        assert not train_mode
        return Mlp(axis_name, num_devices)

    def load_inputs(self, mesh=None):
        assert mesh.devices.flat[0].platform == "cpu"
        return jax.random.normal(jax.random.PRNGKey(1), (16, 32))

    def get_input_activations_partition_spec(self, mesh, parallelism, axis_name="X"):
        return (PartitionSpec(axis_name) if parallelism.name == "DATA_PARALLEL" else PartitionSpec(),)

    def load_parameters_partition_spec(
        self, model_for_multichip, parallelism, cpu_mesh, input_activations_partition_specs, inputs
    ):
        return make_specs(model_for_multichip, cpu_mesh, input_activations_partition_specs, inputs)

    def load_parameters(
        self, train, inputs, model_for_multichip, cpu_mesh, input_activations_partition_specs,
        input_parameters_partition_specs,
    ):
        specs = input_activations_partition_specs, input_parameters_partition_specs
        return initialize(model_for_multichip, specs[0], inputs, specs[1], cpu_mesh, 3)
"""


@pytest.mark.nightly
@pytest.mark.parametrize(("mode", "outcome"), [("inference", "passed"), ("training", "skipped")])
def test_a_model_written_for_the_shards_of_one_chip(monkeypatch, tmp_path, mode, outcome):
    pytest.importorskip("flax", reason="the extra jax-examples is not installed")
    pytest.importorskip("tt_xla.frontends.jax.pjrt.trampoline", reason="the C part of the plugin is not built")
    monkeypatch.setenv("TTXLA_SYSTEM", "n300-llmbox")
    path = tmp_path / "m" / "jax" / "loader.py"
    path.parent.mkdir(parents=True)
    path.write_text(SHARD_LOADER)
    record = processes.run_test(tmp_path, Case("m/jax", None, "tensor_parallel", mode), Expectation(), Limits(400))
    assert (record.outcome, record.error) == (outcome, "")
    if mode == "inference":
        assert record.pcc > 0.99
        assert (record.graphs, record.device_us > 0) == (1, True)
    else:
        assert "are not trained" in record.reason


def test_inputs_are_repeated(monkeypatch):
    monkeypatch.setenv("TTXLA_SYSTEM", "n300")
    parallelism = Parallelism("data_parallel", None)
    batch = torch.arange(4.0).reshape(2, 2)
    assert parallelism.repeated(batch).tolist() == [[0, 1], [0, 1], [2, 3], [2, 3]]
    assert parallelism.repeated([torch.tensor(1.0), "text"])[0].shape == (2,)
    assert parallelism.repeated([torch.tensor(1.0), "text"])[1] == "text"
    assert parallelism.repeated({"x": torch.ones(3)})["x"].shape == (2, 3)
    assert Parallelism("tensor_parallel", None).repeated(batch) is batch


def test_systems_of_one_chip(monkeypatch):
    monkeypatch.setenv("TTXLA_SYSTEM", "n150")
    assert reason_to_skip(Case("m/jax", None, "data_parallel", "inference")).startswith("data_parallel needs several")
    assert reason_to_skip(Case("m/jax", None, "single_device", "inference")) == ""
    monkeypatch.setenv("TTXLA_SYSTEM", "n151")
    with pytest.raises(SystemDescriptionError, match="n150"):
        reason_to_skip(Case("m/jax", None, "data_parallel", "inference"))


def test_loaders_of_split_decoders():
    loader = loading.make_loader(MODELS, "mistral/causal_lm/pytorch", "small")
    assert [loader.get_mesh_config(count)[0] for count in (2, 8, 32)] == [(1, 2), (4, 2), (16, 2)]
    assert len(loader.load_shard_spec(loader.load_model())) == 2 * 7
