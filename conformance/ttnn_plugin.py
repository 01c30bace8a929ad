"""A pytest plugin under which tt-metal's unit tests of operations run on the emulated card.

``pytest --noconftest -p ttnn_plugin`` replaces the fixtures of tt-metal's ``conftest.py``, and ``loguru``, which its
helpers import for their messages. ``TTNN_GOLDENS`` names the folder with an installed ``ttnn``, whose golden functions
judge results.
"""

from __future__ import annotations

import logging
import os
import random
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import goldens
import numpy as np
import pytest
import torch
import ttnn  # before the checkout, whose folder of this name would be found first

DROPPED = ("use_legacy", "queue_id", "accurate_mode", "approx_mode", "use_multicore", "in_place_halo", "in_place")
"""Arguments that an earlier release took and the present one does not: tests of that release run without them."""

RENAMED = {"round_mode": "rounding_mode"}


def _take_arguments_of_earlier_releases() -> None:
    kind = type(ttnn.add)
    call = kind.__call__

    def tolerant(self: Any, *arguments: Any, **options: Any) -> Any:
        kept = {RENAMED.get(name, name): value for name, value in options.items() if name not in DROPPED}
        return call(self, *arguments, **kept)

    kind.__call__ = tolerant


def pytest_configure(config: pytest.Config) -> None:
    sys.path.insert(0, str(config.rootpath))
    helpers = types.ModuleType("tt_lib")
    helpers.__path__ = [str(config.rootpath / "ttnn" / "tt_lib")]  # without its __init__.py, which needs native code
    sys.modules.setdefault("tt_lib", helpers)
    loguru = types.ModuleType("loguru")
    loguru.logger = logging.getLogger("loguru")  # pyright: ignore[reportAttributeAccessIssue]
    sys.modules.setdefault("loguru", loguru)
    _take_arguments_of_earlier_releases()
    sys.modules.setdefault("ttnn.device", ttnn)  # pyright: ignore[reportArgumentType]
    if folder := os.environ.get("TTNN_GOLDENS"):
        for name, function in goldens.load(Path(folder)).items():
            ttnn.attach_golden_function(_operation(name), function)
    for name in ("requires_fast_runtime_mode_off", "slow", "post_commit", "models_performance_bare_metal"):
        config.addinivalue_line("markers", name)


def _operation(name: str) -> Any:
    """Returns the operation of a full name, or the name where ours lacks it."""
    value: Any = ttnn
    for part in name.split(".")[1:]:
        value = getattr(value, part, None)
    return name if value is None else value


@pytest.fixture(autouse=True)
def reset_seeds() -> None:
    torch.manual_seed(213919)
    np.random.seed(213919)
    random.seed(213919)


@pytest.fixture
def function_level_defaults() -> None:
    """Does nothing: each test gets its seeds."""


@pytest.fixture
def use_program_cache() -> None:
    """Does nothing: the emulated card always keeps bound kernels."""


@pytest.fixture
def device_params(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Returns the options of the test's device."""
    options: dict[str, Any] = dict(getattr(request, "param", {}))
    options.pop("fabric_config", None)
    options.pop("dispatch_core_axis", None)
    options.pop("dispatch_core_type", None)
    return options


@pytest.fixture
def device(device_params: dict[str, Any]) -> Iterator[Any]:
    """Returns an open chip, which is also the default device."""
    opened = ttnn.open_device(device_id=0, **device_params)
    ttnn.SetDefaultDevice(opened)
    yield opened
    ttnn.close_device(opened)


@pytest.fixture
def mesh_device(request: pytest.FixtureRequest, device_params: dict[str, Any]) -> Iterator[Any]:
    """Returns an open mesh; a test that needs more chips than the system has is skipped."""
    wanted = getattr(request, "param", 1)
    rows, columns = wanted if isinstance(wanted, tuple) else (1, min(wanted, ttnn.get_num_devices()))
    if rows * columns > ttnn.get_num_devices():
        pytest.skip("the test needs more chips")
    opened = ttnn.open_mesh_device(mesh_shape=ttnn.MeshShape(rows, columns), **device_params)
    yield opened
    ttnn.close_mesh_device(opened)


@pytest.fixture
def silicon_arch_name() -> str:
    return "blackhole"


def pytest_make_parametrize_id(config: pytest.Config, val: object, argname: str) -> str | None:
    """Names dtypes and layouts as TT-NN does, so that a test's name is the same with the real package."""
    return f"{argname}={val}" if type(val).__module__.partition(".")[0] in ("ttnn", "tt_xla") else None
