"""README.md says what each folder and file of the root is for."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_the_table_of_the_readme_names_what_lies_in_the_root() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("this is no checkout of git, so other files may lie in the root")
    _, _, text = (ROOT / "README.md").read_text().partition("\n## What lies where\n")
    table = text.partition("\n## ")[0]
    named = [name for row in re.findall(r"^\| (`.+?) \|", table, re.MULTILINE) for name in re.findall(r"`(.+?)`", row)]
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    entries = {line.partition("/")[0] for line in files.splitlines()}
    folders = {name for name in entries if (ROOT / name).is_dir()}
    assert sorted(named) == sorted(f"{name}/" if name in folders else name for name in entries)
