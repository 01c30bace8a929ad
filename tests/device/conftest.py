"""Small Programs written by hand, and a device of a made-up system."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from dataclasses import replace as changed
from typing import Any

import msgspec
import pytest
import torch

from tests.device.threaded_workers import ThreadedWorkers, same_bits
from tt_xla.ir.layout import DataType, TensorLayout
from tt_xla.ir.mesh import Mesh
from tt_xla.ir.program import (
    Argument,
    Function,
    FunctionKind,
    Instruction,
    MemoryPlan,
    Operand,
    Program,
    Result,
    Role,
    TensorSpec,
)
from tt_xla.runtime import Device
from tt_xla.runtime.emulator import library
from tt_xla.runtime.emulator.fused import engine
from tt_xla.runtime.executable import Executable
from tt_xla.runtime.mesh.executable import MeshExecutable
from tt_xla.runtime.mesh.expansion import expand
from tt_xla.target import Link

ON_DEVICE = {"i64": "si32", "i32": "si32", "f64": "f32", "f16": "bf16", "i1": "bf16", "ui8": "u8", "ui16": "u16"} | {
    "ui32": "u32",
    "ui64": "u32",
    "i8": "si32",
    "i16": "si32",
}


@dataclass
class FunctionBuilder:
    name: str
    kind: FunctionKind = FunctionKind.FORWARD
    values: list[TensorSpec] = field(default_factory=list)
    arguments: list[int] = field(default_factory=list)
    body: list[Instruction] = field(default_factory=list)

    def value(self, shape: Sequence[int], dtype: str) -> int:
        self.values.append(TensorSpec(tuple(shape), TensorLayout.of(shape, DataType(dtype))))
        return len(self.values) - 1

    def argument(self, shape: Sequence[int], dtype: str) -> int:
        self.arguments.append(self.value(shape, dtype))
        return self.arguments[-1]

    def op(
        self, op: str, shape: Sequence[int], dtype: str, attributes: dict[str, Any] | None = None, **on: Operand
    ) -> int:
        result = self.value(shape, dtype)
        self.body.append(Instruction(op, on, (result,), attributes or {}, "model.py:7"))
        return result

    def deallocate(self, value: int) -> None:
        self.body.append(Instruction("ttnn.deallocate", {"input": value}, (), {"force": False}))

    def done(self, *results: int) -> Function:
        return Function(self.name, self.kind, tuple(self.arguments), results, tuple(self.values), tuple(self.body))


def traced(main: FunctionBuilder, *results: int) -> tuple[list[Function], dict[str, str]]:
    """Returns the functions of a trace whose ``main`` returns ``results``, and the attributes of its op."""
    for result in results:
        spec = main.values[result]
        slot = main.argument(spec.shape, spec.layout.dtype.value)
        main.body.append(Instruction("ttnn.copy", {"src": result, "dst": slot}, (), {}))
    names = {
        "allocate_slots_callee": (f"allocate_slots_{main.name}", FunctionKind.TRACE_ALLOCATE_SLOTS),
        "capture_callee": (f"run_and_capture_{main.name}", FunctionKind.TRACE_CAPTURE),
        "execute_callee": (f"execute_{main.name}", FunctionKind.TRACE_EXECUTE),
    }
    around = {key: FunctionBuilder(*name) for key, name in names.items()}
    around["capture_callee"].body.append(Instruction("func.call", {"inputs": ()}, (), {"callee": main.name}))
    functions = [main.done(), *(each.done() for each in around.values())]
    return functions, {key: name for key, (name, _) in names.items()}


def program(
    functions: Sequence[Function],
    arguments: Sequence[tuple[str, Role, tuple[int, ...], str]],
    results: Sequence[tuple[tuple[int, ...], str]],
    options: dict[str, Any] | None = None,
    memory: MemoryPlan | None = None,
    target: str = "test",
) -> Program:
    return Program(
        "small",
        target,
        options or {"numerics": "silicon", "enable_trace": False},
        tuple(Argument(*argument) for argument in arguments),
        tuple(Result(*result) for result in results),
        tuple(functions),
        memory or MemoryPlan(),
        0.0,
    )


@dataclass(frozen=True)
class Chip:
    name: str = "test"
    arch: str = "wormhole_b0"
    dram_usable_bytes: int = 12 << 30
    chips: int = 1
    links: tuple[Link, ...] = ()
    clock_hz: float = 1e9


@pytest.fixture
def device() -> Device:
    return Device(Chip(), trace_region_bytes=None)


@pytest.fixture
def make_program() -> Callable[..., Program]:
    return program


@pytest.fixture
def make_trace() -> Callable[..., tuple[list[Function], dict[str, str]]]:
    return traced


@pytest.fixture
def function_builder() -> type[FunctionBuilder]:
    return FunctionBuilder


@pytest.fixture
def chip() -> type[Chip]:
    return Chip


NARROW = {torch.bfloat16: "bf16", torch.float32: "f32", torch.int32: "si32", torch.int64: "u32", torch.uint8: "u8"}


@pytest.fixture
def run_op() -> Callable[..., Any]:
    """Runs one op on tensors in their containers; ``dtypes`` overrides operands' device dtypes."""

    def run(
        op: str,
        operands: dict[str, Any],
        shape: Sequence[int] | Sequence[Sequence[int]],
        dtype: str = "bf16",
        /,
        *,
        numerics: str = "silicon",
        dtypes: dict[str, str] | None = None,
        **attributes: Any,
    ) -> Any:
        from tt_xla.runtime.emulator.bind import bind
        from tt_xla.runtime.emulator.context import Context, Weighted

        def spec(name: str, tensor: torch.Tensor) -> TensorSpec:
            label = (dtypes or {}).get(name) or NARROW[tensor.dtype]
            return TensorSpec(tuple(tensor.shape), TensorLayout.of(tuple(tensor.shape), DataType(label)))

        specs: dict[str, Any] = {}
        flat: list[torch.Tensor] = []
        for name, operand in operands.items():
            group = [operand] if isinstance(operand, torch.Tensor) else list(operand)
            flat += group
            group_specs = tuple(spec(name, tensor) for tensor in group)
            specs[name] = group_specs[0] if isinstance(operand, torch.Tensor) else group_specs
        shapes = [shape] if not shape or isinstance(shape[0], int) else list(shape)
        results = tuple(TensorSpec(tuple(s), TensorLayout.of(s, DataType(dtype))) for s in shapes)
        call = bind(Context(op, numerics, specs, results), attributes)
        if isinstance(call, Weighted):
            output = call.call(*flat)
            prepared = call.with_prepared(flat[0], call.prepare(flat[1]), *flat[2:])
            torch.testing.assert_close(prepared, output, rtol=0, atol=0, equal_nan=True)
        else:
            output = call(*flat)
        outcome = (output,) if len(results) == 1 else output
        for tensor, result in zip(outcome, results, strict=True):
            assert tuple(tensor.shape) == result.shape
        return outcome[0] if len(outcome) == 1 else outcome

    return run


