"""Tests of JAX on platform ``tt``. They need the C part of the plugin; tests/unit/test_jax_plugin_without_c.py does
not."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("tt_xla.frontends.jax.pjrt._trampoline", reason="the C part of the plugin is not built")

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="session")
def tt():
    """Returns the device. The plugin is registered explicitly if the package is not installed."""
    import jax
    from jax._src import xla_bridge

    xla_bridge._discover_and_register_pjrt_plugins()
    if "tt" not in xla_bridge._backend_factories:
        from tt_xla.frontends.jax import plugin

        plugin.initialize()
    return jax.devices("tt")[0]


REGISTER = """
import jax_plugin_tt, jax
from jax._src import xla_bridge
def register():
    xla_bridge._discover_and_register_pjrt_plugins()
    "tt" in xla_bridge._backend_factories or jax_plugin_tt.initialize()
"""


@pytest.fixture
def run_python() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs a script in its own process.

    The script can use ``jax``. The plugin is registered before it starts, or by ``register()`` in the script where
    ``register_first`` is False.
    """

    def run(
        script: str, *, timeout: float = 300, register_first: bool = True, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        variables = {name: value for name, value in os.environ.items() if not name.startswith(("JAX_", "TTXLA_"))}
        variables |= {"PYTHONPATH": str(ROOT / "src"), "PYTHONFAULTHANDLER": "1", **environment}
        return subprocess.run(
            [sys.executable, "-c", REGISTER + ("register()\n" if register_first else "") + script],
            capture_output=True,
            text=True,
            timeout=timeout,
            env=variables,
            check=False,
        )

    return run
