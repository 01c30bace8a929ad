"""An exception in a backward pass reaches the user: PyTorch's guard of a Python device would abort the process."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.checkpoint import checkpoint


class Stop(BaseException):
    """As KeyboardInterrupt, which pytest would take for the user's."""


def stop(*_):
    raise Stop("mine")


def of_a_tensor(x):
    y = x * 2
    y.register_hook(stop)
    return y.sum()


def of_a_gradient(x):
    x.register_post_accumulate_grad_hook(stop)
    return (x * 2).sum()


def of_a_module(x):
    module = nn.Linear(4, 4).to("tt")
    module.register_full_backward_hook(stop)
    return module(x).sum()


def before_a_node(x):
    y = x * 2
    y.grad_fn.register_prehook(stop)
    return y.sum()


def after_a_node(x):
    y = x * 2
    y.grad_fn.register_hook(stop)
    return y.sum()


def of_saved_tensors(x):
    with torch.autograd.graph.saved_tensors_hooks(lambda tensor: tensor, stop):
        return (x * x).sum()


def of_a_second_run(x):
    runs = []

    def once(x):
        runs.append(x)
        return stop() if len(runs) > 1 else (x * x).sin()

    return checkpoint(once, x, use_reentrant=False).sum()


HOOKS = [of_a_tensor, of_a_gradient, of_a_module, before_a_node, after_a_node, of_saved_tensors, of_a_second_run]


@pytest.mark.parametrize("build", HOOKS)
def test_an_exception_of_a_hook_ends_the_backward_pass(build):
    loss = build(torch.randn(4, 4, device="tt", requires_grad=True))
    with pytest.raises(Stop, match="mine"):
        loss.backward()


def test_an_exception_of_a_dispatch_mode_ends_the_backward_pass():
    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            return stop()

    x = torch.randn(4, 4, device="tt", requires_grad=True)
    loss = (x * x).sum()
    with pytest.raises(Stop), Mode():
        loss.backward()


def test_an_exception_of_a_hook_ends_a_compiled_backward_pass():
    compiled = torch.compile(of_a_tensor, backend="tt")
    with pytest.raises(Stop):
        compiled(torch.randn(4, 4, device="tt", requires_grad=True)).backward()
    torch.compiler.reset()


def test_backward_passes_go_on_after_an_exception():
    x = torch.ones(4, device="tt", requires_grad=True)
    with pytest.raises(Stop):
        of_a_tensor(x).backward()
    x.grad = None
    (x * 3).sum().backward()
    assert x.grad.tolist() == [3, 3, 3, 3]


def test_the_guard_knows_its_device_and_stream():
    with torch.device("tt"):
        stream = torch.accelerator.current_stream()
    assert (stream.device.type, stream.device.index, stream.stream_id) == ("tt", 0, 0)
