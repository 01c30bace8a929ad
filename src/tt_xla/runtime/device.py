"""The chips of a card, emulated or run by TT-NN: they load programs, and account for DRAM and trace region."""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tt_xla import environment
from tt_xla.errors import ExecutionError, OptionError, ResourceExhaustedError, TraceRegionError
from tt_xla.ir.program import Program
from tt_xla.locks import Lock
from tt_xla.log import logger
from tt_xla.options import LOAD_BACKEND
from tt_xla.runtime.compiled_only import CompiledOnly, is_predicting
from tt_xla.runtime.emulator import heap
from tt_xla.runtime.emulator.context import Call, Weighted
from tt_xla.runtime.executable import Executable
from tt_xla.runtime.exit_note import EXIT_NOTE
from tt_xla.runtime.largest import largest_op, largest_tensors
from tt_xla.runtime.mesh.checks import check, check_without_mesh
from tt_xla.runtime.mesh.executable import MeshExecutable
from tt_xla.runtime.mesh.expansion import Expansion, expand
from tt_xla.runtime.mesh.request import mesh_workers
from tt_xla.runtime.observation import KERNELS
from tt_xla.runtime.observed import make_executable
from tt_xla.runtime.status import Chip, Reporter, Status
from tt_xla.runtime.traps import traps_of


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


Bytes = Callable[[], int]
"""Returns a number of bytes."""


def _sum_of(numbers: tuple[Bytes, ...]) -> Bytes:
    return numbers[0] if len(numbers) == 1 else lambda: sum(number() for number in numbers)


