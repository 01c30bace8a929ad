"""Runs many models outside pytest: in parallel, each in its own process, on a cluster if wanted. Runs can be
resumed."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tt_xla.errors import OutputError, TTXLAError
from tt_xla.testing.models import records
from tt_xla.testing.models.config import Expectation, ModelTestStatus
from tt_xla.testing.models.discovery import Case
from tt_xla.testing.models.processes import Limits, run_test
from tt_xla.testing.models.records import Record


@dataclass(frozen=True)
class Task:
    """A test, and the outcome that is expected of it."""

    case: Case
    expectation: Expectation

    def with_options(self, level: int | None, *, golden_f32: bool, emitpy: bool = False, forced: bool = False) -> Task:
        """Returns this task with options of the command line.

        Args:
            level: optimization level; None keeps the level of the test's entry.
            golden_f32: whether to compare with float32.
            emitpy: whether to run the model again while its source is written.
            forced: whether to run the test although its entry says that it is not supported.
        """
        level = self.expectation.optimization_level if level is None else level
        status = self.expectation.status
        if forced and status is ModelTestStatus.NOT_SUPPORTED_SKIP:
            status = ModelTestStatus.UNSPECIFIED
        changes = {"optimization_level": level, "golden_f32": golden_f32, "emitpy": emitpy, "status": status}
        return Task(self.case, replace(self.expectation, **changes))


def run_all(
    root: Path,
    tasks: Sequence[Task],
    limits: Limits,
    records_file: Path,
    *,
    jobs: int = 1,
    lenient: bool = False,
    ray: str | None = None,
    started: Callable[[Task], None] = lambda task: None,
) -> Iterator[Record]:
    """Runs the tests that have no record yet.

    Args:
        root: folder with the loaders.
        tasks: the tests.
        limits: limits of one test.
        records_file: JSON Lines file with the records of earlier runs; new records are appended.
        jobs: number of tests that run at the same time.
        lenient: whether a test that passes although it is expected to fail counts as expected.
        ray: address of a Ray cluster to run on; None for this machine.
        started: called when a test starts.

    Yields:
        Each new record, in the order in which the tests end.

    Raises:
        OutputError: the records cannot be written, so that a later run could not resume.
    """
    done = records.load(records_file)
    waiting = [task for task in tasks if task.case.id not in done]
    with _submitting(ray) as submit:

        def one(task: Task) -> Record:
            started(task)
            try:
                return submit(root, task.case, task.expectation, limits, lenient)
            except Exception as error:
                return Record(task.case.id, error=f"{type(error).__name__}: {error}")

        pool = ThreadPoolExecutor(jobs)
        try:
            futures: set[Future[Record]] = {pool.submit(one, task) for task in waiting}
            while futures:
                ready, futures = wait(futures, return_when=FIRST_COMPLETED)
                for future in ready:
                    record = future.result()
                    _append(records_file, record)
                    yield record
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _append(path: Path, record: Record) -> None:
    try:
        records.append(path, record)
    except OSError as error:
        raise OutputError(
            f"The record of {record.test} cannot be written to {path}: {os.strerror(error.errno or 0)}.",
            hint="Earlier records are safe. Run the same command again when there is space.",
        ) from error


Submit = Callable[[Path, Case, Expectation, Limits, bool], Record]


@contextlib.contextmanager
def _submitting(address: str | None) -> Generator[Submit]:
    """Yields the function that runs a test, on this machine or on a Ray cluster, which must have the same folders.

    Raises:
        TTXLAError: Ray is not installed.
    """
    if address is None:
        yield _run_locally
        return
    try:
        import ray  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise TTXLAError("--ray needs the package ray, which is not installed.", hint="pip install ray") from error
    ray.init(address=address, ignore_reinit_error=True)
    remote: Any = ray.remote(num_cpus=1, max_retries=0)(_run_locally)
    try:
        yield lambda *arguments: ray.get(remote.remote(*arguments))
    finally:
        ray.shutdown()


def _run_locally(root: Path, case: Case, expectation: Expectation, limits: Limits, lenient: bool) -> Record:
    return run_test(root, case, expectation, limits, lenient=lenient)
