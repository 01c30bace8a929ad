"""Generated C++ compiles, calls functions that TT-NN exports, and comes with the files it needs."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner

import tt_jax
import tt_torch
from benchmarks.programs import PROGRAMS
from tests.codegen import declarations
from tt_xla.codegen import UTILS, export
from tt_xla.codegen.generator import generate
from tt_xla.codegen.languages.base import Iteration
from tt_xla.codegen.languages.cpp import Cpp, quoted
from tt_xla.codegen.languages.signatures import FUNCTIONS
from tt_xla.codegen.mock import Mock
from tt_xla.compiler import compile_module, parse_module
from tt_xla.errors import UnsupportedOpError
from tt_xla.ir.program import Program
from tt_xla.options import CompileOptions
from tt_xla.publish import RECORD
from tt_xla.target import load_target
from tt_xla.tools.cli import cli

MODULE = """func.func public @main(%x: tensor<32x32xbf16>) -> tensor<32x32xbf16> {
  %0 = stablehlo.tanh %x : tensor<32x32xbf16>
  return %0 : tensor<32x32xbf16>
}"""

LOOP = """func.func public @main(%x: tensor<32x32xf32>, %n: tensor<i32>) -> (tensor<32x32xf32>, tensor<32x32xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %r:3 = stablehlo.while(%i = %zero, %a = %x, %b = %x) : tensor<i32>, tensor<32x32xf32>, tensor<32x32xf32>
  cond {
    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %j = stablehlo.add %i, %one : tensor<i32>
    %s = stablehlo.tanh %a : tensor<32x32xf32>
    %t = stablehlo.add %s, %b : tensor<32x32xf32>
    %u = stablehlo.multiply %t, %x : tensor<32x32xf32>
    stablehlo.return %j, %u, %s : tensor<i32>, tensor<32x32xf32>, tensor<32x32xf32>
  }
  return %r#1, %r#2 : tensor<32x32xf32>, tensor<32x32xf32>
}"""

ON_THE_HOST = """func.func public @main(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = "stablehlo.cholesky"(%x) {lower = true} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}"""


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TTXLA_SYSTEM", "p150")
    torch._dynamo.reset()


@pytest.fixture
def headers(tmp_path: Path) -> Path:
    """Returns a folder with declarations in place of TT-NN's headers."""
    if shutil.which("g++") is None:
        pytest.skip("g++ is not installed")
    folder = tmp_path / "headers"
    folder.mkdir()
    (folder / "ttnn.hpp").write_text(declarations.header())
    (folder / "utils.hpp").write_bytes(UTILS.with_name("utils.hpp").read_bytes())
    return folder


