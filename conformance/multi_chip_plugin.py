"""A pytest plugin under which upstream's tests of several chips run: ``pytest --noconftest -p multi_chip_plugin``.

It removes the marks with which upstream skips tests or expects them to fail, and writes the outcome of each test to the
file that ``MULTI_CHIP_OUTCOMES`` names. Modules that the tests import but do not use are replaced.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import jax
import numpy as np
import pytest

UNUSED = (
    "loguru",
    "third_party",
    "third_party.tt_forge_models",
    "third_party.tt_forge_models.config",
    "infra.metrics",
    "tests.runner",
    "tests.runner.utils",
    "tests.runner.requirements",
)
"""Modules that upstream's test helpers import, and that these tests do not use."""

_outcomes: dict[str, dict[str, Any]] = {}
_current = ""


def _excuse(reason: str = "", *others: object, **named: object) -> None:
    """Replaces ``pytest.xfail`` and ``pytest.skip``: notes that upstream excuses the running test, which goes on."""
    _outcomes[_current]["excused"] = True


def pytest_configure(config: pytest.Config) -> None:
    root = Path(str(config.rootpath))
    sys.path[:0] = [str(root / "tests"), str(root)]
    sys.modules.update({name: MagicMock() for name in UNUSED})
    _make_automatic_meshes()
    from infra import DeviceConnectorFactory, Framework
    from infra.runners.jax_device_runner import JaxDeviceRunner

    DeviceConnectorFactory.create_connector(Framework.JAX)
    _pass_host_arrays(JaxDeviceRunner)
    pytest.xfail = pytest.skip = _excuse


def _make_automatic_meshes() -> None:
    """Gives meshes automatic axes by default, as JAX 0.7.1 does, the version that upstream pins."""
    make_mesh = jax.make_mesh

    def make_automatic_mesh(shape: tuple[int, ...], names: tuple[str, ...], **options: Any) -> jax.sharding.Mesh:
        return make_mesh(shape, names, **{"axis_types": (jax.sharding.AxisType.Auto,) * len(shape)} | options)

    jax.make_mesh = make_automatic_mesh


def _pass_host_arrays(runner: Any) -> None:
    """Passes inputs of tests that split only the module as host arrays.

    Upstream passes arrays that lie on a CPU device, which JAX refuses in a program for devices of another platform.
    """
    run: Callable[..., Any] = runner.run_on_multichip_device

    def run_with_host_arrays(self: Any, workload: Any) -> Any:
        if not workload.sharding_mode.requires_device_put:
            workload.args = [np.asarray(argument) for argument in workload.args]
        return run(self, workload)

    runner.run_on_multichip_device = run_with_host_arrays


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        names = {"xfail", "skip", "skipif"}
        _outcomes[item.nodeid] = {"excused": any(mark.name in names for mark in item.iter_markers())}
        for node in item.listchain():
            node.own_markers[:] = [mark for mark in node.own_markers if mark.name not in names]


def pytest_runtest_setup(item: pytest.Item) -> None:
    global _current
    _current = item.nodeid


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    outcome = _outcomes[report.nodeid]
    outcome["passed"] = outcome.get("passed", True) and report.passed


def pytest_sessionfinish() -> None:
    Path(os.environ["MULTI_CHIP_OUTCOMES"]).write_text(json.dumps(_outcomes))
