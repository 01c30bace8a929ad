"""Breakpoints in compiler passes stop while JAX compiles."""

from __future__ import annotations

import inspect
import subprocess
import sys
import types
from pathlib import Path

import pytest

pytest.importorskip("tt_xla.frontends.jax.pjrt.trampoline", reason="the C part of the plugin is not built")

from tt_xla.compiler.ttir import fold
from tt_xla.frontends.jax.pjrt import debuggers

PROGRAM = """
import jax, jax.numpy as jnp
print(jax.jit(lambda x: x + 1)(jax.device_put(jnp.ones(4), jax.devices("tt")[0])))
"""


@pytest.mark.nightly
def test_pdb_stops_in_a_pass(tmp_path: Path) -> None:
    script = tmp_path / "model.py"
    script.write_text(PROGRAM)
    source, line = inspect.getsourcefile(fold), inspect.getsourcelines(fold.run)[1]
    commands = [f"b {source}:{line}", "c", "p 'stopped in ' + __name__", "clear 1", "c", "q"]
    run = subprocess.run(
        [sys.executable, "-m", "pdb", str(script)],
        input="\n".join(commands) + "\n",
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert "stopped in tt_xla.compiler.ttir.fold" in run.stdout, run.stdout + run.stderr
    assert "[2. 2. 2. 2.]" in run.stdout


@pytest.mark.parametrize("connected", [True, False])
def test_debugpy_gets_the_thread(connected: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bool] = []
    debugpy = types.SimpleNamespace(
        is_client_connected=lambda: connected, debug_this_thread=lambda: asked.append(connected)
    )
    monkeypatch.setitem(sys.modules, "debugpy", debugpy)
    debuggers.trace_this_thread()
    assert asked == [True] * connected
