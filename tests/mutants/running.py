"""Runs the tests of mutants, each in a fork of a prepared process in a copy of the repository."""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.mutants import operators
from tests.mutants.drawing import Mutant
from tests.mutants.linemap import RecordedTest
from tests.mutants.selection import Selection
from tests.mutants.sources import Source
from tests.mutants.tree import Tree

_START_LIMIT_S = 300.0
"""Seconds in which a server must be ready, and a run must have collected its tests."""
_FIRST_BATCH_S = 10.0
"""Processor seconds of the tests that run first; most mutants die here."""
_FIRST_TIME = 1_000_000_000
"""Modification time of the first mutant. Each has another one, so that no mutant runs another one's bytecode."""
_MAX_CONTROLS = 3
_START = "start of pytest"
"""What fails where a mutant breaks the import of the package."""
KILLED, SURVIVED, NOT_EXECUTED = "killed", "survived", "not executed"


@dataclass(slots=True)
class Run:
    """What one run of pytest did."""

    outcome: str = "passed"
    """``passed``, ``failed``, ``hung`` or ``crashed``."""
    test: str = ""
    """The test that failed, hung or crashed."""
    text: str = ""
    passed: int = 0
    processor_s: float = 0.0


@dataclass(slots=True)
class Verdict:
    """What the tests said of a mutant."""

    mutant: Mutant
    outcome: str
    how: str = ""
    test: str = ""
    text: str = ""
    tests: int = 0
    """Number of tests that passed with the mutant."""
    processor_s: float = 0.0
    unsound: list[str] = field(default_factory=list)
    """Tests that fail without the mutant too, and files that cannot be collected."""

    @property
    def is_alive(self) -> bool:
        return self.outcome != KILLED

    def as_line(self) -> str:
        names = ("outcome", "how", "test", "text", "tests", "processor_s", "unsound")
        return json.dumps({"mutant": self.mutant.as_dict()} | {name: getattr(self, name) for name in names})

    @classmethod
    def from_line(cls, line: str) -> Verdict:
        fields = json.loads(line)
        return cls(**{**fields, "mutant": Mutant.from_dict(fields["mutant"])})


def _processes_of(session: int) -> list[int]:
    """Returns the processes of a session: a child of a server, and all that its tests started."""
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[3]) == session:
                found.append(int(entry.name))
    return found


def _kill(session: int) -> None:
    for process in _processes_of(session):
        try:
            os.kill(process, signal.SIGKILL)
        except ProcessLookupError:
            continue


class Server:
    """The prepared process of one copy of the repository."""

    def __init__(self, tree: Tree, markers: str) -> None:
        self._tree = tree
        self._markers = markers
        self._process: subprocess.Popen[bytes] | None = None
        self._buffer = b""
        self._session = 0
        self._is_closed = False

    def close(self) -> None:
        """Ends the server and what it runs."""
        self._is_closed = True
        self._stop()

    def _stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            if self._session:
                _kill(self._session)
            with self._process:  # closes the pipes
                self._process = None

    def _started(self) -> subprocess.Popen[bytes]:
        if self._is_closed:
            raise RuntimeError("The test server was closed.")
        if self._process is None or self._process.poll() is not None:
            environment = {**os.environ, "OMP_NUM_THREADS": "1"}
            for name in ("PYTHONPATH", "PYTEST_ADDOPTS", "PYTEST_CURRENT_TEST"):
                environment.pop(name, None)
            command = [self._tree.python, Path(__file__).with_name("server.py")]
            with (self._tree.folder / "server.log").open("wb") as log:
                self._process = subprocess.Popen(
                    command,
                    cwd=self._tree.root,
                    env=environment,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                )
            self._buffer = b""
            if self._next(_START_LIMIT_S) is None and not self._is_closed:
                raise RuntimeError(f"The test server did not start: {self._tree.folder / 'server.log'}")
        return self._process

    def _next(self, seconds: float) -> dict[str, Any] | None:
        """Returns the next report, or None where there is none for so long or the server has ended."""
        process = self._process
        if process is None or process.stdout is None:
            return None
        while b"\n" not in self._buffer:
            with selectors.DefaultSelector() as selector:
                selector.register(process.stdout, selectors.EVENT_READ)
                if not selector.select(seconds):
                    return None
            part = os.read(process.stdout.fileno(), 1 << 16)
            if not part:
                return None
            self._buffer += part
        line, _, self._buffer = self._buffer.partition(b"\n")
        return json.loads(line)

    def run(self, tests: Sequence[RecordedTest]) -> Run:
        """Runs tests until one fails, file by file."""
        process = self._started()
        assert process.stdin is not None
        request = {
            "tests": [test.name for test in tests],
            "files": list(dict.fromkeys(test.file for test in tests)),
            "log": str(self._tree.folder / "pytest.log"),
            "arguments": ["-x", "-n", "0", "-p", "no:cacheprovider", "--timeout", "0", "-m", self._markers],
        }
        process.stdin.write(json.dumps(request).encode() + b"\n")
        process.stdin.flush()
        return self._watch({test.name: test.processor_s for test in tests})

    def _watch(self, costs: dict[str, float]) -> Run:
        run, running, limit = Run(), "", _START_LIMIT_S
        while True:
            report = self._next(limit)
            if report is None:
                run.outcome, run.test = run.outcome if run.outcome == "failed" else "hung", run.test or running
                _kill(self._session)
                self._drain()
                return run
            self._session = report.get("process", self._session)
            if "started" in report:
                running = report["started"]
                limit = 120 + 30 * costs.get(running, 0.0)
            elif "passed" in report:
                run.passed += 1
            elif "failed" in report and run.outcome == "passed":
                run.outcome, run.test, run.text = "failed", report["failed"], report["text"]
            elif "ended" in report:
                run.processor_s = report["processor_s"]
                if run.outcome == "passed" and report["ended"] not in (0, 5):
                    run.outcome, run.test, run.text = "crashed", running, f"exit status {report['ended']}"
                _kill(self._session)
                self._session = 0
                return run

    def _drain(self) -> None:
        """Reads until the end of a run that was killed; a server that does not answer is started anew."""
        while (report := self._next(30)) is not None:
            if "ended" in report:
                self._session = 0
                return
        self._stop()


