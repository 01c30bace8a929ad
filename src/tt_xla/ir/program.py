"""The Program: what the compiler hands to the runtime.

A Program is plain data: no xDSL, torch or JAX object is in it. Values of a function are numbered; an instruction names
its operands as its TTNN op does, so that a kernel is called by keyword.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from typing import Any

import msgspec

from tt_xla.errors import ProgramFormatError
from tt_xla.ir import container
from tt_xla.ir.container import FORMAT_VERSION as FORMAT_VERSION
from tt_xla.ir.container import MAGIC as MAGIC
from tt_xla.ir.layout import TensorLayout
from tt_xla.ir.mesh import Mesh, Sharding

Operand = int | tuple[int, ...]

FUNCTION_TYPE = "tt.function_type"
"""Attribute of a function in MLIR text that names its :class:`FunctionKind`; our own entry functions have none."""

ARGUMENT_MARK = "tt.mark_argument"
"""Target of the custom call that marks its operand, an argument, as a model's parameter.

The ``backend_config`` of the call is the parameter's name.
"""

ALIASING = "tf.aliasing_output"
"""Attribute of an argument in StableHLO: number of the result that takes over its memory."""
DONOR = "jax.buffer_donor"
"""Attribute of an argument in MLIR text whose memory the program may write to."""

KV_CACHE = "ttcore.kv_cache"
"""Attribute of an argument in MLIR text that the program writes to."""

SHARDED_AXES = "tt.sharded_axes"
"""Attribute of an argument in MLIR text: the axes of the mesh along which chips hold different shards of it."""

WEIGHT_DTYPE = "ttcore.weight_dtype"
"""Attribute of an argument in MLIR text: the element type in which matrix products and convolutions keep it."""

WEIGHT_DTYPES = ("bfp_bf4", "bfp_bf8", "bf16")


class FunctionKind(enum.StrEnum):
    """The purpose of a function in a Program."""

    FORWARD = "forward_device"
    SUBPROGRAM = "subprogram"
    """Body, condition or branch of a loop or case of another function; in text, a private ``forward_device`` one."""
    CONST_EVAL = "const_eval"
    TRACE = "trace_main"
    """Function that is recorded and replayed: its arguments are inputs, then the slots that receive its results."""
    TRACE_ALLOCATE_SLOTS = "trace_allocate_slots"
    TRACE_CAPTURE = "trace_run_and_capture"
    TRACE_EXECUTE = "trace_execute"


class Role(enum.StrEnum):
    """The role of an argument in its program (``ttcore.argument_type``)."""

    INPUT = "input"
    PARAMETER = "parameter"
    CONSTANT = "constant"


class TensorSpec(msgspec.Struct, frozen=True):
    """Logical shape (elements) and layout of a value."""

    shape: tuple[int, ...]
    layout: TensorLayout


class Cost(msgspec.Struct, frozen=True):
    """Predicted device time of one instruction, in microseconds, and its parts. The largest part bounds it."""

    total_us: float = 0.0
    compute_us: float = 0.0
    dram_us: float = 0.0
    noc_us: float = 0.0
    launch_us: float = 0.0
    cores: int = 0
    link_us: float = 0.0
    """Time on the links between chips."""

    @property
    def bound(self) -> str:
        """Name of the largest part: ``compute``, ``dram``, ``noc``, ``launch`` or ``link``."""
        durations = {
            "compute": self.compute_us,
            "dram": self.dram_us,
            "noc": self.noc_us,
            "launch": self.launch_us,
            "link": self.link_us,
        }
        return max(durations, key=lambda name: durations[name])


class Instruction(msgspec.Struct, frozen=True):
    """One TTNN op of a function."""

    op: str
    """Full name, ``ttnn.matmul``."""
    operands: dict[str, Operand]
    """Value number by operand name; a tuple for a variadic operand; absent optional operands are left out."""
    results: tuple[int, ...]
    """Value number of each result."""
    attributes: dict[str, Any]
    """Plain value by attribute name. Dense data (``ttnn.constant``) is bytes, little-endian, in the result's dtype."""
    location: str = ""
    """The user's source line."""
    cost: Cost = Cost()

    def operand_values(self) -> list[int]:
        """Returns the value numbers of the operands in order; variadic operands are flattened in place."""
        values: list[int] = []
        for operand in self.operands.values():
            if isinstance(operand, int):
                values.append(operand)
            else:
                values += operand
        return values


WHILE_LOOP = "ttcore.while_loop"
CASE = "ttcore.case"
DEALLOCATE = "ttnn.deallocate"
LOAD_CACHED = "ttcore.load_cached"
TRACE = "ttnn.capture_or_execute_trace"
WRITE = "ttnn.write_tensor"
CALL = "func.call"
HOST_CALL = "ttnn.host_call"
HOST_CALLBACK = "ttnn.host_callback"

