"""Executables: StableHLO compiled by tt-xla, loaded on the card, run, and written out for JAX's caches."""

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
from tt_xla.frontends.jax.pjrt.buffer import BY_MLIR, Buffer, itemsize, place
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
NAME = "tt_executable"
"""Upstream's name of every executable."""

FREE, KEPT = 1, 2
"""States of an argument: nobody else holds its memory; JAX keeps it, although the program was compiled to take it."""

_compiling = threading.RLock()


class Compiled(msgspec.Struct, frozen=True):
    """All of an executable that outlives the process."""

    version: str
    program: bytes
    module: bytes
    """The StableHLO it was compiled from, as JAX gave it."""
    options: bytes
    """``CompileOptionsProto``."""
    donated: tuple[int, ...]
    """Arguments whose memory the program may take."""
    parameter_memories: tuple[str, ...]
    output_memories: tuple[str, ...]

    @property
    def fingerprint(self) -> str:
        return hashlib.sha256(self.program).hexdigest()


class Unloaded:
    """A program compiled for a system that need not be there."""

    def __init__(self, compiled: Compiled, program: Program) -> None:
        self.compiled = compiled
        self.program = program
        self.written: list[Any] = []
        """What was handed out as bytes."""
        self._answers = Answers()

    def new_handle(self) -> int:
        """The handle of a PJRT executable."""
        _describe(self._answers, self)
        _describe_sizes(self._answers, self.program)
        handle: int = trampoline().new_cell(self, self._answers.pack(), 0)
        return handle


class Executable(Unloaded):
    """A program on a device; the object behind both of PJRT's handles, executable and loaded executable."""

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
        if self._run is load:  # one that exports does so once
            _reloadable.add(self)
        self._versioned = [argument.role is not Role.INPUT for argument in program.arguments]
        donated = set(compiled.donated)
        self._written = [at for at, argument in enumerate(program.arguments) if argument.written and at in donated]
        self._makers = [
            _maker(client, result, kind) for result, kind in zip(program.results, compiled.output_memories, strict=True)
        ]

    def run(self, inputs: Sequence[Buffer], states: bytes) -> tuple[int, ...]:
        """Handles of the results; ``states`` has :data:`FREE` for each argument whose memory nobody else holds."""
        versions = [
            buffer.version if versioned else None for buffer, versioned in zip(inputs, self._versioned, strict=True)
        ]
        given = [position for position in self._written if states[position] == FREE]
        results = self._run([buffer.tensor for buffer in inputs], versions, given)
        return tuple([make(tensor) for make, tensor in zip(self._makers, results, strict=True)])

    def _load(self) -> Run:
        from tt_xla.runtime import get_device

        return get_device(self.client.target.name).load(self.program).run

    def forget_loaded(self) -> None:
        """The next call loads the program again; what it holds on the device is freed."""
        self._run = self._load_and_run

    def _load_and_run(
        self, tensors: Sequence[Tensor], versions: Sequence[int | None], given: Container[int] = ()
    ) -> list[Tensor]:
        self._run = self._load()
        return self._run(tensors, versions, given)

    def new_handle(self) -> int:
        _describe_loaded(self._answers, self)
        return super().new_handle()


_reloadable: weakref.WeakSet[Executable] = weakref.WeakSet()


def renew() -> None:
    """Makes every program load again at its next call, so that who observes what is loaded hears of it."""
    for executable in list(_reloadable):
        executable.forget_loaded()


def _callbacks(program: Program) -> list[Callback]:
    """The Python functions that a program calls back, which live on with it. Those of another process are not here."""
    steps = (step for function in program.functions for step in function.body)
    names = (str(step.attributes["callback"]) for step in steps if step.op == HOST_CALLBACK)
    return [found for name in names if (found := registered(name)) is not None]


def _maker(client: Client, result: Result, memory: str) -> Callable[[Any], int]:
    where = place(client.device, client.memories[MEMORY_KINDS.index(memory)])
    code = BY_MLIR[result.dtype]
    answers = where.answers(code, result.shape)
    return lambda tensor: where.new_handle(tensor, code, answers)


def _describe(answers: Answers, executable: Unloaded) -> None:
    program, compiled = executable.program, executable.compiled
    codes = [BY_MLIR[result.dtype] for result in program.results]
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
    taken = sum(_size(argument.dtype, argument.shape) for argument in program.arguments)
    given_back = sum(_size(result.dtype, result.shape) for result in program.results)
    peak = program.memory.dram_peak_bytes
    answers.set(
        "PJRT_Executable_GetCompiledMemoryStats",
        generated_code_size_in_bytes=0,
        argument_size_in_bytes=taken,
        output_size_in_bytes=given_back,
        temp_size_in_bytes=max(0, peak - taken - given_back),
        peak_memory_in_bytes=peak,
        total_size_in_bytes=peak,
        total_allocation_bytes=peak,
    )
    costs = {
        "optimal_seconds": program.predicted_device_us / 1e6,
        "bytes accessed": float(taken + given_back),
        "bytes accessedout{}": float(given_back),
        "peak dram bytes": float(peak),
        "peak l1 bytes per core": float(program.memory.l1_peak_bytes_per_core),
        "ops": float(sum(len(function.body) for function in program.functions)),
    }
    answers.set("PJRT_Executable_GetCostAnalysis", num_properties=len(costs), properties=answers.named_values(costs))


def _size(dtype: str, shape: Sequence[int]) -> int:
    return itemsize(BY_MLIR[dtype]) * math.prod(shape)


def _describe_loaded(answers: Answers, executable: Executable) -> None:
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
    client: Client = trampoline().object_of(args.client)
    with _compiling:
        modules: dict[str, str] = {}
        compiled, program = compile_bytes(client, *_request(args), modules)
        args.executable = Executable(client, compiled, program, modules).new_handle()


