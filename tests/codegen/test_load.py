"""Generated source that is edited and loaded back: found by its graph, run in place of the model, and judged."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch

import tt_torch
from tests.ttnn_runtime.conftest import stand_in  # noqa: F401  a fixture
from tt_torch.codegen import codegen_py, load_codegen_py
from tt_xla.codegen import export
from tt_xla.compiler import compile_module, parse_module
from tt_xla.errors import CompileError, ExecutionError
from tt_xla.frontends.torch import settings
from tt_xla.options import CompileOptions
from tt_xla.runtime import get_device
from tt_xla.target import load_target

if TYPE_CHECKING:
    from tests.ttnn_runtime.conftest import StandIn


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up = torch.nn.Linear(32, 64)
        self.down = torch.nn.Linear(64, 32)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(torch.relu(self.up(x)))


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TTXLA_SYSTEM", "p150")
    torch._dynamo.reset()
    yield
    monkeypatch.undo()
    settings.renew()  # the options of the process no longer have a test's environment


@pytest.fixture
def net() -> Net:
    torch.manual_seed(0)
    return Net().to(torch.bfloat16).eval()


@pytest.fixture
def folder(net: Net, tmp_path: Path) -> Path:
    codegen_py(net, torch.zeros(4, 32, dtype=torch.bfloat16), export_path=tmp_path / "model")
    torch._dynamo.reset()
    return tmp_path / "model"


def edit(folder: Path, change: Callable[[str], str]) -> None:
    before = (folder / "main.py").read_text()
    after = change(before)
    assert after != before
    (folder / "main.py").write_text(after)


def return_instead(text: str) -> Callable[[str], str]:
    return lambda main: main.replace("    return [down]", f"    return {text}")


def inputs(rows: int = 4) -> torch.Tensor:
    return torch.randn(rows, 32, generator=torch.Generator().manual_seed(1)).to(torch.bfloat16)


def test_source_gives_the_bits_of_the_model_on_other_inputs_and_weights(net: Net, folder: Path) -> None:
    compiled = torch.compile(net, backend="tt")
    loaded = torch.compile(net, backend="tt", options={"backend": "codegen_load_py", "export_path": str(folder)})
    with torch.no_grad():
        for scale in (1.0, 2.0):
            for parameter in net.parameters():
                parameter.mul_(scale)
            assert torch.equal(loaded(inputs()), compiled(inputs()))
            assert torch.equal(loaded(-inputs()), compiled(-inputs()))


def test_an_edit_runs(net: Net, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edit(folder, return_instead("[ttnn.multiply(down, 2.0)]"))
    edit(folder, lambda main: main.replace("def forward", 'print("a line of mine")\n\n\ndef forward', 1))
    with torch.no_grad():
        model = torch.compile(net, backend="tt")(inputs())
    torch._dynamo.reset()
    assert torch.equal(load_codegen_py(net, inputs(), load_path=folder), 2 * model)
    assert "a line of mine" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[ttnn.matmul(down, down)]", r"failed at `return .*matmul.*TT_FATAL: The width of the first"),
        ("[ttnn.nothing(down)]", "AttributeError: module 'ttnn' has no attribute 'nothing'"),
        ("[down", "SyntaxError: '.' was never closed"),
        ("down", "forward returned Tensor, not a list of tensors"),
        ("[down, down]", "returns 2 results; the model has 1"),
        (
            "[ttnn.typecast(down, ttnn.float32)]",
            r"returns FLOAT32\[4, 32\] as result 0; the model has BFLOAT16\[4, 32\]",
        ),
        ("[ttnn.reshape(down, [32, 4])]", r"returns BFLOAT16\[32, 4\] as result 0; the model has BFLOAT16\[4, 32\]"),
    ],
)
def test_an_edit_that_fails_is_an_error_with_its_line(net: Net, folder: Path, text: str, message: str) -> None:
    edit(folder, return_instead(text))
    number = 1 + (folder / "main.py").read_text().splitlines().index(f"    return {text}")
    with pytest.raises(ExecutionError, match=message) as raised:
        load_codegen_py(net, inputs(), load_path=folder)
    if "failed at" in message or "SyntaxError" in message:
        assert raised.value.location == f"{folder / 'main.py'}:{number}"


def test_a_function_that_is_missing_is_an_error(net: Net, folder: Path) -> None:
    edit(folder, lambda main: main.replace("def forward(", "def backward("))
    with pytest.raises(ExecutionError, match=r"main\.py has no function forward"):
        load_codegen_py(net, inputs(), load_path=folder)


def test_folders_without_the_graph_are_errors(net: Net, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(load_path: Path, rows: int = 4) -> str:
        torch._dynamo.reset()
        with pytest.raises(CompileError) as raised:
            load_codegen_py(net, inputs(rows), load_path=load_path)
        return str(raised.value)

    assert f"cannot read load directory '{folder / 'absent'}': it does not exist" in refused(folder / "absent")
    assert "it is a file" in refused(folder / "main.py")
    assert "Available graphs: none" in refused(folder / "tensors")
    known = (folder / "module_key").read_text().split()[0]
    assert f"Available graphs:\n  . ({known})\n" in refused(folder, rows=8)
    monkeypatch.setenv("TTXLA_SYSTEM", "n150")
    assert "was generated for p150 and mesh 1x1; the program is for n150 and mesh 1x1" in refused(folder)
    monkeypatch.setenv("TTXLA_SYSTEM", "p150")
    (folder / "main.py").rename(folder / "other.py")
    assert "main.py' is missing" in refused(folder)
    (folder / "module.json").write_text('{"system": "p150", "arguments": ["first"]}')
    assert "malformed module.json" in refused(folder)
    (folder / "module_key").write_text(f"{known}\n1xa\n1\n")
    assert "malformed module_key" in refused(folder)
    (folder / "module_key").write_bytes(b"\xff\x00")
    assert "no saved graph with hash" in refused(folder)


def test_the_environment_writes_a_folder_for_each_graph_and_loads_them(
    net: Net, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "emitted"
    monkeypatch.setenv("TTXLA_CODEGEN_EXPORT_DIR", str(root))
    settings.renew()
    with torch.no_grad():
        expected = [torch.compile(net, backend="tt")(inputs(rows)) for rows in (4, 8)]
    lines = [json.loads(line) for line in (root / "manifest.json").read_text().splitlines()]
    assert [line["dir"] for line in lines] == ["graph_0", "graph_1"]
    for line in lines:
        assert (root / line["dir"] / "module_key").read_text().split() == [line["hash"], "1x1", "1"]
    edit(root / "graph_1", return_instead("[ttnn.neg(down)]"))
    torch._dynamo.reset()
    monkeypatch.setenv("TTXLA_CODEGEN_LOAD_DIR", str(root))  # goes before the other variable
    settings.renew()
    with torch.no_grad():
        loaded = [torch.compile(net, backend="tt")(inputs(rows)) for rows in (4, 8)]
    assert torch.equal(loaded[0], expected[0])
    assert torch.equal(loaded[1], -expected[1])


def test_source_with_ones_for_arguments_takes_those_of_the_call(net: Net, tmp_path: Path) -> None:
    codegen_py(net, inputs(), export_path=tmp_path / "model", export_tensors=False)
    assert not (tmp_path / "model/tensors").exists()
    torch._dynamo.reset()
    with torch.no_grad():
        expected = torch.compile(net, backend="tt")(inputs())
    torch._dynamo.reset()
    assert torch.equal(load_codegen_py(net, inputs(), load_path=tmp_path / "model"), expected)


def test_constants_host_ops_and_traces_load(tmp_path: Path) -> None:
    table = torch.rand(32, 32, generator=torch.Generator().manual_seed(4))

    class Odd(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.fft.fft(x @ table).real + 1

    x = torch.rand(32, 32, generator=torch.Generator().manual_seed(2))
    options = {"enable_trace": True, "optimization_level": 1}
    codegen_py(Odd(), x, export_path=tmp_path / "model", compiler_options=options)
    torch._dynamo.reset()
    expected = torch.compile(Odd(), backend="tt")(x)
    torch._dynamo.reset()
    for _ in range(3):
        assert torch.equal(load_codegen_py(Odd(), x, load_path=tmp_path / "model", compiler_options=options), expected)


def test_tt_nn_runs_loaded_source_in_its_own_process(
    stand_in: StandIn,  # noqa: F811
    tmp_path: Path,
) -> None:
    text = """func.func public @main(%x: tensor<4x32xf32>) -> tensor<4x32xf32> {
      %0 = stablehlo.tan %x : tensor<4x32xf32>
      return %0 : tensor<4x32xf32>
    }"""
    options = {"backend": "codegen_py", "export_path": str(tmp_path / "model")}
    x = torch.rand(4, 32, generator=torch.Generator().manual_seed(3)) / 4

    def run(**others: str) -> torch.Tensor:
        program = compile_module(parse_module(text), CompileOptions.parse(options | others), load_target("p150"))
        (result,) = export.exporting(program, {}, get_device("p150").load(program).run)([x], [None])
        return result

    plain = run()
    edit(tmp_path / "model", lambda main: main.replace("    return [tan]", "    return [ttnn.add(tan, tan)]"))
    stand_in.calls()
    torch.testing.assert_close(run(backend="codegen_load_py"), 2 * plain)
    assert stand_in.calls()["tan"] == 1
    edit(tmp_path / "model", lambda main: main.replace("ttnn.add(tan, tan)", "mine(tan)"))
    with pytest.raises(ExecutionError, match=r"failed at `return .mine.tan.."):
        run(backend="codegen_load_py")


def key(text: str) -> str:
    options = CompileOptions.parse({"backend": "codegen_load_py", "export_path": "x"})
    graph = compile_module(parse_module(text), options, load_target("p150")).graph
    assert graph is not None
    return graph.hash


def test_names_locations_and_unused_arguments_are_not_part_of_a_graph() -> None:
    def module(name: str, arguments: str, first: str, second: str, op: str = "subtract") -> str:
        result = f'tensor<4xf32> {{jax.result_info = "{name}"}}'
        return f"""module @{name} {{ func.func public @main({arguments}) -> ({result}) {{
          %0 = stablehlo.{op} {first}, {second} : tensor<4xf32> loc("{name}.py":3:4)
          return %0 : tensor<4xf32>
        }} }}"""

    first = key(module("a", "%x: tensor<4xf32>, %y: tensor<4xf32>", "%x", "%y"))
    unused = '%x: tensor<4xf32> {ttir.name = "n"}, %z: tensor<7xi32>, %y: tensor<4xf32>'
    assert key(module("b", unused, "%x", "%y")) == first
    assert key(module("a", "%x: tensor<4xf32>, %y: tensor<4xf32>", "%y", "%x")) != first
    assert key(module("a", "%x: tensor<4xf32>, %y: tensor<4xf32>", "%x", "%y", "add")) != first
    assert tt_torch.load_codegen_py is load_codegen_py
