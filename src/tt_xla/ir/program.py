"""The Program: what the compiler hands to the runtime, and its file format.

A Program is plain data: no xDSL, torch or JAX object is in it. Values of a function are numbered; an instruction names
its operands as its TTNN op does, so that a kernel is called by keyword.
"""

from __future__ import annotations

import enum
from typing import Any

import msgspec

from tt_xla.ir.layout import TensorLayout

MAGIC = b"TTXLAPRG"
FORMAT_VERSION = 4

Operand = int | tuple[int, ...]

FUNCTION_TYPE = "tt.function_type"
"""The attribute of a function in text that has its kind; entries of our own have none."""


ARGUMENT_MARK = "tt.mark_argument"
"""Target of the custom call that marks its operand, an argument, as a model's parameter.

The ``backend_config`` of the call is the parameter's name.
"""

DONOR = "jax.buffer_donor"
"""The attribute of an argument in text whose memory the program may write to."""

KV_CACHE = "ttcore.kv_cache"
"""The attribute of an argument in text that the program writes to."""


class FunctionKind(enum.StrEnum):
    FORWARD = "forward_device"
    SUBPROGRAM = "subprogram"
    """What a loop or a case of another function runs; in text, a private one of kind ``forward_device``."""
    CONST_EVAL = "const_eval"
    TRACE = "trace_main"
    """What is recorded and replayed: its arguments are inputs, then the slots that its results are copied to."""
    TRACE_ALLOCATE_SLOTS = "trace_allocate_slots"
    TRACE_CAPTURE = "trace_run_and_capture"
    TRACE_EXECUTE = "trace_execute"


WEIGHT_DTYPE = "ttcore.weight_dtype"
"""The attribute of an argument that says in which element type its products and convolutions keep it."""

WEIGHT_DTYPES = ("bfp_bf4", "bfp_bf8", "bf16")


class Role(enum.StrEnum):
    """What an argument is to its program (``ttcore.argument_type``)."""

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

    @property
    def bound(self) -> str:
        parts = {"compute": self.compute_us, "dram": self.dram_us, "noc": self.noc_us, "launch": self.launch_us}
        return max(parts, key=lambda name: parts[name])


class Instruction(msgspec.Struct, frozen=True):
    op: str
    """Full name, ``ttnn.matmul``."""
    operands: dict[str, Operand]
    """Operand name to value number; a tuple for a variadic one; absent optional operands are left out."""
    results: tuple[int, ...]
    attributes: dict[str, Any]
    """Attribute name to plain value. Dense data (``ttnn.constant``) is bytes, little-endian, in the result's dtype."""
    location: str = ""
    """The user's source line."""
    cost: Cost = Cost()


WHILE_LOOP = "ttcore.while_loop"
CASE = "ttcore.case"
DEALLOCATE = "ttnn.deallocate"
LOAD_CACHED = "ttcore.load_cached"
TRACE = "ttnn.capture_or_execute_trace"


class Loop(msgspec.Struct, frozen=True):
    """What a ``ttcore.while_loop`` says: its first ``states`` operands are the states before the first round."""

    body: str
    condition: str | None
    """None for a counted loop."""
    states: int
    outputs: tuple[int, ...]
    """The state that each result is."""
    bounds: tuple[tuple[int, int | None], ...] = ()
    """Initial, limit and step of a counted loop: a number, or the operand that has it."""

    @property
    def trips(self) -> int | None:
        """The number of rounds; None when it is known only as the program runs."""
        if self.condition is not None or any(operand is not None for _, operand in self.bounds):
            return None
        initial, limit, step = (number for number, _ in self.bounds)
        return len(range(initial, limit, step))


def loop_of(instruction: Instruction) -> Loop:
    """A ``ttcore.while_loop`` read."""
    found = instruction.attributes
    given = [found.get(name) for name in ("initial", "limit", "step")]
    bounds = tuple((int(bound[0]), bound[1]) for bound in given if bound is not None)
    outputs, condition = tuple(found["output_indices"]), found.get("condition_program")
    return Loop(str(found["body_program"]), condition, int(found["state_count"]), outputs, bounds)


def subprograms_of(instruction: Instruction) -> tuple[str, ...]:
    """The functions that a loop or a case runs, by name; none for other instructions."""
    if instruction.op == WHILE_LOOP:
        loop = loop_of(instruction)
        return (loop.body,) if loop.condition is None else (loop.condition, loop.body)
    return tuple(dict.fromkeys(instruction.attributes["branch_programs"])) if instruction.op == CASE else ()


class Function(msgspec.Struct, frozen=True):
    name: str
    kind: FunctionKind
    arguments: tuple[int, ...]
    results: tuple[int, ...]
    values: tuple[TensorSpec, ...]
    body: tuple[Instruction, ...]


class Argument(msgspec.Struct, frozen=True):
    """An argument as the frontend declared it; its on-device spec is the forward function's."""

    name: str
    role: Role
    shape: tuple[int, ...]
    dtype: str
    """Declared StableHLO element type, such as ``i64``; narrowed on the device where the chip has none."""
    written: bool = False
    """Whether the program writes to its memory: who calls gives it up, or a copy is written to."""


class Result(msgspec.Struct, frozen=True):
    shape: tuple[int, ...]
    dtype: str


class MemoryPlan(msgspec.Struct, frozen=True):
    """Peak use of the chip's memory, worked out at compile time, bytes with padding and alignment."""

    dram_peak_bytes: int = 0
    """Over all DRAM banks together."""
    l1_peak_bytes_per_core: int = 0
    trace_bytes: int = 0
    """What a captured trace takes of the trace region; 0 without ``enable_trace``."""


class Program(msgspec.Struct, frozen=True):
    name: str
    target: str
    options: dict[str, Any]
    arguments: tuple[Argument, ...]
    results: tuple[Result, ...]
    functions: tuple[Function, ...]
    """The first one is the entry."""
    memory: MemoryPlan
    predicted_device_us: float
    host_ops: tuple[str, ...] = ()
    """Ops that run on the host, by name and location."""

    def function(self, name: str) -> Function:
        return next(function for function in self.functions if function.name == name)

    def to_bytes(self) -> bytes:
        """The ``.ttnn`` file, see :mod:`tt_xla.ir.container`."""
        from tt_xla.ir.container import pack

        return pack(self)

    @staticmethod
    def from_bytes(data: bytes) -> Program:
        """Reads what :meth:`to_bytes` wrote.

        Raises:
            ProgramFormatError: the bytes are cut, changed, of another format or of another version.
        """
        from tt_xla.ir.container import unpack

        return unpack(data)
