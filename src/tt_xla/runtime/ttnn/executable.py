"""A Program on TT-NN: the source that codegen writes for it, run in the worker process."""

from __future__ import annotations

import itertools
import re
import weakref
from collections import Counter
from collections.abc import Callable, Container, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from tt_xla import options
from tt_xla.codegen import TTNN_VERSION
from tt_xla.codegen.generator import generate
from tt_xla.errors import ExecutionError
from tt_xla.ir.layout import DataType
from tt_xla.ir.program import HOST_OPS, Function, Instruction, Program, Role, TensorSpec
from tt_xla.log import logger
from tt_xla.runtime.emulator.bind import bind
from tt_xla.runtime.emulator.containers import CONTAINERS, hold
from tt_xla.runtime.emulator.context import Call, Weighted
from tt_xla.runtime.executable import Executable
from tt_xla.runtime.steps import context_of
from tt_xla.runtime.transfer import Token, Version, declared, widen
from tt_xla.runtime.ttnn.launch import worker

if TYPE_CHECKING:
    from tt_xla.runtime.device import Device
    from tt_xla.runtime.ttnn.process import Array, Worker

LEAST_TRACE_REGION_BYTES = 1 << 26
"""What the device keeps for traces once a program has one: TT-NN's own need is known only when it has recorded."""

_SENT = {torch.int64: torch.uint32}
"""Containers that are wider than what the device holds."""

_numbers = itertools.count()


