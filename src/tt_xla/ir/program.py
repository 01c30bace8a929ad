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
FORMAT_VERSION = 2

Operand = int | tuple[int, ...]


class FunctionKind(enum.StrEnum):
    FORWARD = "forward_device"
    CONST_EVAL = "const_eval"
    TRACE = "trace_main"
    """What is recorded and replayed: its arguments are inputs, then the slots that its results are copied to."""
    TRACE_ALLOCATE_SLOTS = "trace_allocate_slots"
    TRACE_CAPTURE = "trace_run_and_capture"
    TRACE_EXECUTE = "trace_execute"


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
