"""The runner's tests in pytest: their parameters and markers, and the check behind ``--validate-test-config``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tt_xla.errors import OptionError
from tt_xla.testing.models.config import ARCHS, near
from tt_xla.testing.models.discovery import Case
from tt_xla.testing.models.processes import Limits, memory_in_bytes
from tt_xla.testing.models.suite import Suite, Task, read_suite, similar

_SCHEDULES = "push", "nightly", "weekly"
"""Markers of schedules. A test whose entry has none is nightly if its model's group is red or priority, else weekly."""

_SUITES: pytest.StashKey[dict[tuple[Any, ...], Suite]] = pytest.StashKey()


def suite(config: pytest.Config, beside: Path) -> Suite:
    """Returns the suite for pytest's options; it is read once per run.

    Args:
        config: pytest's configuration.
        beside: the folder of the test module, which may have a ``test_config`` folder.

    Raises:
        pytest.UsageError: an option has a bad value, or there are no loaders.
    """
    arch = config.getoption("--arch")
    if arch is not None and arch not in ARCHS:
        raise pytest.UsageError(f"--arch got {arch!r}; expected one of {', '.join(ARCHS)}. {near(arch, ARCHS)}")
    suites = config.stash.setdefault(_SUITES, {})
    options = config.getoption("--models-root"), tuple(config.getoption("--test-config") or ()), config.rootpath, beside
    try:
        if (*options, arch) not in suites:
            suites[*options, arch] = read_suite(*options, arch)
    except OptionError as error:
        raise pytest.UsageError(str(error)) from error
    return suites[*options, arch]


def parametrize(metafunc: pytest.Metafunc) -> None:
    """Gives a test function of the runner its parameters: tests, or models that do not exist yet."""
    tests_of_root = suite(metafunc.config, Path(metafunc.module.__file__).parent)
    if "placeholder_model" in metafunc.fixturenames:
        models = list(tests_of_root.expectations.placeholders.items())
        metafunc.parametrize("placeholder_model", models, ids=[name for name, _ in models])
        return
    known_marks: dict[str, Any] = {}
    parameters = [pytest.param(task, id=task.case.id, marks=_marks(task, known_marks)) for task in tests_of_root.tasks]
    registered = {line.partition(":")[0].partition("(")[0] for line in metafunc.config.getini("markers")}
    for name in known_marks.keys() - registered:
        metafunc.config.addinivalue_line("markers", f"{name}: a marker of model tests")
    metafunc.parametrize("model_test", parameters)


def _marks(task: Task, known_marks: dict[str, Any]) -> list[Any]:
    """Returns a test's marks. New marks are added to ``known_marks``, by name."""
    expectation, case = task.expectation, task.case
    names = {"model_test", case.run_mode, *_parallelism_names(case), expectation.status.value, *expectation.markers}
    for arch in expectation.supported_archs:
        names |= {arch, arch.replace("-", "_")}
    if task.group:
        names.add(task.group)
    if names.isdisjoint(_SCHEDULES):
        names.add("nightly" if task.group in ("red", "priority") else "weekly")
    if expectation.bringup_status is not None:
        names.add(expectation.bringup_status.value.lower())
    for name in names - known_marks.keys():
        known_marks[name] = pytest.Mark(name, (), {}, _ispytest=True)
    return [known_marks[name] for name in sorted(names)]


def _parallelism_names(case: Case) -> list[str]:
    """Returns the names of the markers for a test's parallelism, and for its LLM phase if it has one."""
    if not case.phase:
        return [case.parallelism]
    phase = case.phase.partition("-")[0]
    return [phase, "single_device" if case.parallelism.startswith("single_device") else "tensor_parallel"]


def problems(config: pytest.Config) -> list[str]:
    """Returns the problems of loaders and files of expectations, for the head of a run's output."""
    suites = config.stash.get(_SUITES, {}).values()
    return [line for each in suites for line in (*each.warnings, *each.expectations.problems)]


def unknown_tests(config: pytest.Config) -> list[str]:
    """Returns a message about each test of the command line that does not exist, with similar names."""
    names = [name[:-1] for _, _, name in (test.partition("::test_all_models[") for test in config.args) if name]
    known = {task.case.id for each in config.stash.get(_SUITES, {}).values() for task in each.tasks}
    return [f"No test is named '{name}'.{similar(name, known)}" for name in names if known and name not in known]


def validate_and_exit(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Prints errors and warnings about the files of expectations, and ends the run; status 1 means errors."""
    checked = suite(config, Path(items[0].path).parent if items else config.rootpath)
    print("\n" + "\n".join(checked.validation()))
    pytest.exit(f"the test configuration {'has errors' if checked.errors else 'is valid'}", int(bool(checked.errors)))


def limits(config: pytest.Config) -> Limits:
    """Returns the limits of one test that pytest's options set.

    Raises:
        pytest.UsageError: a limit is not a positive number, or not a size.
    """
    try:
        return Limits(config.getoption("--model-timeout"), memory_in_bytes(config.getoption("--model-memory")))
    except OptionError as error:
        raise pytest.UsageError(str(error)) from error
