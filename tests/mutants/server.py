"""A process that has imported what all tests need, and forks a child for each run of pytest.

It runs in the environment of a copy of the repository and imports nothing of tt_xla, so that each child imports the
changed module itself. Requests and reports are lines of JSON, on standard input and output.
"""

from __future__ import annotations

import gc
import importlib
import importlib.metadata
import json
import os
import resource
import sys
import traceback
from collections.abc import Mapping, Sequence
from typing import Any

_MODULES = ("torch", "jax", "jax.numpy", "numpy", "xdsl.dialects.builtin", "pytest", "rich.console")
_AUTOLOAD = "TORCH_DEVICE_BACKEND_AUTOLOAD"
_LONGEST_TEXT = 3000


def _prepare() -> None:
    os.environ[_AUTOLOAD] = "0"  # the device's modules are imported by each child
    for name in _MODULES:
        importlib.import_module(name)
    del os.environ[_AUTOLOAD]
    _forget_package()
    gc.collect()
    gc.freeze()


def _forget_package() -> None:
    """Removes what each interpreter imports of tt_xla when it starts."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "tt_xla"]:
        del sys.modules[name]
    sys.meta_path[:] = [finder for finder in sys.meta_path if getattr(finder, "__name__", "") != "PackageFinder"]


class _Reporter:
    """A pytest plugin that keeps the wanted tests in the wanted order, and reports each."""

    def __init__(self, tests: Sequence[str], reports: int) -> None:
        self._order = {name: number for number, name in enumerate(tests)}
        self._reports = reports

    def report(self, **fields: Any) -> None:
        os.write(self._reports, json.dumps(fields).encode() + b"\n")

    def pytest_collection_modifyitems(self, config: Any, items: list[Any]) -> None:
        wanted = [item for item in items if item.nodeid in self._order]
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in self._order])
        items[:] = sorted(wanted, key=lambda item: self._order[item.nodeid])

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self.report(failed=report.nodeid, text=str(report.longrepr)[-_LONGEST_TEXT:])

    def pytest_runtest_logstart(self, nodeid: str, location: object) -> None:
        self.report(started=nodeid)

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self.report(failed=report.nodeid, text=str(report.longrepr)[-_LONGEST_TEXT:])
        elif report.when == "call" and report.passed:
            self.report(passed=report.nodeid)


def _run(request: Mapping[str, Any], reports: int) -> int:
    """Runs pytest in a child. Returns the exit status, 1 where an import or a test failed."""
    half = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    resource.setrlimit(resource.RLIMIT_DATA, (half, half))  # a fault may ask for all memory
    log = os.open(request["log"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for number, descriptor in ((0, nothing), (1, log), (2, log)):
        os.dup2(descriptor, number)
    reporter = _Reporter(request["tests"], reports)
    try:
        importlib.import_module("tt_xla._import_hook")
        for backend in importlib.metadata.entry_points(group="torch.backends"):
            backend.load()()
        import pytest

        return int(pytest.main([*request["arguments"], *request["files"]], plugins=[reporter]))
    except BaseException:
        reporter.report(failed="start of pytest", text=traceback.format_exc()[-_LONGEST_TEXT:])
        return 1


def _serve() -> None:
    reports = os.dup(1)
    os.write(reports, b'{"ready": true}\n')
    for line in sys.stdin:
        request = json.loads(line)
        child = os.fork()
        if child == 0:
            os.setsid()
            status = 1
            try:
                status = _run(request, reports)
            finally:
                sys.stdout.flush()
                os._exit(status)
        os.write(reports, json.dumps({"process": child}).encode() + b"\n")
        _, status, usage = os.wait4(child, 0)
        ended = {"ended": os.waitstatus_to_exitcode(status), "processor_s": usage.ru_utime + usage.ru_stime}
        os.write(reports, json.dumps(ended).encode() + b"\n")


if __name__ == "__main__":
    _prepare()
    _serve()
