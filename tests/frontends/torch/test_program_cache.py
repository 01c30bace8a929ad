"""Compiled programs are kept in a folder, and upstream's functions read them."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time

import pytest
import torch

import tt_torch
import ttxla_tools
from tt_xla.errors import ProgramFormatError
from tt_xla.frontends.executables import pack_executable, parse_executable
from tt_xla.frontends.torch import backend, program_cache
from tt_xla.ir.program import Program


@pytest.fixture
def folder(tmp_path):
    program_cache.open_cache(str(tmp_path / "cache"))
    yield tmp_path / "cache"
    program_cache.close_cache()


def _run():
    torch.compiler.reset()
    backend.clear_programs()
    return torch.compile(lambda x: torch.tanh(x) + 1, backend="tt")(torch.tensor([-1.0, 2.0]))


def test_a_program_is_compiled_once_for_all_processes(folder, monkeypatch):
    first = _run()
    (file,) = folder.iterdir()
    assert "ttir.tanh" in parse_executable(file.read_bytes())[0]
    compiled = []
    monkeypatch.setattr("tt_xla.compiler.pipeline.compile_module", lambda *args, **kwargs: compiled.append(args))
    assert torch.equal(_run(), first)
    assert not compiled


def test_another_option_is_another_program(folder):
    _run()
    torch.compiler.reset()
    torch.compile(lambda x: torch.tanh(x) + 1, backend="tt", options={"optimization_level": 2})(torch.ones(2))
    assert len(list(folder.iterdir())) == 2


def test_a_damaged_file_is_written_again(folder):
    first = _run()
    (file,) = folder.iterdir()
    file.write_bytes(file.read_bytes()[:-9])
    assert torch.equal(_run(), first)
    assert Program.from_bytes(parse_executable(file.read_bytes())[2])


KILLED = """
import os, pathlib, signal, sys
from tt_xla.frontends.executables import parse_executable
from tt_xla.frontends.torch.program_cache import ProgramCache
from tt_xla.ir.program import Program

complete, folder, point = sys.argv[1:]
ttir, ttnn, program = parse_executable(pathlib.Path(complete).read_bytes())
fdopen = os.fdopen

class Half:
    def __init__(self, file):
        self.file = file
    def __enter__(self):
        return self
    def __exit__(self, *_):
        self.file.close()
    def write(self, data):
        self.file.write(data[: len(data) // 2])
        self.file.flush()
        os.kill(os.getpid(), signal.SIGKILL)

if point == "while it is written":
    os.fdopen = lambda *arguments: Half(fdopen(*arguments))
else:
    os.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
ProgramCache(pathlib.Path(folder)).store("key", Program.from_bytes(program), {"ttir": ttir, "ttnn": ttnn})
"""


@pytest.mark.parametrize("is_there", [pytest.param(False, marks=pytest.mark.nightly), True])
@pytest.mark.parametrize(
    "point", ["while it is written", pytest.param("before it has its name", marks=pytest.mark.nightly)]
)
def test_a_process_that_is_killed_as_it_stores_a_program_costs_nothing(folder, tmp_path, point, is_there):
    _run()
    (file,) = folder.iterdir()
    complete = file.replace(tmp_path / "whole")
    ttir, ttnn, data = parse_executable(complete.read_bytes())
    cache, program = program_cache.ProgramCache(folder), Program.from_bytes(data)
    modules = {"ttir": ttir, "ttnn": ttnn}
    if is_there:
        cache.store("key", program, modules)
    killed = subprocess.run([sys.executable, "-c", KILLED, str(complete), str(folder), point], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert cache.load("key") == (program if is_there else None)
    cache.store("key", program, modules)
    assert cache.load("key") == program
    assert len(list(folder.iterdir())) == 1


def test_what_a_killed_process_left_goes_when_the_cache_is_opened_a_day_later(folder):
    old, new = (folder.parent / f".{folder.name}-{name}" for name in ("old", "new"))
    for left in (old, new):
        left.write_bytes(b"half")
    os.utime(old, (time.time() - 90_000,) * 2)
    program_cache.open_cache(str(folder))
    assert not old.exists()
    assert new.exists()


@pytest.mark.parametrize("fault", [errno.ENOSPC, errno.EROFS, errno.EACCES], ids=errno.errorcode.get)
def test_a_disk_that_takes_nothing_costs_the_cache_and_not_the_run(folder, monkeypatch, fault):
    def refused(*_):
        raise OSError(fault, os.strerror(fault))

    monkeypatch.setattr("os.replace", refused)
    assert torch.allclose(_run(), torch.tanh(torch.tensor([-1.0, 2.0])) + 1, atol=0.01)
    assert not list(folder.iterdir())
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]


def test_a_cache_that_is_only_read_is_not_written(tmp_path):
    program_cache.open_cache(str(tmp_path / "none"), readonly=True)
    try:
        assert _run()[1] > 1
    finally:
        program_cache.close_cache()
    assert not (tmp_path / "none").exists()


def test_artifacts_of_the_one_program(folder, tmp_path):
    with pytest.raises(ValueError, match="No files found in cache directory"):
        tt_torch.parse_compiled_artifacts_from_cache(folder)
    _run()
    tt_torch.parse_compiled_artifacts_from_cache_to_disk(folder, str(tmp_path / "out" / "model"))
    assert "ttir.tanh" in (tmp_path / "out" / "model_ttir.mlir").read_text()
    assert "ttnn.add" in (tmp_path / "out" / "model_ttnn.mlir").read_text()
    assert Program.from_bytes((tmp_path / "out" / "model.ttnn").read_bytes()).functions
    assert not folder.exists()
    with pytest.raises(FileNotFoundError, match="Cache path does not exist"):
        tt_torch.parse_compiled_artifacts_from_cache(folder)
    assert _run()[1] > 1  # the cache works after that


def test_artifacts_of_several_programs_are_not_chosen_between(folder):
    for name in "ab":
        (folder / name).write_bytes(b"")
    with pytest.raises(AssertionError, match="found 2"):
        tt_torch.parse_compiled_artifacts_from_cache(folder)


@pytest.mark.parametrize("length", [0, 8, 20, -1])
def test_what_is_no_executable_is_refused(length):
    complete = pack_executable("ttir", "ttnn", b"program")
    assert parse_executable(complete) == ("ttir", "ttnn", b"program")
    with pytest.raises(ProgramFormatError, match=r"magic|header|truncated"):
        parse_executable(complete[:length])


def test_the_system_is_described_in_json(tmp_path):
    ttxla_tools.save_system_descriptor_to_disk(str(tmp_path / "a" / "model"), as_json=True)
    assert json.loads((tmp_path / "a" / "model_system_desc.json").read_text())["arch"]
    with pytest.raises(NotImplementedError, match="as_json=True"):
        ttxla_tools.save_system_descriptor_to_disk(str(tmp_path / "model"))
