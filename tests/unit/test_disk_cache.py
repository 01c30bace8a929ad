"""The cache on disk: entries are whole or absent, whatever happens to the processes and the disk."""

from __future__ import annotations

import contextlib
import errno
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from tt_xla import disk_cache
from tt_xla.disk_cache import DiskCache
from tt_xla.tools.cli import cli

KIND = "programs"


@pytest.fixture
def cache(tmp_path: Path) -> DiskCache:
    return DiskCache(tmp_path / "cache")


def test_entries_are_found_by_key_and_kind(cache: DiskCache) -> None:
    cache.put(KIND, "a", b"one")
    assert cache.get(KIND, "a") == b"one"
    assert cache.get(KIND, "b") is None
    assert cache.get("frames", "a") is None
    cache.add("frames", "a", b"two")
    cache.add("frames", "a", b"three")
    assert sorted(cache.candidates("frames", "a")) == [b"three", b"two"]
    path = cache.file(KIND, "a")
    assert path is not None
    assert path.read_bytes().startswith(b"one")
    assert [(kept.kind, kept.entries) for kept in cache.kept()] == [("frames", 2), (KIND, 1)]
    cache.clear()
    assert cache.kept() == []


@pytest.mark.parametrize("position", [0, 2, 3, 20, -1])
def test_an_altered_entry_is_absent(cache: DiskCache, position: int) -> None:
    cache.put(KIND, "a", b"one")
    path = cache.folder / KIND / "a"
    data = bytearray(path.read_bytes())
    data[position] ^= 1
    path.write_bytes(data)
    assert cache.get(KIND, "a") is None
    assert not path.exists()


@pytest.mark.parametrize("length", [0, 1, 39, 40, 42])
def test_a_truncated_entry_is_absent(cache: DiskCache, length: int) -> None:
    cache.put(KIND, "a", b"one")
    path = cache.folder / KIND / "a"
    path.write_bytes(path.read_bytes()[:length])
    assert cache.get(KIND, "a") is None


@pytest.mark.parametrize("fault", [errno.ENOSPC, errno.EROFS, errno.EACCES], ids=errno.errorcode.get)
@pytest.mark.parametrize("call", ["os.replace", "tempfile.mkstemp", "pathlib.Path.mkdir"])
def test_a_disk_that_takes_nothing_costs_a_warning(
    cache: DiskCache, monkeypatch: pytest.MonkeyPatch, fault: int, call: str
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise OSError(fault, os.strerror(fault))

    with monkeypatch.context() as patch:
        patch.setattr(call, refused)
        cache.put(KIND, "a", b"one")
    assert cache.get(KIND, "a") is None
    assert not [path for path in cache.folder.rglob("*") if path.is_file()]


def test_the_entries_used_least_recently_go_first(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path, limit=1000)
    for age, key in enumerate("dcba"):
        cache.put(KIND, key, bytes(200))
        os.utime(tmp_path / KIND / key, (time.time() - 1000 + age,) * 2)
    assert cache.get(KIND, "d")  # which makes it the newest
    cache.put(KIND, "e", bytes(200))
    assert [key for key in "abcde" if (tmp_path / KIND / key).exists()] == ["a", "b", "d", "e"]


def test_temporary_files_of_killed_processes_go_a_day_later(cache: DiskCache) -> None:
    folder = cache.folder / KIND
    folder.mkdir(parents=True)
    old, new = folder / ".unfinished-old", folder / ".unfinished-new"
    for path in (old, new):
        path.write_bytes(b"half")
    os.utime(old, (time.time() - 90_000,) * 2)
    cache.put(KIND, "a", b"one")
    assert (old.exists(), new.exists()) == (False, True)
    assert [kept.entries for kept in cache.kept()] == [1]


def test_keys_depend_on_the_parts_and_on_the_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    assert disk_cache.key_of(["a"]) == disk_cache.key_of(["a"]) != disk_cache.key_of(["b"])
    before = disk_cache.key_of(["a"])
    monkeypatch.setattr(disk_cache, "version_digest", lambda: "other sources")
    assert disk_cache.key_of(["a"]) != before


@pytest.mark.parametrize("value", ["off", "OFF", "0"])
def test_the_cache_can_be_off(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("TTXLA_CACHE", value)
    assert disk_cache.current() is None
    assert "off" in CliRunner().invoke(cli, ["cache"]).output


def test_the_command_shows_and_empties_the_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TTXLA_CACHE", str(tmp_path))
    cache = disk_cache.current()
    assert cache is not None
    cache.put(KIND, "a", b"one")
    shown = CliRunner().invoke(cli, ["cache"]).output
    assert str(tmp_path) in shown
    assert "programs" in shown
    assert "no entries" in CliRunner().invoke(cli, ["cache", "--clear"]).output
    assert cache.get(KIND, "a") is None


def _contents(number: int, version: int) -> bytes:
    """Returns the contents of an entry, which are a function of both numbers, with a size that depends on them."""
    return random.Random(f"{number} {version}").randbytes(1000 + 7919 * (number * 13 + version * 31) % 300_000)


def _write_until_killed(folder: Path, first: int) -> None:
    cache = DiskCache(folder, limit=3_000_000)  # small enough that entries are removed all the time
    for version in range(first, first + 100_000):
        cache.put(KIND, str(version % 20), _contents(version % 20, version // 20 % 3))
        cache.add("frames", "key", _contents(99, version % 3))


def _kill(folder: Path, kills: int) -> int:
    """Kills writers at random moments, checks every entry after each, and returns how often an entry was there."""
    chance, found = random.Random(0), 0
    allowed = {str(number): {_contents(number, version) for version in range(3)} for number in range(20)}
    frames = {_contents(99, version) for version in range(3)}
    reader = DiskCache(folder)
    for kill in range(kills):
        child = os.fork()
        if child == 0:
            with contextlib.suppress(BaseException):
                _write_until_killed(folder, kill * 7)
            os._exit(1)
        time.sleep(chance.uniform(0, 0.02))
        os.kill(child, signal.SIGKILL)
        assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
        for key, values in allowed.items():
            contents = reader.get(KIND, key)
            found += contents is not None
            assert contents in {None, *values}
        assert {*reader.candidates("frames", "key")} <= frames
    reader.put(KIND, "last", b"one")  # the cache still works
    assert reader.get(KIND, "last") == b"one"
    return found


def _kill_beside(folder: Path, kills: int) -> None:
    """Runs :func:`_kill` in a process of its own: JAX, which other tests import, warns of forks and slows them."""
    done = subprocess.run([sys.executable, __file__, str(folder), str(kills)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_killed_writers_leave_whole_entries(tmp_path: Path) -> None:
    _kill_beside(tmp_path, 40)


@pytest.mark.stress
def test_a_thousand_killed_writers_leave_whole_entries(tmp_path: Path) -> None:
    _kill_beside(tmp_path, 1000)


if __name__ == "__main__":
    sys.exit(0 if _kill(Path(sys.argv[1]), int(sys.argv[2])) else "no entry was ever found")
