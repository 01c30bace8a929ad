"""Without the C part, JAX works on its other platforms, and says what is missing when a user selects ``tt``."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

SCRIPT = """
import sys
sys.modules["tt_xla.frontends.jax.pjrt.trampoline"] = None  # As if it had not been built.
import jax, jax_plugin_tt
from jax._src import xla_bridge
xla_bridge._discover_and_register_pjrt_plugins()
"tt" in xla_bridge._backend_factories or jax_plugin_tt.initialize()
"""


def run(script: str, **environment: str) -> subprocess.CompletedProcess[str]:
    variables = {name: value for name, value in os.environ.items() if not name.startswith("JAX_")}
    variables |= {"PYTHONPATH": str(ROOT / "src"), **environment}
    command = [sys.executable, "-c", SCRIPT + script]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, env=variables, check=False)


def test_the_other_platforms_work_and_tt_says_what_to_do():
    result = run("""
print(jax.numpy.ones(2) + 1)
try:
    jax.devices("tt")
except RuntimeError as error:
    print(error)
""")
    assert result.returncode == 0, result.stderr
    assert "[2. 2.]" in result.stdout
    assert "the C part of the plugin is not installed" in result.stdout
    assert "Install a C compiler" in result.stdout


def test_asking_for_tt_alone_fails_with_the_reason():
    result = run("jax.devices()", JAX_PLATFORMS="tt")
    assert result.returncode == 1
    assert "the C part of the plugin is not installed" in result.stderr


def test_jax_without_tt_does_not_load_the_plugin():
    script = "jax.devices(); print([m for m in sys.modules if 'tt_xla' in m and 'pjrt' in m and sys.modules[m]])"
    result = run(script, JAX_PLATFORMS="cpu")
    assert result.stdout.strip() == "[]", result.stderr


@pytest.mark.nightly
def test_compiling_torch_models_asks_jax_for_no_backend():
    """No backend is initialised, above all not 'tt', which would be JAX's default."""
    result = run("""
import torch
model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.GELU())
torch.compile(model, backend="tt")(torch.ones(2, 4)).sum().backward()
print(list(xla_bridge._backends))
""")
    assert result.stdout.strip() == "[]", result.stderr
