"""Runs a Program on TT-NN: the worker process executes the source that codegen generates for it."""

from __future__ import annotations

import functools
import itertools
import re
import weakref
from collections.abc import Callable, Container, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
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
from tt_xla.runtime import observation
from tt_xla.runtime.emulator.bind import bind
from tt_xla.runtime.emulator.containers import CONTAINERS, DECLARED, hold
from tt_xla.runtime.emulator.context import Call, Weighted
from tt_xla.runtime.executable import Executable
from tt_xla.runtime.mesh.shards import held_by_chips, sharding_of
from tt_xla.runtime.steps import context_of
from tt_xla.runtime.torch_state import settled
from tt_xla.runtime.traces import staged_arguments
from tt_xla.runtime.transfer import Token, Version, widen
from tt_xla.runtime.ttnn.handles import Handle, Request, Run, WorkerContents
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

_NO_CONTEXT = nullcontext()

_program_ids = itertools.count()
"""Source of the numbers by which workers know programs."""


class TTNNExecutable(Executable):
    """An executable that runs on TT-NN instead of the emulated card.

    Parameters stay on the device while their contents are the same, in one copy for all programs that read them alike,
    and const-eval results until one of their parameters changes. A caller may ask that results stay there too
    (:meth:`run_keeping`), and pass them to other programs.

    An executable for a mesh takes and returns the distinct shards of each argument and result, as the expansion of its
    Program does; a shard of a result may be a shard of another Program's argument. TT-NN chooses the chips for a mesh
    of the first chips of the system; it opens other chips by number.

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
        self._places: Sequence[tuple[int, Sequence[int]]] | None = None
        """Result of the Program with a mesh, and the chips that hold it, for each result of the expansion."""
        self._parts: Sequence[object] = [None] * len(self.program.arguments)
        """For each argument of the expansion, the part that it is of the tensor of all chips; None for all of it."""
        if expansion is not None:
            self._names = [f"{self._argument_name(argument)}.{chip}" for argument, chip in expansion.reads]
            self._shards = _names_of_shards(program, expansion, self._argument_name)
            self._places = [(number, _chips(expansion, index)) for index, (number, _) in enumerate(expansion.holders)]
            self._parts = _parts(program, expansion)
        self.keeps_results = self._reader.remembers_inputs = True
        self._lines = self._source.main.splitlines()
        self._number = next(_program_ids)
        self._worker = self._make_worker()
        self._loaded = 0
        """:attr:`Worker.generation` of the process that has loaded the program; 0 for none."""
        self._profiles = False
        """Whether the worker, which was started for that, measures the time of the kernels."""
        self._last_arguments: list[tuple[weakref.ref[torch.Tensor], Version] | None] = []
        """For each argument from the host, the caller's tensor and its version in the last run; None for others."""
        self._numbers: list[int | None] = []
        """Number of the contents that the worker has for each argument; None for none."""
        self._unbind()
        self._contents = contents_of(self._worker)
        self._arguments = [self._entry.values[value] for value in self._entry.arguments]
        self._declared_arguments = [(DECLARED[each.dtype], tuple(each.shape)) for each in self.program.arguments]
        self._prepares = [argument.role is not Role.INPUT for argument in self.program.arguments]
        """Whether const-eval functions may read each argument."""
        self._written_positions = frozenset(self._written)
        reads = [(position, 0) for position in range(len(self._arguments))] if expansion is None else expansion.reads
        written = {self._entry.arguments[position]: reads[position][0] for position in self._written}
        self._results = [
            (type_and_shape, self._entry.values[value], written.get(value))
            for value, type_and_shape in zip(self._entry.results, self._declared, strict=True)
        ]
        """For each result: what it is for the caller and on the device, and position of the Program's argument that it
        was."""
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

    def takes(self, position: int, tensor: object) -> bool:
        """Returns whether a handle can be passed for an argument: it is on the same card and has the same type."""
        if observation.RUNS or not isinstance(tensor, Handle) or not self.keeps_results:
            return False
        return tensor.fits(self._contents, self._declared_arguments[position], self._arguments[position])

    @property
    def state(self) -> str:
        return "captured" if self.traced and self.counters.runs else super().state

    @property
    def worker(self) -> Worker | InProcess:
        """The worker that runs the program."""
        return self._worker

    def _run_alone(
        self, tensors: Sequence[Any], versions: Sequence[Version], donated: Container[int], *, keeps: bool = False
    ) -> list[Any]:
        """Runs the Program once. The results that a donated argument becomes lie in the argument's memory.

        Raises:
            ExecutionError: arguments do not match, TT-NN refuses a call, or its process ended or did not answer.
        """
        with self._worker.lock:
            if not self.counters.runs or self.device.resident_at_most() > self._room:
                self.device.check_memory(self, self._held_bytes(versions))
            self._start()
            results = self._run(tensors, versions, donated, keeps)
            self._worker.rest()
            self.counters.runs += 1
            return results

    def reset(self) -> None:
        super().reset()
        self._loaded = 0

    def _start(self) -> None:
        """Makes sure that a worker runs for the right card, with room for traces."""
        if self._loaded and self._loaded == self._worker.generation and self._worker.is_running:
            return
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
            "staged": [self._argument_name(position) for position in sorted(staged_arguments(self.source))],
            "results": self._places,
        }

    def _load(self) -> None:
        """Sends the program to the worker."""
        self._unbind()
        constants = {name: _constant(*constant) for name, constant in self._source.constants.items()}
        answer = self._worker.request(dict(self._load_message()), constants)
        if "error" in answer:
            raise self.failure(answer)
        self._loaded = self._worker.generation
        self._profiles = environment.ttnn_profile()

    def _run(
        self, tensors: Sequence[Any], versions: Sequence[Version], donated: Container[int], keeps: bool
    ) -> list[Any]:
        if self._loaded != self._worker.generation:
            self._load()
        request = self._bind(tensors, versions, donated)
        handles = [Handle(self._contents, self.program.name, *result) for result in self._results] if keeps else []
        message = request.message
        message["program"] = self._number
        if keeps:
            message["keep"] = [handle.number for handle in handles]
        if dropped := self._contents.take_dropped():
            message["dropped"] = dropped
        if released := _take_released(self._worker):
            message["forget"] = released
        if self._profiles:
            message["profile"] = True
        run = Run(self, self._contents, handles)
        waits = not self._posts(keeps)
        answer = None
        try:
            if waits:
                answer = self._worker.request(message, request.arrays, self._on_host)
                run.end(answer)
            else:
                self._worker.post(message, request.arrays, run.end)
        except BaseException as error:
            self._unbind()
            run.end(error if isinstance(error, ExecutionError) else ExecutionError("The run that computes it failed."))
            raise
        finally:
            for argument in request.lost:
                argument.lose("It was donated to a program, which has written to its memory.")
        if waits and run.error is not None:
            raise run.error
        if keeps:
            return handles
        assert answer is not None
        arrays = [self._worker.read(segment) for segment in answer["results"]]
        self._check_results(answer, arrays)
        return [
            widen(to_tensor(array, spec), declared)
            for array, (declared, spec, _) in zip(arrays, self._results, strict=True)
        ]

    def _posts(self, keeps: bool) -> bool:
        """Returns whether a run need not be waited for."""
        return keeps and not self._host_calls and not self._profiles

    def _torch_state(self, *, keeps: bool = False) -> AbstractContextManager[None]:
        return _NO_CONTEXT if self._posts(keeps) else settled()

    def _bind(self, tensors: Sequence[Any], versions: Sequence[Version], donated: Container[int]) -> Request:
        """Finds out what the worker lacks of the arguments, and which contents differ from those of the last run.

        Arguments that are the tensors of the last run, with the same contents, cost nothing.
        """
        self._reader.check_count(tensors, versions)
        changed = self._changed(tensors, versions)
        hosts, gone = list[int](), list[int]()
        for position in changed:
            tensor = tensors[position]
            if not isinstance(tensor, Handle):
                hosts.append(position)
            elif not tensor.is_in(self._contents):
                gone.append(position)
        if gone:  # with their process, so reading them may be an error
            with settled():
                tensors = [tensor.read() if position in gone else tensor for position, tensor in enumerate(tensors)]
            return self._bind(tensors, versions, donated)
        request = Request()
        with settled() if hosts else _NO_CONTEXT:
            # All of them are converted before any counts as sent, because one may be refused.
            converted = {each: self._reader.read_one(each, tensors[each], versions[each]) for each in hosts}
            if self._reader.new_versions:
                self._watch_new_versions()
            for position in changed:
                self._bind_one(request, position, tensors, versions[position], donated, converted.get(position))
        return request

    def _bind_one(
        self,
        request: Request,
        position: int,
        tensors: Sequence[Any],
        version: Version,
        donated: Container[int],
        converted: tuple[torch.Tensor, Token] | None,
    ) -> None:
        """Adds an argument to a request: a result on the card, or ``converted``, which comes from the host."""
        tensor, is_written = tensors[position], position in self._written_positions
        self._last_arguments[position] = None
        if converted is not None:
            number = self._pass(request, position, *converted)
            if number is not None and not is_written:
                self._last_arguments[position] = weakref.ref(tensor), version
        else:
            number = tensor.number
            if is_written:
                is_donated = position in donated
                is_consumed = is_donated and sum(each is tensor for each in tensors) == 1
                request.add("consumed" if is_consumed else "copied", self._names[position])
                request.lost += [tensor] if is_donated else ()
        if number is None or self._numbers[position] != number:
            request.prepares(not is_written and self._prepares[position])
            if number is not None:
                request.bind(self._names[position], number)
        if is_written:
            request.add("passing", self._names[position])
        self._numbers[position] = None if is_written else number

    def _changed(self, tensors: Sequence[Any], versions: Sequence[Version]) -> list[int]:
        """Returns the positions of the arguments that are not those tensors of the last run with the same contents."""
        return [
            position
            for position, (tensor, version, last) in enumerate(
                zip(tensors, versions, self._last_arguments, strict=True)
            )
            if last is None or last[0]() is not tensor or version != last[1]
        ]

    def _pass(self, request: Request, position: int, tensor: torch.Tensor, token: Token) -> int | None:
        """Adds the elements of an argument to a request, unless the worker has them.

        Returns:
            The number of the contents; None if they are passed for this run alone.
        """
        if token is None or position in self._written_positions:
            request.arrays[self._names[position]] = to_array(tensor)
            if position not in self._written_positions:
                request.add("passing", self._names[position])
            return None
        number, is_new = self._contents.number_of(token, self._arguments[position], self._parts[position])
        if is_new:
            request.arrays[str(number)] = to_array(tensor)
        return number

    def _unbind(self) -> None:
        """Has the next run bind all arguments."""
        count = len(self.program.arguments)
        self._last_arguments, self._numbers = [None] * count, [None] * count

    def forget(self, version: int) -> None:
        super().forget(version)
        for position, last in enumerate(self._last_arguments):
            if last is not None and last[1] == version:
                self._last_arguments[position] = None

    def ran(self, answer: Mapping[str, Any]) -> None:
        """Notes what the worker says of a run."""
        self.counters.const_evals += bool(answer["prepared"])
        self.device_us = answer["device_us"]
        if self.device_us is not None:
            logger().info("kernels of %s took %.1f us on the device", self.program.name, self.device_us)

    def failure(self, answer: Mapping[str, Any]) -> ExecutionError:
        """Returns the error that an answer reports, and has the next run bind all arguments."""
        self._unbind()
        error = self._failed(answer)
        error.__cause__ = answer.get("cause")
        return error

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


