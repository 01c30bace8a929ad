"""Records of tests, in JSON Lines files and in reports."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tt_xla.testing.models.config import BringupStatus, Expectation, ModelTestStatus
from tt_xla.testing.models.discovery import Case

OUTCOMES = "passed", "failed", "skipped", "xfailed", "xpassed"
_MAX_ERROR_LENGTH = 10_000
"""Characters of an error that a record keeps."""

_MARGIN = 0.004
"""Distance of a correlation above a threshold from which on the threshold can be raised."""


@dataclass
class Record:
    """The outcome of one test.

    Attributes:
        test: id of the test.
        key: digest of options, system, version, expectation and the loader's files; see
            :meth:`tt_xla.testing.models.suite.Task.key`.
        outcome: one of :data:`OUTCOMES`.
        bringup_status: value of a :class:`~tt_xla.testing.models.config.BringupStatus`.
        stage: the last stage that the test reached: import, load, inputs, cpu, device, compare or emitpy.
        reason: why the test was skipped or is expected to fail.
        error: message of the failure.
        pcc: the smallest correlation.
        atol: the largest absolute difference.
        compile_s: wall-clock time of the compiler in seconds.
        device_us: predicted time of one run on the chip in microseconds.
        samples_per_s: samples per second by the predicted time.
        seconds: wall-clock time of the whole test in seconds.
        level: optimization level.
        parameters: number of elements of a torch model's parameters.
        ops: number of TTNN instructions of a run, in all programs, without const-eval functions.
        graphs: number of programs.
        host_ops: names of the instructions that run on the host.
        info: the loader's information about its model.
    """

    test: str
    outcome: str = "failed"
    bringup_status: str = BringupStatus.UNKNOWN.value
    stage: str = ""
    reason: str = ""
    error: str = ""
    pcc: float | None = None
    atol: float | None = None
    comparison_passed: bool | None = None
    compile_s: float | None = None
    device_us: float | None = None
    samples_per_s: float | None = None
    seconds: float = 0.0
    level: int = 0
    parameters: int | None = None
    ops: int = 0
    graphs: int = 0
    host_ops: list[str] = field(default_factory=list)
    info: dict[str, Any] = field(default_factory=dict)
    key: str = ""

    def __post_init__(self) -> None:
        # Messages of models may be of any length, and may have surrogates, which cannot be written as UTF-8.
        self.error = self.error.encode(errors="backslashreplace").decode()[:_MAX_ERROR_LENGTH]

    def tags(self, case: Case, expectation: Expectation, arch: str | None) -> dict[str, Any]:
        """Returns the properties of a test in upstream's reports."""
        return {
            "test_name": "test_all_models",
            "specific_test_case": f"test_all_models[{self.test}]",
            "category": "model_test",
            "model_name": self.info.get("name", case.model),
            "model_info": self.info,
            "run_mode": case.run_mode,
            "run_phase": case.phase or "default",
            "parallelism": case.parallelism,
            "arch": arch,
            "batch_size": expectation.batch_size,
            "bringup_status": self.bringup_status,
            "model_test_status": expectation.status.name,
            "failing_reason": {"name": self.bringup_status, "description": self.error, "summary": self.reason},
            "execution_pass": expectation.execution_pass.value if expectation.execution_pass else None,
            "pcc": self.pcc,
            "atol": self.atol,
            "comparison_passed": self.comparison_passed,
            "comparison_error_message": self.error if self.comparison_passed is False else None,
            "pcc_threshold": expectation.required_pcc,
            "atol_threshold": expectation.required_atol,
            "pcc_assertion_enabled": expectation.assert_pcc,
            "atol_assertion_enabled": expectation.assert_atol,
            "guidance": self.guidance(expectation),
        }

    def guidance(self, expectation: Expectation) -> list[str]:
        """Returns the changes of the test's entry that the outcome suggests, as upstream names them."""
        suggestions: list[str] = []
        if self.pcc is not None and self.pcc == self.pcc:
            best = self.pcc >= 0.99 + _MARGIN
            if not expectation.assert_pcc and self.pcc >= expectation.required_pcc + _MARGIN:
                suggestions.append("ENABLE_PCC_099" if best else "ENABLE_PCC")
            elif expectation.assert_pcc and expectation.required_pcc < 0.99 and self.comparison_passed:
                if best:
                    suggestions.append("RAISE_PCC_099")
                elif self.pcc >= expectation.required_pcc + 0.01 + _MARGIN:
                    suggestions.append("RAISE_PCC")
        if self.outcome == "xpassed":
            suggestions.append("RM_XFAIL")
        if not expectation.listed and self.outcome == "passed":
            suggestions.append("ADD_CONFIG")
        return suggestions


def settled(record: Record, expectation: Expectation, *, lenient: bool = False) -> Record:
    """Returns the record with the outcome in view of the expectation: a failure may be expected.

    If the outcome is the expected one, the entry's own bring-up status and reason replace those of the run.

    Args:
        record: the record of what happened.
        expectation: the expected outcome.
        lenient: whether a test that passes although it is expected to fail counts as expected.
    """
    if expectation.status is ModelTestStatus.KNOWN_FAILURE_XFAIL and record.outcome in ("passed", "failed"):
        if record.outcome == "failed" or lenient:
            record.outcome = "xfailed"
        else:
            record.outcome = "xpassed"
            record.error = "The test passed, but its entry says KNOWN_FAILURE_XFAIL; remove that status from the entry."
    if record.outcome in ("passed", "xfailed", "xpassed"):
        record.reason = expectation.reason or record.reason
    if record.outcome in ("passed", "xfailed") and expectation.bringup_status is not None:
        record.bringup_status = expectation.bringup_status.value
    return record


def append(path: Path, record: Record) -> None:
    """Appends a record to a JSON Lines file. If writing fails, the file keeps no part of the line.

    Raises:
        OSError: the file cannot be written.
    """
    line = (json.dumps(asdict(record)) + "\n").encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        start = file.tell()
        try:
            file.write(line)
            file.flush()
            os.fsync(file.fileno())
        except OSError:
            os.ftruncate(file.fileno(), start)
            raise


def load(path: Path, keys: Mapping[str, str] | None = None) -> dict[str, Record]:
    """Returns the last record of each test in a JSON Lines file. Lines that are damaged are skipped.

    Args:
        path: the file, which need not exist.
        keys: key of each test; records with other keys are skipped. None takes all records.
    """
    records: dict[str, Record] = {}
    for line in path.read_bytes().splitlines() if path.exists() else ():
        try:
            record = Record(**json.loads(line))
        except (ValueError, TypeError):
            continue
        if keys is None or keys.get(record.test) == record.key:
            records[record.test] = record
    return records