class Judge:
    """Judges mutants in one copy of the repository, with its server."""

    def __init__(self, root: Path, server: Server) -> None:
        self._root = root
        self._server = server
        self._written = 0

    def close(self) -> None:
        self._server.close()

    @contextmanager
    def _changed(self, source: Source, mutant: Mutant) -> Generator[None]:
        path = self._root / mutant.file
        before = path.stat()
        path.write_text(operators.apply(source, mutant.edit))
        self._written += 1
        os.utime(path, (_FIRST_TIME + self._written, _FIRST_TIME + self._written))
        try:
            yield
        finally:
            path.write_text(source.text)
            os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    def judge(self, mutant: Mutant, source: Source, selection: Selection) -> Verdict:
        """Runs the tests of a mutant until one fails that passes without the mutant."""
        verdict = Verdict(mutant, SURVIVED if selection.reached else NOT_EXECUTED)
        for batch in batches(selection.tests):
            self._judge_batch(verdict, source, batch)
            if not verdict.is_alive:
                return verdict
        if not verdict.tests:
            verdict.outcome = NOT_EXECUTED
        return verdict

    def _judge_batch(self, verdict: Verdict, source: Source, batch: Sequence[RecordedTest]) -> None:
        for _ in range(_MAX_CONTROLS):
            tests = [test for test in batch if not {test.name, test.file} & {*verdict.unsound}]
            if not tests:
                return
            with self._changed(source, verdict.mutant):
                run = self._server.run(tests)
            verdict.processor_s += run.processor_s
            if run.outcome == "passed":
                verdict.tests += run.passed
                return
            control = self._server.run(_until(tests, run.test))
            if control.outcome == "passed":
                verdict.outcome, verdict.how = KILLED, run.outcome
                verdict.test, verdict.text = run.test, run.text
                return
            if control.test == _START:
                raise RuntimeError(f"pytest does not start without a mutant either: {control.text}")
            verdict.unsound.append(control.test)


def _until(tests: Sequence[RecordedTest], name: str) -> Sequence[RecordedTest]:
    """Returns the tests up to the one of a name, or all where the failure is of no test."""
    names = [test.name for test in tests]
    return tests[: names.index(name) + 1] if name in names else tests


def batches(tests: Sequence[RecordedTest]) -> list[list[RecordedTest]]:
    """Returns a batch of cheap tests and one of the rest, each file by file, as fixtures of a file need it."""
    first: list[RecordedTest] = []
    spent = 0.0
    for test in tests:
        spent += test.processor_s
        if spent > _FIRST_BATCH_S and first:
            break
        first.append(test)
    return [_by_file(batch) for batch in (first, list(tests[len(first) :])) if batch]


def _by_file(tests: Sequence[RecordedTest]) -> list[RecordedTest]:
    files = {file: number for number, file in enumerate(dict.fromkeys(test.file for test in tests))}
    return sorted(tests, key=lambda test: files[test.file])
