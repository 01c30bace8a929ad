"""Source of a torch model that runs some ops on the host: its programs, and the torch code between them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import tt_torch
from tt_xla.codegen.mock import Mock
from tt_xla.errors import UnsupportedOpError
from tt_xla.publish import RECORD

ROOT = Path(__file__).parents[2]

ON_STAND_IN = """
import pathlib, runpy, sys, torch, ttnn
from tests.codegen.tensor_files import read
kinds = {"float32": ttnn.float32, "int32": ttnn.int32}
def load(path):
    array = read(pathlib.Path(path))
    return ttnn.Tensor(array, kinds[str(array.dtype)], ttnn.ROW_MAJOR_LAYOUT)
ttnn.load_tensor = load
sys.path[0] = sys.argv[1]
runpy.run_path(sys.argv[1] + "/main.py", run_name="__main__")
"""


ON_A_MESH = """
import sys, torch, tt_torch, torch_xla.runtime as xr, torch_xla.distributed.spmd as xs
from tests.codegen.test_stages import Net
xr.use_spmd()
net, x, mesh = Net().eval().to("tt"), torch.randn(6, 32).to("tt"), xs.Mesh(range(4), (2, 2), ("x", "y"))
for tensor, spec in ((x, ("x", None)), (net.up.weight, ("y", None)), (net.down.weight, (None, "y"))):
    xs.mark_sharding(tensor, mesh, spec)
