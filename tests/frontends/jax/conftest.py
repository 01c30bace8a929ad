"""Tests of JAX on platform ``tt``. They need the C part of the plugin; tests/unit/test_jax_plugin_without_c.py does
not."""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.python_server import Server

pytest.importorskip("tt_xla.frontends.jax.pjrt.trampoline", reason="the C part of the plugin is not built")

ROOT = Path(__file__).parents[3]

JAX = tuple(int(part) for part in importlib.metadata.version("jax").split(".")[:2])

compiles_without_client = pytest.mark.skipif(
    JAX < (0, 10), reason="compiling without a client ends the process before JAX 0.10, so 'tt' has no topologies there"
)
"""Mark of tests that compile for a topology."""


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


def _variables(**more: str) -> dict[str, str]:
    """Returns the environment of a script: this process's without settings of jax and of this package, and ``more``."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("JAX_", "TTXLA_"))}
    return variables | {"PYTHONPATH": str(ROOT / "src"), "PYTHONFAULTHANDLER": "1", **more}


@pytest.fixture(scope="session")
def python_server() -> Iterator[Server]:
    server = Server(_variables())
    yield server
    server.close()


@pytest.fixture
def run_python(request: pytest.FixtureRequest) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs a script in its own process, which is a fork of the prepared one unless ``new_interpreter`` is True.

    The script can use ``jax``. The plugin is registered before it starts, or by ``register()`` in the script where
    ``register_first`` is False.
    """

    def run(
        script: str,
        *,
        timeout: float = 300,
        register_first: bool = True,
        new_interpreter: bool = False,
        **environment: str,
    ) -> subprocess.CompletedProcess[str]:
        script = REGISTER + ("register()\n" if register_first else "") + script
        variables = _variables(**environment)
        if not new_interpreter:
            server: Server = request.getfixturevalue("python_server")
            if server.serves(variables):
                return server.run(script, environment=variables, timeout=timeout)
        return subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, timeout=timeout, env=variables, check=False
        )

    return run


HEAD = """
import numpy as np, jax.numpy as jnp
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P, SingleDeviceSharding
devices = jax.devices("tt")
def refused(function, *words):
    try:
        function()
    except Exception as error:
        missing = [word for word in words if word not in str(error)]
        assert not missing, (missing, str(error))
    else:
        raise AssertionError("not refused")
"""


@pytest.fixture
def on_system(run_python: Callable[..., subprocess.CompletedProcess[str]]) -> Callable[..., None]:
    """Runs a script on a system; ``devices`` are its chips."""

    def run(script: str, system: str = "n300-llmbox", **environment: str) -> None:
        result = run_python(HEAD + script + "\nprint('done')", TTXLA_SYSTEM=system, **environment)
        assert (result.returncode, result.stdout.strip()[-4:]) == (0, "done"), result.stderr[-3000:]

    return run


@pytest.fixture
def on_chips(on_system, request) -> Callable[..., None]:
    """Runs a script after the ``SCRIPT_HEAD`` of the test's module, with exact numerics and eight CPU devices."""

    def run(script: str, system: str = "n300-llmbox", **environment: str) -> None:
        environment = {
            "TTXLA_NUMERICS": "exact",
            "XLA_FLAGS": "--xla_force_host_platform_device_count=8",
            **environment,
        }
        on_system(request.module.SCRIPT_HEAD + script, system, **environment)

    return run
