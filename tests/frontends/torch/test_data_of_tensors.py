"""``tensor.data = other``, also where the other tensor is on another kind of device."""

from __future__ import annotations

import pytest
import torch

MOVES = [("cpu", "tt"), ("tt", "cpu"), ("tt", "tt"), ("cpu", "cpu")]


def _step(parameter, device):
    optimizer = torch.optim.SGD([parameter], lr=1.0)
    (parameter * torch.arange(3.0).to(device)).sum().backward()
    optimizer.step()
    return parameter.tolist()


@pytest.mark.parametrize(("source", "target"), MOVES)
def test_data_moves_a_parameter(source, target):
    parameter = torch.nn.Parameter(torch.ones(3).to(source))
    parameter.mark = "kept"
    parameter.data = torch.full((3,), 5.0).to(target)
    assert (parameter.device.type, type(parameter), parameter.mark) == (target, torch.nn.Parameter, "kept")
    assert _step(parameter, target) == [5.0, 4.0, 3.0]


def test_the_gradient_moves_along_and_memory_is_shared():
    parameter = torch.nn.Parameter(torch.ones(3))
    parameter.grad = torch.full((3,), 2.0)
    value = torch.zeros(3).to("tt")
    parameter.data = value
    value.add_(1)
    assert (parameter.tolist(), parameter.grad.tolist()) == ([1.0] * 3, [2.0] * 3)
    assert (parameter.device.type, parameter.grad.device.type) == ("tt", "tt")


@pytest.mark.usefixtures("exact")
def test_models_move_parameter_by_parameter():
    torch.manual_seed(0)
    model, x = torch.nn.Linear(3, 2), torch.ones(1, 3)
    expected = model(x).detach()
    for parameter in model.parameters():
        parameter.data = parameter.data.to("tt")
    torch.testing.assert_close(model(x.to("tt")).detach().cpu(), expected)


def _used_by_a_graph(parameter):
    return (parameter * parameter).sum()


def _with_a_hook(parameter):
    return parameter.register_hook(lambda grad: grad * 2)


@pytest.mark.parametrize("hold", [_used_by_a_graph, _with_a_hook])
def test_what_would_lose_gradients_is_refused(hold):
    parameter = torch.nn.Parameter(torch.ones(3))
    held = hold(parameter)
    with pytest.raises(RuntimeError, match="before the forward pass"):
        parameter.data = torch.zeros(3).to("tt")
    assert held is not None
    assert parameter.tolist() == [1.0] * 3


def test_only_leaves_are_moved():
    x = torch.ones(3, requires_grad=True) * 2
    with pytest.raises(RuntimeError, match="autograd graph"):
        x.data = torch.zeros(3).to("tt")


def test_compiled_functions_read_data():
    x = torch.ones(3).to("tt").requires_grad_()
    result = torch.compile(lambda x: x.data * 2, backend="tt", fullgraph=True)(x)
    assert (result.tolist(), result.requires_grad) == ([2.0] * 3, False)


def test_other_values_are_refused_as_by_pytorch():
    with pytest.raises(TypeError, match="Variable data has to be a tensor"):
        torch.ones(3).data = 3
