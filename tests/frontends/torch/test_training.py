"""Training on tt gives the CPU's losses and keeps nothing from step to step."""

from __future__ import annotations

import gc
import sys
import threading
import weakref

import pytest
import torch
import torch.nn as nn
import torch.nn.functional as F

from tt_xla.frontends.torch import host_ops


@pytest.fixture(scope="module")
def training():
    before = list(sys.path)
    from conformance import training

    yield training
    sys.path[:] = before


@pytest.mark.sample(1)
@pytest.mark.usefixtures("_fresh")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", ["digits", "transformer"])
def test_losses_follow_the_cpus(training, name):
    pytest.importorskip("sklearn", reason="the extra examples is not installed")
    model, data = training.MODELS[name](6)
    expected = training.losses(model, data, "cpu")
    assert expected[-1] < expected[0]
    assert training.furthest(expected, training.losses(model, data, "tt")) < 0.02


@pytest.fixture
def _fresh():
    torch.compiler.reset()
    yield
    torch.compiler.reset()


@pytest.mark.nightly
@pytest.mark.usefixtures("_fresh")
@pytest.mark.usefixtures("all_objects")
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
        return sum(issubclass(type(thing), torch.UntypedStorage) for thing in gc.get_objects()), len(gc.get_objects())

    for _ in range(20):
        step()
    for thread in threading.enumerate():
        if thread.name == "tt-xla fused kernels":  # what it makes is kept
            thread.join()
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


def _warped(image, grid, volume, wave, direction, length):
    """PyTorch has no decomposition of the backward ops of these ops."""
    widened = F.interpolate(F.pad(volume, (1, 2, 0, 1, 1, 0), mode="replicate"), (3, 5, 6), mode="trilinear")
    kernel = torch._weight_norm(direction, length, 0)
    return [
        F.grid_sample(image, grid, align_corners=False),
        F.grid_sample(image, grid, padding_mode="border", align_corners=True),
        widened,
        F.conv1d(F.interpolate(F.pad(wave, (2, 1), mode="replicate"), scale_factor=2), kernel),
        torch.cdist(wave, wave[:, :1] + 1),
    ]


@pytest.mark.sample(1)
@pytest.mark.usefixtures("_fresh")
@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "eager"])
def test_gradients_stay_on_the_device(compiled):
    torch.manual_seed(0)
    shapes = [(1, 2, 4, 5), (1, 3, 3, 2), (1, 2, 2, 3, 4), (2, 3, 5), (2, 3, 3), (2, 1, 1)]
    expected = [torch.randn(shape, requires_grad=True) for shape in shapes]
    inputs = [tensor.detach().to("tt").requires_grad_() for tensor in expected]
    before = host_ops.counts()
    call = torch.compile(_warped, backend="tt") if compiled else _warped
    for function, tensors in ((_warped, expected), (call, inputs)):
        sum(result.pow(2).sum() for result in function(*tensors)).backward()
    for one, other in zip(inputs, expected, strict=True):
        # Products read 10 significant bits of weights (docs/numerics.md).
        torch.testing.assert_close(one.grad.cpu(), other.grad, rtol=5e-3, atol=2e-2)
    assert host_ops.counts() == before
