"""``torch.tt``: the device module that PyTorch and scripts use, with the names of ``torch.cuda``."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import torch

from tt_xla.frontends.torch import host_ops, session
from tt_xla.frontends.torch.current_device import select_chip
from tt_xla.frontends.torch.device import chips
from tt_xla.frontends.torch.device.streams import Event, Stream, finish, stream
from tt_xla.frontends.torch.private.dispatcher import let_higher_order_ops_pass_autocast


def _chip(device: Any) -> int:
    """Returns the number of the chip that a device, its name or its number stands for; None is the current chip.

    Raises:
        RuntimeError: the system has no such chip.
        ValueError: the device is of another kind.
    """
    if device is None:
        return chips.current()
    requested = chips.device(device) if isinstance(device, int) else torch.device(device)
    if requested.type != chips.DEVICE_TYPE:
        raise ValueError(f"Expected a device of kind '{chips.DEVICE_TYPE}', got '{requested}'.")
    return chips.chip_of(requested)


@contextlib.contextmanager
def _selecting(device: Any) -> Iterator[None]:
    """Selects a chip in the block; nothing for None and for negative numbers."""
    before = chips.current()
    if device is not None and not (isinstance(device, int) and device < 0):
        select_chip(_chip(device))
    try:
        yield
    finally:
        select_chip(before)


@dataclass(frozen=True)
class DeviceProperties:
    """Facts about the system behind the device.

    Attributes:
        name: name of the system, such as ``n150``.
        arch: architecture of its chips.
        chips: number of chips.
        total_memory: bytes of one chip's DRAM that programs can use.
    """

    name: str
    arch: str
    chips: int
    total_memory: int


class DeviceModule(ModuleType):
    """The module ``torch.tt``."""

    def __init__(self) -> None:
        super().__init__(f"torch.{chips.DEVICE_TYPE}", self.__doc__)

    def is_initialized(self) -> bool:
        return True

    def is_available(self) -> bool:
        return True

    def current_device(self) -> int:
        """Returns the number of the chip that ``tt`` without a number names in this thread."""
        return chips.current()

    def set_device(self, device: Any) -> None:
        """Selects the chip that ``tt`` without a number names in this thread.

        Raises:
            RuntimeError: the system has no such chip.
        """
        select_chip(_chip(device))

    def device(self, device: Any) -> contextlib.AbstractContextManager[None]:
        """Returns a context manager that selects a chip in this thread. None, or a negative number, selects nothing."""
        return _selecting(device)

    def device_count(self) -> int:
        """Returns the number of chips of the system; 1 in SPMD mode, where all chips act as one device."""
        return chips.device_count()

    def synchronize(self, device: Any = None) -> None:
        """Runs all recorded ops. Their results have been computed when this returns."""
        _chip(device)
        finish()

    def _is_in_bad_fork(self) -> bool:
        return False

    # Random numbers. Those of the first chip come from the CPU's generator; each other chip has a generator of its own.

    def manual_seed(self, seed: int) -> None:
        """Seeds the generator of the current chip."""
        chips.generator(chips.current()).manual_seed(int(seed))

    def manual_seed_all(self, seed: int) -> None:
        """Seeds the generators of all chips."""
        chips.seed_all(int(seed))

    def initial_seed(self) -> int:
        return chips.generator(chips.current()).initial_seed()

    def get_rng_state(self, device: Any = None) -> torch.Tensor:
        return chips.generator(_chip(device)).get_state()

    def set_rng_state(self, state: torch.Tensor, device: Any = None) -> None:
        chips.generator(_chip(device)).set_state(state)

    def seed(self) -> None:
        """Seeds the generator of the current chip with a random number."""
        self.manual_seed(torch.seed())

    def seed_all(self) -> None:
        """Seeds the generators of all chips with a random number."""
        self.manual_seed_all(torch.seed())

    def get_rng_state_all(self) -> list[torch.Tensor]:
        return [self.get_rng_state(chip) for chip in range(self.device_count())]

    def set_rng_state_all(self, new_states: Iterable[torch.Tensor]) -> None:
        for chip, state in enumerate(new_states):
            self.set_rng_state(state, chip)

    # Streams and events

    Stream, Event = Stream, Event
    stream = staticmethod(stream)

    def current_stream(self, device: Any = None) -> Stream:
        """Returns the one stream of a chip."""
        return Stream(chips.device(_chip(device)))

    def default_stream(self, device: Any = None) -> Stream:
        """Returns the one stream of a chip."""
        return self.current_stream(device)

    def set_stream(self, stream: Stream) -> None:
        """Does nothing: a chip has one stream."""

    def get_amp_supported_dtype(self) -> list[torch.dtype]:
        """Returns the types of ``torch.autocast``, which asks for them in each of its contexts."""
        let_higher_order_ops_pass_autocast()
        return [torch.bfloat16, torch.float16, torch.float32]

    def is_bf16_supported(self, including_emulation: bool = True) -> bool:
        return True

    # Properties

    def get_device_name(self, device: Any = None) -> str:
        return self.get_device_properties(device).name

    def get_device_properties(self, device: Any = None) -> DeviceProperties:
        from tt_xla.runtime import get_device

        target: Any = get_device(chip=_chip(device)).target
        return DeviceProperties(target.name, target.arch, getattr(target, "chips", 1), target.dram_usable_bytes)

    def get_device_capability(self, device: Any = None) -> tuple[int, int]:
        """Returns (0, 0), because PyTorch's compiler asks and these devices have no such versions."""
        return (0, 0)

    # Memory of tensors, and of what the runtime keeps between runs

    def memory_stats(self, device: Any = None) -> dict[str, int]:
        """Returns statistics of one chip's memory, in bytes and counts.

        Tensors are counted under the names of ``torch.cuda``. Names that begin with ``runtime.`` are the runtime's own
        account of the chip's DRAM.
        """
        from tt_xla.runtime import get_device

        chip = _chip(device)
        report, memory = get_device(chip=chip).memory(), session.current.memory[chip]
        # Without an allocator that keeps blocks, what is active or reserved is what is allocated.
        held = {
            f"{kind}_bytes.all.{when}": count
            for kind in ("allocated", "active", "reserved")
            for when, count in (("current", memory.allocated), ("peak", memory.peak))
        }
        return held | {
            "num_alloc_retries": 0,
            "num_ooms": memory.refusals,
            "allocation.all.allocated": memory.allocations,
            "allocation.all.freed": memory.frees,
            "allocation.all.current": memory.allocations - memory.frees,
            "runtime.usable_bytes": report.usable,
            "runtime.const_eval_bytes": report.const_eval,
            "runtime.trace_bytes": report.traces,
            "runtime.program_peak_bytes": report.program_peak,
        }

    def memory_allocated(self, device: Any = None) -> int:
        """Returns the bytes of tensors that were computed or copied to a chip. Pending results do not count."""
        return session.current.memory[_chip(device)].allocated

    def max_memory_allocated(self, device: Any = None) -> int:
        """Returns the largest value of :meth:`memory_allocated` since the last reset, in bytes."""
        return session.current.memory[_chip(device)].peak

    def reset_peak_memory_stats(self, device: Any = None) -> None:
        memory = session.current.memory[_chip(device)]
        memory.peak = memory.allocated

    def memory_reserved(self, device: Any = None) -> int:
        """Returns the bytes of tensors and of what the runtime keeps between runs."""
        from tt_xla.runtime import get_device

        chip = _chip(device)
        return session.current.memory[chip].allocated + get_device(chip=chip).memory().resident

    def max_memory_reserved(self, device: Any = None) -> int:
        """Returns the bytes of tensors at their peak and of what the runtime keeps between runs."""
        chip = _chip(device)
        return session.current.memory[chip].peak + self.memory_reserved(chip) - session.current.memory[chip].allocated

    def reset_accumulated_memory_stats(self, device: Any = None) -> None:
        """Starts to count allocated and freed tensors anew."""
        memory = session.current.memory[_chip(device)]
        memory.allocations, memory.frees = memory.allocations - memory.frees, 0

    def memory_summary(self, device: Any = None, abbreviated: bool = False) -> str:
        """Returns a table of :meth:`memory_stats`."""
        stats = self.memory_stats(device)
        width = max(map(len, stats))
        return "\n".join(f"{name:<{width}} {value:>16,}" for name, value in stats.items())

    def mem_get_info(self, device: Any = None) -> tuple[int, int]:
        """Returns the free and the total bytes of one chip's DRAM."""
        total = self.get_device_properties(device).total_memory
        return max(total - self.memory_reserved(device), 0), total

    def empty_cache(self) -> None:
        """Does nothing: the memory of a tensor is freed together with the tensor."""

    # Host ops

    def host_ops(self) -> dict[str, int]:
        """Returns how often each op ran on the host for lack of a lowering, by name, most frequent first."""
        return host_ops.counts()
