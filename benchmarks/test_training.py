"""Calls of compiled models beside torch's own ways to run them, in the same run: a tiny model, and a training step."""

import copy

import pytest

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@pytest.fixture(autouse=True)
def _fresh():
    import torch

    torch.compiler.reset()


@pytest.mark.parametrize("backend", ["inductor", "tt"])
@pytest.mark.parametrize("grad", [False, True], ids=["inference", "forward"])
@pytest.mark.benchmark(group="tiny model, seconds a call")
def test_call_of_a_tiny_model(benchmark, backend, grad):
    import torch

    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU(), torch.nn.Linear(4, 4))
    x = torch.randn(2, 4)
    if backend == "tt":
        import tt_torch  # noqa: F401

        model, x = model.to("tt"), x.to("tt")
    call = torch.compile(model, backend=backend)
    with torch.set_grad_enabled(grad):
        benchmark.pedantic(call, (x,), rounds=2000, warmup_rounds=200)


@pytest.mark.parametrize("where", ["torch eager", "tt"])
@pytest.mark.benchmark(group="training step of the digits network in bfloat16, batch 64, seconds")
def test_training_step(benchmark, network, images, where):
    import torch
    from torch.nn import functional

    model, x, targets = copy.deepcopy(network).train(), images, torch.arange(len(images)) % 10
    if where == "tt":
        import tt_torch  # noqa: F401

        model, x, targets = model.to("tt"), x.to("tt"), targets.to("tt")
    call = torch.compile(model, backend="tt") if where == "tt" else model
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    update = torch.compile(optimizer.step, backend="tt") if where == "tt" else optimizer.step

    def step():
        optimizer.zero_grad()
        functional.nll_loss(call(x), targets).backward()
        update()

    benchmark.pedantic(step, rounds=30, warmup_rounds=5)