HOST_OPS = (HOST_CALL, HOST_CALLBACK)
"""Ops that the host computes: a StableHLO program, and a Python function of the process that compiled the Program."""


class Loop(msgspec.Struct, frozen=True):
    """The attributes of a ``ttcore.while_loop``, whose first ``states`` operands are the states before round one."""

    body: str
    """Name of the function that computes the next states."""
    condition: str | None
    """Name of the function that decides on another round; None for a counted loop."""
    states: int
    """Number of states."""
    outputs: tuple[int, ...]
    """Index of the state that each result is."""
    bounds: tuple[tuple[int, int | None], ...] = ()
    """Initial, limit and step of a counted loop: a number and None, or 0 and the index of the operand that holds it."""

    @property
    def trips(self) -> int | None:
        """Number of rounds; None where only the run can tell."""
        if self.condition is not None or any(operand is not None for _, operand in self.bounds):
            return None
        initial, limit, step = (number for number, _ in self.bounds)
        return len(range(initial, limit, step))


def loop_of(instruction: Instruction) -> Loop:
    """Returns the attributes of a ``ttcore.while_loop`` instruction."""
    attributes = instruction.attributes
    stored_bounds = [attributes.get(name) for name in ("initial", "limit", "step")]
    bounds = tuple((int(bound[0]), bound[1]) for bound in stored_bounds if bound is not None)
    outputs, condition = tuple(attributes["output_indices"]), attributes.get("condition_program")
    return Loop(str(attributes["body_program"]), condition, int(attributes["state_count"]), outputs, bounds)


def subprograms_of(instruction: Instruction) -> tuple[str, ...]:
    """Returns the names of the functions that a loop or a case runs; empty for other instructions."""
    if instruction.op == WHILE_LOOP:
        loop = loop_of(instruction)
        return (loop.body,) if loop.condition is None else (loop.condition, loop.body)
    return tuple(dict.fromkeys(instruction.attributes["branch_programs"])) if instruction.op == CASE else ()


class Function(msgspec.Struct, frozen=True):
    """A function of a Program: numbered values and the instructions that compute them, in order."""

    name: str
    kind: FunctionKind
    arguments: tuple[int, ...]
    """Value number of each argument."""
    results: tuple[int, ...]
    """Value number of each result."""
    values: tuple[TensorSpec, ...]
    """Shape and layout of each value, by number."""
    body: tuple[Instruction, ...]


class Argument(msgspec.Struct, frozen=True):
    """An argument as the frontend declared it; the forward function has its shape and layout on the device."""

    name: str
    role: Role
    shape: tuple[int, ...]
    dtype: str
    """Declared StableHLO element type, such as ``i64``; narrowed on the device where the chip has no such type."""
    written: bool = False
    """Whether the program writes to the argument's memory: callers give the tensor up, or pass a copy."""
    sharding: Sharding | None = None
    """How the argument is split over the program's mesh; None in a program for one chip."""
    global_shape: tuple[int, ...] | None = None
    """Shape of the argument before it is split; None in a program for one chip. ``shape`` is that of one shard."""
    becomes: int | None = None
    """Result that is the argument's contents in the next call, as its caller declares; None if it declares none."""


class Result(msgspec.Struct, frozen=True):
    """A result as the frontend declared it."""

    shape: tuple[int, ...]
    dtype: str
    """Declared StableHLO element type."""
    sharding: Sharding | None = None
    """How the result is split over the program's mesh; None in a program for one chip."""
    global_shape: tuple[int, ...] | None = None
    """Shape of the result before it is split; None in a program for one chip. ``shape`` is that of one shard."""


class MemoryPlan(msgspec.Struct, frozen=True):
    """Peak use of the chip's memory, computed at compile time, in bytes with padding and alignment."""

    dram_peak_bytes: int = 0
    """Sum over all DRAM banks."""
    l1_peak_bytes_per_core: int = 0
    trace_bytes: int = 0
    """Bytes of the trace region that a captured trace takes; 0 without ``enable_trace``."""


class GraphKey(msgspec.Struct, frozen=True):
    """Identity of the StableHLO module of a program whose source is generated or loaded."""

    hash: str
    """The first eight bytes of a SHA-256, in hexadecimal."""
    used: tuple[int, ...]
    """Positions of the arguments that the module reads, in order."""