def check(folder: Path, headers: Path, text: str) -> None:
    (folder / "main.cpp").write_text(text)
    command = [
        "g++",
        "-std=c++20",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-fsyntax-only",
        '-DTENSORS="tensors"',
        f"-I{headers}",
    ]
    done = subprocess.run([*command, folder / "main.cpp"], capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr[:2000]


def run(folder: Path, headers: Path, statements: str) -> list[str]:
    """Runs statements in a program and returns the lines it prints. They may use what ``utils.hpp`` itself defines."""
    header = (headers / "ttnn.hpp").read_text()
    numbered = header.replace("class Tensor {\npublic:", "class Tensor {\npublic:\n    int number = 0;")
    assert numbered != header
    (headers / "ttnn.hpp").write_text(numbered)
    constructors = "ttnn::Tensor::Tensor() {}\ntt::tt_metal::MemoryConfig::MemoryConfig() {}"
    main = f'#include "utils.hpp"\n{constructors}\nint main() {{\n{statements}\n}}\n'
    (folder / "main.cpp").write_text(main)
    command = ["g++", "-std=c++20", "-Wall", "-Werror", '-DTENSORS="tensors"', f"-I{headers}"]
    built = subprocess.run([*command, folder / "main.cpp", "-o", folder / "main"], capture_output=True, text=True)
    assert not built.returncode, built.stderr[:2000]
    return subprocess.run([folder / "main"], capture_output=True, text=True, check=True, timeout=60).stdout.splitlines()


def compiled(text: str, **options: object) -> Program:
    return compile_module(parse_module(text, "model.mlir"), CompileOptions.parse(options), load_target("p150"))


# The compiler ------------------------------------------------------------------------------------------------------


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", ["digits_cnn", "diffusion_block", "llama_decode", "lstm"])
def test_a_compiler_takes_the_programs(name: str, tmp_path: Path, headers: Path) -> None:
    program = compiled(PROGRAMS[name]().stablehlo(), optimization_level=2)
    check(tmp_path, headers, generate(program, language="cpp").main)


def test_loops_ask_the_host_for_another_round(tmp_path: Path, headers: Path) -> None:
    text = generate(compiled(LOOP), language="cpp").main
    check(tmp_path, headers, text)
    assert "utils::rounds(0, static_cast<int64_t>(utils::scalar(" in text
    assert "utils::joined(carried" in text


COUNT_DOWN = """func.func public @main(%x: tensor<32x32xf32>) -> tensor<32x32xf32> {
  %ten = stablehlo.constant dense<10> : tensor<i32>
  %r:2 = stablehlo.while(%n = %ten, %s = %x) : tensor<i32>, tensor<32x32xf32>
  cond {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %c = stablehlo.compare GT, %n, %zero, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %m = stablehlo.subtract %n, %one : tensor<i32>
    %t = stablehlo.tanh %s : tensor<32x32xf32>
    stablehlo.return %m, %t : tensor<i32>, tensor<32x32xf32>
  }
  return %r#1 : tensor<32x32xf32>
}"""


def test_a_loop_that_counts_down_has_its_rounds(tmp_path: Path, headers: Path) -> None:
    text = generate(compiled(COUNT_DOWN), language="cpp").main
    check(tmp_path, headers, text)
    head = next(line for line in text.splitlines() if line.strip().startswith("for ("))
    assert run(tmp_path, headers, f'int n = 0;\n{head} ++n; }}\nstd::cout << n << "\\n";') == ["10"]


BOUNDS = [(0, 5, 1), (10, 0, -1), (10, 0, -3), (9, 0, -3), (-4, 7, 2), (5, 5, 1), (5, 0, 1), (0, 5, -1), (0, 1, 9)]


def test_counted_loops_have_the_rounds_of_pythons_range(tmp_path: Path, headers: Path) -> None:
    heads = [Cpp().loop(Iteration([*map(str, bounds)], None, "body", "carried", [], []))[1] for bounds in BOUNDS]
    counts = [f'{{ int n = 0;\n{head} ++n; }}\nstd::cout << n << "\\n"; }}' for head in heads]
    assert run(tmp_path, headers, "\n".join(counts)) == [str(len(range(*bounds))) for bounds in BOUNDS]


def test_a_loop_of_step_0_is_an_error(tmp_path: Path, headers: Path) -> None:
    tried = "try { utils::rounds(0, 5, 0); } catch (const std::invalid_argument& error) { std::cout << error.what(); }"
    assert run(tmp_path, headers, tried) == ["A counted loop has step 0."]


NAMES = ["plain", 'a "quoted" name', "back\\slash", "narrow\u00a0space", "tab\tand 0", "\u00fc\u4e2d", "bell\a7"]


def test_string_literals_have_the_bytes_of_the_text(tmp_path: Path, headers: Path) -> None:
    printed = [f"for (unsigned char c : std::string({quoted(name)})) std::cout << int(c) << ' ';" for name in NAMES]
    lines = run(tmp_path, headers, '\nstd::cout << "\\n";\n'.join([*printed, ""]))
    assert [bytes(map(int, line.split())).decode() for line in lines] == NAMES


def test_a_modules_own_weight_comes_before_one_of_the_whole_model(tmp_path: Path, headers: Path) -> None:
    """``utils::under`` agrees with Python's; the model's weight comes first in the order of the names."""
    stored = """utils::Weights w;
w["bias"].number = 1;
w["layers.0.bias"].number = 2;
w["zero"].number = 3;
for (const auto& [name, tensor] : utils::under(w, "layers.0.")) std::cout << name << tensor.number << "\\n";"""
    assert run(tmp_path, headers, stored) == ["bias2", "zero3"]


def test_ones_where_there_are_no_tensors(tmp_path: Path, headers: Path) -> None:
    text = generate(compiled(MODULE), export_tensors=False, language="cpp").main
    check(tmp_path, headers, text)
    assert 'utils::ones("arg0", ttnn::Shape({32, 32}), ttnn::DataType::BFLOAT16' in text


def test_tt_nn_exports_each_function_as_it_is_declared(tmp_path: Path, headers: Path, ttnn_mock: Mock) -> None:
    """Each symbol to link is the beginning of a symbol in TT-NN; parameters that are never passed are not declared."""
    find = "import importlib.util as u; print(u.find_spec('ttnn').submodule_search_locations[0])"
    located = subprocess.run([ttnn_mock.python, "-c", find], capture_output=True, text=True, check=True)
    library = Path(located.stdout.split()[-1]) / "build/lib/_ttnncpp.so"
    exported = subprocess.run(["nm", "-DC", "--defined-only", library], capture_output=True, text=True, check=True)
    symbols = {line.split(" ", 2)[2] for line in exported.stdout.splitlines() if "ttnn::" in line}
    (tmp_path / "uses.cpp").write_text(declarations.uses())
    object_file = tmp_path / "uses.o"
    command = ["g++", "-std=c++20", "-c", f"-I{headers}", tmp_path / "uses.cpp", "-o", object_file]
    subprocess.run(command, check=True)
    named = subprocess.run(["nm", "-uC", object_file], capture_output=True, text=True, check=True)
    used = [line.split("U ", 1)[1] for line in named.stdout.splitlines() if "ttnn::" in line]
    assert len(used) > 90
    missing = [use for use in used if not any(symbol.startswith(use[:-1]) for symbol in symbols)]
    assert not missing


def test_every_function_has_types_that_are_known() -> None:
    assert len(declarations.functions()) == len(FUNCTIONS) - 5


# What has no source ------------------------------------------------------------------------------------------------


def test_a_refused_host_op_names_its_place_once() -> None:
    located = ON_THE_HOST.replace("\n  return", ' loc("model.py":7:1)\n  return', 1)
    assert located != ON_THE_HOST
    with pytest.raises(UnsupportedOpError, match=r"stablehlo\.cholesky\. At model\.py:7:1\.") as caught:
        generate(compiled(located), language="cpp")
    assert str(caught.value).count("model.py:7:1") == 1


def test_host_ops_and_traces_are_refused() -> None:
    with pytest.raises(
        UnsupportedOpError, match=r"C\+\+ source does not support ops that the host runs: stablehlo.cholesky"
    ):
        generate(compiled(ON_THE_HOST), language="cpp")
    with pytest.raises(UnsupportedOpError, match=r"C\+\+ source does not support traces"):
        generate(compiled(MODULE, enable_trace=True, optimization_level=1), language="cpp")


# Files -------------------------------------------------------------------------------------------------------------

TREE = {"main.cpp", "utils.hpp", "ttnn.hpp", "CMakeLists.txt", "run", "irs", "ttir.mlir"}


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} - {RECORD}


