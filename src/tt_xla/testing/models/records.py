"""What is reported of a test."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tt_xla.testing.models.config import BringupStatus, Expectation, ModelTestStatus
from tt_xla.testing.models.discovery import Case

OUTCOMES = "passed", "failed", "skipped", "xfailed", "xpassed"
_LONGEST = 10_000
"""Characters of an error that are kept."""
_MARGIN = 0.004
"""How far above its threshold a correlation must be for the threshold to be raised."""


@dataclass
class Record:
    """The end of one test.

    Attributes:
        outcome: one of :data:`OUTCOMES`.
        stage: the last one it reached: import, load, cpu, device, compare, done.
        compile_s: what the compiler took, wall clock; ``device_us`` is predicted time on the chip for a run.
        seconds: the whole test, wall clock.
        level: optimization level.
        parameters: numbers in the parameters of a torch model.
        ops: TTNN instructions of a run, without those of const-eval functions, of ``graphs`` programs.
        host_ops: what of them runs on the host, by name.
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

    def __post_init__(self) -> None:
        # What models raise says anything: halves of characters too, and at any length.
        self.error = self.error.encode(errors="backslashreplace").decode()[:_LONGEST]

    def tags(self, case: Case, expectation: Expectation, arch: str | None) -> dict[str, Any]:
        """The properties of upstream's reports."""
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
        """What an entry could say instead, now that the result is known."""
        found: list[str] = []
        if self.pcc is not None and self.pcc == self.pcc:
            best = self.pcc >= 0.99 + _MARGIN
            if not expectation.assert_pcc and self.pcc >= expectation.required_pcc + _MARGIN:
                found.append("ENABLE_PCC_099" if best else "ENABLE_PCC")
            elif expectation.assert_pcc and expectation.required_pcc < 0.99 and self.comparison_passed:
                if best:
                    found.append("RAISE_PCC_099")
                elif self.pcc >= expectation.required_pcc + 0.01 + _MARGIN:
                    found.append("RAISE_PCC")
        if self.outcome == "xpassed":
            found.append("RM_XFAIL")
        if not expectation.listed and self.outcome == "passed":
            found.append("ADD_CONFIG")
        return found


def settled(record: Record, expectation: Expectation, *, lenient: bool = False) -> Record:
    """With the outcome that the expectation makes of what happened."""
    if expectation.status is ModelTestStatus.KNOWN_FAILURE_XFAIL and record.outcome in ("passed", "failed"):
        if record.outcome == "failed" or lenient:
            record.outcome = "xfailed"
        else:
            record.outcome = "xpassed"
            record.error = "It is expected to fail and passed: take KNOWN_FAILURE_XFAIL from its entry."
        record.reason = expectation.reason or record.reason
    return record


def append(path: Path, record: Record) -> None:
    """Adds a line to a JSON Lines file, whole or not at all."""
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


def load(path: Path) -> dict[str, Record]:
    """Records by test, the last of each; a line that was cut off is left out."""
    found: dict[str, Record] = {}
    for line in path.read_text().splitlines() if path.exists() else ():
        try:
            record = Record(**json.loads(line))
        except (ValueError, TypeError):
            continue
        found[record.test] = record
    return found
