"""Tests of the ``tt-xla`` command, run as users run it or, where a failure must be forced, in this process."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tt_xla import __version__
from tt_xla.errors import CompileError
from tt_xla.ir.program import Program
from tt_xla.tools.cli import cli, main

ADD = """\
module @add {
  func.func public @main(%a: tensor<64x64xbf16>, %b: tensor<64x64xbf16>) -> tensor<64x64xbf16> {
    %0 = stablehlo.add %a, %b : tensor<64x64xbf16>
    return %0 : tensor<64x64xbf16>
  }
}
"""
DOT = """\
module @dot {
  func.func public @main(%a: tensor<64x128xbf16>, %b: tensor<128x96xbf16>) -> tensor<64x96xbf16> {
    %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
      : (tensor<64x128xbf16>, tensor<128x96xbf16>) -> tensor<64x96xbf16>
    return %0 : tensor<64x96xbf16>
  }
}
"""
KEYS = [
    *("module", "arch", "level", "compile_seconds", "ttir", "ttnn", "predicted_device_us"),
    *("dram_peak_bytes", "l1_peak_bytes_per_core", "host_ops", "irs"),
]


@pytest.fixture
def add(tmp_path: Path) -> Path:
    path = tmp_path / "add.mlir"
    path.write_text(ADD)
    return path


@pytest.fixture
def dot(tmp_path: Path) -> Path:
    path = tmp_path / "dot.mlir"
    path.write_text(DOT)
    return path


def run(*arguments: object) -> int:
    with pytest.raises(SystemExit) as exit_:
        main([str(argument) for argument in arguments])
    return int(exit_.value.code or 0)


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys\nfrom tt_xla.tools.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: print([m for m in ('torch', 'jax', 'jaxlib', 'xdsl', 'numpy', 'rich') if m in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "compile" in result.stdout
    assert "info" in result.stdout
    assert result.stdout.splitlines()[-1] == "[]"


def test_module_run_is_the_same_command() -> None:
    result = subprocess.run([sys.executable, "-m", "tt_xla", "--version"], capture_output=True, text=True, check=True)
    assert result.stdout == f"tt-xla, version {__version__}\n"


def test_without_arguments_it_shows_the_way(capsys: pytest.CaptureFixture[str]) -> None:
    assert run() == 0
    shown = capsys.readouterr().out
    named = set(re.findall(r"tt-xla ([a-z]+)", shown))
    assert named <= set(cli.commands)
    assert {"compile", "bench", "compare", "completion"} <= named


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_complete_commands(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("completion", shell) == 0
    assert "_TT_XLA_COMPLETE" in capsys.readouterr().out


def test_smi_ends_where_the_output_is_no_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TTXLA_SYSTEM", raising=False)
    assert run("smi") == 0
    assert "A process started now opens" in capsys.readouterr().out


def test_json_has_a_line_per_module(add: Path, dot: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("compile", add, dot, "--json", "--arch", "p150", "--level", "1") == 0
    first, second = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert list(first) == KEYS
    assert first["module"] == str(add)
    assert (first["arch"], first["level"], first["irs"]) == ("p150", 1, None)
    assert first["ttir"] == {"ttir.add": 1}
    assert first["ttnn"]["ttnn.add"] == 1
    assert "ttnn.matmul" in second["ttnn"]
    assert 0 < second["compile_seconds"] < 60
    assert second["predicted_device_us"] > 1
    assert second["dram_peak_bytes"] >= 2 * 64 * 128
    assert second["host_ops"] == []


def test_out_holds_the_program_and_each_stage(add: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "deep" / "out"
    assert run("compile", add, "--out", out, "--json") == 0
    assert json.loads(capsys.readouterr().out)["irs"] == str(out / "irs")
    stages = {path.name.split("_")[0] for path in (out / "irs").iterdir()}
    assert stages == {"vhlo", "shlo", "ttir", "ttnn"}
    (ttnn,) = (out / "irs").glob("ttnn*.mlir")
    assert '"ttnn.add"' in ttnn.read_text()
    program = Program.from_bytes((out / "add.ttnn").read_bytes())
    assert program.name == "add"
    assert sorted(path.name for path in out.parent.iterdir()) == ["out"]


def test_a_second_run_replaces_the_first_and_leaves_other_files(add: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run("compile", add, "--out", out) == 0
    (out / "notes.txt").write_text("mine")
    time.sleep(0.002)
    assert run("compile", add, "--out", out) == 0
    assert len(list((out / "irs").glob("ttnn*.mlir"))) == 1
    assert (out / "notes.txt").read_text() == "mine"


def test_several_modules_get_a_folder_each(add: Path, dot: Path, tmp_path: Path) -> None:
    again = tmp_path / "again"
    again.mkdir()
    (again / "add.mlir").write_text(ADD)
    out = tmp_path / "out"
    assert run("compile", add, dot, again / "add.mlir", "--out", out) == 0
    assert sorted(path.name for path in out.iterdir()) == ["add", "add-2", "dot"]
    assert (out / "dot" / "dot.ttnn").exists()


def test_the_summary_shows_ops_time_and_memory(dot: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("compile", dot, "--arch", "n150") == 0
    shown = capsys.readouterr().out
    assert "predicted device time" in shown
    assert "ttnn.matmul" in shown
    assert "DRAM" in shown
    assert "L1" in shown


def test_the_system_comes_from_the_environment(
    add: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TTXLA_SYSTEM", "p150")
    assert run("compile", add, "--json") == 0
    assert json.loads(capsys.readouterr().out)["arch"] == "p150"
    monkeypatch.setenv("TTXLA_SYSTEM", "p15")
    assert run("compile", add, "--json") == 1
    assert "error: System 'p15' is unknown. Did you mean 'p150'" in capsys.readouterr().err


def test_a_bad_module_is_one_paragraph_and_does_not_stop_the_next(
    add: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = tmp_path / "bad.mlir"
    bad.write_text(ADD.replace("stablehlo.add", "stablehlo.ad"))
    out = tmp_path / "out"
    assert run("compile", bad, add, "--json", "--out", out) == 1
    captured = capsys.readouterr()
    assert captured.err.startswith("error: ")
    assert captured.err.count("\n") == 1
    assert str(bad) in captured.err
    assert "Traceback" not in captured.err
    assert [json.loads(line)["module"] for line in captured.out.splitlines()] == [str(add)]
    assert sorted(path.name for path in out.iterdir()) == ["add"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "Missing argument 'MODULE...|SCRIPT"),
        (("m.mlir", "--arch", "n15"), "'n15' is not one of 'n150', 'n300', 'n300-llmbox', 'galaxy-wh-6u', "),
        (("m.mlir", "--level", "3"), "3 is not in the range 0<=x<=2"),
        (("m.mlir", "--option", "enable_trace"), "expected NAME=VALUE"),
        (("m.mlir", "--option", "enable_trase=1"), "Did you mean 'enable_trace'"),
        (("m.mlir", "--option", "optimization_level=1", "--level", "2"), "contradict each other"),
    ],
)
def test_wrong_usage_exits_with_2(arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("compile", *arguments) == 2
    shown = capsys.readouterr().err
    assert shown.startswith("error: ")
    assert message in shown
    assert "--help" in shown


@pytest.mark.parametrize("command", ["run", "show", "estimate", "opt"])
def test_a_folder_or_a_script_in_the_place_of_a_module_names_the_command_that_takes_it(
    command: str, add: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(command, add.parent) == 1
    assert f"Name a file, such as '{add}'" in capsys.readouterr().err
    generated = tmp_path / "generated"
    generated.mkdir()
    for name in ("main.py", "run"):
        (generated / name).touch()
    assert run(command, generated) == 1
    shown = capsys.readouterr().err
    assert "is a folder of generated source, and " in shown
    assert f"Run it with: cd {generated} && ./run" in shown
    assert run(command, generated / "main.py") == 1
    assert "main.py' is a Python script" in capsys.readouterr().err


def test_unreadable_inputs_and_outputs_say_what_to_do(
    add: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("compile", tmp_path / "none.mlir") == 1
    assert "none.mlir': No such file or directory. Check the path" in capsys.readouterr().err
    assert run("compile", add, "--out", add) == 1
    message = capsys.readouterr().err
    assert "cannot be written: a file stands where a folder is to be written" in message
    assert "Give --out a place that is writable" in message


@pytest.mark.parametrize("command", ["compile", "codegen"])
def test_a_file_that_mlirs_reader_breaks_on_is_an_error(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "deep.mlir"
    path.write_text("module {" * 20_000 + "}" * 20_000)
    assert run(command, path, *(["--out", tmp_path / "out"] if command == "codegen" else [])) == 1
    assert "MLIR's reader crashes on it" in capsys.readouterr().err


def test_a_module_is_compiled_once(add: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tt_xla.tools import compile_files

    compiled: list[object] = []
    compile_module = compile_files.compile_module

    def counted(module: Any, *arguments: Any, **options: Any) -> Program:
        compiled.append(module)
        return compile_module(module, *arguments, **options)

    monkeypatch.setattr(compile_files, "compile_module", counted)
    assert run("compile", add, "--level", "2", "--explain", "-o", add.parent / "out") == 0
    assert len(compiled) == 1


def test_nothing_is_written_when_compiling_fails(
    add: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*arguments: object, **options: object) -> None:
        raise CompileError("No lowering.", hint="Wait.", location="model.py:3")

    monkeypatch.setattr("tt_xla.tools.compile_files.compile_module", fail)
    assert run("compile", add, "--out", tmp_path / "out") == 1
    assert capsys.readouterr().err == "error: No lowering. At model.py:3. Wait.\n"
    assert not (tmp_path / "out").exists()


def test_our_own_mistakes_ask_for_a_report(
    add: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*arguments: object, **options: object) -> None:
        raise KeyError("lost")

    monkeypatch.setattr("tt_xla.tools.compile_files.compile_module", fail)
    assert run("compile", add) == 1
    assert "KeyError: 'lost'. This is a bug in tt-xla" in capsys.readouterr().err
    monkeypatch.setenv("TTXLA_LOGGER_LEVEL", "VERBOSE")
    assert run("compile", add) == 1
    assert "Traceback" in capsys.readouterr().err


def test_info_marks_the_selected_system_and_the_variables_in_force(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TTXLA_SYSTEM", "n300")
    assert run("info") == 0
    shown = capsys.readouterr().out
    assert "* n300         2 x wormhole_b0, grid 8x8" in shown
    assert "  p150         1 x blackhole, grid 10x11" in shown
    assert "TTXLA_SYSTEM=n300" in shown
    assert f"tt-xla     {__version__}" in shown
    for package in ("torch", "jax", "xdsl"):
        assert package in shown


def test_explain_shows_form_bound_roofline_and_next_best(dot: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("compile", "--arch", "p150", "--level", "2", "--explain", dot) == 0
    table = capsys.readouterr().out.split(" of a core\n")[1].splitlines()
    assert table[0].split() == ["op", "result", "form", "us", "bound", "roofline", "reached", "next", "best", "+us"]
    assert max(map(len, table)) <= 120
    assert table[1].startswith("matmul 64x96  DRAM")
    assert " dispatch " in table[1]
    assert "DRAM, multi cast 1d in" in table[1]
    reasons = re.compile("saves|as fast|must be in DRAM")
    assert any(reasons.search(line) for line in table)
    assert run("compile", "--arch", "p150", "--level", "2", "--json", "--explain", dot) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["module"] == str(dot)
    (product,) = [choice for choice in record["choices"] if choice["op"] == "ttnn.matmul"]
    assert {"chosen", "runner_up", "why", "moves", "ruled_out"} <= product.keys()
    moved = 2 * (64 * 128 + 128 * 96 + 64 * 96) / 512e9 * 1e6
    assert product["roofline_us"] == pytest.approx(moved)
    assert (product["roof"], product["bound"]) == ("DRAM", "dispatch")
    assert product["reached"] == pytest.approx(moved / product["time_us"])


def test_explain_without_a_search_shows_bound_and_roofline(dot: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("compile", "--explain", dot) == 0
    shown = capsys.readouterr().out
    assert "matmul 64x96  DRAM" in shown
    assert "reached\nOther forms are searched at optimization level 2 (--level 2)." in shown


SUM = """\
module @sum attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  func.func public @main(%a: tensor<1024x2048xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
      -> (tensor<2048xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) {
    %zero = stablehlo.constant dense<0.0> : tensor<bf16>
    %0 = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0]
      : (tensor<1024x2048xbf16>, tensor<bf16>) -> tensor<2048xbf16>
    return %0 : tensor<2048xbf16>
  }
}
"""


@pytest.mark.parametrize("level", ["0", "2"])
def test_explain_names_the_roof_of_an_exchange(level: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    module = tmp_path / "sum.mlir"
    module.write_text(SUM)
    assert run("compile", "--arch", "n300", "--level", level, "--json", "--explain", module) == 0
    record = json.loads(capsys.readouterr().out)
    (exchange,) = [choice for choice in record["choices"] if choice["op"].startswith("ttnn.all_reduce")]
    assert exchange["roof"] == "links"
    assert 0 < exchange["roofline_us"] < exchange["time_us"]
