"""Runs a Program on TT-NN: the worker process executes the source that codegen generates for it."""

from __future__ import annotations

import itertools
import re
import weakref
from collections import Counter
from collections.abc import Callable, Container, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from tt_xla import environment
from tt_xla.codegen import TTNN_VERSION
from tt_xla.codegen.generator import Source, generate
from tt_xla.codegen.meshes import device_mesh
from tt_xla.errors import ExecutionError
from tt_xla.ir.layout import DataType
from tt_xla.ir.mesh import replicated
from tt_xla.ir.program import HOST_OPS, Function, Instruction, Program, Role, TensorSpec
from tt_xla.log import logger
from tt_xla.runtime.emulator.bind import bind
from tt_xla.runtime.emulator.containers import CONTAINERS, hold
from tt_xla.runtime.emulator.context import Call, Weighted
from tt_xla.runtime.executable import Executable
from tt_xla.runtime.steps import context_of
from tt_xla.runtime.transfer import Token, Version, declared, widen
from tt_xla.runtime.ttnn.launch import worker
from tt_xla.runtime.ttnn.process import OpenMesh
from tt_xla.target import device_chips, load_target, system_names

if TYPE_CHECKING:
    from tt_xla.runtime.device import Device
    from tt_xla.runtime.mesh.expansion import Expansion
    from tt_xla.runtime.ttnn.here import InProcess
    from tt_xla.runtime.ttnn.process import Array, Worker

LEAST_TRACE_REGION_BYTES = 1 << 26
"""Minimum size of the trace region for a program with a trace. TT-NN's own size is known only after recording."""

_SENT = {torch.int64: torch.uint32}
"""Dtype to send for each emulator dtype that is wider than the device's element type."""

_program_ids = itertools.count()
"""Source of the numbers by which workers know programs."""