tt_torch.codegen_py(net, x, export_path=sys.argv[1])
"""
"""Generates a model for several chips, whose mesh is a state of the process."""


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up = torch.nn.Linear(32, 64)
        self.down = torch.nn.Linear(64, 32)
        self.scale = torch.nn.Parameter(torch.rand(32))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        middle, places = torch.nanmedian(self.up(x), 0, keepdim=True)
        return torch.logcumsumexp(self.down(middle), 1) * self.scale.exp(), places


def exported(tmp_path: Path, **options: object) -> str:
    torch._dynamo.reset()
    torch.manual_seed(0)
    tt_torch.codegen_py(Net().eval(), torch.randn(4, 32), export_path=tmp_path / "out", **options)
    return (tmp_path / "out/main.py").read_text()


@pytest.fixture(autouse=True)
def p150(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TTXLA_SYSTEM", "p150")


def test_the_host_runs_torch_code_between_programs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main = exported(tmp_path)
    assert "def host_nanmedian(up):\n" in main
    assert "    values, indices = torch.nanmedian(up, 0, True)\n" in main
    assert "    # test_stages.py:" in main
    assert "middle, places = torch.nanmedian(self.up(x), 0, keepdim=True)\n" in main
    steps = ["(up,) = program_0(arg2=args_0)", "= host_nanmedian(up)", "= program_1(arg2=values)"]
    places = [main.index(step) for step in [*steps, "= host_logcumsumexp(", "= program_2("]]
    assert places == sorted(places)
    said = capsys.readouterr().out
    assert "the host runs aten.nanmedian.dim (" in said
    assert "aten.logcumsumexp.default (" in said
    assert said.count("codegen successful") == 1


def test_weights_belong_to_the_programs_that_need_them(tmp_path: Path) -> None:
    """The transposed weight also belongs to its program, although it could be computed before the host ops."""
    exported(tmp_path)
    stored = {path.name for path in (tmp_path / "out/tensors").iterdir()}
    assert stored == {"args_0.pt", "expected0.pt", "expected1.pt"}
    assert '"down.weight": utils.load("arg' in (tmp_path / "out/program_1/main.py").read_text()


def test_the_whole_computes_what_the_model_does(tmp_path: Path) -> None:
    exported(tmp_path)
    paths = [ROOT / "tests/ttnn_runtime/stand_in", ROOT]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, paths))}
    run = [sys.executable, "-c", ON_STAND_IN, tmp_path / "out"]
    done = subprocess.run(run, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "result 0: [1, 32] torch.float32" in done.stdout
    assert "result 1: [1, 64] torch.int64" in done.stdout
    correlations = [float(line.split(": ")[1]) for line in done.stdout.splitlines() if line.startswith("PCC against")]
    assert len(correlations) == 2
    assert min(correlations) > 0.99


def test_source_of_all_parts_is_formatted(tmp_path: Path) -> None:
    exported(tmp_path)
    ruff = Path(sys.executable).with_name("ruff")
    for arguments in (["check", "--select", "E,F,W,I"], ["format", "--check"]):
        run = [ruff, *arguments, "main.py", "program_1/main.py"]
        done = subprocess.run(run, cwd=tmp_path / "out", capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout


def test_inputs_are_ones_where_no_tensors_are_wanted(tmp_path: Path) -> None:
    main = exported(tmp_path, export_tensors=False)
    assert 'return [torch.ones([4, 32], dtype=torch.float32, device="cpu")]' in main
    assert not (tmp_path / "out/tensors").exists()
    assert "utils.load(" in (tmp_path / "out/program_1/main.py").read_text().partition("def load_inputs")[2]


def test_complex_numbers_pass_between_host_and_programs(tmp_path: Path) -> None:
    torch._dynamo.reset()

    def spectrum(x: torch.Tensor) -> torch.Tensor:
        return torch.linalg.eigvals(x + 1).real * 2

    tt_torch.codegen_py(spectrum, torch.randn(8, 8), export_path=tmp_path / "out")
    main = (tmp_path / "out/main.py").read_text()
    assert "torch.linalg.eig(add)" in main
    assert 'utils.stored("arg0")' in (tmp_path / "out/program_1/main.py").read_text()


def test_a_second_graph_gives_each_a_folder(tmp_path: Path) -> None:
    torch._dynamo.reset()
    options = {"backend": "codegen_py", "export_path": str(tmp_path / "out")}
    net = torch.compile(Net().eval(), backend="tt", dynamic=False, options=options)
    with torch.no_grad():
        for rows in (4, 8, 4):
            net(torch.randn(rows, 32))
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"graph_0", "graph_1", "manifest.json", RECORD}
    for folder in ("graph_0", "graph_1"):
        assert (tmp_path / "out" / folder / "program_2/main.py").exists()


@pytest.mark.nightly
def test_programs_for_several_chips_exchange_whole_tensors_with_the_host(tmp_path: Path) -> None:
    """The source runs on the emulated card, whose ``ttnn`` takes the place of TT-NN, with the bits of the model."""
    out = tmp_path / "out"
    environment = os.environ | {"TTXLA_SYSTEM": "p150x4", "PYTHONPATH": str(ROOT)}
    for run in ([sys.executable, "-c", ON_A_MESH, out], [sys.executable, out / "main.py"]):
        done = subprocess.run(run, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    assert "ttnn.open_mesh_device(ttnn.MeshShape(2, 2)" in (out / "main.py").read_text()
    assert [f"result {index} has all bits of tensors/expected{index}" in done.stdout for index in (0, 1)] == [True] * 2
    run = [sys.executable, out / "main.py", "--steps", "2"]
    done = subprocess.run(run, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "runs torch code between its programs and has no --steps" in done.stderr


def test_cpp_refuses_what_the_host_runs(tmp_path: Path) -> None:
    torch._dynamo.reset()
    said = r"C\+\+ source does not support ops that the host runs: aten\.nanmedian"
    with pytest.raises(UnsupportedOpError, match=said) as error:
        tt_torch.codegen_cpp(Net().eval(), torch.randn(4, 32), export_path=tmp_path / "out")
    assert "test_stages.py:" in error.value.location
    assert not (tmp_path / "out").exists()


def test_tt_nn_takes_the_whole(tmp_path: Path, ttnn_mock: Mock) -> None:
    """The test runs if TT-NN's interpreter has torch."""
    has_torch = [str(ttnn_mock.python), "-c", "import torch"]
    if subprocess.run(has_torch, env=ttnn_mock.environment, capture_output=True, check=False).returncode:
        pytest.skip("TT-NN's interpreter has no torch")
    exported(tmp_path, compiler_options={"optimization_level": 2})
    environment = ttnn_mock.environment | {"TTXLA_TTNN_PYTHON": str(ttnn_mock.python)}
    done = subprocess.run(["./run"], cwd=tmp_path / "out", env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "PCC against tensors/expected1" in done.stdout