class TTNNExecutable(Executable):
    """Runs on TT-NN what the emulated card would run.

    Parameters stay on the device while their contents are the same, const-eval results until one of them changes. An
    argument that the program writes to and gives back stays where the next run brings what this one gave.

    Raises:
        UnsupportedOpError: TT-NN has no call for an op.
        RuntimeUnavailableError: there is no TT-NN, or it does not start.
        ExecutionError: it is for another card.
    """

    def __init__(self, device: Device, program: Program) -> None:
        super().__init__(device, program)
        self._source = generate(program, host_in_torch=False)
        self._lines = self._source.main.splitlines()
        self._number = next(_numbers)
        self._worker = worker()
        self._loaded = 0
        """The generation of the process that has the program; 0 for none."""
        self._sent: dict[int, Token] = {}
        """By position, what the process has of the arguments."""
        self._dropped: list[str] = []
        """Names of arguments whose contents are gone."""
        self._returned = {
            at: self._entry.results.index(self._entry.arguments[at])
            for at in self._written
            if self._entry.arguments[at] in self._entry.results
        }
        """By position of an argument that is written to, the result that it is."""
        self._held: dict[int, _Held] = {}
        """By position, the tensor that has what the process has of such an argument."""
        self._host_calls = self._bind_host_calls()
        self.device_us: float | None = None
        """Time of the kernels of the last run, where ``TTXLA_TTNN_PROFILE`` asks for it."""
        self._start()
        version = str(self._worker.hello["ttnn"])
        if not version.startswith(f"{TTNN_VERSION}."):
            logger().warning("ttnn is %s; its calls were checked with %s and may be refused", version, TTNN_VERSION)
        weakref.finalize(self, _forget, weakref.ref(self._worker), self._number)

    @property
    def worker(self) -> Worker:
        return self._worker

    def run(
        self, tensors: Sequence[torch.Tensor], versions: Sequence[Version], donated: Container[int] = ()
    ) -> list[torch.Tensor]:
        """As on the emulated card; memory of arguments that are written to and ``donated`` becomes that of results.

        Raises:
            ExecutionError: arguments do not match, TT-NN refuses a call, or its process ends or does not answer.
        """
        with self.device.lock, torch.no_grad():
            if self.device.resident() > self._room:
                self.device.check_memory(self)
            arguments, tokens = self._reader.read(tensors, versions)
            if self._reader.new_versions:
                self._watch_new_versions()
            self._start()
            try:
                results = self._run(tensors, arguments, tokens, donated)
            except BaseException:
                self._loaded = 0  # who knows how far it came
                raise
            self.counters.runs += 1
            return results

    def forget(self, version: int) -> None:
        super().forget(version)
        for position, token in [*self._sent.items()]:
            if token is not None and token[0] == version:
                del self._sent[position]
                self._dropped.append(f"arg{position}")

    def reset(self) -> None:
        super().reset()
        self._loaded = 0

    def _start(self) -> None:
        """Makes sure that a worker runs, for the right card, and has room for traces."""
        region = options.trace_region_bytes()
        if region is None:
            region = max(2 * self.program.memory.trace_bytes, LEAST_TRACE_REGION_BYTES) if self.traced else 0
        self._worker.start(region)
        arch, wanted = self._worker.hello["arch"], self.device.target.arch
        if arch != wanted:
            raise ExecutionError(
                f"Program '{self.program.name}' was compiled for {self.device.name}, a {wanted}; TT-NN has a {arch}.",
                hint="Set TTXLA_SYSTEM to the system that is there.",
            )

    def _load(self) -> None:
        self._sent.clear()
        self._held.clear()
        self._dropped.clear()
        constants = {name: _constant(*found) for name, found in self._source.constants.items()}
        message = {"do": "load", "program": self._number, "source": self._source.main}
        self._answered(self._worker.request(message, constants))
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
        there = {at for at, held in self._held.items() if held.is_in(tensors[at])}
        changed = [
            at for at, token in enumerate(tokens) if at not in there and (token is None or self._sent.get(at) != token)
        ]
        once = [at for at in changed if (tokens[at] is None or at in self._written) and at not in self._returned]
        passing = [f"arg{at}" for at in once]
        parameters = (at for at in changed if at not in self._written)
        message = {
            "do": "run",
            "program": self._number,
            "prepare": any(self.program.arguments[at].role is not Role.INPUT for at in parameters),
            "passing": passing,
            "dropped": [*self._dropped],
            "forget": _forgotten(self._worker),
            "profile": options.ttnn_profile(),
        }
        arrays = {f"arg{at}": to_array(arguments[at]) for at in changed}
        self._held.clear()
        self._dropped.clear()
        answer = self._answered(self._worker.request(message, arrays, self._on_host))
        self._sent.update({at: tokens[at] for at in changed if at not in self._written})
        self.counters.const_evals += bool(answer["prepared"])
        self.device_us = answer["device_us"]
        if self.device_us is not None:
            logger().info("%s took %.1f us on the device", self.program.name, self.device_us)
        specs = [self._entry.values[value] for value in self._entry.results]
        arrays_out = [self._worker.read(segment) for segment in answer["results"]]
        made = [to_tensor(array, spec) for array, spec in zip(arrays_out, specs, strict=True)]
        results = [widen(tensor, declared(result)) for tensor, result in zip(made, self.program.results, strict=True)]
        count = Counter(map(id, tensors))
        for at, index in self._returned.items():
            free = at in donated and count[id(tensors[at])] == 1
            results[index] = self._given_back(at, results[index], tensors[at] if free else None)
        return results

    def _given_back(self, at: int, result: torch.Tensor, given: torch.Tensor | None) -> torch.Tensor:
        """A result that is an argument as the next run may bring it: in that one's memory where it was given."""
        if given is not None and given.dtype is result.dtype and given.shape == result.shape:
            given.copy_(result)
            result = given
        self._held[at] = _Held(result, weakref.ref(self), at)
        return result

    def _answered(self, answer: dict[str, Any]) -> dict[str, Any]:
        """An answer that is no error.

        Raises:
            ExecutionError: it is one; with the call and the user's line.
        """
        if "error" not in answer:
            return answer
        statement, location = _statement(self._lines, int(answer["line"]))
        where = f" at {statement}" if statement else ""
        raise ExecutionError(
            f"TT-NN refused program '{self.program.name}'{where}: {answer['error'].rstrip('.') or answer['type']}.",
            hint="tt-xla check lists all that TT-NN refuses of a program; TTXLA_RUNTIME=emulated runs it without.",
            location=location,
        )

    # Host

    def _bind_host_calls(self) -> dict[str, Call]:
        """What the host computes, by the name that the source has for it."""
        files = {text: name for name, text in self._source.host_programs.items()}
        found: dict[str, Call] = {}
        for function in self.program.functions:
            for step in function.body:
                if step.op in HOST_OPS:
                    attributes = step.attributes
                    name = (
                        files.get(str(attributes["module"]))
                        if "module" in attributes
                        else self._source.callbacks.get(str(attributes["callback"]))
                    )
                    if name is not None:
                        found[name] = self._host_call(function, step)
        return found

    def _host_call(self, function: Function, step: Instruction) -> Callable[[list[Array]], list[Array]]:
        call = bind(context_of(self.program, function, step), step.attributes, step.location)
        assert not isinstance(call, Weighted)  # of host calls
        inputs = step.operands.get("inputs", ())
        specs = [function.values[value] for value in ((inputs,) if isinstance(inputs, int) else inputs)]

        def run(arrays: list[Array]) -> list[Array]:
            made = call(*(to_tensor(array, spec) for array, spec in zip(arrays, specs, strict=True)))
            tensors = made if isinstance(made, (list, tuple)) else [made]
            kinds = [function.values[value].layout.dtype for value in step.results]
            return [_plain(tensor, kind) for tensor, kind in zip(tensors, kinds, strict=True)]

        return run

    def _on_host(self, name: str, arrays: list[Array]) -> list[Array]:
        return self._host_calls[name](arrays)


