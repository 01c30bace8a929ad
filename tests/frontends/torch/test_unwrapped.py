"""Graphs without aliases and mutations are called without AOTAutograd's wrappers. Others keep them."""

import pytest
import torch
import torch_xla  # noqa: F401, registers the device

from tt_xla.frontends.torch import backend


@pytest.fixture
def direct(monkeypatch):
    """Collects the compiled graphs that are called without wrappers."""
    torch.compiler.reset()
    unwrapped_calls = []
    monkeypatch.setattr(backend, "unwrapped", lambda call: unwrapped_calls.append(call) or _boxed(call))
    return unwrapped_calls


def _boxed(call):
    return lambda *args: call([*args])


def test_plain_inference_has_no_wrapper(direct):
    model = torch.nn.Linear(4, 4).to("tt")
    call = torch.compile(model, backend="tt")
    x = torch.randn(2, 4)
    with torch.no_grad():
        assert torch.allclose(call(x.to("tt")).cpu(), model.cpu()(x), atol=1e-2)
    assert len(direct) == 1


def _writes(x):
    return x.add_(1) * 2


def _views(x):
    y = x + 1
    return y, y[0]


def _gives_back(x):
    return x, x + 1


@pytest.mark.parametrize("function", [_writes, _views, _gives_back])
def test_aliases_and_mutations_stay(direct, function):
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
    if function is _writes:
        assert not direct


def _as_tuple(value):
    return value if isinstance(value, tuple) else (value,)


def test_training_has_one(direct):
    model = torch.nn.Linear(4, 4).to("tt")
    torch.compile(model, backend="tt")(torch.randn(2, 4).to("tt")).sum().backward()
    assert torch.isfinite(model.weight.grad.cpu()).all()
    assert not direct
