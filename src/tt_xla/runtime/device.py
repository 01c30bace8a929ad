"""A card, emulated or run by TT-NN: loads programs, keeps the program cache, and accounts for DRAM and trace region."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from tt_xla import options
from tt_xla.errors import ExecutionError, OptionError, ResourceExhaustedError, TraceRegionError
from tt_xla.ir.program import Program
from tt_xla.log import logger
from tt_xla.runtime.compiled_only import CompiledOnly
from tt_xla.runtime.emulator import heap
from tt_xla.runtime.emulator.context import Call, Weighted
from tt_xla.runtime.executable import Executable
from tt_xla.runtime.largest import largest_op, largest_tensors
from tt_xla.runtime.observed import make_executable
from tt_xla.runtime.status import Reporter, Status


class Chip(Protocol):
    """The properties of a :class:`tt_xla.target.Target` that the runtime needs."""

    @property
    def name(self) -> str: ...
    @property
    def arch(self) -> str: ...
    @property
    def dram_usable_bytes(self) -> int: ...


@dataclass(frozen=True)
class MemoryReport:
    """Use of one chip's DRAM, all banks together, in bytes."""

    usable: int
    """Bytes that programs can use."""
    trace_region: int
    """Bytes reserved for traces: the whole region when its size was set, else the size of the captured traces."""
    traces: int
    """Bytes that captured traces take."""
    const_eval: int
    """Bytes of const-eval results, which stay between runs."""
    program_peak: int
    """Largest peak among the loaded programs, which run one after another."""

    @property
    def resident(self) -> int:
        """Bytes taken while nothing runs."""
        return self.trace_region + self.const_eval


_FROM_ENVIRONMENT = -1
"""Default of ``trace_region_bytes``: the size is read from ``TT_RUNTIME_TRACE_REGION_SIZE``."""


def _no_bytes() -> int:
    return 0


