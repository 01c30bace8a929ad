"""Executables: StableHLO that tt-xla compiled, loaded on the card, run, and serialized for JAX's caches."""

from __future__ import annotations

import ctypes
import hashlib
import math
import threading
import weakref
from collections.abc import Callable, Container, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from tt_xla import __version__
from tt_xla.callbacks import Callback, registered
from tt_xla.errors import ProgramFormatError
from tt_xla.frontends.jax.model_libraries import recognise_models
from tt_xla.frontends.jax.pjrt.answers import Answers
from tt_xla.frontends.jax.pjrt.buffer import PJRT_CODES, Buffer, itemsize, place
from tt_xla.frontends.jax.pjrt.client import MEMORY_KINDS, Client, Topology
from tt_xla.frontends.jax.pjrt.errors import PluginError
from tt_xla.frontends.jax.pjrt.structs import bytes_at, struct, text_at
from tt_xla.frontends.jax.pjrt.table import HANDLERS, slot, trampoline
from tt_xla.frontends.jax.pjrt.wire import DEVICE_ASSIGNMENT, CompileRequest, OptionValue, read_compile_options
from tt_xla.frontends.jax.trust import is_own
from tt_xla.ir.program import HOST_CALLBACK, Program, Result, Role
from tt_xla.log import logger
from tt_xla.options import CompileOptions

if TYPE_CHECKING:
    from torch import Tensor

    from tt_xla.codegen.export import Run

FROM_JAX = "the program from JAX"
"""How error messages call the module that JAX passes."""

NAME = "tt_executable"
"""Name of every executable, as upstream's plugin has it."""

FREE, KEPT = 1, 2
"""States of an argument of a run.

FREE: nothing else holds the argument's memory. KEPT: JAX keeps the argument, although the program was compiled with its
donation.
"""

_compiling = threading.RLock()


