"""The user's error is the user's, with file and line; no command ends in silence, and Ctrl-C ends each."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest

from tt_xla.options import CompileOptions
from tt_xla.testing.divergence.modules import Source
from tt_xla.testing.divergence.parts import Part, compare_parts
from tt_xla.tools.cli import main

MODULE = """\
module @small {
  func.func public @main(%a: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = stablehlo.log %a : tensor<4x8xf32>
    %1 = stablehlo.add %0, %a : tensor<4x8xf32>
    return %1 : tensor<4x8xf32>
  }
}
"""


@pytest.fixture
def module(tmp_path: Path) -> Path:
    path = tmp_path / "module.mlir"
    path.write_text(MODULE)
    return path


def run(*arguments: object) -> int:
    with pytest.raises(SystemExit) as exit_:
        main([str(argument) for argument in arguments])
    return int(exit_.value.code or 0)


def error_of(capfd: pytest.CaptureFixture[str]) -> str:
    """Returns the only error on standard error."""
    shown = capfd.readouterr().err
    (error,) = (line for line in shown.splitlines() if line.startswith("error: "))
    assert "bug in tt-xla" not in shown
    return error


# Arrays


def arrays(path: Path, kind: str) -> Path:
    """Writes a file that holds no arguments of the module."""
    path = path / f"{kind}.npz"
    values = np.ones((4, 8), np.float32)
    match kind:
        case "empty":
            path.touch()
        case "text":
            path.write_text("1 2 3\n")
        case "cut":
            np.savez(path, values)
            path.write_bytes(path.read_bytes()[:60])
        case "objects":
            np.savez(path, np.array([{}, None], dtype=object))
        case "texts":
            np.savez(path, np.full((4, 8), "one"))
        case "complex":
            np.savez(path, values * 1j)
        case "shape":
            np.savez(path, values[:3])
        case _:
            np.savez(path, values, values)
    return path


@pytest.mark.parametrize("command", ["run", "compare"])
@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("empty", "cannot be read as arrays: it is empty; a .npz file with the arguments in order was expected"),
        ("text", "cannot be read as arrays"),
        ("cut", "cannot be read as arrays"),
        ("objects", "cannot be read as arrays: Object arrays cannot be loaded"),
        ("texts", "array 0 ('arr_0') is 4x8 <U3; the module takes 4x8 f32 there."),
        ("complex", "array 0 ('arr_0') is 4x8 complex64; the module takes 4x8 f32 there."),
        ("shape", "array 0 ('arr_0') is 3x8 float32; the module takes 4x8 f32 there."),
        ("more", "has 2 arrays; the module takes 1 arguments. It takes, in order: 4x8 f32."),
    ],
)
def test_wrong_arrays_are_told(
    command: str, kind: str, message: str, module: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = arrays(module.parent, kind)
    assert run(command, module, "--inputs", path) == 1
    error = error_of(capfd)
    assert f"'{path}'" in error
    assert message in error


def test_a_single_array_and_bfloat16_are_arguments(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    import ml_dtypes

    module = tmp_path / "module.mlir"
    module.write_text(MODULE.replace("f32", "bf16"))
    path = tmp_path / "one.npy"
    np.save(path, np.ones((4, 8), ml_dtypes.bfloat16))
    assert run("run", module, "--inputs", path, "--json") == 0
    assert json.loads(capfd.readouterr().out)["results"][0]["first"] == [1.0] * 6


# Options


@pytest.mark.parametrize(
    "line",
    [
        "run module.mlir --seed -1",
        "compare module.mlir --pcc nan",
        "compare module.mlir --pcc 7",
        "compare module.mlir --program -1",
        "compare module.mlir --range 2:x",
        "compare module.mlir --range 1:7",
        "tune module.mlir --pcc nan",
        "opt module.mlir --pass none",
        "opt module.mlir --option none=1",
    ],
)
def test_wrong_options_are_wrong_usage_before_anything_runs(
    line: str, module: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(module.parent)
    assert run(*line.split()) == 2
    assert capfd.readouterr().out == ""


def test_numbers_that_json_lacks_are_texts_in_json(module: Path, capfd: pytest.CaptureFixture[str]) -> None:
    np.savez(module.parent / "negative.npz", np.full((4, 8), -1.0, np.float32))
    for command in ("run", "compare"):
        run(command, module, "--inputs", module.parent / "negative.npz", "--json")
        out = capfd.readouterr().out
        assert '"NaN"' in out
        json.loads(out, parse_constant=pytest.fail)


# Scripts


def test_an_exception_of_a_script_is_told_with_its_line(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "mine.py"
    script.write_text("def f():\n    raise ValueError('my own mistake')\n\nf()\n")
    for command in ("compare", "compile"):
        assert run(command, script) == 1
        shown = capfd.readouterr().err
        assert f'File "{script}", line 2, in f' in shown
        assert "ended with ValueError: my own mistake" in shown
        assert "bug in tt-xla" not in shown


@pytest.mark.parametrize("command", ["bench", "profile"])
def test_a_module_is_not_run_as_python(command: str, module: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(command, module, "-o", module.parent / "out") == 1
    assert "is a module of StableHLO, and a Python script or" in error_of(capfd)
    module.write_text("func.func @main(")
    assert run(command, module) == 1
    assert "is neither a Python script (.py) nor" in error_of(capfd)


# Ctrl-C


def interrupted(code: str, folder: Path) -> tuple[int, str, str]:
    """Runs Python until it prints "ready", sends Ctrl-C, and returns its exit status and output."""
    start = f"import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n{textwrap.dedent(code)}"
    process = subprocess.Popen(
        [sys.executable, "-c", start], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    first = process.stdout.readline()
    time.sleep(0.5)  # in which it begins the work
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert first == "ready\n", err
    return process.returncode, out, err


RUN = """
import click
from tt_xla.tools.running import run_command
@click.command()
def command():
    {0}
