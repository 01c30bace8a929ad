"""Executables: programs loaded on one chip or on the chips of a mesh, run, and serialised for JAX's caches."""

from __future__ import annotations

import ctypes
from collections import Counter
from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any

import msgspec

from tt_xla import __version__
from tt_xla.callbacks import Callback, registered
from tt_xla.errors import ProgramFormatError
from tt_xla.frontends.jax import session
from tt_xla.frontends.jax.pjrt.answers import Answers
from tt_xla.frontends.jax.pjrt.buffer import PJRT_CODES, Buffer, Order, place
from tt_xla.frontends.jax.pjrt.client import MEMORY_KINDS, Client, Device
from tt_xla.frontends.jax.pjrt.compiled import Compiled, assign, compile_bytes, read_request
from tt_xla.frontends.jax.pjrt.debuggers import trace_this_thread
from tt_xla.frontends.jax.pjrt.descriptions import describe, describe_placement
from tt_xla.frontends.jax.pjrt.errors import PluginError
from tt_xla.frontends.jax.pjrt.structs import bytes_at, has_field, struct
from tt_xla.frontends.jax.pjrt.table import HANDLERS, slot, trampoline
from tt_xla.frontends.jax.pjrt.wire import read_compile_options
from tt_xla.ir.program import HOST_CALLBACK, Program, Result

FREE, KEPT = 1, 2
"""States of an argument of a run.

FREE: nothing else holds the argument's memory. KEPT: JAX keeps the argument, although the program was compiled with its
donation.
"""


class Unloaded:
    """A program compiled for a system that may be absent.

    Attributes:
        exported: buffers whose addresses were passed to jaxlib; they live as long as this object.
    """

    def __init__(self, compiled: Compiled, program: Program) -> None:
        self.compiled = compiled
        self.program = program
        self.exported: list[Any] = []
        self._answers = Answers()

    def new_handle(self) -> int:
        """Returns a new handle of this executable."""
        describe(self._answers, self.compiled, self.program)
        handle: int = trampoline().new_cell(self, self._answers.pack(), 0)
        return handle


class Executable(Unloaded):
    """A program loaded on a chip: the object behind PJRT's handles of executables and of loaded executables.

    Args:
        client: the client that the program is loaded for.
        compiled: the serialised part.
        program: the program in ``compiled``.
        modules: texts of the module after each stage, which generated source code needs.

    Attributes:
        devices: the device of each partition, or of each replica.
        donated: indices of the arguments whose memory the program may reuse.
    """

    def __init__(
        self, client: Client, compiled: Compiled, program: Program, modules: Mapping[str, str] | None = None
    ) -> None:
        from tt_xla.codegen.export import exporting
        from tt_xla.runtime.mesh.shards import join

        super().__init__(compiled, program)
        self._keeping: Any = None
        """The runtime's executable if it leaves results in the memory of a card."""
        self.devices = [client.device(number) for replicas in compiled.assignment for number in replicas]
        self.donated = compiled.donated
        self._callbacks = _callbacks(program)
        load = self._load()
        self._run = exporting(program, modules or {}, load, join=join)
        self._exports = self._run is not load
        if not self._exports:  # an executable that exports source is loaded once only
            session.current.reloadable.add(self)
        donated = set(compiled.donated)
        self._updated_in_place = [
            index for index, argument in enumerate(program.arguments) if argument.written and index in donated
        ]
        results = [*zip(program.results, compiled.output_memories, compiled.output_layouts, strict=True)]
        self._factories = [
            [_result_factory(device, result, kind, layout) for result, kind, layout in results]
            for device in self.devices
        ]
        """For each device, the functions that create buffers of the results."""

    def run(self, inputs: Sequence[Buffer], states: bytes) -> tuple[int, ...]:
        """Runs the program.

        Args:
            inputs: one buffer per argument.
            states: one byte per argument: :data:`FREE`, :data:`KEPT` or 0.

        Returns:
            Handles of the result buffers.
        """
        versions = [buffer.version for buffer in inputs]
        donated = [index for index in self._updated_in_place if states[index] == FREE and inputs[index].holders == 1]
        if (keeping := self._keeping) is not None and not self._exports:
            passed = [self._passed(index, buffer) for index, buffer in enumerate(inputs)]
            results = keeping.run_keeping(passed, versions, donated)
        else:
            results = self._run([buffer.tensor for buffer in inputs], versions, donated)
        return tuple([create(tensor) for create, tensor in zip(self._factories[0], results, strict=True)])

    def _passed(self, index: int, buffer: Buffer) -> Any:
        """Returns the elements of an argument: as a card has them, if the program can take them there."""
        assert self._keeping is not None
        return buffer.kept if self._keeping.takes(index, buffer.kept) else buffer.tensor

    def _load(self) -> Any:
        """Loads the program on its devices and returns the function that runs it."""
        from tt_xla.runtime import get_device

        device = self.devices[0]
        executable: Any = get_device(device.target.name, device.number).load(self.program)
        self._keeping = executable if executable.keeps_results else None
        return executable.run

    def forget_loaded(self) -> None:
        """Frees what the program holds on the device; the next call loads it again."""
        self._run = self._load_and_run
        self._keeping = None

    def _load_and_run(
        self, arguments: Sequence[Any], versions: Sequence[int | None], donated: Container[int] = ()
    ) -> list[Any]:
        self._run = self._load()
        return self._run(arguments, versions, donated)

    def new_handle(self) -> int:
        describe_placement(self._answers, self.compiled, self.devices)
        return super().new_handle()


