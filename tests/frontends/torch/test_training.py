"""Training on tt: losses as on the CPU, and nothing kept from step to step."""

from __future__ import annotations

import gc
import importlib.util
import sys
import weakref
from pathlib import Path

import pytest
import torch
import torch.nn as nn

FOLDER = Path(__file__).parents[3] / "benchmarks"


@pytest.fixture(scope="module")
def training():
    spec = importlib.util.spec_from_file_location("training_benchmark", FOLDER / "training.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    before = list(sys.path)
    spec.loader.exec_module(module)
    yield module
    sys.path[:] = before


@pytest.mark.usefixtures("_fresh")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", ["digits", "transformer"])
def test_losses_follow_the_cpus(training, name):
    pytest.importorskip("sklearn")
    model, data = training.MODELS[name](6)
    expected = training.losses(model, data, "cpu")
    assert expected[-1] < expected[0]
    assert training.furthest(expected, training.losses(model, data, "tt")) < 0.02


@pytest.fixture
def _fresh():
    torch.compiler.reset()
    yield
    torch.compiler.reset()


@pytest.mark.usefixtures("_fresh")
def test_steps_keep_nothing():
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64)).to("tt")
    call = torch.compile(model, backend="tt")
    optimizer = torch.optim.Adam(model.parameters())
    x = torch.randn(8, 64, device="tt")

    def step():
        optimizer.zero_grad()
        call(x).square().mean().backward()
        optimizer.step()

    def storages():
        gc.collect()
        return sum(type(thing) is torch.UntypedStorage for thing in gc.get_objects()), len(gc.get_objects())

    for _ in range(5):
        step()
    before = storages()
    for _ in range(50):
        step()
    after = storages()
    assert after[0] <= before[0]
    assert after[1] - before[1] < 50


@pytest.mark.usefixtures("_fresh")
def test_a_deleted_model_is_freed():
    model = nn.Linear(8, 8).to("tt")
    call = torch.compile(model, backend="tt")
    call(torch.ones(1, 8, device="tt")).sum().backward()
    weight, module = weakref.ref(model.weight.untyped_storage()), weakref.ref(model)
    del model, call
    gc.collect()
    assert module() is None
    assert weight() is None
