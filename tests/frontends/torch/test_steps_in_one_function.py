"""Whole training steps in one compiled function: dynamo watches the frames in which backward passes are compiled."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch.fx.experimental.proxy_tensor import make_fx

pytestmark = [
    pytest.mark.usefixtures("exact"),
    pytest.mark.timeout(120),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # of modules that dynamo imports
    pytest.mark.filterwarnings("ignore:The .grad attribute:UserWarning"),  # dynamo reads it after a graph break
]


@pytest.fixture(autouse=True)
def _fresh():
    torch.compiler.reset()
    yield
    torch.compiler.reset()


def data(device):
    generator = torch.Generator().manual_seed(0)
    x, target = torch.randn(6, 8, generator=generator), torch.randint(3, (6,), generator=generator)
    return x.to(device), target.to(device)


def network():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 3))


def plain(model, optimizer, x, target):
    F.cross_entropy(model(x), target).backward()


def after_a_branch(model, optimizer, x, target):
    loss = F.cross_entropy(model(x), target)
    if torch.isnan(loss):  # a branch on data breaks the graph
        raise ValueError("the loss is NaN")
    loss.backward()


def after_a_print(model, optimizer, x, target):
    loss = F.cross_entropy(model(x), target)
    print("loss", float(loss.detach()))
    loss.backward()


def after_a_graph_break(model, optimizer, x, target):
    loss = F.cross_entropy(model(x), target)
    torch._dynamo.graph_break()
    for parameter, gradient in zip(
        model.parameters(), torch.autograd.grad(loss, list(model.parameters())), strict=True
    ):
        parameter.grad = gradient


def accumulated(model, optimizer, x, target):
    for part, labels in zip(x.chunk(2), target.chunk(2), strict=True):
        (F.cross_entropy(model(part), labels) / 2).backward()


def with_the_optimizer(model, optimizer, x, target):
    optimizer.zero_grad()
    F.cross_entropy(model(x), target).backward()
    optimizer.step()


FORMS = [plain, after_a_branch, after_a_print, after_a_graph_break, accumulated, with_the_optimizer]


def trained(step, device, wrap=lambda step: step):
    model = network().to(device)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    x, target = data(device)
    step = wrap(step)
    for _ in range(2):
        model.zero_grad()
        step(model, optimizer, x, target)
    return [(parameter.detach().cpu(), parameter.grad.cpu()) for parameter in model.parameters()]


@pytest.mark.parametrize("device", ["cpu", "tt"])
@pytest.mark.parametrize("step", FORMS, ids=lambda step: step.__name__)
def test_a_step_has_the_gradients_of_eager_mode(step, device):
    got = trained(step, device, lambda step: torch.compile(step, backend="tt"))
    torch.testing.assert_close(got, trained(step, "cpu"), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("step", [plain, accumulated], ids=lambda step: step.__name__)
def test_a_step_under_compiled_autograd(step):
    def wrap(step):
        compiled = torch.compile(step, backend="tt")

        def run(*arguments):
            with torch._dynamo.config.patch(compiled_autograd=True):
                compiled(*arguments)

        return run

    torch.testing.assert_close(trained(step, "tt", wrap), trained(step, "cpu"), rtol=1e-4, atol=1e-5)


def test_a_step_that_make_fx_has_traced():
    def gradients(weight, x):
        return torch.autograd.grad((x @ weight).tanh().sum(), weight)[0]

    weight, x = torch.randn(8, 3, requires_grad=True), torch.randn(5, 8)
    traced = make_fx(gradients)(weight, x)
    with torch.no_grad():
        got = torch.compile(traced, backend="tt")(weight, x)
    torch.testing.assert_close(got, gradients(weight, x), rtol=1e-4, atol=1e-5)
