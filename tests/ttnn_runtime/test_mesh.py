"""Programs for several chips on the TT-NN runtime: with the replacement for ttnn, and in TT-NN's mock mode."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import torch

from tests.codegen.mesh_programs import HOST_PROGRAMS, MESHES, PROGRAMS
from tt_xla.compiler import compile_module, parse_module
from tt_xla.errors import ExecutionError
from tt_xla.ir.mesh import replicated
from tt_xla.ir.program import Program
from tt_xla.options import CompileOptions
from tt_xla.runtime import get_device
from tt_xla.runtime.mesh.executable import MeshExecutable
from tt_xla.runtime.mesh.shards import join, split
from tt_xla.runtime.ttnn import launch
from tt_xla.runtime.ttnn.process import Worker
from tt_xla.target import load_target

if TYPE_CHECKING:
    from tests.ttnn_runtime.conftest import StandIn


def compiled(name: str, system: str = "p300", mesh: tuple[int, int] = (1, 2)) -> Program:
    text = (PROGRAMS | HOST_PROGRAMS)[name](mesh)
    return compile_module(parse_module(text), CompileOptions.parse({"optimization_level": 1}), load_target(system))


def loaded(name: str, system: str = "p300", mesh: tuple[int, int] = (1, 2)) -> MeshExecutable:
    executable = get_device(system).load(compiled(name, system, mesh))
    assert isinstance(executable, MeshExecutable)
    return executable


def arguments(program: Program) -> list[torch.Tensor]:
    torch.manual_seed(0)
    dtypes = {"bf16": torch.bfloat16, "f32": torch.float32, "complex<f32>": torch.complex64}
    return [(torch.randn(each.global_shape or each.shape) / 8).to(dtypes[each.dtype]) for each in program.arguments]


def shards(program: Program, tensors: list[torch.Tensor]) -> list[list[torch.Tensor]]:
    assert program.mesh is not None
    return [
        split(tensor, argument.sharding or replicated(tensor.ndim), program.mesh)
        for tensor, argument in zip(tensors, program.arguments, strict=True)
    ]


def whole(program: Program, results: list[list[torch.Tensor]]) -> list[torch.Tensor]:
    assert program.mesh is not None
    return [
        join(result, each.sharding or replicated(len(each.shape)), program.mesh, each.global_shape or each.shape)
        for result, each in zip(results, program.results, strict=True)
    ]


def mlp(x: torch.Tensor, up: torch.Tensor, down: torch.Tensor) -> torch.Tensor:
    return torch.tanh(x.float() @ up.float()) @ down.float()


@pytest.fixture
def p300(stand_in: StandIn, monkeypatch: pytest.MonkeyPatch) -> StandIn:
    monkeypatch.setenv("TTXLA_SYSTEM", "p300")
    return stand_in


@pytest.mark.parametrize("name", ["data_parallel", "tensor_parallel"])
def test_chips_compute_their_shards(p300: StandIn, name: str) -> None:
    executable = loaded(name)
    tensors = arguments(executable.program)
    (result,) = whole(executable.program, executable.run(shards(executable.program, tensors), [None, 7, 8]))
    torch.testing.assert_close(result.float(), mlp(*tensors), atol=0.05, rtol=0.05)
    calls = p300.calls()
    assert (calls["open_mesh_device"], calls["set_fabric_config"], calls["open_device"]) == (1, 1, 0)


def test_weights_in_shards_are_sent_once_and_again_when_they_change(p300: StandIn) -> None:
    executable = loaded("tensor_parallel")
    x, up, down = arguments(executable.program)
    executable.run(shards(executable.program, [x, up, down]), [None, 7, 8])
    assert p300.calls()["from_host_shards"] == 2
    executable.run(shards(executable.program, [x, up, down]), [None, 7, 8])
    assert p300.calls()["from_host_shards"] == 0
    changed = down + 1
    results = executable.run(shards(executable.program, [x, up, changed]), [None, 7, 9])
    assert p300.calls()["from_host_shards"] == 1
    torch.testing.assert_close(whole(executable.program, results)[0].float(), mlp(x, up, changed), atol=0.2, rtol=0.05)


def test_a_program_for_one_chip_runs_beside_one_for_a_mesh(p300: StandIn) -> None:
    """The worker keeps the mesh device open, and runs the other program on one chip of it."""
    executable = loaded("tensor_parallel")
    tensors = arguments(executable.program)
    executable.run(shards(executable.program, tensors), [None, None, None])
    text = """func.func public @main(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
      %0 = stablehlo.tanh %x : tensor<4x4xf32>
      return %0 : tensor<4x4xf32>
    }"""
    alone = get_device("p300").load(compile_module(parse_module(text), CompileOptions.parse({}), load_target("p300")))
    x = torch.rand(4, 4)
    torch.testing.assert_close(alone.run([x], [None])[0], torch.tanh(x), atol=1e-3, rtol=1e-3)
    executable.run(shards(executable.program, tensors), [None, None, None])
    assert launch.worker().generation == 1
    assert p300.calls()["open_mesh_device"] == 1


def test_a_worker_for_one_chip_is_replaced_when_a_mesh_is_needed(p300: StandIn) -> None:
    text = "func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }"
    get_device("p300").load(compile_module(parse_module(text), CompileOptions.parse({}), load_target("p300")))
    executable = loaded("gathered")
    tensors = arguments(executable.program)
    (result,) = whole(executable.program, executable.run(shards(executable.program, tensors), [None]))
    torch.testing.assert_close(result, torch.exp(tensors[0]), atol=1e-3, rtol=1e-3)
    assert launch.worker().generation == 2


def host_calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Returns a list that the name of each host op is added to when it runs."""
    names: list[str] = []
    ask = Worker.request

    def request(self: Worker, message: Any, arrays: Any, on_host: Any = None) -> Any:
        return ask(self, message, arrays, lambda name, operands: names.append(name) or on_host(name, operands))

    monkeypatch.setattr(Worker, "request", request)
    return names


