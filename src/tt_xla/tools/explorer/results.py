"""Results that the worker process hands to the server: plain data, which is read without the compiler."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tt_xla.ir.program import Program
from tt_xla.tools.explorer.nodes import FunctionNodes


@dataclass
class Compiled:
    """The outcome of a compilation, or of reading dumps.

    Attributes:
        stages: text or bytecode of the module at each known stage, by stage.
        program: the program; None if compiling failed.
        functions: nodes of the stage ``ttnn``; empty if compiling failed.
        seconds: duration of the compilation.
        error: message of the error that ended it; empty if it succeeded.
        error_location: the user's source line of the error, as far as it is known.
        menus: by name of an op, the layouts and configs that an override may choose for it.
    """

    stages: dict[str, str | bytes]
    program: Program | None = None
    functions: list[FunctionNodes] = field(default_factory=list)
    seconds: float = 0.0
    error: str = ""
    error_location: str = ""
    menus: dict[str, list[dict[str, Any]]] = field(default_factory=dict)


@dataclass
class Accuracy:
    """The outcome of a run.

    Attributes:
        pcc: correlation of the results with those of the reference.
        relative: ratio of the L2 norm of the difference to that of the reference.
        reference: what the results were compared with.
        seconds: wall-clock time of the run, with the float32 copies of its instructions.
        runtime: what ran the program, as ``TTXLA_RUNTIME`` names it.
        nodes: for each node, its correlation by itself on the card's operands, and with all ops before it in float32.
    """

    pcc: float
    relative: float
    reference: str
    seconds: float
    runtime: str
    nodes: dict[str, tuple[float | None, float | None]]
