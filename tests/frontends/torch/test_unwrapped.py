"""Graphs without aliases are called without AOTAutograd's wrappers, those that change inputs' contents too. Others keep
them."""

import pytest
import torch
import torch_xla  # noqa: F401, registers the device

from tt_xla.frontends.torch import backend, session
from tt_xla.frontends.torch.device.buffers import buffer_of
from tt_xla.frontends.torch.unwrapped import unwrapped


@pytest.fixture
def direct(monkeypatch):
    """Collects the compiled graphs that are called without wrappers."""
    torch.compiler.reset()
    unwrapped_calls = []

    def recorded(call, updated):
        unwrapped_calls.append(updated)
        return unwrapped(call, updated)

    monkeypatch.setattr(backend, "unwrapped", recorded)
    return unwrapped_calls


def test_plain_inference_has_no_wrapper(direct):
    model = torch.nn.Linear(4, 4).to("tt")
    call = torch.compile(model, backend="tt")
    x = torch.randn(2, 4)
    with torch.no_grad():
        assert torch.allclose(call(x.to("tt")).cpu(), model.cpu()(x), atol=1e-2)
    assert direct == [()]


def _writes(x):
    return x.add_(1) * 2


def _writes_row(x):
    doubled = x * 2
    x[1].copy_(doubled[0])
    return doubled.sum(), doubled


@pytest.mark.parametrize("function", [_writes, _writes_row])
def test_changed_inputs_are_copied_back_without_wrappers(direct, function):
    call = torch.compile(function, backend="tt")
    x = torch.arange(6.0).reshape(2, 3)
    moved = x.clone().to("tt")
    whole = moved.view(6)
    for _ in range(3):
        for result, reference in zip(_as_tuple(call(moved)), _as_tuple(function(x)), strict=True):
            assert torch.equal(result.cpu(), reference)
        assert torch.equal(whole.cpu(), x.view(6))
    assert direct == [(0,)]


def test_new_contents_of_a_state_are_written_to_it_without_a_tensor_of_their_own(direct):
    """The count of a cache's positions, which a decoder's step returns too, in one case."""

    def step(count, x):
        count.add_(1)
        return x * 2

    def returning(count, x):
        count.add_(1)
        return x * 2, count + 0

    for function, tensors in ((step, 1), (returning, 2)):
        torch.compiler.reset()
        call = torch.compile(function, backend="tt")
        count, x = torch.tensor([3], device="tt"), torch.ones(2, device="tt")
        results = [call(count, x) for _ in range(2)]
        made = session.current.counters["CreateXlaTensor"]
        buffer = buffer_of(count)
        written = buffer.version
        results.append(call(count, x))
        # One tensor for each other result; the new version of the state counts as one, too.
        assert session.current.counters["CreateXlaTensor"] - made == tensors + 1
        assert buffer_of(count) is buffer
        assert buffer.version > written
        assert count.item() == 6
        assert [_as_tuple(result)[-1].tolist() for result in results] == (
            [[2.0, 2.0]] * 3 if function is step else [[4], [5], [6]]
        )
        recorded = count * 1.5
        call(count, x)
        assert recorded.item() == 9.0  # what was recorded before reads the contents of that time


def test_autograd_notices_that_a_state_was_written(direct):
    def step(state):
        state.add_(1)
        return state * 2

    call = torch.compile(step, backend="tt")
    weight, state = torch.ones(1, device="tt", requires_grad=True), torch.ones(1, device="tt")
    with torch.no_grad():
        call(state)
    product = weight * state
    with torch.no_grad():
        call(state)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.sum().backward()


def test_views_of_one_changed_tensor_keep_wrappers(direct):
    def both(x, y):
        x.add_(1)
        y.mul_(2)

    base, expected = torch.arange(6.0).to("tt"), torch.arange(6.0)
    torch.compile(both, backend="tt")(base[:4], base[2:])
    both(expected[:4], expected[2:])
    assert torch.equal(base.cpu(), expected)
    assert not direct


def test_transposed_input_keeps_wrappers(direct):
    def transposes(x):
        x.mul_(2).t_()

    moved, expected = torch.ones(2, 3).to("tt"), torch.ones(2, 3)
    torch.compile(transposes, backend="tt")(moved)
    transposes(expected)
    assert moved.shape == expected.shape
    assert torch.equal(moved.cpu(), expected)
    assert not direct


def test_detached_parameter_is_changed(direct):
    def drop(x):
        x.detach().mul_(2)

    parameter = torch.nn.Parameter(torch.ones(3, device="tt"))
    with torch.no_grad():
        torch.compile(drop, backend="tt")(parameter)
    assert torch.equal(parameter.detach().cpu(), torch.full((3,), 2.0))


def _views(x):
    y = x + 1
    return y, y[0]


def _gives_back(x):
    return x, x + 1


@pytest.mark.parametrize("function", [_views, _gives_back])
def test_aliases_stay(function):
    call = torch.compile(function, backend="tt")
    x = torch.arange(6.0).reshape(2, 3)
    moved = x.clone().to("tt")
    results, expected = call(moved), function(x)
    for result, reference in zip(_as_tuple(results), _as_tuple(expected), strict=True):
        assert torch.equal(result.cpu(), reference)
    assert torch.equal(moved.cpu(), x)
    if isinstance(results, tuple):
        shared = results[0].untyped_storage().data_ptr() == results[1].untyped_storage().data_ptr()
        assert shared == (expected[0].untyped_storage().data_ptr() == expected[1].untyped_storage().data_ptr())


def _as_tuple(value):
    return value if isinstance(value, tuple) else (value,)


def test_training_has_one(direct):
    model = torch.nn.Linear(4, 4).to("tt")
    torch.compile(model, backend="tt")(torch.randn(2, 4).to("tt")).sum().backward()
    assert torch.isfinite(model.weight.grad.cpu()).all()
    assert not direct