def _chips(expansion: Expansion, index: int) -> list[int]:
    """Returns the chips that hold the result of an index."""
    of_chips = expansion.returns[expansion.holders[index][0]]
    return [chip for chip, held in enumerate(of_chips) if held == index]


def _parts(program: Program, expansion: Expansion) -> list[object]:
    """Returns the part that each argument of an expansion is of the tensor of all chips; None for all of it."""
    mesh, arguments = program.mesh, program.arguments
    assert mesh is not None
    held = [None if sharding_of(each).is_replicated else held_by_chips(each, mesh).parts for each in arguments]
    return [None if (parts := held[argument]) is None else parts[chip] for argument, chip in expansion.reads]


_contents: weakref.WeakKeyDictionary[Any, WorkerContents] = weakref.WeakKeyDictionary()
"""Contents of each worker."""


def contents_of(worker: Worker | InProcess) -> WorkerContents:
    """Returns the contents that a worker has."""
    if worker not in _contents:
        reference = weakref.ref(worker)
        _contents[worker] = WorkerContents(worker, functools.partial(_fetched, reference))
        worker.before_replacement = _contents[worker].bring_home
    return _contents[worker]


def _fetched(reference: weakref.ref[Worker | InProcess], handles: Sequence[Handle]) -> list[torch.Tensor]:
    """Returns the elements of results that stayed on the card."""
    worker = reference()
    assert worker is not None
    with worker.lock:
        worker.wait()
        for handle in handles:
            handle.check()
        answer = worker.request({"do": "fetch", "numbers": [handle.number for handle in handles]}, {})
        tensors = [
            widen(to_tensor(worker.read(segment), handle.spec), (handle.dtype, handle.shape))
            for segment, handle in zip(answer["results"], handles, strict=True)
        ]
        worker.rest()
        return tensors


def to_array(tensor: torch.Tensor) -> Array:
    """Converts a tensor of the emulator's dtype to the array that the worker reads; bfloat16 becomes its int16 bits."""
    tensor = tensor.detach().contiguous()
    if tensor.dtype is torch.bfloat16:
        return tensor.view(torch.int16).numpy()
    return tensor.to(_SENT.get(tensor.dtype, tensor.dtype)).numpy()


def to_tensor(array: Array, spec: TensorSpec) -> torch.Tensor:
    """Converts an array of the worker to the emulator's dtype and the shape of a value."""
    tensor = torch.from_numpy(array)
    if tensor.dtype is torch.int16:  # the bits of bfloat16
        tensor = tensor.view(torch.bfloat16)
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