@pytest.fixture
def cache(tmp_path, monkeypatch, cache_of_the_session):
    """A cache on disk of the test's own, but for libraries of fused kernels, which the session's tests share."""
    monkeypatch.setenv("TTXLA_CACHE", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))  # reports of faults
    (tmp_path / "fused").symlink_to(cache_of_the_session / "fused")
    return tmp_path


@pytest.fixture
def no_libraries(cache):
    """Has the test compile its fused kernels itself, but not what all programs share."""
    library.library()
    (cache / "fused").unlink()


@pytest.fixture
def load(device, function_builder, make_program, monkeypatch, cache):
    """Loads a program with ``TTXLA_EMULATOR_CHAINS`` at this mode, which was not long in the making."""
    monkeypatch.setattr(engine, "making_seconds", lambda: 0.0)

    def load(make, mode="now"):
        monkeypatch.setenv("TTXLA_EMULATOR_CHAINS", mode)
        f = function_builder("main")
        results = make(f)
        specs = [f.values[value] for value in [*f.arguments, *results]]
        described = [
            (spec.shape, {"si32": "i32"}.get(spec.layout.dtype.value, spec.layout.dtype.value)) for spec in specs
        ]
        declared = [(f"a{at}", Role.INPUT, *each) for at, each in enumerate(described[: len(f.arguments)])]
        program = make_program(
            [f.done(*results)], declared, described[len(f.arguments) :], options={"numerics": "silicon"}
        )
        return device.load(program)

    return load


@pytest.fixture
def same_bits_on_workers(monkeypatch) -> None:
    """Has every run of a program for several chips repeated by two and by three workers, and compares the bits."""
    plain_run, loaded = MeshExecutable.run, {}

    def run(self, shards, versions, donated=()):
        copies = [[shard.clone() for shard in group] for group in shards]
        results = plain_run(self, shards, versions, donated)
        if type(self.executable) is Executable:
            if id(self) not in loaded:
                stacks = self.expansion == expand(self.program)
                loaded[id(self)] = (
                    self,
                    [ThreadedWorkers(self.program, self.device, count, stacks=stacks) for count in (2, 3)],
                )
            for workers in loaded[id(self)][1]:
                returned = workers.run(copies, versions)
                assert all(same_bits(results[number][chip], tensor) for (number, chip), tensor in returned.items())
                assert {*self.expansion.holders} <= returned.keys()
        return results

    monkeypatch.setattr(MeshExecutable, "run", run)


@pytest.fixture
def board(chip) -> Device:
    return Device(changed(chip(), chips=8), trace_region_bytes=None)


@pytest.fixture(params=[True, False], ids=["stacked", "apart"])
def stacks(request, monkeypatch) -> bool:
    """Whether one instruction may compute the shards of several chips."""
    monkeypatch.setattr("tt_xla.runtime.device.expand", lambda program, **_: expand(program, stacks=request.param))
    return request.param


@pytest.fixture
def on_mesh(make_program, board, stacks):
    """Loads a Program of functions, the entry first, on a mesh.

    Arguments are (name, role, global shape, dtype, sharding), results (global shape, dtype, sharding).
    """

    def make(mesh: Mesh, functions, arguments, results, *, load: bool = True, **more: Any) -> Any:
        plain = make_program(functions, [], [], **more)
        program = msgspec.structs.replace(
            plain,
            arguments=tuple(
                Argument(
                    name, role, sharding.local_shape(mesh, shape), dtype, name.startswith("cache"), sharding, shape
                )
                for name, role, shape, dtype, sharding in arguments
            ),
            results=tuple(
                Result(sharding.local_shape(mesh, shape), dtype, sharding, shape) for shape, dtype, sharding in results
            ),
            mesh=mesh,
        )
        return board.load(program) if load else program

    return make
