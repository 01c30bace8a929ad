"""Reports compilations and runs of torch_xla's programs with their causes, as ``PT_XLA_DEBUG`` asks for it.

The lines have the form of torch_xla's, which scripts read.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tt_xla.environment import debug_frames, launched_process, variable
from tt_xla.frontends.torch import session
from tt_xla.frontends.torch.device import chips
from tt_xla.locks import Lock

if TYPE_CHECKING:
    from tt_xla.ir.program import Program

USER_SYNC = "user torch_xla.sync"
LOADER = "torch_xla.sync in parallel loader at step end"
STEP_TRACE = "torch_xla.sync when exiting a profiler StepTrace region"
BEFORE_COMPILE = "torch_xla.compile clear the pending graph prior calling the target function"
COMPILE = "torch_xla.compile"
DYNAMO_INPUTS = "torch_xla.sync when dynamo processing input graphs"
DYNAMO_COMPILATION = "dynamo is compiling a FX graph to HLO"
DYNAMO_RUN = "dynamo is executing a compiled program"
_READ = "most likely user code trying to access tensor value before torch_xla.sync"

_OWN_FOLDER = str(Path(__file__).parents[3])
_GB = 1 << 30
_RULE = "=" * 80
_END = "-" * 80
_WRITING = Lock()
"""Held while a report is written, because threads of replicas share the file."""


class Graph(NamedTuple):
    """The contents of a report about a graph.

    Attributes:
        key: text that identifies the graph in this process.
        inputs: number of its tensors and numbers that come from outside.
        outputs: number of its results.
        chip: number of the chip that runs it.
    """

    key: str
    inputs: int
    outputs: int
    chip: int = 0


def report_compilation(describe: Callable[[], Graph]) -> None:
    """Reports that a graph is being compiled, if anybody asks.

    Args:
        describe: returns what the report says about the graph.
    """
    if session.current.mode.debug_level:
        _report("Compilation", 1, describe())


def report_run(describe: Callable[[], Graph]) -> None:
    """Reports that the program of a graph is about to run, if anybody asks.

    Args:
        describe: returns what the report says about the graph.
    """
    if session.current.mode.debug_level:
        _report("Execution", 2, describe())


def report_program(chip: int = 0, before: Program | None = None) -> None:
    """Reports the sizes of the program that was compiled last, or found in a cache, if anybody asks.

    Args:
        chip: number of the chip that runs it.
        before: program that was the last one before, and is not reported.
    """
    if _is_asked(1, chip) and (program := last_program()) is not None and program is not before:
        _write("Post Compilation Analysis: ", _sizes(program))


def last_program() -> Program | None:
    """Returns the program that was compiled last, or found in a cache; None if there is none, or nobody asks."""
    if not session.current.mode.debug_level:
        return None
    from tt_xla.frontends.torch.compilation import compiled_programs

    return next(reversed(compiled_programs()), None)


def _is_asked(level: int, chip: int) -> bool:
    """Returns whether reports of a level are asked for: not in eager mode, and among replicas only for the first."""
    process = launched_process()
    is_first = (not chips.is_replica() or chip == 0) and (process is None or not process.rank)
    return session.current.mode.debug_level >= level and not session.current.mode.eager and is_first


def _report(event: str, level: int, graph: Graph) -> None:
    if not _is_asked(level, graph.chip):
        return
    named = [f"  Graph Name: {session.current.mode.graph_name}"] if session.current.mode.graph_name else []
    _write(
        f"{event} Analysis: ",
        [
            f"{event} Cause",
            f"  {session.current.mode.cause or _READ}",
            "Graph Info: ",
            *named,
            f"  Graph Hash: {hashlib.sha256(graph.key.encode()).hexdigest()[:32]}",
            f"  Number of Graph Inputs: {graph.inputs}",
            f"  Number of Graph Outputs: {graph.outputs}",
            "Python Frame Triggered Execution: ",
            *_calls(),
        ],
    )


def _calls() -> Iterator[str]:
    """Yields the calls that led to a report, the innermost first: the script's, and its call of ours."""
    frame = sys._getframe(1)
    while (caller := frame.f_back) is not None and caller.f_code.co_filename.startswith(_OWN_FOLDER):
        frame = caller
    remaining = debug_frames()
    while frame is not None:
        if not remaining:
            yield "  .........."
            return
        yield f"  {frame.f_code.co_name} ({frame.f_code.co_filename}:{frame.f_lineno})"
        frame, remaining = frame.f_back, remaining - 1  # type: ignore[assignment]


def _sizes(program: Program) -> list[str]:
    entry = program.functions[0]
    inputs, results = (
        [entry.values[value].layout.bytes for value in values] for values in (entry.arguments, entry.results)
    )
    aliased = sum(size for size, argument in zip(inputs, program.arguments, strict=True) if argument.written)
    sizes = {
        "Graph input size": sum(inputs),
        "Graph output size": sum(results),
        "Aliased Input size": aliased,
        "Intermediate tensor size": max(program.memory.dram_peak_bytes - sum(inputs) - sum(results), 0),
        "Compiled program size": len(program.to_bytes()),
    }
    return [f"{name}: {size / _GB:.6f} GB" for name, size in sizes.items()]


def _write(prefix: str, lines: Iterable[str]) -> None:
    text = "\n" + "".join(f"{prefix}{line}\n" for line in (_RULE, *lines, _END, _RULE))
    path = variable("PT_XLA_DEBUG_FILE")
    with _WRITING:
        if not path:
            sys.stderr.write(text)
            return
        with open(path, "a", encoding="utf-8") as file:
            file.write(text)
