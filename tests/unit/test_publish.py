"""Files are written completely or not at all, on any disk, and never over those of somebody else."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from tt_xla.publish import RECORD, publish
from tt_xla.tools.cli import cli


def test_publish_is_all_or_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out"
    publish(out, {"irs/a.mlir": b"old", "p.ttnn": b"old"})
    written = Path.write_bytes

    def full(path: Path, data: bytes) -> int:
        if path.suffix == ".ttnn":
            raise OSError(28, "No space left on device", str(path))
        return written(path, data)

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="No space"):
        publish(out, {"irs/b.mlir": b"new", "p.ttnn": b"new"})
    assert [path.name for path in (out / "irs").iterdir()] == ["a.mlir"]
    assert (out / "p.ttnn").read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_mount_point_is_written_to_without_its_parent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files cannot be renamed from one disk to another, and the parent of such a folder is often somebody else's."""
    out, rename = tmp_path / "mounted", os.rename
    out.mkdir()

    def on_one_disk(source: Path, target: Path) -> None:
        if (out in source.parents) != (out in target.parents):
            raise OSError(errno.EXDEV, "Invalid cross-device link", str(source))
        rename(source, target)

    def within(prefix: str, dir: Path) -> str:
        assert dir == out
        return tempfile.mkdtemp(prefix=prefix, dir=dir)

    monkeypatch.setattr(os, "rename", on_one_disk)
    monkeypatch.setattr("tt_xla.publish.tempfile", SimpleNamespace(mkdtemp=within))
    for content in (b"old", b"new"):
        publish(out, {"irs/a.mlir": content, "p.ttnn": content})
        assert {path.name for path in out.iterdir()} == {"irs", "p.ttnn"}
        assert {path.read_bytes() for path in (out / "irs/a.mlir", out / "p.ttnn")} == {content}


def test_a_folder_that_cannot_be_written_is_named() -> None:
    with pytest.raises(OSError, match="'/proc/nowhere'"):
        publish(Path("/proc/nowhere"), {"a": b""})


def test_files_of_others_are_kept_and_named(tmp_path: Path) -> None:
    out = tmp_path / "out"
    for number in range(12):
        publish(out, {f"mine-{number:02}": b"mine"})
    with pytest.raises(FileExistsError, match=r"mine-00, mine-01.*, mine-07 and 4 more"):
        publish(out, {f"mine-{number:02}": b"ours" for number in range(12)}, keep_others=True)
    assert {path.read_bytes() for path in out.iterdir()} == {b"mine"}


def test_what_was_written_before_is_replaced_and_the_rest_stays(tmp_path: Path) -> None:
    out = tmp_path / "out"
    publish(out, {"irs/1": b"old", "irs/2": b"old", "tensors/1": b"old", "run": b"old"}, keep_others=True)
    publish(out, {"irs/mine": b"mine"})
    publish(out, {"irs/2": b"new", "irs/3": b"new"}, gone=["tensors"], keep_others=True)
    assert {path.name for path in out.rglob("*")} == {"irs", "2", "3", "mine", "run", RECORD}
    assert [(out / name).read_bytes() for name in ("irs/2", "irs/mine", "run")] == [b"new", b"mine", b"old"]
    publish(out, {"run": b"newer"}, keep_others=True)
    assert (out / "run").read_bytes() == b"newer"


@pytest.mark.parametrize("change", ["edited", "link", "folder"])
def test_what_was_changed_since_stays(tmp_path: Path, change: str) -> None:
    out, mine = tmp_path / "out", tmp_path / "mine"
    publish(out, {"run": b"ours"}, keep_others=True)
    mine.write_bytes(b"ours")
    (out / "run").unlink()
    make = {
        "edited": lambda path: path.write_bytes(b"edited"),
        "link": lambda path: path.symlink_to(mine),
        "folder": lambda path: path.mkdir(),
    }
    make[change](out / "run")
    for new in ({"run": b"new"}, {"run/below": b"new"}, {}):
        with pytest.raises(FileExistsError, match="changed since: run"):
            publish(out, new, gone=["run"], keep_others=True)


def test_compiled_programs_replace_no_files_of_others(tmp_path: Path) -> None:
    module = tmp_path / "tanh.mlir"
    module.write_text("""func.func public @main(%x: tensor<32x32xbf16>) -> tensor<32x32xbf16> {
      %0 = stablehlo.tanh %x : tensor<32x32xbf16>
      return %0 : tensor<32x32xbf16>
    }""")
    program = tmp_path / "out/tanh.ttnn"
    program.parent.mkdir()
    program.write_bytes(b"mine")
    command = ["compile", str(module), "--out", str(program.parent)]
    done = CliRunner().invoke(cli, command)
    assert done.exit_code == 1
    assert "changed since: tanh.ttnn" in done.output
    assert program.read_bytes() == b"mine"
    program.unlink()
    assert CliRunner().invoke(cli, command).exit_code == CliRunner().invoke(cli, command).exit_code == 0
