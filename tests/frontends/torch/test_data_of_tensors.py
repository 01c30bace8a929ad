"""``tensor.data = other``, also where the other tensor is on another kind of device."""

from __future__ import annotations

import weakref

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


def test_memory_is_shared_and_a_gradient_stays_as_with_other_devices():
    parameter = torch.nn.Parameter(torch.ones(3))
    parameter.grad = torch.full((3,), 2.0)
    value = torch.zeros(3).to("tt")
    parameter.data = value
    value.add_(1)
    assert (parameter.tolist(), parameter.grad.tolist()) == ([1.0] * 3, [2.0] * 3)
    assert (parameter.device.type, parameter.grad.device.type) == ("tt", "cpu")


@pytest.mark.usefixtures("exact")
def test_models_move_parameter_by_parameter():
    torch.manual_seed(0)
    model, x = torch.nn.Linear(3, 2), torch.ones(1, 3)
    expected = model(x).detach()
    for parameter in model.parameters():
        parameter.data = parameter.data.to("tt")
    torch.testing.assert_close(model(x.to("tt")).detach().cpu(), expected)


def test_a_parameter_moves_while_a_graph_and_a_weak_reference_hold_it():
    parameter = torch.nn.Parameter(torch.ones(3))
    reference, loss = weakref.ref(parameter), (2 * parameter).sum()
    parameter.data = torch.zeros(3).to("tt")
    assert reference() is parameter
    assert loss.item() == 6.0
    assert _step(parameter, "tt") == [0.0, -1.0, -2.0]


def test_hooks_stay():
    parameter = torch.nn.Parameter(torch.ones(3))
    parameter.register_hook(lambda grad: grad * 2)
    parameter.data = torch.zeros(3).to("tt")
    assert _step(parameter, "tt") == [0.0, -2.0, -4.0]


def test_results_of_ops_move():
    x = torch.ones(3, requires_grad=True) * 2
    x.data = torch.zeros(3).to("tt")
    assert (x.device.type, x.grad_fn.name(), x.tolist()) == ("tt", "MulBackward0", [0.0] * 3)


@pytest.mark.parametrize("value", [torch.ones(3).to_sparse(), torch.ones(3, device="meta")], ids=["sparse", "meta"])
def test_data_of_another_kind_is_refused_as_by_pytorch(value):
    parameter = torch.nn.Parameter(torch.ones(3).to("tt"))
    with pytest.raises(RuntimeError, match="incompatible tensor type"):
        parameter.data = value


def test_compiled_functions_read_data():
    x = torch.ones(3).to("tt").requires_grad_()
    result = torch.compile(lambda x: x.data * 2, backend="tt", fullgraph=True)(x)
    assert (result.tolist(), result.requires_grad) == ([2.0] * 3, False)


def test_other_values_are_refused_as_by_pytorch():
    with pytest.raises(TypeError, match="Variable data has to be a tensor"):
        torch.ones(3).data = 3
