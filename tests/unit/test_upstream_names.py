"""The commands of upstream's documents that name files work from the root of the checkout."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "upstream_names"
NAMES = sorted(path.name for path in FOLDER.iterdir() if path.name != "README.md")
FAKE_MAKE = """#!/bin/sh
echo "make $*"
exit 1
"""


def output(*command: str, folder: Path = ROOT, **variables: str) -> str:
    return subprocess.run(command, cwd=folder, env=variables or None, capture_output=True, text=True).stdout


@pytest.mark.parametrize("name", NAMES)
def test_the_root_has_a_relative_link_to_each_name(name: str) -> None:
    assert (ROOT / name).readlink() == Path("upstream_names", name)


def test_the_wheel_has_upstreams_name() -> None:
    folder = ROOT / "python_package"
    assert output(sys.executable, "setup.py", "-q", "--name", folder=folder) == "pjrt-plugin-tt\n"


@pytest.mark.parametrize("path", ["venv/activate", "upstream_names/venv/activate"])
@pytest.mark.parametrize("paths", ["set +P", "set -P"])
def test_activate_installs_into_the_root(path: str, paths: str, tmp_path: Path) -> None:
    """``set -P`` is how shells that follow links read paths."""
    (tmp_path / "make").write_text(FAKE_MAKE)
    (tmp_path / "make").chmod(0o755)
    shown = output("bash", "-c", f"{paths}; source {path}", PATH=f"{tmp_path}:/usr/bin:/bin")
    assert shown == f"make --no-print-directory -C {ROOT} venv\n"


def test_the_script_of_torch_xla_says_that_nothing_has_to_be_built() -> None:
    assert output("./scripts/build_torch_xla.sh").startswith("Nothing has to be built")
