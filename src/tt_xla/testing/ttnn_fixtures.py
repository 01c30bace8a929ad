"""Fixtures and helpers of tests that call ``ttnn``, under the names that tests of TT-NN use.

``pytest -p tt_xla.testing.ttnn_fixtures``, or ``pytest_plugins = ["tt_xla.testing.ttnn_fixtures"]`` in a conftest.py,
gives tests the fixtures. ``device_params`` and ``mesh_device`` take indirect parameters. They work with an installed
``ttnn`` on a card, too.
"""

from __future__ import annotations

import gc
import random
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
import torch

_SEED = 213919

DEVICE_OPTIONS = (
    "l1_small_size",
    "trace_region_size",
    "num_command_queues",
    "dispatch_core_config",
    "worker_l1_size",
)
"""Options of ``device_params`` that open a device; ``fabric_config`` is set before, and others are not passed on."""


def _ttnn() -> Any:
    import ttnn  # pyright: ignore[reportMissingImports]

    return ttnn


def skip_for_arch(*names: str, reason: str) -> pytest.MarkDecorator:
    """Returns a mark that skips a test on chips of these generations, such as ``blackhole``."""
    return pytest.mark.skipif(_ttnn().get_arch_name() in names, reason=reason)


def skip_for_blackhole(reason_str: str = "not working for Blackhole") -> pytest.MarkDecorator:
    """Returns a mark that skips a test on Blackhole."""
    return skip_for_arch("blackhole", reason=reason_str)


def skip_for_wormhole_b0(reason_str: str = "not working for Wormhole B0") -> pytest.MarkDecorator:
    """Returns a mark that skips a test on Wormhole."""
    return skip_for_arch("wormhole_b0", reason=reason_str)


def is_blackhole() -> bool:
    """Returns whether the chips are of generation Blackhole."""
    return _ttnn().get_arch_name() == "blackhole"


def is_wormhole_b0() -> bool:
    """Returns whether the chips are of generation Wormhole."""
    return _ttnn().get_arch_name() == "wormhole_b0"


def torch_random(shape: Sequence[int], low: float, high: float, dtype: torch.dtype) -> torch.Tensor:
    """Returns uniformly distributed numbers from ``low`` to ``high``; the latter excluded for integers."""
    if dtype.is_floating_point:
        return torch.zeros(tuple(shape), dtype=torch.float32).uniform_(low, high).to(dtype)
    return torch.randint(int(low), int(high), tuple(shape)).to(dtype)


def comp_pcc(golden: torch.Tensor, calculated: torch.Tensor, pcc: float = 0.99) -> tuple[bool, float]:
    """Returns whether two tensors correlate well enough, and Pearson's correlation of their finite elements.

    Tensors with NaN or infinities at different places have 0, equal ones 1. A constant tensor has no correlation: it
    has 1 if the other one is close to it, else 0.
    """
    expected, actual = (torch.as_tensor(each).detach().double().flatten() for each in (golden, calculated))
    same_places = torch.equal(expected.isnan(), actual.isnan())
    infinite = expected.isinf() | actual.isinf()
    if not same_places or not torch.equal(expected[infinite], actual[infinite]):
        return False, 0.0
    finite = expected.isfinite() & actual.isfinite()
    expected, actual = expected[finite], actual[finite]
    if torch.equal(expected, actual):
        return True, 1.0
    one, other = expected - expected.mean(), actual - actual.mean()
    scale = one.norm() * other.norm()
    close = torch.allclose(expected, actual, rtol=1e-2, atol=1e-2)
    value = float(one @ other / scale) if scale else float(close)
    return value >= pcc, value


def assert_with_pcc(expected: torch.Tensor, actual: torch.Tensor, pcc: float = 0.9999) -> tuple[bool, float]:
    """Checks that two tensors have one shape and correlate.

    Raises:
        AssertionError: they do not.
    """
    shapes = tuple(expected.shape), tuple(actual.shape)
    assert shapes[0] == shapes[1], f"expected a tensor of shape {list(shapes[0])}, got {list(shapes[1])}"
    passed, value = comp_pcc(expected, actual, pcc)
    assert passed, f"the correlation with the expected tensor is {value:.6f}, at least {pcc} was expected"
    return passed, value


def assert_equal(expected: torch.Tensor, actual: torch.Tensor) -> bool:
    """Checks that two tensors are equal.

    Raises:
        AssertionError: they are not.
    """
    torch.testing.assert_close(actual, expected, rtol=0, atol=0, equal_nan=True)
    return True


@pytest.fixture
def reset_seeds() -> None:
    """Gives the generators of torch, NumPy and Python the same seeds for each test."""
    torch.manual_seed(_SEED)
    np.random.seed(_SEED)
    random.seed(_SEED)


@pytest.fixture
def function_level_defaults(reset_seeds: None) -> None:
    """Gives a test its seeds."""


@pytest.fixture
def ensure_gc() -> None:
    """Frees what earlier tests left in cycles."""
    gc.collect()


@pytest.fixture
def use_program_cache() -> None:
    """Does nothing: programs are always kept."""


@pytest.fixture
def is_ci_env() -> bool:
    """Returns False: tests run in full, as they do outside of TT-Metal's continuous integration."""
    return False


@pytest.fixture
def silicon_arch_name() -> str:
    """Returns the generation of the chips."""
    return _ttnn().get_arch_name()


@pytest.fixture
def silicon_arch_blackhole(silicon_arch_name: str) -> bool:
    """Returns whether the chips are of generation Blackhole."""
    return silicon_arch_name == "blackhole"


@pytest.fixture
def silicon_arch_wormhole_b0(silicon_arch_name: str) -> bool:
    """Returns whether the chips are of generation Wormhole."""
    return silicon_arch_name == "wormhole_b0"


@pytest.fixture
def device_params(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Returns the options of the test's device: its indirect parameter."""
    return dict(getattr(request, "param", None) or {})


@pytest.fixture
def device(device_params: dict[str, Any]) -> Iterator[Any]:
    """Returns an open chip, which is also the default device."""
    ttnn = _ttnn()
    opened = ttnn.open_device(device_id=0, **_options(device_params))
    ttnn.SetDefaultDevice(opened)
    yield opened
    ttnn.close_device(opened)


@pytest.fixture
def mesh_device(request: pytest.FixtureRequest, device_params: dict[str, Any]) -> Iterator[Any]:
    """Returns an open mesh.

    Its indirect parameter is a number of chips, or rows and columns; by default all chips. A test that needs more chips
    than there are is skipped.
    """
    ttnn = _ttnn()
    wanted = getattr(request, "param", None)
    shape = None if wanted is None else ttnn.MeshShape(1, wanted) if isinstance(wanted, int) else ttnn.MeshShape(wanted)
    if shape is not None and shape.mesh_size() > ttnn.get_num_devices():
        pytest.skip(f"the test needs {shape.mesh_size()} chips, and there are {ttnn.get_num_devices()}")
    fabric = device_params.get("fabric_config")
    if fabric is True:
        fabric = ttnn.FabricConfig.FABRIC_1D
    if fabric:
        ttnn.set_fabric_config(fabric)
    opened = ttnn.open_mesh_device(mesh_shape=shape, **_options(device_params))
    yield opened
    ttnn.close_mesh_device(opened)
    if fabric:
        ttnn.set_fabric_config(ttnn.FabricConfig.DISABLED)


def _options(parameters: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in parameters.items() if name in DEVICE_OPTIONS}