class Device:
    """One card of a system.

    Args:
        target: properties of the system.
        trace_region_bytes: DRAM reserved for traces; None lets the region grow as needed. The default is read from
            ``TT_RUNTIME_TRACE_REGION_SIZE``.
    """

    def __init__(self, target: Chip, trace_region_bytes: int | None = _FROM_ENVIRONMENT) -> None:
        self.target = target
        from_environment = trace_region_bytes == _FROM_ENVIRONMENT
        self.trace_region_bytes = options.trace_region_bytes() if from_environment else trace_region_bytes
        self.lock = threading.RLock()
        """Held while a program runs, because the card runs one program at a time."""
        self.program_cache: weakref.WeakValueDictionary[bytes, Any] = weakref.WeakValueDictionary()
        """Bound kernels by op, attributes, operand and result specs and numerics. A kernel stays as long as a program
        uses it."""
        self._executables: weakref.WeakSet[Executable] = weakref.WeakSet()
        self._loading = threading.RLock()
        """Guards the set of loaded programs. It differs from ``lock`` because a host callback of a running program may
        wait for another thread that compiles and loads a program."""
        self.resident: Callable[[], int] = _no_bytes
        """Returns the bytes of all tensors that a frontend holds on the device, including arguments of programs."""
        self.reporter = Reporter(target.name, self._measure)

    @property
    def name(self) -> str:
        """Name of the system."""
        return self.target.name

    def load(self, program: Program) -> Executable:
        """Makes ``program`` ready to run on the runtime that ``TTXLA_RUNTIME`` names.

        With ``TT_COMPILE_ONLY_SYSTEM_DESC`` its runs compute nothing and return zeros.

        Raises:
            ExecutionError: the program was compiled for another system, or is not well-formed.
            OptionError: the program was compiled with a trace, and the program cache is off.
            TraceRegionError: the trace does not fit in the trace region.
            ResourceExhaustedError: the program does not fit in DRAM.
        """
        if program.target != self.name:
            raise ExecutionError(
                f"Program '{program.name}' was compiled for {program.target}; this device is {self.name}.",
                hint=f"Compile it for {self.name}, or set TTXLA_SYSTEM={program.target}.",
            )
        with self._loading:
            executable = self._executable(program)
            if executable.traced:
                self._check_trace_allowed(program)
                self.check_trace_region(executable)
            self.check_memory(executable)
            self._executables.add(executable)
            self.reporter.write()
        logger().debug("loaded %s on %s: %s", program.name, self.name, self.memory())
        return executable

    def _executable(self, program: Program) -> Executable:
        if options.is_compile_only() or program.options.get("dry_run"):
            return CompiledOnly(self, program)
        if options.selected_runtime() == "emulated":
            heap.keep_freed()
            return make_executable(self, program)
        from tt_xla.runtime.ttnn.executable import TTNNExecutable

        return TTNNExecutable(self, program)

    def memory(self) -> MemoryReport:
        """Returns the current use of DRAM."""
        with self._loading:
            loaded = list(self._executables)
            traces = sum(executable.trace_bytes for executable in loaded)
            return MemoryReport(
                usable=self.target.dram_usable_bytes,
                trace_region=traces if self.trace_region_bytes is None else self.trace_region_bytes,
                traces=traces,
                const_eval=sum(executable.const_eval_bytes for executable in loaded),
                program_peak=max((executable.program.memory.dram_peak_bytes for executable in loaded), default=0),
            )

    def begin_run(self) -> None:
        """Reports to ``tt-xla smi`` that a run begins, and resets the card when a reset was requested there."""
        if self.reporter.begin():
            logger().warning("reset %s, as requested by tt-xla smi -r", self.name)
            self.reset()

    def _measure(self, status: Status) -> None:
        memory = self.memory()
        status.programs = len(self._others(None))
        status.dram_used, status.dram_usable = memory.resident + self.resident(), memory.usable

    def bound(self, key: bytes, make: Callable[[], Call | Weighted]) -> Call | Weighted:
        """Returns the kernel bound under ``key``, binding it if it is new or the program cache is off."""
        call = self.program_cache.get(key)
        if call is None:
            call = make()
            if options.program_cache_enabled():
                self.program_cache[key] = call
        return call

    def reset(self) -> None:
        """Forgets bound kernels, const-eval results and captured traces, so that loaded programs start cold."""
        with self.lock:
            self.program_cache.clear()
            for executable in self._others(None):
                executable.reset()

    def _others(self, executable: Executable | None) -> list[Executable]:
        """Returns all loaded executables except one."""
        with self._loading:
            return [other for other in self._executables if other is not executable]

    def _check_trace_allowed(self, program: Program) -> None:
        if not options.program_cache_enabled():
            raise OptionError(
                f"Program '{program.name}' was compiled with enable_trace, but TT_RUNTIME_ENABLE_PROGRAM_CACHE=0 turns "
                "the program cache off; a trace replays cached programs.",
                hint="Unset TT_RUNTIME_ENABLE_PROGRAM_CACHE, or compile with enable_trace=false.",
            )

    def check_trace_region(self, executable: Executable) -> None:
        """Checks that the trace region has room for an executable's trace.

        Raises:
            TraceRegionError: it has not, because of the trace's size or of traces captured before.
        """
        if self.trace_region_bytes is None:
            return
        own = executable.program.memory.trace_bytes
        others = sum(other.trace_bytes for other in self._others(executable))
        if own + others > self.trace_region_bytes:
            beside = f" beside {others} bytes of captured traces" if others else ""
            raise TraceRegionError(
                f"The trace of program '{executable.program.name}' needs {own} bytes{beside}, and the trace region of "
                f"{self.name} has {self.trace_region_bytes} bytes.",
                hint=f"Set TT_RUNTIME_TRACE_REGION_SIZE to at least {own + others}, or unset it to have the region "
                "sized as needed.",
            )

    def check_memory(self, executable: Executable) -> None:
        """Checks that DRAM has room for a program beside everything that stays in it.

        The program's own arguments and const-eval results are part of its peak.

        Raises:
            ResourceExhaustedError: it has not.
        """
        if self._missing_bytes(executable) > 0:
            gc.collect()  # reference cycles may keep dead tensors alive
        if (missing := self._missing_bytes(executable)) > 0:
            raise self._exhausted(executable, missing)

    def _missing_bytes(self, executable: Executable) -> int:
        """Returns the bytes that DRAM lacks for a program; at most 0 when the program fits."""
        return (
            executable.program.memory.dram_peak_bytes + sum(self._staying(executable)) - self.target.dram_usable_bytes
        )

    def _staying(self, executable: Executable) -> tuple[int, int, int]:
        """Returns the bytes that DRAM holds beside a program: other programs' const-eval results, the trace region, and
        tensors that are not arguments of the program."""
        program = executable.program
        others = self._others(executable)
        const_eval = sum(other.const_eval_bytes for other in others)
        traces = sum(other.trace_bytes for other in others) + (program.memory.trace_bytes if executable.traced else 0)
        region = traces if self.trace_region_bytes is None else self.trace_region_bytes
        return const_eval, region, max(0, self.resident() - executable.argument_bytes)

    def _exhausted(self, executable: Executable, missing: int) -> ResourceExhaustedError:
        program = executable.program
        const_eval, region, tensors = self._staying(executable)
        beside = f", and other tensors take {_size(tensors)}" if tensors else ""
        return ResourceExhaustedError(
            f"Program '{program.name}' needs {_size(program.memory.dram_peak_bytes)} of DRAM at its peak; "
            f"{self.name} has {_size(self.target.dram_usable_bytes)} and lacks {_size(missing)}. Const-eval results of "
            f"other programs take {_size(const_eval)}, the trace region takes {_size(region)}{beside}. "
            f"Its largest tensors are {_listed(largest_tensors(program))}; its largest op is "
            f"{largest_op(program)}.",
            hint="Use a smaller batch or sequence, store weights with experimental_weight_dtype=bfp_bf8, drop tensors "
            "and programs that are not needed any more, or set TTXLA_SYSTEM to a larger system.",
        )


def _size(count: int) -> str:
    return f"{count} bytes ({count / 2**30:.2f} GiB)" if count >= 2**26 else f"{count} bytes"


def _listed(tensors: Iterable[tuple[str, int]]) -> str:
    return ", ".join(f"{name} with {_size(count)}" for name, count in tensors) or "none"


_opened: dict[str, Device] = {}
_opening = threading.Lock()


def get_device(system: str | None = None) -> Device:
    """Returns the card of a system. The card is opened on first use and kept for the life of the process.

    Args:
        system: name of the system; by default the value of ``TTXLA_SYSTEM``.

    Raises:
        SystemDescriptionError: no system has this name.
    """
    name = system or options.selected_system()
    with _opening:
        if name not in _opened:
            from tt_xla.target import load_target

            target = load_target(name)
            _opened[name] = _opened.setdefault(target.name, Device(target))
        return _opened[name]