class Compiled(msgspec.Struct, frozen=True):
    """The serialized part of an executable.

    Attributes:
        version: the version of tt-xla that compiled it.
        program: a serialized :class:`~tt_xla.ir.program.Program`.
        module: the StableHLO as JAX passed it.
        options: the ``CompileOptionsProto`` as JAX passed it.
        donated: indices of the arguments whose memory the program may reuse.
        parameter_memories: kind of memory of each argument.
        output_memories: kind of memory of each result.
    """

    version: str
    program: bytes
    module: bytes
    options: bytes
    donated: tuple[int, ...]
    parameter_memories: tuple[str, ...]
    output_memories: tuple[str, ...]

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the program, in hexadecimal."""
        return hashlib.sha256(self.program).hexdigest()


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
        _describe(self._answers, self)
        _describe_sizes(self._answers, self.program)
        handle: int = trampoline().new_cell(self, self._answers.pack(), 0)
        return handle


class Executable(Unloaded):
    """A program loaded on a device: the object behind PJRT's handles of executables and of loaded executables.

    Args:
        client: the client that the program is loaded for.
        compiled: the serialized part.
        program: the program in ``compiled``.
        modules: texts of the module after each stage, which generated source code needs.
    """

    def __init__(
        self, client: Client, compiled: Compiled, program: Program, modules: Mapping[str, str] | None = None
    ) -> None:
        from tt_xla.codegen.export import exporting

        super().__init__(compiled, program)
        self.client = client
        self.donated = compiled.donated
        self._callbacks = _callbacks(program)
        load = self._load()
        self._run = exporting(program, modules or {}, load)
        if self._run is load:  # an executable that exports source is loaded once only
            _reloadable.add(self)
        self._versioned = [argument.role is not Role.INPUT for argument in program.arguments]
        donated = set(compiled.donated)
        self._updated_in_place = [
            index for index, argument in enumerate(program.arguments) if argument.written and index in donated
        ]
        self._result_factories = [
            _result_factory(client, result, kind)
            for result, kind in zip(program.results, compiled.output_memories, strict=True)
        ]

    def run(self, inputs: Sequence[Buffer], states: bytes) -> tuple[int, ...]:
        """Runs the program.

        Args:
            inputs: one buffer per argument.
            states: one byte per argument: :data:`FREE`, :data:`KEPT` or 0.

        Returns:
            Handles of the result buffers.
        """
        versions = [
            buffer.version if versioned else None for buffer, versioned in zip(inputs, self._versioned, strict=True)
        ]
        donated = [index for index in self._updated_in_place if states[index] == FREE]
        results = self._run([buffer.tensor for buffer in inputs], versions, donated)
        return tuple([create(tensor) for create, tensor in zip(self._result_factories, results, strict=True)])

    def _load(self) -> Run:
        from tt_xla.runtime import get_device

        return get_device(self.client.target.name).load(self.program).run

    def forget_loaded(self) -> None:
        """Frees what the program holds on the device; the next call loads it again."""
        self._run = self._load_and_run

    def _load_and_run(
        self, tensors: Sequence[Tensor], versions: Sequence[int | None], donated: Container[int] = ()
    ) -> list[Tensor]:
        self._run = self._load()
        return self._run(tensors, versions, donated)

    def new_handle(self) -> int:
        _describe_loaded(self._answers, self)
        return super().new_handle()


_reloadable: weakref.WeakSet[Executable] = weakref.WeakSet()


def renew() -> None:
    """Makes every program load again at its next call, so that observers of loading see every program."""
    for executable in list(_reloadable):
        executable.forget_loaded()


def _callbacks(program: Program) -> list[Callback]:
    """Returns the Python functions that a program calls; the executable keeps them alive.

    A program that another process compiled names functions of that process, which are not included.
    """
    steps = (step for function in program.functions for step in function.body)
    names = (str(step.attributes["callback"]) for step in steps if step.op == HOST_CALLBACK)
    return [callback for name in names if (callback := registered(name)) is not None]


def _result_factory(client: Client, result: Result, memory: str) -> Callable[[Any], int]:
    """Returns a function that makes a buffer of a result's tensor and returns the buffer's handle."""
    result_place = place(client.device, client.memories[MEMORY_KINDS.index(memory)])
    code = PJRT_CODES[result.dtype]
    answers = result_place.answers(code, result.shape)
    return lambda tensor: result_place.new_handle(tensor, code, answers)


def _describe(answers: Answers, executable: Unloaded) -> None:
    """Sets the answers about an executable's name, results and memories."""
    program, compiled = executable.program, executable.compiled
    codes = [PJRT_CODES[result.dtype] for result in program.results]
    ranks = [len(result.shape) for result in program.results]
    dims = [size for result in program.results for size in result.shape]
    prefix = "PJRT_Executable"
    answers.set(f"{prefix}_Name", executable_name=NAME)
    answers.set(f"{prefix}_NumReplicas", num_replicas=1)
    answers.set(f"{prefix}_NumPartitions", num_partitions=1)
    answers.set(f"{prefix}_NumOutputs", num_outputs=len(codes))
    answers.set(f"{prefix}_SizeOfGeneratedCodeInBytes", size_in_bytes=len(compiled.program))
    answers.set(f"{prefix}_Fingerprint", executable_fingerprint=compiled.fingerprint)
    answers.set(
        f"{prefix}_OutputElementTypes",
        output_types=answers.integers(codes, ctypes.c_int),
        num_output_types=len(codes),
    )
    answers.set(
        f"{prefix}_OutputDimensions",
        num_outputs=len(codes),
        dims=answers.integers(dims),
        dim_sizes=answers.integers(ranks, ctypes.c_size_t),
    )
    kinds, sizes = answers.texts(compiled.output_memories)
    answers.set(f"{prefix}_OutputMemoryKinds", num_outputs=len(codes), memory_kinds=kinds, memory_kind_sizes=sizes)
    kinds, sizes = answers.texts(compiled.parameter_memories)
    answers.set(
        f"{prefix}_ParameterMemoryKinds",
        num_parameters=len(program.arguments),
        memory_kinds=kinds,
        memory_kind_sizes=sizes,
    )


