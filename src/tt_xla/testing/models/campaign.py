"""Runs many models outside pytest: in parallel, each in its own process, on a cluster if wanted. Runs can be
resumed."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

from tt_xla.errors import OutputError, TTXLAError
from tt_xla.testing.child_processes import end_children
from tt_xla.testing.models import records
from tt_xla.testing.models.config import Expectation
from tt_xla.testing.models.discovery import Case
from tt_xla.testing.models.processes import Limits, run_test
from tt_xla.testing.models.records import Record
from tt_xla.testing.models.suite import Task


def run_all(
    tasks: Sequence[Task],
    limits: Limits,
    records_file: Path,
    *,
    jobs: int = 1,
    lenient: bool = False,
    ray: str | None = None,
    started: Callable[[Task], None] = lambda task: None,
) -> Iterator[Record]:
    """Runs the tests that have no record yet of the same options, system, version and loader.

    A caller that leaves the iteration, or is interrupted, ends the tests that run.

    Args:
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
    keys = {task.case.id: task.key(limits, lenient=lenient) for task in tasks}
    done = records.load(records_file, keys)
    with _submitting(ray) as (submit, end):

        def one(task: Task) -> Record:
            started(task)
            try:
                return submit(task.root, task.case, task.expectation, limits, lenient)
            except Exception as error:
                return Record(task.case.id, error=f"{type(error).__name__}: {error}")

        pool = ThreadPoolExecutor(jobs)
        futures: set[Future[Record]] = {pool.submit(one, task) for task in tasks if task.case.id not in done}
        try:
            while futures:
                ready, futures = wait(futures, return_when=FIRST_COMPLETED)
                for future in ready:
                    record = future.result()
                    record.key = keys[record.test]
                    _append(records_file, record)
                    yield record
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            while not all(future.done() for future in futures):
                end()
                time.sleep(0.05)


def _append(path: Path, record: Record) -> None:
    try:
        records.append(path, record)
    except OSError as error:
        raise OutputError(
            f"The record of {record.test} cannot be written to {path}: {error.strerror or error}.",
            hint="Earlier records are safe. Run the same command again when there is space.",
        ) from error


Submit = Callable[[Path, Case, Expectation, Limits, bool], Record]


@contextlib.contextmanager
def _submitting(address: str | None) -> Generator[tuple[Submit, Callable[[], object]]]:
    """Yields the function that runs a test, on this machine or on a Ray cluster, which must have the same folders, and
    the function that ends the tests that run.

    Raises:
        TTXLAError: Ray is not installed.
    """
    if address is None:
        yield run_test, end_children
        return
    try:
        import ray  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise TTXLAError("--ray needs the package ray, which is not installed.", hint="pip install ray") from error
    ray.init(address=address, ignore_reinit_error=True)
    remote: Any = ray.remote(num_cpus=1, max_retries=0)(run_test)
    try:
        yield lambda *arguments: ray.get(remote.remote(*arguments)), ray.shutdown
    finally:
        ray.shutdown()
