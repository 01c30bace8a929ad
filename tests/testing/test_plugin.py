"""The pytest plugin in an environment where tt-xla is installed, which loads it in every pytest run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.libraries import misfit

ROOT = Path(__file__).parents[2]
STARTED = "import tt_xla._import_hook, pytest, sys; sys.exit(pytest.main(sys.argv[1:]))"  # as the .pth file does


@pytest.fixture(params=["wheel", "editable"])
def environment(tmp_path: Path, request: pytest.FixtureRequest) -> dict[str, str]:
    """Returns the variables of an environment where tt-xla is installed from a wheel or in editable mode."""
    info = tmp_path / "site" / "tt_xla-0.1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.4\nName: tt-xla\nVersion: 0.1.0\n")
    (info / "entry_points.txt").write_text("[pytest11]\ntt_xla.testing.plugin = tt_xla.testing.plugin\n")
    if request.param == "wheel":
        files = (path.relative_to(ROOT / "src") for path in (ROOT / "src" / "tt_xla").rglob("*.py"))
        (info / "RECORD").write_text("".join(f"{path},,\n" for path in files))
    else:
        (info / "direct_url.json").write_text(f'{{"dir_info": {{"editable": true}}, "url": "{ROOT.as_uri()}"}}')
        (info / "RECORD").write_text("tt_xla.pth,,\n")
    return {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (info.parent, ROOT / "src")))}


def started(environment: dict[str, str], folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", "-c", STARTED, "-p", "no:cacheprovider", *arguments]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False
    )


@pytest.mark.sample(1)
def test_an_empty_project_gets_the_plugin_and_no_warning(environment, tmp_path):
    project = tmp_path / "project"
    project.mkdir()
    (project / "test_one.py").write_text(
        "def test_one(request):\n    assert not request.config.getoption('--serialize')\n"
    )
    run = started(environment, project)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "1 passed" in run.stdout
    assert "warning" not in run.stdout.lower()


@pytest.mark.sample(1)
def test_a_project_may_have_options_of_the_same_names(environment, tmp_path):
    """Upstream's tests have such options, in a conftest.py that does not know the plugin."""
    project = tmp_path / "project"
    project.mkdir()
    (project / "conftest.py").write_text(
        "def pytest_addoption(parser):\n    parser.addoption('--serialize', action='store_true')\n"
    )
    (project / "test_one.py").write_text(
        "def test_one(pytestconfig):\n"
        "    assert pytestconfig.getoption('--serialize') and pytestconfig.getoption('--model-timeout') == 5\n"
    )
    run = started(environment, project, "--serialize", "--model-timeout", "5")
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.sample(1)
def test_models_are_listed_as_the_documents_show(environment):
    options = "--collect-only", "-q", "-k", "mnist and jax-small", "-m", "expected_passing and n150 and inference"
    run = started(environment, ROOT, *options, "tests/runner/test_models.py", "--models-root", "models")
    nnx = misfit("flax.nnx")
    lines = [line for line in run.stdout.splitlines() if nnx is None or nnx not in line]
    assert lines[0] == (
        "tests/runner/test_models.py::test_all_models[mnist/image_classification/jax-small-single_device-inference]"
    )
    assert any("tests collected (" in line for line in lines), run.stdout


@pytest.mark.sample(1)
def test_this_repository_loads_it_once(environment):
    run = started(environment, ROOT, "--collect-only", "--trace-config", "tests/testing/test_plugin.py")
    assert run.returncode == 0, run.stdout + run.stderr
    assert sum("PLUGIN registered" in line and "tt_xla.testing.plugin" in line for line in run.stdout.splitlines()) == 1