def _describe_sizes(answers: Answers, program: Program) -> None:
    """Sets the answers about an executable's memory and cost. Sizes are in bytes."""
    argument_bytes = sum(_size(argument.dtype, argument.shape) for argument in program.arguments)
    result_bytes = sum(_size(result.dtype, result.shape) for result in program.results)
    peak = program.memory.dram_peak_bytes
    answers.set(
        "PJRT_Executable_GetCompiledMemoryStats",
        generated_code_size_in_bytes=0,
        argument_size_in_bytes=argument_bytes,
        output_size_in_bytes=result_bytes,
        temp_size_in_bytes=max(0, peak - argument_bytes - result_bytes),
        peak_memory_in_bytes=peak,
        total_size_in_bytes=peak,
        total_allocation_bytes=peak,
    )
    costs = {
        "optimal_seconds": program.predicted_device_us / 1e6,
        "bytes accessed": float(argument_bytes + result_bytes),
        "bytes accessedout{}": float(result_bytes),
        "peak dram bytes": float(peak),
        "peak l1 bytes per core": float(program.memory.l1_peak_bytes_per_core),
        "ops": float(sum(len(function.body) for function in program.functions)),
    }
    answers.set("PJRT_Executable_GetCostAnalysis", num_properties=len(costs), properties=answers.named_values(costs))


def _size(dtype: str, shape: Sequence[int]) -> int:
    """Returns the bytes of a tensor on the host."""
    return itemsize(PJRT_CODES[dtype]) * math.prod(shape)


def _describe_loaded(answers: Answers, executable: Executable) -> None:
    """Sets the answers about the device that an executable is loaded on."""
    library = trampoline()
    prefix = "PJRT_LoadedExecutable"
    answers.set(
        f"{prefix}_GetDeviceAssignment",
        serialized_bytes=DEVICE_ASSIGNMENT,
        serialized_device_assignment=library.EVENT,
        serialized_device_assignment_deleter=library.NOTHING,
    )
    answers.set(
        f"{prefix}_AddressableDevices",
        addressable_devices=answers.handles([executable.client.device]),
        num_addressable_devices=1,
    )
    answers.set(
        f"{prefix}_AddressableDeviceLogicalIds",
        addressable_device_logical_ids=answers.pointer((struct("PJRT_LogicalDeviceIds") * 1)()),
        num_addressable_device_logical_ids=1,
    )
    answers.set(f"{prefix}_Fingerprint", executable_fingerprint=executable.compiled.fingerprint)


# Compiling -----------------------------------------------------------------------------------------------------------


@slot("PJRT_Client_Compile")
def compile_program(args: Any) -> None:
    """Compiles a program and loads it on the client's device."""
    client: Client = trampoline().object_of(args.client)
    with _compiling:
        modules: dict[str, str] = {}
        compiled, program = compile_bytes(client, *_request(args), modules)
        args.executable = Executable(client, compiled, program, modules).new_handle()


@slot("PJRT_Compile")
def compile_for_topology(args: Any) -> None:
    """Compiles a program for a system that may be absent. ``args.client`` is not used."""
    with _compiling:
        compiled, program = compile_bytes(trampoline().object_of(args.topology), *_request(args))
        args.executable = Unloaded(compiled, program).new_handle()


def _request(args: Any) -> tuple[bytes, bytes]:
    """Returns the bytes of the program and of the compile options.

    Raises:
        PluginError: the program is not MLIR.
    """
    passed_program = struct("PJRT_Program").from_address(args.program)
    program_format = text_at(passed_program.format, passed_program.format_size)
    if program_format != "mlir":
        raise PluginError("INVALID_ARGUMENT", f"The program has format '{program_format}'; expected 'mlir'.")
    recognise_models()  # the user may have imported a model library after the plugin was registered
    return (
        bytes_at(passed_program.code, passed_program.code_size),
        bytes_at(args.compile_options, args.compile_options_size),
    )


