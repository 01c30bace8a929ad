"""Folders for temporary files: only their user opens them, and nobody can put their own in their place."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from tt_xla import environment
from tt_xla.runtime.device import Device
from tt_xla.target import load_target
from tt_xla.temporary import made_private, private_folder


@pytest.fixture(autouse=True)
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_folder_is_created_for_its_user_alone_and_closed_if_it_was_open(shared: Path):
    folder = private_folder("tt-xla")
    assert folder == shared / f"tt-xla-{os.getuid()}"
    assert mode(folder) == 0o700
    folder.chmod(0o777)
    assert mode(private_folder("tt-xla")) == 0o700
    assert mode(made_private(shared / "runtime/tt-xla").parent) == 0o700


def test_a_folder_of_somebody_else_is_refused(shared: Path, monkeypatch: pytest.MonkeyPatch):
    private_folder("tt-xla")
    owner = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: owner + 1)
    (shared / f"tt-xla-{owner}").rename(shared / f"tt-xla-{owner + 1}")
    with pytest.raises(PermissionError, match=f"belongs to user {owner}"):
        private_folder("tt-xla")


def test_a_link_to_a_folder_is_refused(shared: Path):
    (shared / "theirs").mkdir()
    (shared / f"tt-xla-{os.getuid()}").symlink_to(shared / "theirs")
    with pytest.raises(NotADirectoryError, match="a link stands where"):
        private_folder("tt-xla")
    (shared / "runtime").symlink_to(shared / "theirs")
    with pytest.raises(NotADirectoryError, match="runtime"):
        made_private(shared / "runtime/tt-xla")


def test_the_files_of_running_cards_are_in_such_a_folder(shared: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(environment, "runtime_directory", lambda: shared / "runtime/tt-xla")
    (shared / "runtime/tt-xla/devices").mkdir(parents=True)
    (shared / "runtime/tt-xla/devices").chmod(0o755)
    Device(load_target("n150")).reporter.write()
    assert mode(shared / "runtime/tt-xla/devices") == 0o700