def test_the_command_writes_a_tree(tmp_path: Path, headers: Path) -> None:
    (tmp_path / "model.mlir").write_text(MODULE)
    out = tmp_path / "out"
    arguments = ["codegen", str(tmp_path / "model.mlir"), "-o", str(out), "--language", "cpp"]
    done = CliRunner().invoke(cli, arguments)
    assert "C++ codegen successful" in done.output
    assert names(out) == TREE
    assert os.access(out / "run", os.X_OK)
    check(tmp_path, headers, (out / "main.cpp").read_text())


@pytest.mark.nightly
def test_torch_and_jax_write_it_and_python_in_one_process(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], headers: Path
) -> None:
    import jax.numpy as jnp

    model, x = torch.nn.Linear(32, 32), torch.randn(4, 32)
    tt_torch.codegen_cpp(model, x, export_path=tmp_path / "torch")
    tt_torch.codegen_py(model, x, export_path=tmp_path / "python")
    tt_jax.codegen_cpp(lambda w, x: jnp.tanh(x @ w), jnp.eye(8), jnp.ones((4, 8)), export_path=tmp_path / "jax")
    said = capsys.readouterr().out
    assert said.count("C++ codegen successful.") == 2
    assert said.count("Python codegen successful.") == 1
    assert names(tmp_path / "torch") == TREE | {"tensors"}
    assert names(tmp_path / "jax") == TREE | {"tensors"}
    assert "main.py" in names(tmp_path / "python")
    for folder in ("torch", "jax"):
        check(tmp_path, headers, (tmp_path / folder / "main.cpp").read_text())
    assert 'w["weight"] = utils::load("arg' in (tmp_path / "torch/main.cpp").read_text()


def test_a_dry_run_computes_nothing(tmp_path: Path) -> None:
    model, x = torch.nn.Linear(32, 32).eval(), torch.randn(4, 32)
    options = {"backend": "codegen_cpp", "export_path": str(tmp_path / "out"), "dry_run": True}
    compiled_model = torch.compile(model, backend="tt", options=options)
    with torch.no_grad():
        assert not compiled_model(x).any()
    assert {path.name for path in (tmp_path / "out/tensors").iterdir()} == {f"arg{i}.tensorbin" for i in range(3)}


def test_run_says_which_tool_is_missing(tmp_path: Path) -> None:
    if shutil.which("cmake") is None or shutil.which("g++") is None:
        pytest.skip("cmake or g++ is not installed")
    program = compiled(MODULE)
    export.write(tmp_path / "out", export.contents(program, generate(program, language="cpp"), {}))

    def said(*tools: str, **variables: str) -> str:
        tools_folder = tmp_path / "-".join(("tools", *tools))
        tools_folder.mkdir()
        for tool in ("bash", "dirname", *tools):
            (tools_folder / tool).symlink_to(str(shutil.which(tool)))
        done = subprocess.run(
            [tmp_path / "out/run"], env={"PATH": str(tools_folder)} | variables, capture_output=True, text=True
        )
        assert done.returncode == 1
        return done.stderr

    assert "run: cmake is not installed" in said()
    assert "run: c++ is not installed; a C++20 compiler is needed" in said("cmake")
    assert "run: TT-NN's CMake package was not found" in said(
        *("cmake", "g++", "c++", "make", "uname"), TT_METAL_HOME="/no"
    )