@slot("PJRT_Compile")
def compile_for_topology(args: Any) -> None:
    """Compiles for a system without it; ``args.client``, where it is given, has nothing to add."""
    with _compiling:
        compiled, program = compile_bytes(trampoline().object_of(args.topology), *_request(args))
        args.executable = Unloaded(compiled, program).new_handle()


def _request(args: Any) -> tuple[bytes, bytes]:
    """The program and the compile options."""
    given_program = struct("PJRT_Program").from_address(args.program)
    kind = text_at(given_program.format, given_program.format_size)
    if kind != "mlir":
        raise PluginError("INVALID_ARGUMENT", f"A program has format '{kind}'; the plugin takes 'mlir'.")
    recognise_models()  # it may have been imported since the plugin was
    return (
        bytes_at(given_program.code, given_program.code_size),
        bytes_at(args.compile_options, args.compile_options_size),
    )


def compile_bytes(
    client: Client | Topology, code: bytes, options: bytes, modules: dict[str, str] | None = None
) -> tuple[Compiled, Program]:
    """Compiles what JAX hands over: a portable StableHLO artifact and a ``CompileOptionsProto``.

    Args:
        modules: receives the text of the module at each stage where source is generated from it.
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
    """The options that are not XLA's flags, which programs set for any backend and which say nothing here."""
    for name in options:
        if name.startswith("xla_"):
            logger().info("compile option %s is XLA's and does nothing on 'tt'", name)
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
    kinds = [attrs["mhlo.memory_kind"].value if "mhlo.memory_kind" in attrs else "device" for attrs in attributes]
    kinds = [kind if kind in MEMORY_KINDS else "device" for kind in kinds]
    return tuple(kinds) if len(kinds) == count else ("device",) * count


# Running -------------------------------------------------------------------------------------------------------------


def execute(
    executable: Executable, inputs: tuple[Buffer, ...], states: bytes
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Handles of the results, and which arguments were donated. Called by the C part.

    Args:
        states: a byte for each argument: :data:`FREE`, :data:`KEPT` or 0.
    """
    if len(inputs) != len(executable.program.arguments):
        raise PluginError(
            "INVALID_ARGUMENT",
            f"Argument count mismatch: the program takes {len(executable.program.arguments)}, got {len(inputs)}.",
        )
    if executable.donated and len(set(inputs)) < len(inputs):
        _check_donations(executable, inputs, states)
    return executable.run(inputs, states), executable.donated


def _check_donations(executable: Executable, inputs: tuple[Buffer, ...], states: bytes) -> None:
    """That no array is donated and passed once more, which XLA refuses too."""
    for position in executable.donated:
        if states[position] != KEPT and inputs.count(inputs[position]) > 1:
            again = [at for at, buffer in enumerate(inputs) if buffer is inputs[position] and at != position]
            raise PluginError(
                "INVALID_ARGUMENT",
                f"Argument {position} is donated, and the same array is argument {again[0]} as well, as in "
                "f(donate(a), a). Pass a copy of it, or donate neither.",
            )


HANDLERS["PJRT_LoadedExecutable_Execute"] = execute


# Reading and writing -------------------------------------------------------------------------------------------------


def _hand_out(executable: Unloaded, data: bytes) -> int:
    """The address of a copy that lives as long as the executable."""
    copy = ctypes.create_string_buffer(data, len(data))
    executable.written.append(copy)
    return ctypes.addressof(copy)


@slot("PJRT_Executable_Serialize")
def serialize(args: Any) -> None:
    executable: Unloaded = trampoline().object_of(args.executable)
    data = msgspec.msgpack.encode(executable.compiled)
    args.serialized_bytes = _hand_out(executable, data)
    args.serialized_bytes_size = len(data)
    args.serialized_executable = trampoline().EVENT
    args.serialized_executable_deleter = trampoline().NOTHING


@slot("PJRT_Executable_GetCompileOptions")
def get_compile_options(args: Any) -> None:
    executable: Unloaded = trampoline().object_of(args.executable)
    data = executable.compiled.options
    args.serialized_bytes = _hand_out(executable, data)
    args.serialized_bytes_size = len(data)
    args.serialized_compile_options = trampoline().EVENT
    args.serialized_compile_options_deleter = trampoline().NOTHING


@slot("PJRT_Executable_DeserializeAndLoad")
def deserialize_and_load(args: Any) -> None:
    client: Client = trampoline().object_of(args.client)
    data = bytes_at(args.serialized_executable, args.serialized_executable_size)
    try:
        compiled = msgspec.msgpack.decode(data, type=Compiled)
    except msgspec.MsgspecError as error:
        raise ProgramFormatError(
            f"This is not an executable of tt-xla, or it is damaged: {error}.", hint="Clear the cache it came from."
        ) from None
    if compiled.version != __version__:
        raise ProgramFormatError(
            f"This executable was compiled by tt-xla {compiled.version}; this is {__version__}.",
            hint="Compile it again.",
        )
    program = Program.from_bytes(compiled.program)
    args.loaded_executable = Executable(client, compiled, program).new_handle()


@slot("PJRT_Executable_OptimizedProgram")
def optimized_program(args: Any) -> None:
    """Called twice: for the size, then for the bytes. What JAX can read is StableHLO."""
    executable: Unloaded = trampoline().object_of(args.executable)
    code, kind = executable.compiled.module, b"mlir"
    asked = struct("PJRT_Program").from_address(args.program)
    if asked.code:
        ctypes.memmove(asked.code, code, min(len(code), asked.code_size))
    asked.code_size = len(code)
    asked.format = _hand_out(executable, kind)
    asked.format_size = len(kind)


__all__ = ["Compiled", "Executable", "compile_bytes", "execute"]