class MeshExecutable(Executable):
    """A program loaded on the chips of a mesh: the device of partition p is at position p of the mesh."""

    def run(self, inputs: Sequence[Buffer], states: bytes) -> tuple[int, ...]:
        """Runs the program.

        Args:
            inputs: one buffer per argument, for one device after the other.
            states: one byte per buffer: :data:`FREE`, :data:`KEPT` or 0.

        Returns:
            Handles of the result buffers, for one device after the other.
        """
        count = len(self.program.arguments)
        arguments = [inputs[index::count] for index in range(count)]
        versions = [[buffer.version for buffer in shards] for shards in arguments]
        donated = [index for index in self._updated_in_place if _is_free(arguments[index], states[index::count])]
        if (keeping := self._keeping) is not None and not self._exports:
            passed = [self._passed_shards(index, shards) for index, shards in enumerate(arguments)]
            results = keeping.run_keeping(passed, versions, donated)
        else:
            results = self._run([[buffer.tensor for buffer in shards] for shards in arguments], versions, donated)
        holders = Counter(id(tensor) for shards in results for tensor in shards)
        return tuple(
            [
                create(tensors[position], holders[id(tensors[position])])
                for position, factories in enumerate(self._factories)
                for create, tensors in zip(factories, results, strict=True)
            ]
        )

    def _passed_shards(self, index: int, shards: Sequence[Buffer]) -> list[Any]:
        """Returns every chip's shard of an argument: as a card has it, if the program can take it there."""
        keeping = self._keeping
        return [
            buffer.kept if buffer.kept is not None and keeping.takes(index, chip, buffer.kept) else buffer.tensor
            for chip, buffer in enumerate(shards)
        ]

    def _load(self) -> Any:
        from tt_xla.runtime import get_device

        chips = [device.number for device in self.devices]
        executable: Any = get_device(self.devices[0].target.name).load_mesh(self.program, chips)
        self._keeping = executable if executable.keeps_results else None
        return executable.run


def _is_free(shards: Sequence[Buffer], states: bytes) -> bool:
    """Returns whether a run may write to an argument's memory: nothing holds it but these shards."""
    together = Counter(id(buffer.elements) for buffer in shards)
    return all(state == FREE for state in states) and all(
        together[id(buffer.elements)] == buffer.holders for buffer in shards
    )


def load(client: Client, compiled: Compiled, program: Program, modules: Mapping[str, str] | None = None) -> Executable:
    """Loads a program on the devices that it is assigned to.

    Args:
        client: the client that the program is loaded for.
        compiled: the serialised part of the executable.
        program: the program in ``compiled``.
        modules: texts of the module after each stage, which generated source code needs.
    """
    if program.mesh is None:
        return Executable(client, compiled, program, modules)
    return MeshExecutable(client, compiled, program, modules)


