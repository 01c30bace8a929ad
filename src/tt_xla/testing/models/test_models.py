"""The runner's test functions.

They run from a test module that imports them, or with
``pytest --pyargs tt_xla.testing.models.test_models --models-root ROOT``.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tt_xla.testing.models import collection, processes, records
from tt_xla.testing.models.config import BringupStatus, Expectation
from tt_xla.testing.models.discovery import Case
from tt_xla.testing.models.suite import Task

__all__ = ["test_all_models", "test_placeholder_models"]


def test_all_models(model_test: Task, request: pytest.FixtureRequest) -> None:
    """Runs one model in its own process, and compares the outcome with the expected one."""
    config = request.config
    lenient = bool(config.getoption("--lenient-xfail"))
    task = model_test.with_options(
        config.getoption("--optimization-level"),
        golden_f32=config.getoption("--golden-f32"),
        emitpy=config.getoption("--emitpy"),
        forced=config.getoption("--force-run"),
    )
    case, expectation = task.case, task.expectation
    limits = collection.limits(config)
    record = processes.run_test(task.root, case, expectation, limits, lenient=lenient)
    _report(record, case, expectation, request.node)
    if record.outcome == "skipped":
        pytest.skip(record.reason)
    if record.outcome == "xfailed":
        pytest.xfail(record.reason or record.error)
    if record.outcome != "passed":
        kind = "[XPASS(strict)] " if record.outcome == "xpassed" else ""
        pytest.fail(f"{kind}{record.error}\n{record.reason}".strip(), pytrace=False)


def test_placeholder_models(placeholder_model: tuple[str, Expectation], request: pytest.FixtureRequest) -> None:
    """Reports a model that does not exist yet."""
    name, expectation = placeholder_model
    status = expectation.bringup_status or BringupStatus.NOT_STARTED
    record = records.Record(name, "skipped", status.value, reason=expectation.reason, info={"name": name})
    _report(record, Case(name, None, "single_device", "inference"), expectation, request.node)


test_placeholder_models = pytest.mark.placeholder(test_placeholder_models)


def _report(record: records.Record, case: Case, expectation: Expectation, node: pytest.Item) -> None:
    """Adds the test's properties, which JUnit XML contains, and appends its record if ``--model-records`` is set."""
    tags = record.tags(case, expectation, node.config.getoption("--arch"))
    node.user_properties += [("tags", tags), ("owner", "tt-xla"), ("group", record.info.get("group", ""))]
    if message := record.reason or record.error:
        node.user_properties.append(("error_message", message))
    if records_file := node.config.getoption("--model-records"):
        records.append(Path(records_file), record)
