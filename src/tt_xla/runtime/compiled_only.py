"""Executables that check their arguments and compute nothing: compile-only processes and dry runs."""

from __future__ import annotations

from collections.abc import Container, Sequence

import torch

from tt_xla.log import logger
from tt_xla.runtime.emulator.containers import DECLARED
from tt_xla.runtime.executable import Executable
from tt_xla.runtime.transfer import Version


class CompiledOnly(Executable):
    """Executable of a compile-only process (``TT_COMPILE_ONLY_SYSTEM_DESC``) or ``dry_run``; upstream does the same."""

    def run(
        self, tensors: Sequence[torch.Tensor], versions: Sequence[Version], donated: Container[int] = ()
    ) -> list[torch.Tensor]:
        """Checks the arguments and returns zeros of the declared shapes and dtypes.

        Raises:
            ExecutionError: arguments do not match.
        """
        self._reader.read(tensors, versions)
        logger().info("compile only: %s is not run; its results are zeros", self.program.name)
        self.counters.runs += 1
        return [
            torch.zeros(result.shape, dtype=DECLARED[result.dtype], device="cpu") for result in self.program.results
        ]
