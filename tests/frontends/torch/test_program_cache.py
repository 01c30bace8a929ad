"""Compiled programs in a folder, and what upstream's names say of them."""

from __future__ import annotations

import errno
import json
import os

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
    assert _run()[1] > 1  # and the cache goes on


def test_artifacts_of_several_programs_are_not_chosen_between(folder):
    for name in "ab":
        (folder / name).write_bytes(b"")
    with pytest.raises(AssertionError, match="found 2"):
        tt_torch.parse_compiled_artifacts_from_cache(folder)


@pytest.mark.parametrize("length", [0, 8, 20, -1])
def test_what_is_no_executable_is_refused(length):
    whole = pack_executable("ttir", "ttnn", b"program")
    assert parse_executable(whole) == ("ttir", "ttnn", b"program")
    with pytest.raises(ProgramFormatError, match=r"magic|header|cut off"):
        parse_executable(whole[:length])


def test_the_system_is_described_in_json(tmp_path):
    ttxla_tools.save_system_descriptor_to_disk(str(tmp_path / "a" / "model"), as_json=True)
    assert json.loads((tmp_path / "a" / "model_system_desc.json").read_text())["arch"]
    with pytest.raises(NotImplementedError, match="as_json=True"):
        ttxla_tools.save_system_descriptor_to_disk(str(tmp_path / "model"))
