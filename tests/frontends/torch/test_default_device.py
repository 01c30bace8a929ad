"""With ``torch.set_default_device("tt")`` frontend and runtime allocate none of their own tensors on the device."""

from __future__ import annotations

import threading

import pytest
import torch
from torch import nn

import tt_torch  # noqa: F401


@pytest.fixture(autouse=True)
def _default_device():
    torch.compiler.reset()
    torch.set_default_device("tt")
    yield
    torch.set_default_device(None)


@pytest.mark.nightly
def test_a_model_trains_and_runs_often():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Embedding(10, 8), nn.LayerNorm(8), nn.Linear(8, 8), nn.GELU(), nn.Dropout(0.1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    indices = torch.randint(0, 10, (2, 4))
    compiled = torch.compile(model, backend="tt")
    losses = []
    for _ in range(4):
        optimizer.zero_grad()
        loss = compiled(indices).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]
    model.eval()
    with torch.no_grad():
        results = [compiled(indices) for _ in range(25)]  # programs that run often get fused kernels
        expected = model.cpu()(indices.cpu())
    for result in results:
        assert result.device.type == "tt"
        torch.testing.assert_close(result.cpu(), expected, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x + torch.arange(8) + torch.linspace(0, 1, 400).reshape(50, 8)[:4],
        lambda x: torch.linalg.svd(x * 2)[1] + 1,
        lambda x: x[x > 0].sum() * 2,
        lambda x: x * torch.ones_like(x).cumsum(0) + torch.full((8,), 2.5),
    ],
    ids=["constants", "host op", "size that depends on values", "factories"],
)
@pytest.mark.parametrize("compiled", [False, True])
def test_functions_compute_what_the_cpu_computes(function, compiled):
    torch.manual_seed(0)
    x = torch.randn(4, 8)
    call = torch.compile(function, backend="tt") if compiled else function
    result = call(x).cpu()
    torch.set_default_device("cpu")
    torch.testing.assert_close(result, function(x.cpu()), rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.ones(2),
        lambda: torch.tensor([1.0]),
        lambda: torch.as_tensor([1.0]),
        lambda: torch.asarray([1.0]),
        lambda: nn.Linear(2, 2).weight,
        torch.compile(lambda: torch.tensor([1.0]) + torch.ones(1), backend="tt", fullgraph=True),
    ],
    ids=["ones", "tensor", "as_tensor", "asarray", "module", "compiled"],
)
def test_the_default_device_is_the_selected_chip(make, monkeypatch):
    monkeypatch.setenv("TTXLA_SYSTEM", "n300")
    torch.tt.set_device(1)
    try:
        assert make().device == torch.device("tt", 1)
        assert torch.get_default_device() == torch.device("tt", 1)
        assert torch.tensor([1.0], device="cpu").device.type == "cpu"
        with torch.device("cpu"):
            assert torch.tensor([1.0]).device.type == "cpu"
    finally:
        torch.tt.set_device(0)
    assert make().device == torch.device("tt", 0)


def test_the_default_device_of_a_thread_is_its_own(monkeypatch):
    monkeypatch.setenv("TTXLA_SYSTEM", "n300")
    seen = []

    def work():
        torch.tt.set_device(1)
        seen.append(torch.ones(2).device)
        with torch.device("tt"):
            seen.append(torch.ones(2).device)
        seen.append(torch.compile(lambda: torch.ones(2) + 1, backend="tt")().device)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [torch.device("cpu"), torch.device("tt", 1), torch.device("cpu")]
    assert torch.ones(2).device == torch.device("tt", 0)


def test_libraries_find_the_module_of_the_device_by_its_name():
    module = torch.get_device_module()
    assert module is torch.tt
    assert module.__name__ == "torch.tt"
