"""Writes the timelines of host and device as Chrome trace events, which Perfetto and ``chrome://tracing`` open.

The file replaces tt-metal's ``.tracy`` file, whose format only one version of one viewer reads.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tt_xla.profiling.device_time import Kernel, cost_model_bound
from tt_xla.profiling.recording import Recording

_HOST, _DEVICE = 1, 2
_SCRIPT, _PROGRAMS, _KERNELS, _COMPILER = 1, 2, 3, 4


def write_trace(path: Path, recording: Recording, kernel_calls: Sequence[Kernel], *, synchronised: bool = True) -> None:
    """Writes the timelines of a recording and its kernel calls.

    Args:
        synchronised: Whether device kernels appear at the host's calls that started them. Otherwise they appear on the
            device's own clock, which starts at 0 and stops while a kernel is emulated.
    """
    events = [*_names(), *_host(recording), *_device(recording, kernel_calls, synchronised)]
    document = {
        "traceEvents": events,
        "displayTimeUnit": "ns",
        "otherData": {
            "device": "durations are predicted by tt_xla.cost",
            "error": recording.error,
            "system": recording.programs[0].target.name if recording.programs else "",
            "script": recording.script,
            "date": recording.date,
            "folder": str(Path.cwd()),
            "started": recording.started,
        },
    }
    path.write_text(json.dumps(document, separators=(",", ":")))


def _names() -> Iterable[dict[str, Any]]:
    """Yields the names of processes and threads."""
    for process, name in ((_HOST, "host (measured)"), (_DEVICE, "device 0 (predicted)")):
        yield {"ph": "M", "pid": process, "name": "process_name", "args": {"name": name}}
    threads = {_SCRIPT: "script", _PROGRAMS: "programs", _KERNELS: "kernels", _COMPILER: "compiler"}
    for thread, name in threads.items():
        yield {"ph": "M", "pid": _HOST, "tid": thread, "name": "thread_name", "args": {"name": name}}
    yield {"ph": "M", "pid": _DEVICE, "tid": 1, "name": "thread_name", "args": {"name": "kernels"}}


def _host(recording: Recording) -> Iterable[dict[str, Any]]:
    """Yields the host's events: script, functions, compilations, runs, kernel calls, signposts and optimizer steps."""

    def slice_(thread: int, name: str, start: int, end: int, **arguments: Any) -> dict[str, Any]:
        return {
            "ph": "X",
            "pid": _HOST,
            "tid": thread,
            "name": name,
            "ts": _us(start, recording),
            "dur": max(end - start, 0) / 1e3,
            "args": arguments,
        }

    yield slice_(_SCRIPT, "script", recording.started, recording.ended or recording.started, error=recording.error)
    for zone in recording.zones:
        yield slice_(_SCRIPT, zone.name, zone.start, zone.end)
    for compilation in recording.compilations:
        error = str(compilation.error or "")
        yield slice_(_COMPILER, f"compile {compilation.name}", compilation.started, compilation.ended, error=error)
    for number, run in enumerate(recording.runs):
        name = recording.programs[run.program].program.name
        yield slice_(_PROGRAMS, f"run {name}", run.start, run.end, program=run.program, state=run.state, run=number)
    for number, start, end in recording.events:
        op = recording.ops[number].instruction
        yield slice_(_KERNELS, op.op, start, end, source=op.location)
    for signpost in recording.signposts:
        moment = {"ph": "i", "s": "g", "pid": _HOST, "tid": _SCRIPT, "ts": _us(signpost.at, recording)}
        yield moment | {"name": signpost.name, "args": {"message": signpost.message}}
    for end in recording.optimizer_steps:
        yield {"ph": "i", "s": "p", "pid": _HOST, "tid": _SCRIPT, "ts": _us(end, recording), "name": "optimizer.step"}


def _device(recording: Recording, kernel_calls: Sequence[Kernel], synchronised: bool) -> Iterable[dict[str, Any]]:
    """Yields the device's kernels, and counters of the memory in use after each op's first call."""
    end = 0.0
    for kernel in kernel_calls:
        start = max(end, _us(kernel.host_start, recording)) if synchronised else kernel.start_ns / 1e3
        end = start + kernel.duration_ns / 1e3
        yield device_slice(kernel, _DEVICE, 1, start)
        if kernel.op.dram_bytes:
            for name, count in (("DRAM bytes", kernel.op.dram_bytes), ("L1 bytes a core", kernel.op.l1_bytes)):
                yield {"ph": "C", "pid": _DEVICE, "name": name, "ts": start, "args": {"bytes": count}}


def device_slice(kernel: Kernel, process: int, thread: int, start_us: float) -> dict[str, Any]:
    """Returns the event of a kernel on a device.

    Args:
        process, thread: The track.
        start_us: Microseconds at which it begins.
    """
    return {
        "ph": "X",
        "pid": process,
        "tid": thread,
        "name": kernel.code,
        "cat": kernel.category,
        "ts": start_us,
        "dur": kernel.duration_ns / 1e3,
        "args": {
            "op": kernel.op.instruction.op,
            "source": kernel.op.instruction.location,
            "bound": cost_model_bound(kernel.op),
            "cores": kernel.op.instruction.cost.cores,
            "replayed": kernel.replayed,
        },
    }


def _us(time_ns: int, recording: Recording) -> float:
    """Returns a time of the host's clock in microseconds since the recording began."""
    return (time_ns - recording.started) / 1e3
