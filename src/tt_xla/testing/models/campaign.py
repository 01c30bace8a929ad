"""Runs many models outside pytest: some at a time, each in a process of its own, resumable, on a cluster too."""

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
    case: Case
    expectation: Expectation

    def with_options(self, level: int | None, *, golden_f32: bool, emitpy: bool = False, forced: bool = False) -> Task:
        """At an optimization level other than the entry's, unless it is None.

        Args:
            golden_f32: compare with float32.
            emitpy: run once more with the source written.
            forced: run it also where its entry says that it is not supported.
        """
        level = self.expectation.optimization_level if level is None else level
        status = self.expectation.status
        if forced and status is ModelTestStatus.NOT_SUPPORTED_SKIP:
            status = ModelTestStatus.UNSPECIFIED
        changed = {"optimization_level": level, "golden_f32": golden_f32, "emitpy": emitpy, "status": status}
        return Task(self.case, replace(self.expectation, **changed))


def run_all(
    root: Path,
    tasks: Sequence[Task],
    limits: Limits,
    kept: Path,
    *,
    jobs: int = 1,
    lenient: bool = False,
    ray: str | None = None,
    started: Callable[[Task], None] = lambda task: None,
) -> Iterator[Record]:
    """Runs what ``kept``, a JSON Lines file, has no record of yet, and gives records as they come.

    Raises:
        OutputError: the records cannot be written, so that a later run could not resume.
    """
    done = records.load(kept)
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
                    _keep(kept, record)
                    yield record
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _keep(path: Path, record: Record) -> None:
    try:
        records.append(path, record)
    except OSError as error:
        raise OutputError(
            f"The record of {record.test} cannot be written to {path}: {os.strerror(error.errno or 0)}.",
            hint="Those before it are kept: run the same command again when there is room.",
        ) from error


Submit = Callable[[Path, Case, Expectation, Limits, bool], Record]


@contextlib.contextmanager
def _submitting(address: str | None) -> Generator[Submit]:
    """How a test is run: from here, or by a worker of a Ray cluster, which must have the same folders."""
    if address is None:
        yield _here
        return
    try:
        import ray  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise TTXLAError(
            "--ray needs the package ray, which is not installed.", hint="pip install 'tt-xla[ray]'"
        ) from error
    ray.init(address=address, ignore_reinit_error=True)
    remote: Any = ray.remote(num_cpus=1, max_retries=0)(_here)
    try:
        yield lambda *given: ray.get(remote.remote(*given))
    finally:
        ray.shutdown()


def _here(root: Path, case: Case, expectation: Expectation, limits: Limits, lenient: bool) -> Record:
    return run_test(root, case, expectation, limits, lenient=lenient)
