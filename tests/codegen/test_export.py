"""Generated source on disk: commands and options that write it, its files, and that it is complete or absent."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from click.testing import CliRunner

import tt_jax
import tt_torch
from tests.codegen.tensor_files import read
from tt_xla.codegen import HOST_OPS, TTNN_VERSION, export, tensorbin
from tt_xla.codegen.generator import generate
from tt_xla.codegen.mock import Mock
from tt_xla.compiler import compile_module, parse_module
from tt_xla.errors import OptionError, OutputError, UnsupportedOpError
from tt_xla.frontends.torch import settings, staged_source
from tt_xla.ir.layout import DataType
from tt_xla.options import CompileOptions
from tt_xla.publish import RECORD
from tt_xla.target import load_target
from tt_xla.tools.cli import cli

ROOT = Path(__file__).parents[2]

MODULE = """func.func public @main(%x: tensor<32x32xbf16>) -> tensor<32x32xbf16> {
  %0 = stablehlo.tanh %x : tensor<32x32xbf16>
  return %0 : tensor<32x32xbf16>
}"""

STAND_IN = ROOT / "tests/ttnn_runtime/stand_in"

ON_THE_HOST = """func.func public @main(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = stablehlo.add %x, %x : tensor<8x8xf32>
  %1 = "stablehlo.cholesky"(%0) {lower = true} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}"""


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = torch.nn.Linear(32, 32)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.fc(x))


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TTXLA_SYSTEM", "p150")
    monkeypatch.delenv("TTXLA_CODEGEN_EXPORT_DIR", raising=False)
    torch._dynamo.reset()


def command(*arguments: object) -> str:
    done = CliRunner().invoke(cli, ["codegen", *map(str, arguments)])
    return f"{done.exit_code} {done.output} {done.exception or ''}"


def module(tmp_path: Path, text: str = MODULE) -> Path:
    path = tmp_path / "model.mlir"
    path.write_text(text)
    return path


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} - {RECORD}


# By command --------------------------------------------------------------------------------------------------------


def test_the_command_writes_the_documented_tree(tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert command(module(tmp_path), "-o", out).startswith("0 ")
    documented = {"main.py", "utils.py", "run", "irs", "ttir.mlir", "ruff.toml"}
    assert names(out) == documented | {"module_key", "module.json", "manifest.json"}
    assert os.access(out / "run", os.X_OK)
    assert {path.name.partition("_")[0] for path in (out / "irs").iterdir()} == {"vhlo", "shlo", "ttir", "ttnn"}
    assert 'utils.ones("arg0", [32, 32]' in (out / "main.py").read_text()


def test_the_command_takes_compiled_programs_too(tmp_path: Path) -> None:
    CliRunner().invoke(cli, ["compile", str(module(tmp_path)), "--out", str(tmp_path / "compiled")])
    out = tmp_path / "out"
    assert command(tmp_path / "compiled/model.ttnn", "-o", out).startswith("0 ")
    assert "ttnn.tanh(" in (out / "main.py").read_text()


def test_several_programs_get_a_folder_each(tmp_path: Path) -> None:
    path = module(tmp_path)
    out = tmp_path / "out"
    command(path, path, "-o", out)
    assert names(out) == {"graph_0", "graph_1", "manifest.json"}
    (out / "graph_7").mkdir()
    (out / "graph_7/notes").write_text("mine")
    command(path, "-o", out)
    assert {"main.py", "graph_7"} <= names(out)
    assert not {"graph_0", "graph_1"} & names(out)
    command(path, path, "-o", out)
    assert names(out) == {"graph_0", "graph_1", "graph_7", "manifest.json"}


def test_what_the_host_runs_is_said_and_generated(tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert "the host runs stablehlo.cholesky" in command(module(tmp_path, ON_THE_HOST), "-o", out)
    main = (out / "main.py").read_text()
    assert "# TT-NN has no op for this; the host runs it as torch code: stablehlo.cholesky" in main
    assert "    cholesky = host_ops.cholesky(x, lower=True)\n" in main
    assert "host_ops.run(host_cholesky, [" in main
    assert (out / "host_ops.py").read_bytes() == HOST_OPS.read_bytes()
    assert not (out / "host").exists()


def test_a_path_that_is_a_file_is_refused_and_left_alone(tmp_path: Path) -> None:
    blocking_file = tmp_path / "taken"
    blocking_file.write_text("mine")
    with pytest.raises(OutputError, match=rf"cannot be written: Not a directory \('{blocking_file}'\)"):
        export.check_folder(blocking_file / "below")
    assert "cannot be written: Not a directory" in command(module(tmp_path), "-o", blocking_file)
    assert blocking_file.read_text() == "mine"


@pytest.mark.parametrize("name", ["main.py", "utils.py", "run", "host_ops.py", "irs"])
def test_a_file_of_somebodys_own_is_left_alone(tmp_path: Path, name: str) -> None:
    source = module(tmp_path, ON_THE_HOST)
    (tmp_path / name).write_text("mine")
    before = names(tmp_path)
    told = command(source, "-o", tmp_path)
    assert f"tt-xla did not write what is there, or it was changed since: {name}" in told
    assert names(tmp_path) == before
    assert (tmp_path / name).read_text() == "mine"


def test_other_files_beside_generated_ones_stay(tmp_path: Path) -> None:
    source = module(tmp_path)
    for name in ("pyproject.toml", "CMakeLists.txt"):
        (tmp_path / name).write_text("mine")
    for level in (0, 2):
        assert command(source, "-o", tmp_path, "--level", level).startswith("0 ")
        assert f"optimization level {level}" in (tmp_path / "main.py").read_text()
    assert {(tmp_path / name).read_text() for name in ("pyproject.toml", "CMakeLists.txt")} == {"mine"}


def test_what_was_edited_since_it_was_generated_stays(tmp_path: Path) -> None:
    out, source = tmp_path / "out", module(tmp_path)
    command(source, "-o", out)
    (out / "main.py").write_text((out / "main.py").read_text() + "# mine")
    (out / "__pycache__").mkdir()
    (out / "__pycache__/main.pyc").write_bytes(b"")
    assert "it was changed since: main.py." in command(source, "-o", out, "--level", 2)
    assert (out / "main.py").read_text().endswith("# mine")
    assert "it was changed since: main.py." in command(source, source, "-o", out)
    assert (out / "main.py").read_text().endswith("# mine")
    (out / "main.py").unlink()
    assert command(source, "-o", out, "--level", 2).startswith("0 ")


def test_tensors_of_somebodys_own_stay(tmp_path: Path) -> None:
    out, x = tmp_path / "out", torch.ones(4, 32)
    tt_torch.codegen_py(Net().eval(), x, export_path=out)
    for name in ("mine.bin", "arg0.tensorbin"):
        (out / "tensors" / name).write_bytes(b"mine")
    with pytest.raises(OutputError, match=r"changed since: tensors/arg0\.tensorbin\. .*move those files away"):
        tt_torch.codegen_py(Net().eval(), x, export_path=out)
    assert (out / "tensors/arg0.tensorbin").read_bytes() == b"mine"
    (out / "tensors/arg0.tensorbin").unlink()
    tt_torch.codegen_py(Net().eval(), x, export_path=out, export_tensors=False)
    assert names(out / "tensors") == {"mine.bin"}


def test_an_element_type_that_tt_nn_lacks_is_refused(tmp_path: Path) -> None:
    text = """func.func public @main(%x: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {
      return %x : tensor<4xcomplex<f32>>
    }"""
    assert "TT-NN has no data type for" in command(module(tmp_path, text), "-o", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_folder_that_cannot_be_created_is_refused_with_the_reason() -> None:
    with pytest.raises(OutputError, match=r"cannot be written: No such file or directory \('/proc'\)\. .*writable"):
        tt_torch.codegen_py(Net().eval(), torch.randn(4, 32), export_path="/proc/nowhere")


@pytest.mark.parametrize("name", ["class", "a b", "größe", "1st", "", "w", "device", "x\\ny", 'say "hi"', "forward"])
def test_names_that_are_no_identifiers(name: str, tmp_path: Path) -> None:
    named = f"{{ttir.name = {json.dumps(name, ensure_ascii=False)}}}"
    text = MODULE.replace("%x: tensor<32x32xbf16>", f"%x: tensor<32x32xbf16> {named}")
    program = compile_module(parse_module(text, "model.mlir"), CompileOptions.parse(), load_target("p150"))
    compile(generate(program).main, "main.py", "exec")
    assert generate(program, language="cpp").main.count("(") == generate(program, language="cpp").main.count(")")


def test_another_release_of_ttnn_is_said(tmp_path: Path) -> None:
    command(module(tmp_path), "-o", tmp_path / "out")
    stand_in = (STAND_IN / "ttnn/__init__.py").read_text()
    (tmp_path / "ttnn.py").write_text(stand_in.replace('__version__ = "0.81.1"', '__version__ = "0.99.0"'))
    environment = dict(os.environ) | {"PYTHONPATH": str(tmp_path)}
    run = [sys.executable, "-c", "import utils; assert utils.CHECKED_WITH == '" + TTNN_VERSION + "'"]
    done = subprocess.run(run, env=environment, cwd=tmp_path / "out", capture_output=True, text=True, check=True)
    assert f"the program was generated for ttnn {TTNN_VERSION}; this is ttnn 0.99.0" in done.stderr


def test_a_failure_halfway_leaves_nothing(tmp_path: Path) -> None:
    def fail(path: Path) -> None:
        raise OSError(28, "No space left on device", str(path))

    with pytest.raises(OutputError, match=r"No space left on device.*Nothing was written"):
        export.write(tmp_path / "out", {"main.py": b"x", "tensors/arg0.tensorbin": fail})
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_said_in_the_systems_words() -> None:
    with pytest.raises(OSError, match="No space left on device"):
        tensorbin.save(Path("/dev/full"), np.ones((64, 64), np.float32), DataType.F32)
    with pytest.raises(OSError, match="No space left on device"):
        staged_source.save(Path("/dev/full"), torch.ones(64, 64))


@pytest.mark.parametrize("at", range(1, 7))
def test_an_interrupt_at_any_move_leaves_the_folder_as_it_was(
    at: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    before, after = (b"# before", b"# after")
    export.write(out, {"main.py": before, "irs/a": before})
    rename, moves = os.rename, iter(range(1, 100))

    def interrupted(source: Path, target: Path) -> None:
        if next(moves) == at:
            raise KeyboardInterrupt
        rename(source, target)

    monkeypatch.setattr(os, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt):
        export.write(out, {"main.py": after, "irs/a": after})
    monkeypatch.undo()
    assert [path.read_bytes() for path in (out / "main.py", out / "irs/a")] == [before, before]
    assert list(tmp_path.iterdir()) == [out]


# By option ---------------------------------------------------------------------------------------------------------


def test_the_documented_error_of_a_missing_path() -> None:
    said = "Compile option 'export_path' must be provided when backend is not 'TTNNFlatbuffer'"
    with pytest.raises(OptionError, match=said):
        CompileOptions.parse({"backend": "codegen_py"})
    for path in ("", None):
        with pytest.raises(OptionError, match=said):
            tt_torch.codegen_py(Net().eval(), torch.randn(4, 32), export_path=path)
        with pytest.raises(OptionError, match=said):
            tt_jax.codegen_cpp(lambda x: x + 1, np.ones(4, np.float32), export_path=path)


def test_a_backend_among_the_options_is_one_that_is_known(tmp_path: Path) -> None:
    options = {"export_path": tmp_path / "out", "compiler_options": {"backend": "codegen_rs"}}
    with pytest.raises(OptionError, match=r"'backend' was given 'codegen_rs'; it takes one of .*'codegen_cpp'"):
        tt_torch.codegen_py(Net().eval(), torch.randn(4, 32), **options)
    with pytest.raises(OptionError, match="'backend' was given 'codegen_rs'"):
        tt_jax.codegen_py(lambda x: x + 1, np.ones(4, np.float32), **options)
    assert not (tmp_path / "out").exists()


def test_the_environment_asks_unless_the_backend_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TTXLA_CODEGEN_EXPORT_DIR", "out")
    assert CompileOptions.parse().backend == "codegen_py"
    assert CompileOptions.parse().export_path == "out"
    assert not CompileOptions.parse({"backend": "default"}).generates_source


# By PyTorch --------------------------------------------------------------------------------------------------------


def test_torch_model_with_tensors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, x = Net().eval(), torch.randn(4, 32)
    tt_torch.codegen_py(model, x, export_path=tmp_path / "out")
    assert f"Check {tmp_path / 'out'} for the results" in capsys.readouterr().out
    assert {"arg0.tensorbin", "arg1.tensorbin", "arg2.tensorbin", "expected0.tensorbin"} == names(
        tmp_path / "out/tensors"
    )
    stored = {path.stem: read(path) for path in (tmp_path / "out/tensors").iterdir()}
    assert any(np.array_equal(array, x.numpy()) for array in stored.values())
    with torch.no_grad():
        torch.testing.assert_close(torch.from_numpy(stored["expected0"]), model(x), atol=0.05, rtol=0.05)
    assert '"fc.weight": utils.load("arg' in (tmp_path / "out/main.py").read_text()


def test_torch_model_without_tensors(tmp_path: Path) -> None:
    options = {"optimization_level": 2}
    tt_torch.codegen_py(
        Net(), torch.randn(4, 32), export_path=tmp_path / "out", export_tensors=False, compiler_options=options
    )
    assert "tensors" not in names(tmp_path / "out")
    assert "utils.ones(" in (tmp_path / "out/main.py").read_text()
    assert "optimization level 2" in (tmp_path / "out/main.py").read_text()


def test_asking_again_writes_again(tmp_path: Path) -> None:
    """Source is written again without a compilation, because the folder may be gone or the weights may differ."""
    net = Net().eval()
    for scale in (1.0, 2.0):
        with torch.no_grad():
            net.fc.weight.fill_(scale)
        tt_torch.codegen_py(net, torch.ones(4, 32), export_path=tmp_path / "out")
        stored = [read(tmp_path / "out/tensors" / name) for name in names(tmp_path / "out/tensors")]
        assert any(tensor.ndim == 2 and (tensor == scale).all() for tensor in stored if tensor.shape[0] == 32)
        shutil.rmtree(tmp_path / "out")


def test_what_was_generated_there_before_goes(tmp_path: Path) -> None:
    """Graphs of an earlier run must not be mistaken for graphs of this model."""
    out = tmp_path / "out"
    (out / "graph_3").mkdir(parents=True)
    for name in ("notes", "graph_3/notes"):
        (out / name).write_text("mine")
    for name in ("graph_0", "graph_1", "program_2"):
        export.write(out / name, {"main.py": b"print()"})
    tt_torch.codegen_py(Net().eval(), torch.ones(4, 32), export_path=out)
    assert {"main.py", "tensors", "notes", "graph_3"} <= names(out)
    assert not {"graph_0", "graph_1", "program_2"} & names(out)
    tt_torch.codegen_py(Net().eval(), torch.ones(4, 32), export_path=out, export_tensors=False)
    assert "tensors" not in names(out)
    assert {"notes", "graph_3"} <= names(out)


def test_the_folder_is_the_one_that_the_environment_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TTXLA_COMPILE_OPTIONS", json.dumps({"export_path": str(tmp_path / "forced")}))
    tt_torch.codegen_py(Net().eval(), torch.ones(4, 32), export_path=tmp_path / "out")
    tt_jax.codegen_py(lambda x: x + 1, np.ones(4, np.float32), export_path=tmp_path / "out")
    assert names(tmp_path) == {"forced"}
    assert "main.py" in names(tmp_path / "forced")


def test_a_model_that_the_host_runs_whole_has_no_source(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedOpError, match="No part of the model runs on the card"):
        tt_torch.codegen_py(torch.linalg.inv, torch.eye(4), export_path=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_graphs_of_one_process_get_a_folder_each(tmp_path: Path) -> None:
    """The results are those of the model, because generating source does not replace running it."""
    options = {"backend": "codegen_py", "export_path": str(tmp_path / "out")}
    settings.set_compile_options(options)
    try:
        net = torch.compile(Net().eval(), backend="tt", dynamic=False)
        with torch.no_grad():
            result = net(torch.ones(4, 32))
            assert "main.py" in names(tmp_path / "out")
            net(torch.ones(8, 32))
            net(torch.ones(4, 32))
        assert result.abs().max() > 0
    finally:
        settings.set_compile_options({})
    assert names(tmp_path / "out") == {"graph_0", "graph_1", "manifest.json"}
    assert not (tmp_path / "out/graph_0/graph_0").exists()
    assert "[8, 32]" not in (tmp_path / "out/graph_0/main.py").read_text()
    assert read(tmp_path / "out/graph_1/tensors/expected0.tensorbin").shape == (8, 32)


# By JAX ------------------------------------------------------------------------------------------------------------


def test_jax_function_with_static_arguments(tmp_path: Path) -> None:
    import jax.numpy as jnp

    def forward(graphdef: str, state: dict[str, dict[str, jnp.ndarray]], x: jnp.ndarray) -> jnp.ndarray:
        assert graphdef == "definition"
        return jnp.tanh(x @ state["fc"]["kernel"])

    state = {"fc": {"kernel": jnp.eye(32, dtype=jnp.bfloat16)}}
    x = jnp.ones((8, 32), jnp.bfloat16)
    tt_jax.codegen_py(forward, "definition", state, x, export_path=str(tmp_path / "out"))
    assert names(tmp_path / "out/tensors") == {"arg0.tensorbin", "arg1.tensorbin", "expected0.tensorbin"}
    assert '"fc.kernel": utils.load("arg0"' in (tmp_path / "out/main.py").read_text()


@pytest.mark.nightly
def test_jax_jit_with_options(tmp_path: Path) -> None:
    pytest.importorskip("tt_xla.frontends.jax.pjrt.trampoline", reason="the C part of the plugin is not built")
    script = f"""
import jax_plugin_tt, jax, jax.numpy as jnp
from jax._src import xla_bridge
xla_bridge._discover_and_register_pjrt_plugins()
"tt" in xla_bridge._backend_factories or jax_plugin_tt.initialize()
options = {{"backend": "codegen_py", "export_path": {str(tmp_path / "out")!r}}}
x = jax.device_put(jnp.ones((8, 32)), jax.devices("tt")[0])
print(jax.jit(lambda x: x + 1, compiler_options=options)(x).sum())
"""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("JAX_")}
    environment |= {"PYTHONPATH": str(ROOT / "src"), "TTXLA_SYSTEM": "p150"}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False)
    assert "512.0" in done.stdout, done.stderr
    assert {"main.py", "run", "irs", "tensors"} <= names(tmp_path / "out")


# On TT-NN ----------------------------------------------------------------------------------------------------------


def _by_command(tmp_path: Path) -> None:
    command(module(tmp_path), "-o", tmp_path / "out", "--level", 2)


def _by_torch(tmp_path: Path) -> None:
    tt_torch.codegen_py(Net().eval().bfloat16(), torch.randn(4, 32).bfloat16(), export_path=tmp_path / "out")


@pytest.mark.parametrize("make", [_by_command, _by_torch])
def test_tt_nn_takes_what_was_generated(make: Callable[[Path], None], tmp_path: Path, ttnn_mock: Mock) -> None:
    make(tmp_path)
    environment = ttnn_mock.environment | {"TTXLA_TTNN_PYTHON": str(ttnn_mock.python)}
    done = subprocess.run(["./run"], cwd=tmp_path / "out", env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "result 0: [" in done.stdout
    assert ("PCC against tensors/expected0" in done.stdout) == (make is _by_torch)


def test_run_says_what_is_missing(tmp_path: Path) -> None:
    command(module(tmp_path), "-o", tmp_path / "out")
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S "$@"\n')
    bare.chmod(0o755)
    environment = dict(os.environ) | {"TTXLA_TTNN_PYTHON": str(bare)}
    done = subprocess.run([tmp_path / "out/run"], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "has no ttnn and no tt_xla. Set TTXLA_TTNN_PYTHON" in done.stderr