class TTNNExecutable(Executable):
    """An executable that runs on TT-NN instead of the emulated card.

    Parameters stay on the device while their contents are the same, const-eval results until one of their parameters
    changes. An argument that the program writes to and returns stays on the device if the next run passes the tensor
    that this run returned.

    An executable for a mesh takes and returns the distinct shards of each argument and result, as the expansion of its
    Program does. TT-NN chooses the chips for a mesh of the first chips of the system; it opens other chips by number.

    Raises:
        UnsupportedOpError: TT-NN has no call for an op, or no mesh device for the Program's mesh.
        MeshError: the mesh does not fit the links of the system.
        RuntimeUnavailableError: TT-NN is not installed, or does not start.
        ExecutionError: the Program was compiled for another card.
    """

    def __init__(
        self, device: Device, program: Program, expansion: Expansion | None = None, chips: Sequence[Device] = ()
    ) -> None:
        super().__init__(device, program, expansion, chips)
        self._source = self._make_source(program)
        mesh = device_mesh(program)
        numbers = tuple(chip.index for chip in chips)
        physical = device_chips(device.target)
        chosen = () if numbers == tuple(range(len(numbers))) else tuple(physical[number] for number in numbers)
        self._mesh = None if mesh is None else OpenMesh(mesh.shape, mesh.fabric, chosen)
        self._names = [self._argument_name(position) for position in range(len(self.program.arguments))]
        """Name that the worker knows each argument or shard by."""
        self._shards: dict[str, list[str]] = {}
        """Name of each chip's shard, for each argument of a Program with a mesh."""
        self._sent_results: Sequence[tuple[int, int]] | None = None
        """Result of the Program with a mesh, and first chip that holds it, for each result of the expansion."""
        if expansion is not None:
            self._names = [f"{self._argument_name(argument)}.{chip}" for argument, chip in expansion.reads]
            self._shards = _names_of_shards(program, expansion, self._argument_name)
            self._sent_results = expansion.holders
        self._lines = self._source.main.splitlines()
        self._number = next(_program_ids)
        self._worker = self._make_worker()
        self._loaded = 0
        """:attr:`Worker.generation` of the process that has loaded the program; 0 for none."""
        self._sent: dict[int, Token] = {}
        """Token of each argument that the worker has, by argument position."""
        self._dropped: list[str] = []
        """Names of arguments whose contents no longer exist; the worker learns of them with the next request."""
        self._returned = {
            position: self._entry.results.index(self._entry.arguments[position])
            for position in self._written
            if self._entry.arguments[position] in self._entry.results
        }
        """Result index of each argument that the program writes to and returns, by argument position."""
        self._host_copies: dict[int, _HostCopy] = {}
        """Host tensor whose contents match the worker's copy of such an argument, by argument position."""
        self._host_calls = self._bind_host_calls()
        self.device_us: float | None = None
        """Kernel time of the last run in microseconds; measured only with ``TTXLA_TTNN_PROFILE``."""
        with self._worker.lock:
            self._start()
        version = str(self._worker.hello["ttnn"])
        if not version.startswith(f"{TTNN_VERSION}."):
            logger().warning("ttnn %s may refuse calls: they were checked with ttnn %s", version, TTNN_VERSION)
        self._compare_grids()
        released_by: weakref.ref[Any] = weakref.ref(self._worker)
        weakref.finalize(self, _release, released_by, self._number)

    def _make_source(self, program: Program) -> Source:
        """Returns the source that the worker runs."""
        return generate(program, host_in_torch=False, places_shards=False)

    def _make_worker(self) -> Worker | InProcess:
        return worker()

    def _argument_name(self, position: int) -> str:
        """Returns the name that the source has for an argument."""
        return f"arg{position}"

    @property
    def worker(self) -> Worker | InProcess:
        """The worker that runs the program."""
        return self._worker

    def _run_alone(
        self, tensors: Sequence[torch.Tensor], versions: Sequence[Version], donated: Container[int]
    ) -> list[torch.Tensor]:
        """Runs the Program once. The results that a donated argument becomes lie in the argument's memory.

        Raises:
            ExecutionError: arguments do not match, TT-NN refuses a call, or its process ended or did not answer.
        """
        with self._worker.lock:
            if not self.counters.runs or self.device.resident_at_most() > self._room:
                self.device.check_memory(self, self._held_bytes(versions))
            arguments, tokens = self._reader.read(tensors, versions)
            if self._reader.new_versions:
                self._watch_new_versions()
            self._start()
            results = self._run(tensors, arguments, tokens, donated)
            self._worker.rest()
            self.counters.runs += 1
            return results

    def forget(self, version: int) -> None:
        super().forget(version)
        for position, token in [*self._sent.items()]:
            if token is not None and token[0] == version:
                del self._sent[position]
                self._dropped.append(self._names[position])

    def reset(self) -> None:
        super().reset()
        self._loaded = 0

    def _start(self) -> None:
        """Makes sure that a worker runs for the right card, with room for traces."""
        region = environment.trace_region_bytes()
        self._worker.start(self._trace_region_bytes() if region is None else region, self._mesh)
        arch, compiled_arch = self._worker.hello["arch"], self.device.target.arch
        if arch != compiled_arch:
            raise ExecutionError(
                f"Program '{self.program.name}' was compiled for {self.device.name}, a {compiled_arch}; TT-NN runs on "
                f"a {arch}.",
                hint="Set TTXLA_SYSTEM to the system that TT-NN runs on.",
            )

    def _compare_grids(self) -> None:
        """Warns if the card has other cores than the system that the program was compiled for."""
        grid, target = tuple(self._worker.hello["grid"]), load_target(self.program.target)
        if grid == target.grid:
            return
        known = [load_target(name) for name in system_names()]
        fitting = [
            each.name for each in known if (each.arch, each.chips, each.grid) == (target.arch, target.chips, grid)
        ]
        hint = f" Set TTXLA_SYSTEM={fitting[0]} to compile for them." if fitting else ""
        logger().warning(
            "TT-NN computes on %dx%d cores, and '%s' was compiled for the %dx%d of %s.%s",
            *(*grid, self.program.name, *target.grid, target.name, hint),
        )

    def _trace_region_bytes(self) -> int:
        """Returns the size of the trace region that the program needs."""
        return max(2 * self.program.memory.trace_bytes, LEAST_TRACE_REGION_BYTES) if self.traced else 0

    def _load_message(self) -> Mapping[str, Any]:
        return {
            "do": "load",
            "program": self._number,
            "source": self._source.main,
            "mesh": self._mesh is not None,
            "shards": self._shards,
            "results": self._sent_results,
        }

    def _load(self) -> None:
        """Sends the program to the worker."""
        self._sent.clear()
        self._host_copies.clear()
        self._dropped.clear()
        constants = {name: _constant(*constant) for name, constant in self._source.constants.items()}
        self._answered(self._worker.request(dict(self._load_message()), constants))
        self._loaded = self._worker.generation

    def _run(
        self,
        tensors: Sequence[torch.Tensor],
        arguments: Sequence[torch.Tensor],
        tokens: Sequence[Token],
        donated: Container[int],
    ) -> list[torch.Tensor]:
        if self._loaded != self._worker.generation:
            self._load()
        on_device = {position for position, copy in self._host_copies.items() if copy.matches(tensors[position])}
        changed = [
            position
            for position, token in enumerate(tokens)
            if position not in on_device and (token is None or self._sent.get(position) != token)
        ]
        passing = [
            self._names[position]
            for position in changed
            if (tokens[position] is None or position in self._written) and position not in self._returned
        ]
        parameters = (position for position in changed if position not in self._written)
        message = {
            "do": "run",
            "program": self._number,
            "prepare": any(self.program.arguments[position].role is not Role.INPUT for position in parameters),
            "passing": passing,
            "dropped": [*self._dropped],
            "forget": _take_released(self._worker),
            "profile": environment.ttnn_profile(),
        }
        arrays = {self._names[position]: to_array(arguments[position]) for position in changed}
        self._host_copies.clear()
        self._dropped.clear()
        answer = self._answered(self._worker.request(message, arrays, self._on_host))
        self._sent.update({position: tokens[position] for position in changed if position not in self._written})
        self.counters.const_evals += bool(answer["prepared"])
        self.device_us = answer["device_us"]
        if self.device_us is not None:
            logger().info("kernels of %s took %.1f us on the device", self.program.name, self.device_us)
        specs = [self._entry.values[value] for value in self._entry.results]
        arrays_out = [self._worker.read(segment) for segment in answer["results"]]
        self._check_results(answer, arrays_out)
        outputs = [to_tensor(array, spec) for array, spec in zip(arrays_out, specs, strict=True)]
        results = [
            widen(tensor, declared(result)) for tensor, result in zip(outputs, self.program.results, strict=True)
        ]
        count = Counter(map(id, tensors))
        for position, index in self._returned.items():
            may_overwrite = position in donated and count[id(tensors[position])] == 1
            results[index] = self._returned_argument(
                position, results[index], tensors[position] if may_overwrite else None
            )
        return results

    def _returned_argument(self, position: int, result: torch.Tensor, donated: torch.Tensor | None) -> torch.Tensor:
        """Returns the result that an argument became, in the argument's memory if it was donated.

        The result is remembered: when the next run passes it, the worker need not receive it again.
        """
        if donated is not None and donated.dtype is result.dtype and donated.shape == result.shape:
            donated.copy_(result)
            result = donated
        if not result.is_inference():  # of such a tensor nobody can tell whether it was written to
            self._host_copies[position] = _HostCopy(result, weakref.ref(self), position, self._names[position])
        return result

    def _answered(self, answer: dict[str, Any]) -> dict[str, Any]:
        """Returns the worker's answer, or raises the error that it reports.

        Raises:
            ExecutionError: TT-NN refused a call. The message has the call, the location is the user's source line.
        """
        if "error" not in answer:
            return answer
        raise self._failed(answer) from answer.get("cause")

    def _check_results(self, answer: Mapping[str, Any], arrays: Sequence[Array]) -> None:
        """Checks what the source returned. Source that was generated for this Program returns the right tensors."""

    def _failed(self, answer: Mapping[str, Any]) -> ExecutionError:
        """Returns the error for a call that TT-NN refused."""
        statement, location = _statement(self._lines, int(answer["line"]))
        call = f" at {statement}" if statement else ""
        return ExecutionError(
            f"TT-NN refused program '{self.program.name}'{call}: {answer['error'].rstrip('.') or answer['type']}.",
            hint="tt-xla check lists every call that TT-NN refuses; TTXLA_RUNTIME=emulated runs without TT-NN.",
            location=location,
        )

    # Host

    def _bind_host_calls(self) -> dict[str, Call]:
        """Returns the calls that compute host ops, by the name that the generated source has for each."""
        files = {text: name for name, text in self._source.host_programs.items()}
        calls: dict[str, Call] = {}
        for function in self.source.functions:
            for step in function.body:
                if step.op in HOST_OPS:
                    attributes = step.attributes
                    name = (
                        files.get(str(attributes["module"]))
                        if "module" in attributes
                        else self._source.callbacks.get(str(attributes["callback"]))
                    )
                    if name is not None:
                        calls[name] = self._host_call(function, step)
        return calls

    def _host_call(self, function: Function, step: Instruction) -> Callable[[list[Array]], list[Array]]:
        """Returns a function that computes one host op on arrays of the worker."""
        call = bind(context_of(self.source, function, step), step.attributes, step.location)
        assert not isinstance(call, Weighted)  # host ops have no weights
        inputs = step.operands.get("inputs", ())
        specs = [function.values[value] for value in ((inputs,) if isinstance(inputs, int) else inputs)]

        def run(arrays: list[Array]) -> list[Array]:
            results = call(*(to_tensor(array, spec) for array, spec in zip(arrays, specs, strict=True)))
            tensors = results if isinstance(results, (list, tuple)) else [results]
            dtypes = [function.values[value].layout.dtype for value in step.results]
            return [_host_result(tensor, dtype) for tensor, dtype in zip(tensors, dtypes, strict=True)]

        return run

    def _on_host(self, name: str, arrays: list[Array]) -> list[Array]:
        """Computes the host op of a name for the worker."""
        return self._host_calls[name](arrays)


