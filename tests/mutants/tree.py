"""A copy of the repository with an environment of its own, so that mutants leave the user's files as they are."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from tests.mutants.sources import ROOT

_TREE_PATH = "0_tree.pth"
"""File in site-packages that puts the copy's sources first; files there are read in the order of their names."""


class Tree:
    """A folder with the copy (``tree``) and its environment (``venv``)."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.root = folder / "tree"
        self._venv = folder / "venv"

    @property
    def python(self) -> Path:
        return self._venv / "bin/python"

    @property
    def _site_packages(self) -> Path:
        return next(self._venv.glob("lib/python3*/site-packages"))

    def make(self) -> None:
        """Copies the files that git knows or would add, and the built extension, and makes the environment."""
        shutil.rmtree(self.folder, ignore_errors=True)
        command = ["git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
        names = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\0")
        extensions = [path.relative_to(ROOT).as_posix() for path in (ROOT / "src").rglob("*.abi3.so")]
        for name in {*names, *extensions} - {""}:
            source, target = ROOT / name, self.root / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_symlink():
                target.symlink_to(source.readlink())
            elif source.is_file():
                shutil.copy2(source, target)
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", self._venv], check=True)
        rest = sysconfig.get_path("purelib")
        (self._site_packages / _TREE_PATH).write_text(f"{self.root / 'src'}\n")
        (self._site_packages / "rest.pth").write_text(f"import site; site.addsitedir({rest!r})\n")
        self._copy_scripts(Path(sysconfig.get_path("scripts")))

    def _copy_scripts(self, folder: Path) -> None:
        """Copies the environment's commands, so that those that tests start import the copy too."""
        for script in folder.iterdir():
            target = self._venv / "bin" / script.name
            if target.exists() or not script.is_file() or script.is_symlink():
                continue
            text = script.read_bytes()
            first, _, rest = text.partition(b"\n")
            is_python = first.startswith(b"#!") and b"python" in first
            target.write_bytes(b"#!" + os.fsencode(self.python) + b"\n" + rest if is_python else text)
            target.chmod(0o755)

    def record(self, records: Path) -> None:
        """Loads the recorder into every process of the environment that a test starts."""
        recorder = Path(__file__).with_name("recorder.py")
        shutil.copy(recorder, self._site_packages / "mutants_recorder.py")
        settings = {"root": f"{self.root / 'src'}/", "records": str(records)}
        (self._site_packages / "mutants_recorder.json").write_text(json.dumps(settings))
        load = 'import os; os.environ.get("PYTEST_CURRENT_TEST") and __import__("mutants_recorder").child()\n'
        (self._site_packages / "recorder.pth").write_text(load)
        records.mkdir(parents=True, exist_ok=True)
