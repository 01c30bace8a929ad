"""Programs for a system that is described but not there, and dry runs: compiled and checked, they compute nothing."""

from __future__ import annotations

from collections.abc import Container, Sequence

import torch

from tt_xla.log import logger
from tt_xla.runtime.emulator.containers import DECLARED
from tt_xla.runtime.executable import Executable
from tt_xla.runtime.transfer import Version


class CompiledOnly(Executable):
    """An executable of a compile-only process (``TT_COMPILE_ONLY_SYSTEM_DESC``) or ``dry_run``, as upstream."""

    def run(
        self, tensors: Sequence[torch.Tensor], versions: Sequence[Version], donated: Container[int] = ()
    ) -> list[torch.Tensor]:
        """Zeros of the declared shapes and dtypes.

        Raises:
            ExecutionError: arguments do not match.
        """
        self._reader.read(tensors, versions)
        logger().info("compile only: %s computes nothing, its results are zeros", self.program.name)
        self.counters.runs += 1
        return [
            torch.zeros(result.shape, dtype=DECLARED[result.dtype], device="cpu") for result in self.program.results
        ]