def compile_bytes(
    client: Client | Topology, code: bytes, options: bytes, modules: dict[str, str] | None = None
) -> tuple[Compiled, Program]:
    """Compiles a program that JAX passes.

    Args:
        client: the client or topology to compile for.
        code: portable StableHLO artifact.
        options: ``CompileOptionsProto``.
        modules: receives the module's text after each stage if the options ask for generated source.

    Returns:
        The serialized part of the executable, and the program in it.

    Raises:
        PluginError: the program or its options are damaged, or the program is for several devices.
        CompileError: the program cannot be compiled.
        OptionError: an option is unknown or has a bad value.
    """
    from tt_xla.compiler import compile_module
    from tt_xla.compiler.stablehlo import DONATION, parse_module
    from tt_xla.compiler.stablehlo.untrusted import checked
    from tt_xla.frontends.jax.pjrt.prepare import replace_tokens

    request = read_compile_options(options)
    _check_one_device(request)
    module = parse_module(code if is_own() else checked(code, FROM_JAX), FROM_JAX)
    function = next((op for op in module.body.operations if _text(op, "sym_name") == "main"), None)
    arguments = _attributes_of(function, "arg_attrs")
    results = _attributes_of(function, "res_attrs")
    replace_tokens(module)
    parsed = CompileOptions.parse(_own(request.options))
    program = compile_module(
        module,
        parsed,
        client.target,
        name=_text(module.operation, "sym_name") or "main",
        dumps=modules if parsed.generates_source else None,
    )
    compiled = Compiled(
        version=__version__,
        program=program.to_bytes(),
        module=code,
        options=options,
        donated=tuple(index for index, attrs in enumerate(arguments) if any(name in attrs for name in DONATION)),
        parameter_memories=_memory_kinds(arguments, len(program.arguments)),
        output_memories=_memory_kinds(results, len(program.results)),
    )
    return compiled, program


def _own(options: Mapping[str, OptionValue]) -> dict[str, OptionValue]:
    """Returns the options without XLA's flags. Programs set those for every backend; ``tt`` ignores them."""
    for name in options:
        if name.startswith("xla_"):
            logger().info("compile option %s is a flag of XLA, which 'tt' ignores", name)
    return {name: value for name, value in options.items() if not name.startswith("xla_")}


def _check_one_device(request: CompileRequest) -> None:
    if request.replicas * request.partitions > 1:
        raise PluginError(
            "UNIMPLEMENTED",
            f"The program is for {request.replicas} replicas of {request.partitions} partitions; 'tt' has one device.",
        )


def _text(op: Any, name: str) -> str:
    return op.attributes[name].value if name in op.attributes else ""


def _attributes_of(function: Any, name: str) -> list[Any]:
    return list(function.attributes[name]) if function is not None and name in function.attributes else []


def _memory_kinds(attributes: Sequence[Any], count: int) -> tuple[str, ...]:
    """Returns the kind of memory of each argument or result; ``device`` where none is given or the kind is unknown."""
    kinds = [attrs["mhlo.memory_kind"].value if "mhlo.memory_kind" in attrs else "device" for attrs in attributes]
    kinds = [kind if kind in MEMORY_KINDS else "device" for kind in kinds]
    return tuple(kinds) if len(kinds) == count else ("device",) * count


# Running -------------------------------------------------------------------------------------------------------------


def execute(
    executable: Executable, inputs: tuple[Buffer, ...], states: bytes
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Runs a program. The C part calls this function.

    Args:
        executable: the loaded program.
        inputs: one buffer per argument.
        states: one byte per argument: :data:`FREE`, :data:`KEPT` or 0.

    Returns:
        Handles of the results, and indices of the donated arguments.

    Raises:
        PluginError: the number of arguments is wrong, or a donated array is passed twice.
    """
    if len(inputs) != len(executable.program.arguments):
        raise PluginError(
            "INVALID_ARGUMENT",
            f"Argument count mismatch: expected {len(executable.program.arguments)}, got {len(inputs)}.",
        )
    if executable.donated and len(set(inputs)) < len(inputs):
        _check_donations(executable, inputs, states)
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
    program = Program.from_bytes(compiled.program)
    args.loaded_executable = Executable(client, compiled, program).new_handle()


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


__all__ = ["Compiled", "Executable", "compile_bytes", "execute"]