def _names_of_shards(program: Program, expansion: Expansion, name: Callable[[int], str]) -> dict[str, list[str]]:
    """Returns the name of each chip's shard, by the name of the argument.

    Args:
        program: a Program with a mesh.
        expansion: its expansion.
        name: returns the name of the argument at a position.
    """
    mesh = program.mesh
    assert mesh is not None
    first: dict[tuple[int, tuple[int, ...]], str] = {}
    named: dict[str, list[str]] = {}
    shardings = [argument.sharding or replicated(len(argument.shape)) for argument in program.arguments]
    for argument, chip in expansion.reads:
        first[argument, shardings[argument].shard_key(mesh, chip)] = f"{name(argument)}.{chip}"
    for argument, sharding in enumerate(shardings):
        keys = (sharding.shard_key(mesh, position) for position in range(mesh.size))
        named[name(argument)] = [first[argument, key] for key in keys]
    return named


class _HostCopy:
    """A host tensor whose contents match the worker's copy of an argument, until somebody writes to the tensor."""

    def __init__(self, tensor: torch.Tensor, executable: weakref.ref[TTNNExecutable], position: int, name: str) -> None:
        self._name = name
        self._version = tensor._version
        self._tensor = weakref.ref(tensor, lambda _: self._drop(executable, position))

    def matches(self, tensor: torch.Tensor) -> bool:
        """Returns whether this is the tensor, unchanged."""
        return self._tensor() is tensor and tensor._version == self._version

    def _drop(self, executable: weakref.ref[TTNNExecutable], position: int) -> None:
        """Has the worker drop its copy, because no run can pass the tensor any more."""
        owner = executable()
        if owner is not None and owner._host_copies.get(position) is self:  # pyright: ignore[reportPrivateUsage]
            del owner._host_copies[position]  # pyright: ignore[reportPrivateUsage]
            owner._dropped.append(self._name)  # pyright: ignore[reportPrivateUsage]