run_command(command, "command", [])
"""


@pytest.mark.parametrize(
    "work",
    [
        'print("ready", flush=True); import time; time.sleep(600)',
        'import hashlib; print("ready", flush=True); hashlib.pbkdf2_hmac("sha256", b"", b"", 2**31 - 1)',
        "import threading, time; threading.Thread(target=time.sleep, args=(600,)).start(); "
        'print("ready", flush=True); time.sleep(600)',
    ],
    ids=["python", "a call of a library", "a thread"],
)
def test_ctrl_c_ends_a_command(work: str, tmp_path: Path) -> None:
    status, _, err = interrupted(RUN.format(work), tmp_path)
    assert status == 130
    assert err.strip() == "interrupted"


def test_a_script_that_handles_ctrl_c_is_left_alone(tmp_path: Path) -> None:
    work = (
        'import time; signal.signal(signal.SIGINT, lambda *_: None); print("ready", flush=True); time.sleep(3); '
        'print("saved")'
    )
    assert interrupted(RUN.format(work), tmp_path) == (0, "saved\n", "")


def test_a_reader_that_has_enough_is_no_error(module: Path) -> None:
    command = [sys.executable, "-m", "tt_xla", "compile", str(module)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()  # as head does
        assert (process.stderr.read(), process.wait()) == ("", 1)


def test_ctrl_c_in_a_script_shows_what_it_has_compiled(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        textwrap.dedent("""
        import time
        import jax
        jax.jit(lambda x: x + 1)(jax.numpy.ones(4)).block_until_ready()
        print("ready", flush=True)
        time.sleep(600)
        """)
    )
    code = 'from tt_xla.tools.cli import main; main(["compile", "train.py"])'
    status, out, err = interrupted(code, tmp_path)
    assert status == 1
    assert "predicted device time" in out
    assert "ended with KeyboardInterrupt; the programs before it" in err


def test_an_interrupted_comparison_has_the_parts_before() -> None:
    source = Source(MODULE)
    seen: list[Part] = []

    def progress(part: Part) -> None:
        seen.append(part)
        if len(seen) == 2:
            raise KeyboardInterrupt

    comparison = compare_parts(
        source, [np.ones((4, 8), np.float32)], CompileOptions(), source.parts("op"), progress=progress
    )
    assert comparison.interrupted
    assert [row.part for row in comparison.rows] == seen[:1]
