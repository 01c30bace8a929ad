"""The commands of docs/codegen_tutorial.md run one after the other, and so do the examples that it names."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.libraries import import_or_skip

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/codegen_tutorial.md"
SHELL = ["bash", "-euo", "pipefail", "-c"]
ENVIRONMENT = os.environ | {
    "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    "TTXLA_TTNN_PYTHON": sys.executable,
    "TTXLA_SYSTEM": "n150",
    "OMP_NUM_THREADS": "1",  # threads of two tests would wait for each other
}


def run(folder: Path, command: str) -> str:
    done = subprocess.run([*SHELL, command], cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.mark.nightly
def test_every_command_of_the_tutorial_runs(tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    install, *blocks = re.findall(r"^```sh\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert install.startswith("make venv")
    outputs = [run(tmp_path, block) for block in blocks]
    generated, ran, read, optimised, ones, edited, loaded, cpp = outputs
    assert {"main.py", "run", "tensors", "irs"} <= {*generated.split()}
    assert "result 0 has all bits of tensors/expected0" in ran
    assert "ttnn.linear(" in read
    times = [float(re.findall(r"predicted device time: (.*) us", output)[0]) for output in (ran, optimised)]
    assert times[1] < times[0]
    assert "result 0 has all bits of tensors/expected0" in optimised
    assert "PCC" not in ones
    assert "before the end: Shape([])" in edited
    model, source = (float(figure) for figure in re.findall(r": (\d+\.\d+)$", loaded, re.MULTILINE))
    assert abs(source / model - 2) < 0.02
    assert "main.cpp" in cpp


@pytest.mark.nightly
@pytest.mark.parametrize("language", ["python", "cpp"])
def test_the_jax_examples_write_source(language: str, tmp_path: Path) -> None:
    import_or_skip("flax.nnx")
    printed = run(tmp_path, f"python {ROOT}/examples/jax/codegen/{language}/custom_module.py")
    assert "codegen successful. Check model for the results." in printed
    if language == "python":
        assert "result 0 has all bits of tensors/expected0" in run(tmp_path, "cd model; ./run")


@pytest.mark.nightly
def test_resnet_is_written_and_has_the_bits_of_the_model(tmp_path: Path) -> None:
    pytest.importorskip("transformers", reason="the extra torch-examples is not installed")
    run(tmp_path, f"python {ROOT}/examples/pytorch/codegen/python/resnet.py")
    assert "result 0 has all bits of tensors/expected0" in run(tmp_path, "cd resnet50_codegen; ./run")
