"""``torch.tt``: the device module that PyTorch and scripts use, with the names of ``torch.cuda``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from tt_xla.frontends.torch import host_ops
from tt_xla.frontends.torch.device.buffers import MEMORY
from tt_xla.frontends.torch.device.programs import synchronize


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


class DeviceModule:
    """The module ``torch.tt``."""

    def is_initialized(self) -> bool:
        return True

    def is_available(self) -> bool:
        return True

    def current_device(self) -> int:
        return 0

    def set_device(self, device: object) -> None:
        """Does nothing: there is one torch device. Several chips may stand behind it."""

    def device_count(self) -> int:
        return 1

    def synchronize(self, device: object = None) -> None:
        """Runs all recorded ops. Their results have been computed when this returns."""
        synchronize()

    def _is_in_bad_fork(self) -> bool:
        return False

    # Random numbers. They come from the CPU's generator, which torch.manual_seed seeds already.

    def manual_seed(self, seed: int) -> None:
        torch.default_generator.manual_seed(int(seed))

    def manual_seed_all(self, seed: int) -> None:
        self.manual_seed(seed)

    def initial_seed(self) -> int:
        return torch.initial_seed()

    def get_rng_state(self, device: object = None) -> torch.Tensor:
        return torch.get_rng_state()

    def set_rng_state(self, state: torch.Tensor, device: object = None) -> None:
        torch.set_rng_state(state)

    def get_amp_supported_dtype(self) -> list[torch.dtype]:
        return [torch.bfloat16, torch.float16, torch.float32]

    def is_bf16_supported(self, including_emulation: bool = True) -> bool:
        return True

    # Properties

    def get_device_name(self, device: object = None) -> str:
        return self.get_device_properties().name

    def get_device_properties(self, device: object = None) -> DeviceProperties:
        from tt_xla.runtime import get_device

        target: Any = get_device().target
        return DeviceProperties(target.name, target.arch, getattr(target, "chips", 1), target.dram_usable_bytes)

    def get_device_capability(self, device: object = None) -> tuple[int, int]:
        """Returns (0, 0), because PyTorch's compiler asks and these devices have no such versions."""
        return (0, 0)

    # Memory of tensors, and of what the runtime keeps between runs

    def memory_stats(self, device: object = None) -> dict[str, int]:
        """Returns statistics of memory, in bytes and counts.

        Tensors are counted under the names of ``torch.cuda``. Names that begin with ``runtime.`` are the runtime's own
        account of one chip's DRAM.
        """
        from tt_xla.runtime import get_device

        report = get_device().memory()
        return {
            "allocated_bytes.all.current": MEMORY.allocated,
            "allocated_bytes.all.peak": MEMORY.peak,
            "allocation.all.allocated": MEMORY.allocations,
            "allocation.all.freed": MEMORY.frees,
            "allocation.all.current": MEMORY.allocations - MEMORY.frees,
            "runtime.usable_bytes": report.usable,
            "runtime.const_eval_bytes": report.const_eval,
            "runtime.trace_bytes": report.traces,
            "runtime.program_peak_bytes": report.program_peak,
        }

    def memory_allocated(self, device: object = None) -> int:
        """Returns the bytes of tensors that were computed or copied to the device. Pending results do not count."""
        return MEMORY.allocated

    def max_memory_allocated(self, device: object = None) -> int:
        """Returns the largest value of :meth:`memory_allocated` since the last reset, in bytes."""
        return MEMORY.peak

    def reset_peak_memory_stats(self, device: object = None) -> None:
        MEMORY.peak = MEMORY.allocated

    def memory_reserved(self, device: object = None) -> int:
        """Returns the bytes of tensors and of what the runtime keeps between runs."""
        from tt_xla.runtime import get_device

        return MEMORY.allocated + get_device().memory().resident

    def mem_get_info(self, device: object = None) -> tuple[int, int]:
        """Returns the free and the total bytes of one chip's DRAM."""
        total = self.get_device_properties().total_memory
        return max(total - self.memory_reserved(), 0), total

    def empty_cache(self) -> None:
        """Does nothing: the memory of a tensor is freed together with the tensor."""

    # Host ops

    def host_ops(self) -> dict[str, int]:
        """Returns how often each op ran on the host for lack of a lowering, by name, most frequent first."""
        return host_ops.counts()
