"""Runs a file of pytorch/xla's tests as a script, and records the outcome of each test.

    python torch_xla_child.py CHECKOUT FILE [ARGUMENT ...]

FILE is a path below the checkout's folder ``test``. The file runs unchanged, with its main part: only the runner that
``unittest`` gives its cases to is ours, and statements about a module can be declared to be left out of the main part.
The environment variables are those of :mod:`conformance.record`, of which ``CONFORMANCE_SAMPLE`` and the limits are
used, and ``TTXLA_SYSTEM``, for which declarations can differ.

The first of several processes that torchrun started records outcomes.

A file without cases is one test, ``script``. If a file ends before its cases run, they are all skipped, or all failed.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import runpy
import sys
import traceback
import unittest
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

if int(rank := os.environ.get("RANK", "0")):
    results = Path(os.environ["CONFORMANCE_RESULTS"])
    own = Path(f"results_of_{rank}.jsonl")
    own.write_text(results.read_text() if results.exists() else "")  # runs the same tests
    os.environ["CONFORMANCE_RESULTS"] = str(own)

import record
import torch_xla_suite as suite

LOADING = "(loading)"
"""Stands for the test in progress while the file is loaded."""

ErrorInfo = tuple[type[BaseException], BaseException, TracebackType] | tuple[None, None, None]


class Recorder(unittest.TestResult):
    """Writes the outcome of each test."""

    def __init__(self) -> None:
        super().__init__()
        self.of_classes: dict[str, tuple[str, str]] = {}
        """Outcomes and reasons of classes whose preparation failed or was skipped, so that no test of theirs ran."""
        self._outcome = ("passed", "")
        self._limits = contextlib.ExitStack()

    def startTest(self, test: unittest.TestCase) -> None:
        super().startTest(test)
        self._outcome = ("passed", "")
        self._limits.enter_context(record.running(name_of(test)))

    def stopTest(self, test: unittest.TestCase) -> None:
        self._limits.close()
        record.write(name_of(test), *self._outcome)
        super().stopTest(test)

    def _end(self, test: object, outcome: str, reason: str) -> None:
        if isinstance(test, unittest.TestCase):
            self._outcome = (outcome, reason)
        elif found := re.search(r"(\w+)\)$", str(test)):
            self.of_classes[found[1]] = (outcome, reason)

    def addError(self, test: unittest.TestCase, err: ErrorInfo) -> None:
        super().addError(test, err)
        self._end(test, "failed", "".join(traceback.format_exception(*err)))

    def addFailure(self, test: unittest.TestCase, err: ErrorInfo) -> None:
        super().addFailure(test, err)
        self._end(test, "failed", "".join(traceback.format_exception(*err)))

    def addSubTest(self, test: unittest.TestCase, subtest: unittest.TestCase, err: ErrorInfo | None) -> None:
        super().addSubTest(test, subtest, err)
        if err is not None:
            self._end(test, "failed", f"{subtest}: " + "".join(traceback.format_exception(*err)))

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:
        super().addSkip(test, reason)
        self._end(test, "skipped", reason)

    def addExpectedFailure(self, test: unittest.TestCase, err: ErrorInfo) -> None:
        super().addExpectedFailure(test, err)
        self._end(test, "skipped", "the suite itself expects that the test fails")


def name_of(test: unittest.TestCase) -> str:
    """Returns the class and the method of a test."""
    return f"{type(test).__name__}.{test._testMethodName}"


def cases_of(tests: unittest.TestSuite | unittest.TestCase) -> Iterator[unittest.TestCase]:
    """Yields the cases of a suite of suites."""
    if isinstance(tests, unittest.TestCase):
        yield tests
        return
    for each in tests:
        yield from cases_of(each)


class Child:
    """A run of one file."""

    def __init__(self, checkout: Path, file: str) -> None:
        self.root = checkout / "test"
        self.path = self.root / file
        self.file = file
        self.declared = suite.load(Path(os.environ["CONFORMANCE_DECLARED"]))
        self.began = False
        """Whether cases were given to a runner."""
        self._loading = contextlib.ExitStack()

    def run(self, arguments: list[str]) -> None:
        """Runs the file as a script."""
        sys.argv = [str(self.path), *arguments]
        child = self

        def run_recorded(runner: Any, tests: unittest.TestSuite | unittest.TestCase) -> Recorder:
            return child.run_cases(tests)

        unittest.TextTestRunner.run = run_recorded  # type: ignore[method-assign,assignment]
        self._loading.enter_context(record.running(LOADING))
        outcome, reason = "passed", ""
        try:
            self._run_script()
        except SystemExit as end:
            if end.code:
                outcome, reason = "failed", f"the script ended with {end.code!r}"
        except BaseException:
            outcome, reason = "failed", traceback.format_exc()
        self._loading.close()
        if not self.began:
            self._record_file(outcome, reason)

    def _run_script(self) -> None:
        if self.file in self.declared.modules:
            sys.path[0] = str(self.root)
            name = self.file.removesuffix(".py").replace("/", ".")
            runpy.run_module(name, run_name="__main__", alter_sys=True)
            return
        sys.path[0] = str(self.path.parent)
        if module := self.declared.without_module.get(self.file):
            sys.modules["__main__"] = script = ModuleType("__main__")
            script.__file__ = str(self.path)
            exec(suite.code_without(self.path, module), vars(script))
        elif suite.has_main_part(self.path):
            runpy.run_path(str(self.path), run_name="__main__")
        else:
            unittest.main(module=self.path.stem)

    def run_cases(self, tests: unittest.TestSuite | unittest.TestCase) -> Recorder:
        """Runs cases that apply and that have no record yet."""
        self._loading.close()
        self.began = True
        cases = {name_of(case): case for case in cases_of(tests)}
        record.RESULTS.with_suffix(".names").write_text(json.dumps(list(cases)))
        system = os.environ.get("TTXLA_SYSTEM", "n150")
        chosen = [name for name in cases if self.declared.applies(self.file, name, system)]
        if record.SAMPLE:
            chosen = sorted(chosen, key=record.place_of)[: record.SAMPLE]
        left = [name for name in cases if name in chosen and name not in record.recorded()]
        recorder = Recorder()
        unittest.TestSuite(cases[name] for name in left).run(recorder)
        for name in left:
            if name not in record.recorded():
                unknown = ("failed", "the test was not run, because its class or module was not prepared")
                record.write(name, *recorder.of_classes.get(name.partition(".")[0], unknown))
        return recorder

    def _record_file(self, outcome: str, reason: str) -> None:
        """Records a file that gave no cases to a runner."""
        names = suite.static_names(self.path)
        if names != [suite.SCRIPT] and outcome == "passed":
            outcome, reason = "skipped", "the script ends before its tests"
        for name in names:
            record.write(name, outcome, reason)


if __name__ == "__main__":
    Child(Path(sys.argv[1]), sys.argv[2]).run(sys.argv[3:])