def test_the_host_computes_each_shard(p300: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    names = host_calls(monkeypatch)
    executable = loaded("host_op", mesh=(2, 1))
    x, weight = arguments(executable.program)
    (result,) = whole(executable.program, executable.run(shards(executable.program, [x, weight]), [None, 7]))
    spectrum = torch.fft.rfft(torch.exp(x)) * torch.fft.rfft(weight)
    torch.testing.assert_close(result, torch.tanh(torch.fft.irfft(spectrum, 32)), atol=1e-3, rtol=1e-3)
    assert names == ["host/part0.mlir", "host/part1.mlir", "host/part1.mlir"]  # the weight is the same on both chips


def test_tensors_without_a_data_type_come_in_shards(p300: StandIn) -> None:
    executable = loaded("complex_result")
    (x,) = arguments(executable.program)
    (result,) = whole(executable.program, executable.run(shards(executable.program, [x]), [None]))
    torch.testing.assert_close(result, torch.fft.fft(x))


def test_chosen_chips_are_opened_by_number(p300: StandIn, caplog: pytest.LogCaptureFixture) -> None:
    program = compiled("tensor_parallel")
    tensors = arguments(program)
    expected = get_device("p300").load_mesh(program, [0, 1]).run(shards(program, tensors), [None] * 3)
    assert "open_mesh_device (1, 2) ()" in p300.log.read_text()
    results = get_device("p300").load_mesh(program, [1, 0]).run(shards(program, tensors), [None] * 3)
    assert "open_mesh_device (1, 2) [1, 0]" in p300.log.read_text()
    assert "process with 1x2 chips is replaced by one with 1x2 chips (1, 0)" in caplog.text
    assert torch.equal(whole(program, results)[0], whole(program, expected)[0])


def test_chosen_devices_are_opened_as_their_chips(stand_in: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    """Devices of p150x4 count along its natural mesh, whose second one is chip 2."""
    monkeypatch.setenv("TTXLA_SYSTEM", "p150x4")
    program = compiled("tensor_parallel", "p150x4")
    get_device("p150x4").load_mesh(program, [3, 1]).run(shards(program, arguments(program)), [None] * 3)
    assert "open_mesh_device (1, 2) [1, 2]" in stand_in.log.read_text()


def test_wrong_shards_are_an_error(p300: StandIn) -> None:
    executable = loaded("gathered")
    with pytest.raises(ExecutionError, match="comes in 1 shards, expected 2"):
        executable.run([[torch.zeros(64, 64)]], [None])


@pytest.mark.parametrize(("system", "mesh"), [(system, mesh) for system in MESHES for mesh in MESHES[system]])
def test_mock_mode_returns_zeros_of_every_chip(
    mock_runtime: None, monkeypatch: pytest.MonkeyPatch, system: str, mesh: tuple[int, int]
) -> None:
    monkeypatch.setenv("TTXLA_SYSTEM", system)
    for name in [*PROGRAMS, "host_op"]:
        executable = loaded(name, system, mesh)
        program = executable.program
        results = executable.run(shards(program, arguments(program)), [None] * len(program.arguments))
        for chips, declared in zip(results, program.results, strict=True):
            assert [tuple(chip.shape) for chip in chips] == [tuple(declared.shape)] * (mesh[0] * mesh[1])
            assert not any(bool(chip.any()) for chip in chips)
        kept = executable.run_keeping(shards(program, arguments(program)), [None] * len(program.arguments))
        for chips, handles in zip(results, kept, strict=True):
            assert all(torch.equal(handle.read(), chip) for chip, handle in zip(chips, handles, strict=True))