def to_array(tensor: torch.Tensor) -> Array:
    """Converts a tensor of the emulator's dtype to the array that the worker reads; bfloat16 becomes its int16 bits."""
    tensor = tensor.detach().contiguous()
    if tensor.dtype is torch.bfloat16:
        return tensor.view(torch.int16).numpy()
    return tensor.to(_SENT.get(tensor.dtype, tensor.dtype)).numpy()


def to_tensor(array: Array, spec: TensorSpec) -> torch.Tensor:
    """Converts an array of the worker to the emulator's dtype and the shape of a value."""
    tensor = torch.from_numpy(array)
    if tensor.dtype is torch.uint32:
        tensor = tensor.to(torch.int64)
    dtype = spec.layout.dtype
    held = tensor.to(CONTAINERS[dtype]) if dtype.is_block_float else hold(tensor, dtype)
    return held.reshape(spec.shape)


def _host_result(tensor: torch.Tensor, dtype: DataType) -> Array:
    """Converts the result of a host op to an array for the worker.

    Floats become float32, which the worker converts to the result's data type. Values that TT-NN has no data type for
    stay as they are.
    """
    if dtype.is_host_only:
        return tensor.detach().contiguous().numpy()
    return to_array(tensor.float() if tensor.is_floating_point() else tensor)


def _constant(elements: bytes, spec: TensorSpec) -> Array:
    return np.frombuffer(elements, spec.layout.dtype.little_endian).reshape(spec.shape)


_released: dict[int, list[int]] = {}
"""Numbers of programs that no executable needs any more, by worker ``id``. A worker is told with its next request."""


def _release(worker: weakref.ref[Any], number: int) -> None:
    """Records that no executable needs a program of a worker any more."""
    alive = worker()
    if alive is not None:
        _released.setdefault(id(alive), []).append(number)


def _take_released(worker: Worker | InProcess) -> list[int]:
    """Returns and clears the numbers of programs that a worker can drop."""
    return _released.pop(id(worker), [])


_COMMENT = re.compile(r"\s*# (\S+:\d+)")


def _statement(lines: Sequence[str], line: int) -> tuple[str, str]:
    """Returns the text of a line of generated source, and the user's source line that the comment above it names."""
    if not 0 < line <= len(lines):
        return "", ""
    for above in reversed(lines[:line]):
        if above.startswith("def "):
            break
        if comment := _COMMENT.match(above):
            return lines[line - 1].strip(), comment[1]
    return lines[line - 1].strip(), ""
