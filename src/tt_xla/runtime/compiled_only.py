"""Executables that check their arguments and compute nothing: compile-only processes, dry runs and predictions."""

from __future__ import annotations

import contextlib
from collections.abc import Container, Generator, Sequence

import torch

from tt_xla.log import logger
from tt_xla.runtime.emulator.containers import DECLARED
from tt_xla.runtime.executable import Executable
from tt_xla.runtime.observation import RUNS
from tt_xla.runtime.transfer import Version

_predicting: list[None] = []
"""Has an element in each context of :func:`nothing_computed`."""


@contextlib.contextmanager
def nothing_computed() -> Generator[None]:
    """Makes the programs that are loaded in the context compute nothing. Runs are observed as others are."""
    _predicting.append(None)
    try:
        yield
    finally:
        _predicting.pop()


def is_predicting() -> bool:
    """Whether programs that are loaded now compute nothing."""
    return bool(_predicting)


class CompiledOnly(Executable):
    """Executable that computes nothing, as upstream's of a compile-only process (``TT_COMPILE_ONLY_SYSTEM_DESC``)."""

    def run(
        self, tensors: Sequence[torch.Tensor], versions: Sequence[Version], donated: Container[int] = ()
    ) -> list[torch.Tensor]:
        """Checks the arguments and returns zeros of the declared shapes and dtypes.

        Raises:
            ExecutionError: arguments do not match.
        """
        for observer in RUNS:
            observer(self.program, tensors)
        self._reader.read(tensors, versions)
        logger().info("compile only: %s is not run; its results are zeros", self.program.name)
        self.counters.runs += 1
        return [
            torch.zeros(result.shape, dtype=DECLARED[result.dtype], device="cpu") for result in self.program.results
        ]
