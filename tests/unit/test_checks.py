"""`make check`, the hooks of pre-commit and continuous integration run the same checks."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

pytestmark = pytest.mark.quick

ROOT = Path(__file__).parents[2]


def commands_of_make_check() -> list[str]:
    """Returns the commands of target ``check``, with paths from the root of the checkout."""
    (recipe,) = re.findall(r"^check:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    return [line.strip().removeprefix("@").replace("$(BIN)", ".venv/bin") for line in recipe.splitlines()]


def test_hooks_of_pre_commit_run_what_make_check_runs():
    (repository,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    entries = [hook["entry"].removeprefix("env ") for hook in repository["hooks"]]
    assert entries == commands_of_make_check()


def test_continuous_integration_runs_what_a_change_must_pass():
    script = (ROOT / ".ci/run").read_text()
    targets = re.findall(r"^\s*(?:if !? ?)?make (\S+)", script, re.MULTILINE)
    assert "make test || make test-failed ||" in script
    assert targets == ["venv", "check", "test", "test-oldest-jax"]
