"""The runtime allocates none of its own tensors on torch's default device, which belongs to the user."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
import torch

import tt_xla.runtime

pytestmark = pytest.mark.quick

FACTORIES = {"arange", "empty", "empty_strided", "eye", "full", "linspace", "ones", "rand", "randint", "randn"} | {
    "randperm",
    "scalar_tensor",
    "tensor",
    "zeros",
    "Generator",
}
SOURCES = sorted(Path(tt_xla.runtime.__file__).parent.rglob("*.py"))


def factory_calls(source: str) -> list[tuple[int, bool]]:
    """Returns the lines of calls such as ``torch.empty(...)``, and whether each names a device."""
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    return [
        (call.lineno, any(keyword.arg == "device" for keyword in call.keywords))
        for call in calls
        if isinstance(call.func, ast.Attribute)
        and isinstance(call.func.value, ast.Name)
        and call.func.value.id == "torch"
        and call.func.attr in FACTORIES
    ]


def test_calls_without_a_device_are_found():
    assert factory_calls("torch.empty(3)\ntorch.full((2,), 1, device=d)\n") == [(1, False), (2, True)]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_factory_calls_name_their_device(path):
    unnamed = [line for line, named in factory_calls(path.read_text()) if not named]
    assert not unnamed, f"{path} lines {unnamed}: name the device, place.device() or 'cpu'"


def test_sixty_runs_with_tt_as_the_default_device(monkeypatch):
    import tt_torch  # noqa: F401

    monkeypatch.setenv("TTXLA_EMULATOR_CHAINS", "auto")
    torch.manual_seed(0)
    linear, norm = torch.nn.Linear(32, 32), torch.nn.LayerNorm(32)

    def function(x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(torch.nn.functional.gelu(norm(linear(x))) * 2 + x, -1) * 3 - x

    x = torch.randn(32, 32)
    expected = function(x).detach()
    linear, norm = linear.to("tt"), norm.to("tt")
    torch.set_default_device("tt")
    try:
        compiled = torch.compile(function, backend="tt")
        with torch.no_grad():
            results = [compiled(x.to("tt")).cpu() for _ in range(60)]
    finally:
        torch.set_default_device(None)
    torch.testing.assert_close(results[0], expected, rtol=0.02, atol=0.02)
    assert all(torch.equal(result, results[0]) for result in results)