def renew() -> None:
    """Makes every program load again at its next call, so that observers of loading see every program."""
    for executable in list(session.current.reloadable):
        executable.forget_loaded()


def _callbacks(program: Program) -> list[Callback]:
    """Returns the Python functions that a program calls; the executable keeps them alive.

    A program that another process compiled names functions of that process, which are not included.
    """
    steps = (step for function in program.functions for step in function.body)
    names = (str(step.attributes["callback"]) for step in steps if step.op == HOST_CALLBACK)
    return [callback for name in names if (callback := registered(name)) is not None]


def _result_factory(device: Device, result: Result, memory: str, layout: Order) -> Callable[..., int]:
    """Returns a function that makes a buffer of a result's tensor and returns the buffer's handle.

    The function takes the tensor, and the number of buffers that share it if that is not 1.
    """
    result_place = place(device.memories[MEMORY_KINDS.index(memory)])
    code = PJRT_CODES[result.dtype]
    answers = result_place.answers(code, tuple(result.shape), layout)
    return lambda tensor, holders=1: result_place.new_handle(tensor, code, layout, answers, holders)


# Compiling -----------------------------------------------------------------------------------------------------------


@slot("PJRT_Client_Compile")
def compile_program(args: Any) -> None:
    """Compiles a program and loads it on the devices that it is assigned to."""
    client: Client = trampoline().object_of(args.client)
    trace_this_thread()
    with session.current.compiling:
        modules: dict[str, str] = {}
        compiled, program = compile_bytes(client, *read_request(args), modules)
        args.executable = load(client, compiled, program, modules).new_handle()


@slot("PJRT_Compile")
def compile_for_topology(args: Any) -> None:
    """Compiles a program for a system that may be absent. ``args.client`` is not used."""
    trace_this_thread()
    with session.current.compiling:
        compiled, program = compile_bytes(trampoline().object_of(args.topology), *read_request(args))
        args.executable = Unloaded(compiled, program).new_handle()


# Running -------------------------------------------------------------------------------------------------------------


