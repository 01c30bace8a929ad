"""The helper of golden texts."""

from __future__ import annotations

import importlib.metadata
import re
from pathlib import Path

import pytest

from tests.golden import FOLDER, Goldens, jax_of_goldens, read_texts

pytestmark = pytest.mark.quick

TESTS = Path(__file__).parents[1]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the golden texts "one" and "two" in the file ``some/file.txt``."""
    record = Goldens(update=True, folder=tmp_path)
    record.check("some/file", "two", ["first", "second", "", "last"])
    record.check("some/file", "one", "only")
    record.write()
    return tmp_path


def test_texts_are_sorted_and_come_back(folder: Path) -> None:
    assert (folder / "some" / "file.txt").read_text() == "==== one\nonly\n\n==== two\nfirst\nsecond\n\nlast\n"
    goldens = Goldens(update=False, folder=folder)
    goldens.check("some/file", "one", "only")
    goldens.check("some/file", "two", "first\nsecond\n\nlast\n")
    goldens.has_only("some", {"file": ["one", "two"]})


def test_a_change_fails_with_the_lines_that_changed_and_the_command(folder: Path) -> None:
    with pytest.raises(pytest.fail.Exception) as caught:
        Goldens(update=False, folder=folder).check("some/file", "two", "first\nother\n\nlast")
    lines = str(caught.value).splitlines()
    assert lines[0].startswith("'two' of ")
    assert lines[-4:-1] == ["@@ -2 +2 @@", "-second", "+other"]
    assert lines[-1] == "If the change is meant: make goldens, and read its diff."


def test_a_long_difference_is_cut(folder: Path) -> None:
    with pytest.raises(pytest.fail.Exception, match="and 144 lines more"):
        Goldens(update=False, folder=folder).check("some/file", "one", map(str, range(200)))


@pytest.mark.parametrize("file", ["some/file", "some/other"])
def test_a_missing_text_fails(folder: Path, file: str) -> None:
    with pytest.raises(pytest.fail.Exception, match=r"has no text 'three'\. If the test is new: make goldens"):
        Goldens(update=False, folder=folder).check(file, "three", "text")


def test_a_program_that_another_jax_lowers_is_skipped_if_it_differs(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    goldens = Goldens(update=False, folder=folder)
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "99.0")
    goldens.check("some/file", "one", "only", lowered_by_jax=True)
    with pytest.raises(pytest.skip.Exception, match=r"JAX 99\.0 lowers 'one' in another way than JAX \d"):
        goldens.check("some/file", "one", "other", lowered_by_jax=True)
    with pytest.raises(pytest.fail.Exception, match="has changed"):
        goldens.check("some/file", "one", "other")
    monkeypatch.setattr(importlib.metadata, "version", lambda name: jax_of_goldens())
    with pytest.raises(pytest.fail.Exception, match="has changed"):
        goldens.check("some/file", "one", "other", lowered_by_jax=True)


def test_stale_texts_and_files_fail(folder: Path) -> None:
    goldens = Goldens(update=False, folder=folder)
    with pytest.raises(pytest.fail.Exception, match=r"No test asks for 'two' of .*some/file.txt\."):
        goldens.has_only("some", {"file": ["one"]})
    with pytest.raises(pytest.fail.Exception, match=r"No test asks for .*some/file.txt\."):
        goldens.has_only("some", {"other": []})


def test_a_whole_file_fails_with_all_that_is_wrong(folder: Path) -> None:
    goldens = Goldens(update=False, folder=folder)
    goldens.check_all("some/file", {"one": "only", "two": ["first", "second", "", "last"]})
    with pytest.raises(pytest.fail.Exception) as caught:
        goldens.check_all("some/file", {"one": "other", "three": "new"})
    messages = str(caught.value).split("\n\n")
    assert [re.findall("'(.*?)'", message) for message in messages] == [["one"], ["three"], ["two"]]


def test_recording_removes_stale_texts_and_files_and_keeps_the_others(folder: Path) -> None:
    record = Goldens(update=True, folder=folder)
    record.check("some/file", "one", "new")
    record.check("some/later", "four", "text")
    record.has_only("some", {"file": ["one"], "later": ["four"]})
    record.write()
    assert read_texts(folder / "some" / "file.txt") == {"one": "new"}
    Goldens(update=True, folder=folder).has_only("some", {"file": ["one"]})
    assert [path.name for path in (folder / "some").iterdir()] == ["file.txt"]


def test_a_session_without_the_option_writes_nothing(folder: Path) -> None:
    before = (folder / "some" / "file.txt").stat().st_mtime_ns
    goldens = Goldens(update=False, folder=folder)
    goldens.check("some/file", "one", "only")
    goldens.write()
    assert (folder / "some" / "file.txt").stat().st_mtime_ns == before


SOURCES = {path: path.read_text() for path in TESTS.rglob("test_*.py") if path != Path(__file__)}


def test_each_folder_of_goldens_has_a_test_that_refuses_stale_texts() -> None:
    folders = [path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*") if path.is_dir()]
    owned = re.findall(r'goldens\.has_(?:only|files)\("(.*?)"', "".join(SOURCES.values()))
    assert sorted([*owned, "compiled"]) == sorted(folders)
    assert [path.name for path in FOLDER.glob("*.txt")] == []


def test_no_file_of_recorded_programs_is_left_over(goldens: Goldens) -> None:
    recorded = [path.stem for path, source in SOURCES.items() if 'usefixtures("golden_programs")' in source]
    goldens.has_files("compiled", recorded)
