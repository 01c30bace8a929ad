"""Gives cases to processes, one at a time, and notices when one of them crashes or hangs."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from tests.fuzz.cases import Case
from tests.fuzz.worker import LIMIT

ROOT = Path(__file__).parents[2]
CASES_OF_A_WORKER = 400
"""A process is replaced after so many cases, since XLA keeps what it compiled."""

TWICE = 40
"""One of so many cases is judged by a second process too, which must get the same results, and finds on disk what the
first one has cached."""

Record = dict[str, Any]
Entries = dict[str, list[str]]
"""Names by registry."""


class Worker:
    """A process that judges cases, replaced when it has ended."""

    def __init__(self, log: Path, limit: int = LIMIT) -> None:
        self._limit = limit
        self._log = log
        self._stage = log.with_suffix(".stage")
        self._process: subprocess.Popen[str] | None = None
        self._judged = 0
        self._entries: Entries = {}

    def entries(self) -> Entries:
        """Returns the entries of the registries whose use the process counts."""
        self._running()
        return self._entries

    def judge(self, case: Case) -> Record:
        """Returns the record of a case; a process that ends or does not answer is a verdict too."""
        process = self._running()
        assert process.stdin is not None
        assert process.stdout is not None
        start = time.monotonic()
        process.stdin.write(f"{case}\n")
        process.stdin.flush()
        ready, _, _ = select.select([process.stdout], [], [], 2 * self._limit + 5)
        line = process.stdout.readline() if ready else ""
        if line:
            self._judged += 1
            return json.loads(line)
        self.end()
        seconds = round(time.monotonic() - start, 3)
        verdict = "crash" if ready else "hang"
        if self._stage.read_bytes()[:1] == b"R":  # XLA ended the process, or does not end, while it judges
            verdict = "undrawn"
        tail = self._log.read_text(errors="replace")[-2000:] if ready else f"no answer in {seconds} s"
        details = f"the process ended with status {process.returncode}\n{tail}" if ready else tail
        return {
            "case": str(case),
            "verdict": verdict,
            "details": details,
            "seconds": seconds,
            "reached": {},
            "results": "",
        }

    def _running(self) -> subprocess.Popen[str]:
        if self._process is not None and self._judged >= CASES_OF_A_WORKER:
            self.end()
        if self._process is None:
            self._judged = 0
            cache = self._log.parent / "cache"
            environment = os.environ | {"PYTHONPATH": f"{ROOT}/src{os.pathsep}{ROOT}", "TTXLA_CACHE": str(cache)}
            with self._log.open("w") as log:
                self._process = subprocess.Popen(
                    [sys.executable, "-m", "tests.fuzz.worker", str(self._limit), str(self._stage)],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    text=True,
                    cwd=ROOT,
                    env=environment,
                    start_new_session=True,
                )
            assert self._process.stdout is not None
            line = self._process.stdout.readline()
            if not line:
                raise RuntimeError(f"no process begins: {self._log.read_text(errors='replace')[-2000:]}")
            self._entries = json.loads(line)
        return self._process

    def end(self) -> None:
        """Ends the process and those that it started."""
        if self._process is None:
            return
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()
        try:
            self._process.wait(timeout=2)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._process = None


def judge_all(cases: Iterable[Case], folder: Path, jobs: int, record: Callable[[Record], bool]) -> Entries:
    """Judges cases in several processes.

    Args:
        cases: the cases, which may be endless.
        folder: receives what the processes print.
        jobs: number of processes.
        record: called with each record, in one thread at a time; returns whether to go on.

    Returns:
        The entries of the registries that were counted.
    """
    entries: Entries = {}
    waiting, lock, going = iter(cases), threading.Lock(), threading.Event()
    going.set()

    def work(number: int) -> None:
        worker, second = (Worker(folder / f"worker-{number}-{which}.log") for which in ("first", "second"))
        try:
            for count, case in enumerate(_taken(waiting, lock)):
                if not going.is_set():
                    break
                judged = worker.judge(case)
                if count % TWICE == TWICE - 1:
                    judged = compared(judged, second.judge(case))
                with lock:
                    if going.is_set() and not record(judged):
                        going.clear()
        finally:
            entries.update(worker.entries())
            worker.end()
            second.end()

    threads = [threading.Thread(target=work, args=(number,), daemon=True) for number in range(jobs)]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            while thread.is_alive():
                thread.join(0.2)
    finally:
        going.clear()
        for thread in threads:
            thread.join(LIMIT + 5)
    return entries


def compared(first: Record, second: Record) -> Record:
    """Returns the record of the first process, or of a difference between the results of the two."""
    if (first["verdict"], first["results"]) == (second["verdict"], second["results"]):
        return first
    if first["verdict"] not in ("passed", "refused"):
        return first
    details = f"a second process got {second['verdict']}, or other results\n{second['details']}"
    return {**first, "verdict": "different", "details": details}


def _taken(cases: Iterator[Case], lock: threading.Lock) -> Iterator[Case]:
    while True:
        with lock:
            case = next(cases, None)
        if case is None:
            return
        yield case