class Device:
    """One chip of a system. The first chip stands for the system: it knows the others, and loads programs for several.

    The chips of a system share one program cache, and run one program at a time. Each has DRAM of its own.

    Args:
        target: properties of the system.
        trace_region_bytes: DRAM reserved for traces; None lets the region grow as needed. The default is read from
            ``TT_RUNTIME_TRACE_REGION_SIZE``.
        first: the system's first chip; None for the first chip itself.
        index: number of the chip in the system.
    """

    def __init__(
        self,
        target: Chip,
        trace_region_bytes: int | None = _FROM_ENVIRONMENT,
        first: Device | None = None,
        index: int = 0,
    ) -> None:
        self.target = target
        self.index = index
        self._first: Device = self if first is None else first
        self._others_by_index: dict[int, Device] = {}
        """Chips of the system besides the first one that were asked for, by index."""
        from_environment = trace_region_bytes == _FROM_ENVIRONMENT
        self.trace_region_bytes = environment.trace_region_bytes() if from_environment else trace_region_bytes
        self.lock: Lock = Lock() if first is None else first.lock
        """Held while a program runs, because the card runs one program at a time."""
        self.program_cache: weakref.WeakValueDictionary[bytes, Any] = (
            weakref.WeakValueDictionary() if first is None else first.program_cache
        )
        """Bound kernels by op, attributes, operand and result specs and numerics. A kernel stays as long as a program
        uses it."""
        self._executables: weakref.WeakSet[Executable] = weakref.WeakSet()
        self._loading: Lock = Lock() if first is None else first._loading
        """Guards the set of loaded programs. It differs from ``lock`` because a host callback of a running program may
        wait for another thread that compiles and loads a program."""
        self._accounts: dict[str, tuple[Bytes, Bytes]] = {}
        """For each frontend, the functions that :meth:`count_tensors` was given."""
        self.resident: Bytes = int
        """Returns the bytes of all tensors that frontends hold on the chip, including arguments of programs."""
        self.resident_at_most: Bytes = int
        """Returns a number that :attr:`resident` does not exceed, in less time."""
        self.reporter = Reporter(target, self._measure, index)

    @property
    def name(self) -> str:
        """Name of the system."""
        return self.target.name

    def chip(self, index: int) -> Device:
        """Returns a chip of the system.

        Raises:
            ExecutionError: the system has no such chip.
        """
        first = self._first
        if not 0 <= index < self.target.chips:
            raise ExecutionError(
                f"{self.name} has no chip {index}; its chips are 0 to {self.target.chips - 1}.",
                hint="Choose another chip, or set TTXLA_SYSTEM to a system with more chips.",
            )
        if index == 0:
            return first
        with self._loading:
            if index not in first._others_by_index:
                first._others_by_index[index] = Device(self.target, self.trace_region_bytes, first, index)
            return first._others_by_index[index]

    def load(self, program: Program) -> Any:
        """Makes a program ready to run on the runtime that ``TTXLA_RUNTIME`` names.

        With ``TT_COMPILE_ONLY_SYSTEM_DESC`` its runs compute nothing and return zeros.

        Returns:
            An :class:`~tt_xla.runtime.executable.Executable` on this chip. For a program with a mesh, a
            :class:`~tt_xla.runtime.mesh.executable.MeshExecutable` on the first chips of the system.

        Raises:
            ExecutionError: the program was compiled for another system or for more chips, or is not well-formed.
            OptionError: the program was compiled with a trace, and the program cache is off.
            TraceRegionError: the trace does not fit in the trace region.
            ResourceExhaustedError: the program does not fit in DRAM.
        """
        if program.mesh is not None:
            return self.load_mesh(program)
        self._check_system(program)
        check_without_mesh(program)
        with self._loading:
            executable = self._executable(program)
            self._place(executable)
        return executable

    def load_mesh(self, program: Program, chips: Sequence[int] | None = None) -> MeshExecutable:
        """Makes a program with a mesh ready to run.

        Args:
            program: a Program with a mesh.
            chips: number of the chip at each position of the mesh; by default those that the program was compiled
                for, or the first chips of the system.

        Raises:
            ExecutionError: the program has no mesh or does not fit it, was compiled for another system, or the mesh has
                more chips than the system or than ``chips``.
            OptionError: the program was compiled with a trace, and the program cache is off.
            TraceRegionError: the trace does not fit in the trace region of a chip.
            ResourceExhaustedError: the program does not fit in the DRAM of a chip.
        """
        self._check_system(program)
        mesh = program.mesh
        if mesh is None:
            raise ExecutionError(f"Program '{program.name}' is for one chip and has no mesh.", hint="Use load().")
        numbers = list((mesh.devices or range(mesh.size)) if chips is None else chips)
        if mesh.size > self.target.chips:
            raise ExecutionError(
                f"Program '{program.name}' is for a mesh of {mesh.size} chips; {self.name} has {self.target.chips}.",
                hint="Compile it for a smaller mesh, or set TTXLA_SYSTEM to a system with more chips.",
            )
        if len(set(numbers)) != mesh.size or len(numbers) != mesh.size:
            raise ExecutionError(
                f"Program '{program.name}' is for a mesh of {mesh.size} chips, got chips {numbers}.",
                hint="Name as many different chips as the mesh has.",
            )
        check(program, mesh)
        # An observer of kernels sees the instructions of each chip, and a trap names the chip.
        apart = KERNELS or traps_of(program) or environment.selected_runtime() != "emulated"
        expansion = expand(program, stacks=not apart)
        with self._loading:
            executable = self._executable(program, expansion, [self.chip(number) for number in numbers])
            self._place(executable)
        return MeshExecutable(executable, program, expansion)

    def _check_system(self, program: Program) -> None:
        if program.target != self.name:
            raise ExecutionError(
                f"Program '{program.name}' was compiled for {program.target}; this device is {self.name}.",
                hint=f"Compile it for {self.name}, or set TTXLA_SYSTEM={program.target}.",
            )

    def _place(self, executable: Executable) -> None:
        """Checks that every chip of a new executable has room for it, and accounts for it there."""
        for chip in executable.devices:
            if executable.traced:
                self._check_trace_allowed(executable.program)
                chip.check_trace_region(executable)
            chip.check_memory(executable)
        for chip in executable.devices:
            chip._executables.add(executable)
            chip.reporter.write()
        logger().debug("loaded %s on %s: %s", executable.program.name, self.name, self.memory())

    def _executable(
        self, program: Program, expansion: Expansion | None = None, chips: Sequence[Device] = ()
    ) -> Executable:
        if environment.is_compile_only() or is_predicting() or program.options.get("dry_run"):
            return CompiledOnly(self, program, expansion, chips)
        if program.options.get("backend") == LOAD_BACKEND:
            from tt_xla.runtime.ttnn.source import SourceExecutable

            return SourceExecutable(self, program, expansion, chips)
        if environment.selected_runtime() == "emulated":
            heap.keep_freed()
            return self._emulated(program, expansion, chips)
        from tt_xla.runtime.ttnn.observed import make_ttnn_executable

        if traps_of(program):
            logger().warning("'%s' runs on TT-NN without traps: the emulated card has them", program.name)
        return make_ttnn_executable(self, program, expansion, chips)

    def _emulated(self, program: Program, expansion: Expansion | None, chips: Sequence[Device]) -> Executable:
        EXIT_NOTE.add(self.reporter)
        if expansion is not None and mesh_workers() is not None:
            from tt_xla.runtime.mesh.spread import SpreadExecutable, workers_for

            workers = workers_for(program)
            if workers is not None:
                return SpreadExecutable(self, program, expansion, chips, workers)
        return make_executable(self, program, expansion, chips)

    def memory(self) -> MemoryReport:
        """Returns the current use of DRAM."""
        with self._loading:
            loaded = self.live_executables()
            traces = sum(executable.trace_bytes for executable in loaded)
            return MemoryReport(
                usable=self.target.dram_usable_bytes,
                trace_region=traces if self.trace_region_bytes is None else self.trace_region_bytes,
                traces=traces,
                const_eval=sum(executable.const_eval_bytes for executable in loaded),
                program_peak=max((executable.program.memory.dram_peak_bytes for executable in loaded), default=0),
            )

    def live_executables(self) -> list[Executable]:
        """Returns the executables that are loaded on this chip and that somebody still holds."""
        with self._loading:
            return list(self._executables)

    def begin_run(self) -> None:
        """Reports to ``tt-xla smi`` that a run begins, and resets the card when a reset was requested there."""
        if self.reporter.begin():
            logger().warning("reset %s, as requested by tt-xla smi -r", self.name)
            self.reset()

    def _measure(self, status: Status) -> None:
        memory = self.memory()
        status.programs, status.runtime = len(self._others(None)), environment.selected_runtime()
        status.dram_used, status.dram_usable = memory.resident + self.resident(), memory.usable

    def count_tensors(self, frontend: str, held: Bytes, at_most: Bytes | None = None) -> None:
        """Has the tensors of a frontend counted as :attr:`resident`.

        Args:
            frontend: name of the frontend, which has one account.
            held: returns the bytes of its tensors on the chip.
            at_most: returns a bound of them in less time; by default ``held``.
        """
        self._accounts[frontend] = held, at_most or held
        exact, bounds = zip(*self._accounts.values(), strict=True)
        self.resident, self.resident_at_most = _sum_of(exact), _sum_of(bounds)

    def bound(self, key: bytes, make: Callable[[], Call | Weighted]) -> Call | Weighted:
        """Returns the kernel bound under ``key``, binding it if it is new or the program cache is off."""
        call = self.program_cache.get(key)
        if call is None:
            call = make()
            if environment.program_cache_enabled():
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
        return [other for other in self.live_executables() if other is not executable]

    def _check_trace_allowed(self, program: Program) -> None:
        if not environment.program_cache_enabled():
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

    def check_memory(self, executable: Executable, held: int | None = None) -> None:
        """Checks that DRAM has room for a program beside everything that stays in it.

        The program's own arguments and const-eval results are part of its peak.

        Args:
            executable: the program.
            held: bytes of arguments that lie on the chip already; by default of all its arguments.

        Raises:
            ResourceExhaustedError: it has not.
        """
        held = executable.argument_bytes if held is None else held
        if self._missing_bytes(executable, held, self.resident_at_most()) <= 0:
            return
        if self._missing_bytes(executable, held, self.resident()) > 0:
            gc.collect()  # reference cycles may keep dead tensors alive
        if (missing := self._missing_bytes(executable, held, self.resident())) > 0:
            raise self._exhausted(executable, missing, held)

    def check_tensor(self, nbytes: int) -> None:
        """Checks that DRAM has room for another tensor beside everything that stays in it.

        Raises:
            ResourceExhaustedError: it has not.
        """
        limit = self.target.dram_usable_bytes
        if self.resident_at_most() + nbytes <= limit // 4:
            return
        resident = self.memory().resident
        if resident + self.resident() + nbytes > limit:
            gc.collect()
        tensors = self.resident()
        if resident + tensors + nbytes > limit:
            raise ResourceExhaustedError(
                f"A tensor of {_size(nbytes)} does not fit in the DRAM of {self.name}, which has {_size(limit)}: "
                f"tensors take {_size(tensors)}, results that programs keep and traces {_size(resident)}.",
                hint="Drop tensors and programs that are not needed any more, or set TTXLA_SYSTEM to a larger system.",
            )

    def _missing_bytes(self, executable: Executable, held: int, tensors: int) -> int:
        """Returns the bytes that DRAM lacks for a program; at most 0 when the program fits."""
        peak = executable.program.memory.dram_peak_bytes
        return peak + sum(self._staying(executable, held, tensors)) - self.target.dram_usable_bytes

    def _staying(self, executable: Executable, held: int, tensors: int) -> tuple[int, int, int]:
        """Returns the bytes that DRAM holds beside a program: other programs' const-eval results, the trace region, and
        those of ``tensors`` that are not arguments of the program."""
        program = executable.program
        others = self._others(executable)
        const_eval = sum(other.const_eval_bytes for other in others)
        traces = sum(other.trace_bytes for other in others) + (program.memory.trace_bytes if executable.traced else 0)
        region = traces if self.trace_region_bytes is None else self.trace_region_bytes
        return const_eval, region, max(0, tensors - held)

    def _exhausted(self, executable: Executable, missing: int, held: int) -> ResourceExhaustedError:
        program = executable.source
        const_eval, region, tensors = self._staying(executable, held, self.resident())
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
_opening = Lock()


def is_open() -> bool:
    """Returns whether a system is open in this process."""
    return bool(_opened)


def wait() -> None:
    """Waits until cards have computed all that this process has asked for. The emulated card always has.

    Raises:
        ExecutionError: TT-NN's process crashed or did not answer in time. The error of a run arrives where a result of
            it is read.
    """
    launch = sys.modules.get("tt_xla.runtime.ttnn.launch")
    if launch is not None:
        launch.wait()


def get_device(system: str | None = None, chip: int = 0) -> Device:
    """Returns a chip of a system. The system is opened on first use and kept for the life of the process.

    Args:
        system: name of the system; by default the value of ``TTXLA_SYSTEM``.
        chip: number of the chip. The first one also loads programs for several chips.

    Raises:
        SystemDescriptionError: no system has this name.
        ExecutionError: the system has no such chip.
    """
    name = system or environment.selected_system()
    with _opening:
        if name not in _opened:
            from tt_xla.target import load_target

            target = load_target(name)
            _opened[name] = _opened.setdefault(target.name, Device(target))
        return _opened[name].chip(chip)