class Program(msgspec.Struct, frozen=True):
    """A compiled program."""

    name: str
    target: str
    """Name of the system that the program is compiled for, such as ``n150``."""
    options: dict[str, Any]
    """Value of every compile option by name."""
    arguments: tuple[Argument, ...]
    results: tuple[Result, ...]
    functions: tuple[Function, ...]
    """The functions, the entry first."""
    memory: MemoryPlan
    predicted_device_us: float
    host_ops: tuple[str, ...] = ()
    """Name and location of each op that runs on the host."""
    mesh: Mesh | None = None
    """The chips that run the program, each on its own shards; None in a program for one chip."""
    graph: GraphKey | None = None
    """Key of the module if the options have source generated or loaded; None if the module was not StableHLO."""

    def staged_operands(self, trace: Instruction) -> list[int]:
        """Returns the operands of a trace that it reads out of slots, which are its last ones."""
        values = trace.operand_values()
        capture = self.function(str(trace.attributes["capture_callee"]))
        return list(values[len(values) - sum(step.op == WRITE for step in capture.body) :])

    def function(self, name: str) -> Function:
        """Returns the function of a name.

        Raises:
            StopIteration: the program has no such function.
        """
        return next(function for function in self.functions if function.name == name)

    def with_trap(self, trap: str) -> Program:
        """Returns the program with another value of option ``trap``; itself if it has this value."""
        if self.options.get("trap", "") == trap:
            return self
        return msgspec.structs.replace(self, options=self.options | {"trap": trap})

    def to_bytes(self) -> bytes:
        """Returns the bytes of the ``.ttnn`` file, see :mod:`tt_xla.ir.container`."""
        constants = container.Constants()
        functions = tuple(_without_large_constants(function, constants) for function in self.functions)
        document = msgspec.msgpack.encode(msgspec.structs.replace(self, functions=functions))
        return container.pack(document, constants.to_bytes())

    @staticmethod
    def from_bytes(data: bytes) -> Program:
        """Reads the bytes that :meth:`to_bytes` returned.

        Raises:
            ProgramFormatError: the bytes are cut, changed, of another format or of another version.
        """
        document, tensors = container.sections(data)
        try:
            program = msgspec.msgpack.decode(document, type=Program)
            if container.CONSTANT.encode() in document:
                constants = container.read_constants(tensors)
                functions = tuple(_with_constants(function, constants) for function in program.functions)
                program = msgspec.structs.replace(program, functions=functions)
            _check(program)
        except (msgspec.MsgspecError, ValueError, KeyError) as error:
            raise ProgramFormatError(f"This .ttnn program does not follow the format: {error}.") from error
        return program


_INLINE_BYTES = 64
"""Largest size of a constant that stays in its instruction."""


def _is_large(value: object) -> bool:
    return isinstance(value, bytes) and len(value) > _INLINE_BYTES


def _without_large_constants(function: Function, constants: container.Constants) -> Function:
    """Moves large constants of a function's instructions into ``constants``."""

    def shrunk(instruction: Instruction) -> Instruction:
        large = {name: value for name, value in instruction.attributes.items() if _is_large(value)}
        if not large:
            return instruction
        spec = function.values[instruction.results[0]] if instruction.results else None
        shape, dtype = (spec.shape, spec.layout.dtype) if spec else (None, None)
        references = {name: constants.reference(value, shape, dtype) for name, value in large.items()}
        return msgspec.structs.replace(instruction, attributes=instruction.attributes | references)

    if not any(_is_large(value) for instruction in function.body for value in instruction.attributes.values()):
        return function
    return msgspec.structs.replace(function, body=tuple(map(shrunk, function.body)))


def _with_constants(function: Function, constants: dict[str, bytes]) -> Function:
    """Puts the bytes of constants in the place of the attributes that refer to them."""

    def filled(instruction: Instruction) -> Instruction:
        names = {name: container.constant_name(value) for name, value in instruction.attributes.items()}
        values = {name: constants[constant] for name, constant in names.items() if constant is not None}
        if not values:
            return instruction
        return msgspec.structs.replace(instruction, attributes=instruction.attributes | values)

    return msgspec.structs.replace(function, body=tuple(map(filled, function.body)))


def _check(program: Program) -> None:
    """Checks that the program has an entry, and that functions refer to values that they have.

    Raises:
        ValueError: a check failed.
    """
    if not program.functions:
        raise ValueError("it has no function")
    for function in program.functions:
        numbers = [*function.arguments, *function.results, *_numbers(function)]
        if numbers and not 0 <= min(numbers) <= max(numbers) < len(function.values):
            raise ValueError(f"function '{function.name}' refers to a value that it does not have")
    for argument in program.arguments:
        if argument.becomes is not None and not 0 <= argument.becomes < len(program.results):
            raise ValueError(f"argument '{argument.name}' becomes a result that the program does not have")


def _numbers(function: Function) -> Iterator[int]:
    """Yields the numbers of all values that a function's instructions use or compute."""
    for instruction in function.body:
        yield from instruction.results
        for operand in instruction.operands.values():
            if isinstance(operand, int):
                yield operand
            else:
                yield from operand