class _Held:
    """A tensor that has what the process has of an argument, as long as nobody writes to it."""

    def __init__(self, tensor: torch.Tensor, executable: weakref.ref[TTNNExecutable], at: int) -> None:
        self._version = tensor._version
        self._tensor = weakref.ref(tensor, lambda _: self._drop(executable, at))

    def is_in(self, tensor: torch.Tensor) -> bool:
        return self._tensor() is tensor and tensor._version == self._version

    def _drop(self, executable: weakref.ref[TTNNExecutable], at: int) -> None:
        """Nobody can bring the tensor any more: the device need not keep it."""
        found = executable()
        if found is not None and found._held.get(at) is self:  # pyright: ignore[reportPrivateUsage]
            del found._held[at]  # pyright: ignore[reportPrivateUsage]
            found._dropped.append(f"arg{at}")  # pyright: ignore[reportPrivateUsage]


def to_array(tensor: torch.Tensor) -> Array:
    """What the device holds of a tensor in its container, as the worker reads it: bfloat16 as int16 bits."""
    tensor = tensor.detach().contiguous()
    if tensor.dtype is torch.bfloat16:
        return tensor.view(torch.int16).numpy()
    return tensor.to(_SENT.get(tensor.dtype, tensor.dtype)).numpy()


def to_tensor(array: Array, spec: TensorSpec) -> torch.Tensor:
    """An array of the worker in the container of a value."""
    tensor = torch.from_numpy(array)
    if tensor.dtype is torch.uint32:
        tensor = tensor.to(torch.int64)
    dtype = spec.layout.dtype
    held = tensor.to(CONTAINERS[dtype]) if dtype.is_block_float else hold(tensor, dtype)
    return held.reshape(spec.shape)


def _plain(tensor: torch.Tensor, kind: DataType) -> Array:
    """Floats as float32, which the worker makes the data type of; as they are where TT-NN has no data type."""
    if kind.is_host_only:
        return tensor.detach().contiguous().numpy()
    return to_array(tensor.float() if tensor.is_floating_point() else tensor)


def _constant(elements: bytes, spec: TensorSpec) -> Array:
    return np.frombuffer(elements, spec.layout.dtype.little_endian).reshape(spec.shape)


_gone: dict[int, list[int]] = {}
"""By worker, the programs that nobody has any more: it is told with the next message."""


def _forget(of: weakref.ref[Worker], number: int) -> None:
    found = of()
    if found is not None:
        _gone.setdefault(id(found), []).append(number)


def _forgotten(of: Worker) -> list[int]:
    return _gone.pop(id(of), [])


_COMMENT = re.compile(r"\s*# (\S+:\d+)")


def _statement(lines: Sequence[str], line: int) -> tuple[str, str]:
    """The text of a line of generated source, and the user's line that the comment above it names."""
    if not 0 < line <= len(lines):
        return "", ""
    for above in reversed(lines[:line]):
        if above.startswith("def "):
            break
        if found := _COMMENT.match(above):
            return lines[line - 1].strip(), found[1]
    return lines[line - 1].strip(), ""
