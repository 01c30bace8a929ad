"""PyTorch's own minifier reduces graphs that fail with backend ``tt``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.testing.planting import plant
from tt_xla.environment import child_environment

MODEL = """
import torch


def model(x):
    for _ in range(3):
        x = torch.relu(x) + 1
    return torch.tanh(x) * 2 - x


compiled = torch.compile(model, backend="tt")
print(compiled(torch.ones(4, 8, device="tt")).sum().item())
"""
RUN = """
import runpy, sys

for path in sys.argv[1:]:
    sys.argv = [path]
    runpy.run_path(path, None, "__main__")
"""
ONE_TO_ONE = '    type_ = context.result_type(op)\n    if name == "stablehlo.power"'


def run(folder: Path, *files: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Runs Python files one after another in a process."""
    return subprocess.run(
        [sys.executable, "-c", RUN, *map(str, files)],
        cwd=folder,
        env=child_environment({f"TORCHDYNAMO_REPRO_{name.upper()}": value for name, value in variables.items()}),
        capture_output=True,
        text=True,
    )


def planted(folder: Path, fault: str) -> tuple[Path, Path]:
    """Writes a model and the file that plants a fault in the converter of its tanh."""
    (folder / "model.py").write_text(MODEL)
    new = f'    if name == "stablehlo.tanh":\n        {fault}\n{ONE_TO_ONE}'
    return plant(folder, "tt_xla.compiler.stablehlo.elementwise", ONE_TO_ONE, new), folder / "model.py"


@pytest.mark.nightly
def test_the_graph_of_an_error_is_reduced(tmp_path: Path) -> None:
    fault, model = planted(tmp_path, 'raise ValueError("planted")')
    first = run(tmp_path, fault, model, after="dynamo", level="2")
    assert "planted" in first.stderr
    (launcher,) = tmp_path.glob("torch_compile_debug/*/minifier/minifier_launcher.py")
    assert "backend='tt'" in launcher.read_text()
    minified = run(tmp_path, fault, launcher)
    assert "SUCCESS: Went from" in minified.stdout + minified.stderr
    assert "run_repro(mod, load_args" in (tmp_path / "repro.py").read_text()


def test_a_graph_is_written_before_it_ends_the_process(tmp_path: Path) -> None:
    fault, model = planted(tmp_path, "__import__('os').kill(__import__('os').getpid(), 9)")
    assert run(tmp_path, fault, model, after="dynamo", level="3").returncode == -9
    assert len(list(tmp_path.glob("torch_compile_debug/*/minifier/minifier_launcher.py"))) == 1


@pytest.mark.nightly
def test_a_graph_that_agrees_runs(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(MODEL)
    for level in ("2", "4"):
        result = run(tmp_path, tmp_path / "model.py", after="dynamo", level=level)
        assert result.returncode == 0, result.stderr
        assert float(result.stdout) < 0
        assert "exception" not in result.stderr
    assert not (tmp_path / "torch_compile_debug").exists()


def test_graphs_after_autograd_are_not_for_the_minifier(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(MODEL)
    result = run(tmp_path, tmp_path / "model.py", after="aot", level="2")
    assert result.returncode != 0
    assert "run inductor, not backend 'tt'" in result.stderr
    assert "tt-xla reduce SCRIPT" in result.stderr
