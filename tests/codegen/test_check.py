"""The output of ``tt-xla check``, with a replacement for TT-NN and with TT-NN itself."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from tt_xla.codegen.mock import Mock
from tt_xla.ir.layout import BufferType, DataType, MemoryLayout, TensorLayout
from tt_xla.ir.program import TensorSpec
from tt_xla.tools import check as check_module
from tt_xla.tools.cli import cli

MODULE = """
func.func public @main(%x: tensor<4x6xbf16>) -> tensor<4x6xbf16> {
  %0 = stablehlo.tanh %x : tensor<4x6xbf16>
  %1 = stablehlo.sine %0 : tensor<4x6xbf16>
  return %1 : tensor<4x6xbf16>
}
"""

REFUSING_WORKER = """
import json, sys
job = json.load(open(sys.argv[1]))
with open(sys.argv[2], "a") as out:
    say = lambda **fields: print(json.dumps(fields), file=out, flush=True)
    say(grid=[10, 11], ttnn="ttnn 0.0")
    for p, program in enumerate(job["programs"]):
        for s, step in enumerate(program["steps"]):
            refused = {"refused": "no waves here"} if "sin(" in step["source"] else {"differs": []}
            say(program=p, step=s, **refused)
    say(done=True)
"""


@pytest.fixture
def refusing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Replaces TT-NN by a function that refuses sines."""
    script = tmp_path / "worker.py"
    script.write_text(REFUSING_WORKER)
    monkeypatch.setattr(check_module, "mock", lambda *_, **__: Mock(Path(sys.executable), {}, script))
    monkeypatch.setenv("TTXLA_TTNN_PYTHON", sys.executable)


@pytest.mark.usefixtures("refusing")
def test_a_refusal_is_shown_with_its_tensors_and_fails(tmp_path: Path) -> None:
    path = tmp_path / "waves.mlir"
    path.write_text(MODULE)
    done = CliRunner().invoke(cli, ["check", str(path)])
    assert done.exit_code == 1
    first, *rest = done.output.splitlines()
    assert "waves.mlir: ttnn 0.0 refuses 1 of " in first
    assert rest[0] == "  ttnn.sin: no waves here"
    assert rest[1] == "    on 4x6 bf16 tile dram"


@pytest.mark.usefixtures("refusing")
def test_json_has_the_call(tmp_path: Path) -> None:
    path = tmp_path / "waves.mlir"
    path.write_text(MODULE)
    report = json.loads(CliRunner().invoke(cli, ["check", "--json", "--level", "2", str(path)]).output)
    assert report["refused"] == 1
    [refusal] = report["refusals"]
    assert refusal["op"] == "ttnn.sin"
    assert refusal["call"].startswith("ttnn.sin(v[")


@pytest.mark.usefixtures("refusing")
def test_a_file_that_does_not_compile_keeps_the_others_judged(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.mlir", tmp_path / "bad.mlir"
    good.write_text(MODULE.replace("sine", "cosine"))
    bad.write_text("nonsense")
    done = CliRunner().invoke(cli, ["check", str(bad), str(good)])
    assert done.exit_code == 1
    assert "error:" in done.output
    assert "takes every call" in done.output


def test_without_ttnn_the_way_to_it_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TTXLA_TTNN_PYTHON", raising=False)
    done = CliRunner().invoke(cli, ["check", str(tmp_path / "x.mlir")])
    assert "set TTXLA_TTNN_PYTHON" in str(done.exception)


def test_a_sharded_tensor_in_words() -> None:
    memory = MemoryLayout.BLOCK_SHARDED
    layout = TensorLayout.of((256, 512), DataType.BFP_BF8, buffer=BufferType.L1, memory=memory, grid=(4, 8))
    assert check_module.described(TensorSpec((256, 512), layout)) == "256x512 bfp_bf8 tile l1 block_sharded 4x8"


def test_the_real_one_takes_it(ttnn_mock: Mock, tmp_path: Path) -> None:
    path = tmp_path / "waves.mlir"
    path.write_text(MODULE)
    done = CliRunner().invoke(cli, ["check", "--ttnn-python", str(ttnn_mock.python), str(path)])
    assert done.exit_code == 0, done.output
    assert "takes every call" in done.output
