"""Accounts of the memory that tensors take on each chip."""

from __future__ import annotations

import gc

import torch

_SMALLEST_DRAM = 1 << 33
"""Bytes of DRAM that every supported chip has; below this total the runtime is not asked for exact numbers."""


class Memory:
    """Account of the bytes of all buffers on one chip that hold bytes.

    Attributes:
        chip: number of the chip.
        allocated: bytes held now.
        peak: the largest value of ``allocated`` so far.
        allocations: number of allocations so far.
        frees: number of releases so far.
        refusals: number of tensors so far that did not fit.
    """

    def __init__(self, chip: int) -> None:
        self.chip = chip
        self.allocated = 0
        self.peak = 0
        self.allocations = 0
        self.frees = 0
        self.refusals = 0

    def check(self, nbytes: int) -> None:
        """Checks that ``nbytes`` more bytes fit on the device beside the tensors that are there.

        Raises:
            OutOfMemoryError: they do not fit. The message has the form of ``torch.cuda``'s.
        """
        if self.allocated + nbytes <= _SMALLEST_DRAM:
            return
        from tt_xla.runtime import get_device

        device = get_device(chip=self.chip)
        report = device.memory()
        if self.allocated + nbytes + report.resident > report.usable:
            gc.collect()  # reference cycles may hold tensors that nothing else uses
        free = report.usable - report.resident - self.allocated
        if nbytes > free:
            self.refusals += 1
            raise torch.OutOfMemoryError(
                f"tt out of memory. Tried to allocate {nbytes} bytes for a tensor on {device.name}, which has "
                f"{report.usable} bytes of DRAM: tensors take {self.allocated}, results that programs keep and traces "
                f"{report.resident}; {max(free, 0)} are free."
            )

    def count_allocation(self, nbytes: int) -> None:
        """Adds ``nbytes`` bytes to the account."""
        self.allocations += 1
        self.allocated += nbytes
        self.peak = max(self.peak, self.allocated)

    def count_free(self, nbytes: int) -> None:
        """Takes ``nbytes`` bytes off the account."""
        self.frees += 1
        self.allocated -= nbytes


class Memories(dict[int, Memory]):
    """Accounts by chip, made when first asked for."""

    def __missing__(self, chip: int) -> Memory:
        return self.setdefault(chip, Memory(chip))