def execute(
    executable: Executable, inputs: tuple[Buffer, ...], states: bytes, devices: int = 1
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Runs a program. The C part calls this function.

    Args:
        executable: the loaded program.
        inputs: one buffer per argument, for one device after the other.
        states: one byte per buffer: :data:`FREE`, :data:`KEPT` or 0.
        devices: number of devices that the program is to run on.

    Returns:
        Handles of the results, for one device after the other, and indices of the donated arguments.

    Raises:
        PluginError: the number of devices or arguments is wrong, or a donated array is passed twice.
    """
    if devices != len(executable.devices):
        raise PluginError(
            "INVALID_ARGUMENT",
            f"The program is compiled for {len(executable.devices)} devices, and called with arrays of {devices}.",
        )
    expected = len(executable.program.arguments) * devices
    if len(inputs) != expected:
        raise PluginError("INVALID_ARGUMENT", f"Argument count mismatch: expected {expected}, got {len(inputs)}.")
    if executable.donated and len(set(inputs)) < len(inputs):
        count = len(inputs) // devices
        for start in range(0, len(inputs), count):
            _check_donations(executable, inputs[start : start + count], states[start : start + count])
    return executable.run(inputs, states), executable.donated


def _check_donations(executable: Executable, inputs: tuple[Buffer, ...], states: bytes) -> None:
    """Refuses a donated array that is passed as another argument as well, as XLA does."""
    for position in executable.donated:
        if states[position] != KEPT and inputs.count(inputs[position]) > 1:
            others = [index for index, buffer in enumerate(inputs) if buffer is inputs[position] and index != position]
            raise PluginError(
                "INVALID_ARGUMENT",
                f"Argument {position} is donated, and the same array is passed as argument {others[0]} as well, as in "
                "f(donate(a), a). Pass a copy of the array, or donate neither argument.",
            )


HANDLERS["PJRT_LoadedExecutable_Execute"] = execute


# Reading and writing -------------------------------------------------------------------------------------------------


def _export(executable: Unloaded, data: bytes) -> int:
    """Returns the address of a copy of ``data`` that lives as long as the executable."""
    copy = ctypes.create_string_buffer(data, len(data))
    executable.exported.append(copy)
    return ctypes.addressof(copy)


@slot("PJRT_Executable_Serialize")
def serialize(args: Any) -> None:
    """Returns an executable as bytes that :func:`deserialize_and_load` reads."""
    executable: Unloaded = trampoline().object_of(args.executable)
    data = msgspec.msgpack.encode(executable.compiled)
    args.serialized_bytes = _export(executable, data)
    args.serialized_bytes_size = len(data)
    args.serialized_executable = trampoline().EVENT
    args.serialized_executable_deleter = trampoline().NOTHING


@slot("PJRT_Executable_GetCompileOptions")
def get_compile_options(args: Any) -> None:
    """Returns the ``CompileOptionsProto`` that an executable was compiled with."""
    executable: Unloaded = trampoline().object_of(args.executable)
    data = executable.compiled.options
    args.serialized_bytes = _export(executable, data)
    args.serialized_bytes_size = len(data)
    args.serialized_compile_options = trampoline().EVENT
    args.serialized_compile_options_deleter = trampoline().NOTHING


@slot("PJRT_Executable_DeserializeAndLoad")
def deserialize_and_load(args: Any) -> None:
    """Loads an executable from bytes of :func:`serialize`.

    Raises:
        ProgramFormatError: the bytes are damaged, or another version of tt-xla wrote them.
    """
    client: Client = trampoline().object_of(args.client)
    data = bytes_at(args.serialized_executable, args.serialized_executable_size)
    try:
        compiled = msgspec.msgpack.decode(data, type=Compiled)
    except msgspec.MsgspecError as error:
        raise ProgramFormatError(
            f"The bytes are not an executable of tt-xla, or they are damaged: {error}.",
            hint="Clear the cache that they came from.",
        ) from None
    if compiled.version != __version__:
        raise ProgramFormatError(
            f"The executable was compiled by tt-xla {compiled.version}; tt-xla {__version__} is running.",
            hint="Compile the program again.",
        )
    compiled = _reassigned(compiled, _new_options(args), client)
    program = Program.from_bytes(compiled.program)
    args.loaded_executable = load(client, compiled, program).new_handle()


def _new_options(args: Any) -> bytes:
    """Returns the ``CompileOptionsProto`` with which an executable is loaded; empty to load it as it was compiled."""
    if not has_field(args, "overridden_serialized_compile_options_size"):
        return b""
    return bytes_at(args.overridden_serialized_compile_options, args.overridden_serialized_compile_options_size)


def _reassigned(compiled: Compiled, options: bytes, client: Client) -> Compiled:
    """Returns an executable assigned to the devices that new compile options name.

    Raises:
        PluginError: the client lacks a device that the program needs.
    """
    request = read_compile_options(options or compiled.options)
    chips = sum(map(len, compiled.assignment))
    if (request.replicas, request.partitions) != (len(compiled.assignment[0]), len(compiled.assignment)):
        raise PluginError(
            "INVALID_ARGUMENT",
            f"The executable was compiled for {chips} devices, and is to be loaded on {request.chips}.",
        )
    assignment = assign(request, client.target)
    return msgspec.structs.replace(compiled, options=options or compiled.options, assignment=assignment)


@slot("PJRT_Executable_OptimizedProgram")
def optimized_program(args: Any) -> None:
    """Returns the executable's StableHLO, the only form that JAX can read.

    jaxlib calls this twice: without a buffer for the size, and with a buffer for the bytes.
    """
    executable: Unloaded = trampoline().object_of(args.executable)
    code, program_format = executable.compiled.module, b"mlir"
    output = struct("PJRT_Program").from_address(args.program)
    if output.code:
        ctypes.memmove(output.code, code, min(len(code), output.code_size))
    output.code_size = len(code)
    output.format = _export(executable, program_format)
    output.format_size = len(program_format)


__all__ = ["Executable", "execute"]
