"""Runs each test in its own process, so that a model that ends its process does not affect other tests."""

from __future__ import annotations

import json
import math
import os
import pickle
import re
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from tt_xla.errors import OptionError
from tt_xla.testing.child_processes import default_memory, end_of, run_child, signal_name
from tt_xla.testing.models import parallel
from tt_xla.testing.models.config import BringupStatus, Expectation, ModelTestStatus
from tt_xla.testing.models.discovery import Case
from tt_xla.testing.models.records import Record, settled
from tt_xla.testing.models.requirements import RequirementsError, interpreter_for
from tt_xla.testing.models.worker import Spec

_REPORTED_BYTES = 2000
"""Bytes at the end of a process's output that are reported if it ends without a record."""


@dataclass(frozen=True)
class Limits:
    """Limits of one model.

    Attributes:
        seconds: wall-clock time.
        memory: memory in bytes; 0 for no limit, or for a share of the machine's memory.
        jobs: number of models that share the machine's memory; 0 for no limit.

    Raises:
        OptionError: a limit is negative, or not a finite number.
    """

    seconds: float = 1800.0
    memory: int = 0
    jobs: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.seconds < math.inf:
            raise OptionError(f"The time limit is {self.seconds:g} s; expected a positive number of seconds.")

    @property
    def bytes(self) -> int:
        """Memory in bytes; 0 for no limit."""
        return self.memory or (default_memory(self.jobs) if self.jobs else 0)


def run_test(root: Path, case: Case, expectation: Expectation, limits: Limits, lenient: bool = False) -> Record:
    """Runs a test in its own process.

    Args:
        root: folder with the loaders.
        case: the test.
        expectation: the expected outcome, which may be to skip the test.
        limits: limits of the process.
        lenient: whether a test that passes although it is expected to fail counts as expected.

    Returns:
        The record, also if the process ended early.
    """
    if expectation.status is ModelTestStatus.NOT_SUPPORTED_SKIP:
        status = expectation.bringup_status or BringupStatus.UNKNOWN
        return Record(case.id, "skipped", status.value, reason=expectation.reason or "NOT_SUPPORTED_SKIP")
    if reason := parallel.reason_to_skip(case):
        return Record(case.id, "skipped", BringupStatus.NOT_STARTED.value, reason=reason)
    started = time.perf_counter()
    try:
        with interpreter_for(root / case.model) as python:
            record = run_in_process(python, Spec(root, case, expectation, limits.bytes, os.getpid()), limits)
    except (RequirementsError, OSError) as error:
        record = Record(case.id, stage="requirements", error=f"{type(error).__name__}: {error}")
    record.seconds = time.perf_counter() - started
    return settled(record, expectation, lenient=lenient)


def run_in_process(python: Path, spec: Spec, limits: Limits) -> Record:
    """Runs a test with an interpreter. Returns the record that the process left, or one of how the process ended."""
    with tempfile.TemporaryDirectory(prefix="tt-xla-model-", ignore_cleanup_errors=True) as folder:
        path, output = Path(folder) / "spec", Path(folder) / "output"
        path.write_bytes(pickle.dumps(spec))
        command = [str(python), "-m", "tt_xla.testing.models.worker", str(path)]
        status = run_child(command, limits.seconds, output)
        record_file = Path(folder) / "record.json"
        if record_file.exists():
            return Record(**json.loads(record_file.read_text()))
        stage = Path(folder) / "stage"
        reached = stage.read_text() if stage.exists() else "start"
        ending = f"its exit status was {status}, without a record"
        if status is None:
            ending = f"it took more than {limits.seconds:g} s and was stopped"
        elif status < 0:
            ending = f"it was killed by {signal_name(status)}"
        bringup = BringupStatus.FAILED_RUNTIME if reached == "device" else BringupStatus.UNKNOWN
        error = f"The process ended in stage '{reached}': {ending}.\n{end_of(output, _REPORTED_BYTES)}".strip()
        return Record(spec.case.id, "failed", bringup.value, reached, error=error)


def memory_in_bytes(text: str) -> int:
    """Returns the bytes of a size such as ``8G``; 0 for an empty text.

    Raises:
        OptionError: the text is not a size.
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([KMGT]?)", text, re.IGNORECASE)
    size = int(float(match[1]) * (1 << 10 * " KMGT".index(match[2].upper() or " "))) if match else 0
    if text and not 0 < size < sys.maxsize:
        raise OptionError(f"{text!r} is not a size of memory; expected a size such as 8G or 500M.")
    return size
