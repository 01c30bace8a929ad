"""The runner's tests in pytest: their parameters and markers, and the check behind ``--validate-test-config``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tt_xla.testing.models import config as expectations_of
from tt_xla.testing.models.config import ARCHS, Expectation, Expectations, ModelTestStatus
from tt_xla.testing.models.discovery import Case, Discovery, discover
from tt_xla.testing.models.processes import Limits, memory_in_bytes

_SCHEDULES = "push", "nightly", "weekly"
"""Markers of schedules. A test whose entry has none is nightly if its model's group is red or priority, else weekly."""

ROOTS = "third_party/tt_forge_models", "models"
"""Folders of the project that may hold the loaders, in order."""

RUNNER = "tests/runner"
"""Folder of the project with the runner's test module and its files of expectations."""


@dataclass(frozen=True)
class ModelTest:
    """The parameter of one test function call."""

    root: Path
    case: Case
    expectation: Expectation


@dataclass(frozen=True)
class Suite:
    """The loaders of a root, and the outcomes expected of their tests.

    Attributes:
        arch: architecture whose overrides apply; None for none.
    """

    discovery: Discovery
    expectations: Expectations
    arch: str | None

    def tests(self) -> list[ModelTest]:
        """Returns the tests that are not excluded. Tests of LLM phases are included if an entry names them."""
        llm_cases = self.discovery.llm_cases
        named_llm_cases = [llm_cases[name] for name in self.expectations.entries if name in llm_cases]
        tests = [
            ModelTest(self.discovery.root, case, self.expectations.of(case.id, self.arch))
            for case in (*self.discovery.cases, *named_llm_cases)
        ]
        return [test for test in tests if test.expectation.status is not ModelTestStatus.EXCLUDE_MODEL]


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
        raise pytest.UsageError(f"--arch got {arch!r}; expected one of {', '.join(ARCHS)}.")
    suites = config.stash.setdefault(_SUITES, {})
    options = config.getoption("--models-root"), tuple(config.getoption("--test-config") or ()), config.rootpath, beside
    if (*options, arch) not in suites:
        suites[*options, arch] = read_suite(*options, arch)
    return suites[*options, arch]


def read_suite(root: str | None, folders: Sequence[str], project: Path, beside: Path, arch: str | None = None) -> Suite:
    """Reads the loaders of a root and the outcomes expected of their tests.

    Args:
        root: folder with loaders; None for the first folder of :data:`ROOTS` in the project.
        folders: folders with ``test_config_*.yaml``. Without any, folder ``test_config`` of ``beside``, of the root, or
            of the project's :data:`RUNNER` is read.
        project: root of the project.
        beside: folder of the test module.
        arch: architecture whose overrides apply.

    Raises:
        pytest.UsageError: there are no loaders, or a folder does not exist.
    """
    candidates = [Path(root)] if root else [project / name for name in ROOTS]
    models = next((path.resolve() for path in candidates if path.is_dir()), None)
    if models is None:
        raise pytest.UsageError(
            f"No folder with model loaders exists: {', '.join(map(str, candidates))}. Name one with --models-root."
        )
    if missing := [folder for folder in folders if not Path(folder).is_dir()]:
        raise pytest.UsageError(f"--test-config names folders that do not exist: {', '.join(missing)}")
    config_folders = [Path(folder) for folder in folders] or expectations_of.default_folders(
        beside, models, project / RUNNER
    )
    return Suite(discover(models), expectations_of.read(expectations_of.config_files(config_folders)), arch)


def parametrize(metafunc: pytest.Metafunc) -> None:
    """Gives a test function of the runner its parameters: tests, or models that do not exist yet."""
    tests_of_root = suite(metafunc.config, Path(metafunc.module.__file__).parent)
    if "placeholder_model" in metafunc.fixturenames:
        models = list(tests_of_root.expectations.placeholders.items())
        metafunc.parametrize("placeholder_model", models, ids=[name for name, _ in models])
        return
    tests = tests_of_root.tests()
    known_marks: dict[str, Any] = {}
    loaders = {loader.folder: loader for loader in tests_of_root.discovery.loaders}
    parameters = [
        pytest.param(
            test, id=test.case.id, marks=_marks(test, loaders[test.case.model].group(test.case.variant), known_marks)
        )
        for test in tests
    ]
    registered = {line.partition(":")[0].partition("(")[0] for line in metafunc.config.getini("markers")}
    for name in known_marks.keys() - registered:
        metafunc.config.addinivalue_line("markers", f"{name}: a marker of model tests")
    metafunc.parametrize("model_test", parameters)


def _marks(test: ModelTest, group: str, known_marks: dict[str, Any]) -> list[Any]:
    """Returns a test's marks. New marks are added to ``known_marks``, by name."""
    expectation, case = test.expectation, test.case
    names = {"model_test", case.run_mode, *_parallelism_names(case), expectation.status.value, *expectation.markers}
    for arch in expectation.supported_archs:
        names |= {arch, arch.replace("-", "_")}
    if group:
        names.add(group)
    if names.isdisjoint(_SCHEDULES):
        names.add("nightly" if group in ("red", "priority") else "weekly")
    if expectation.bringup_status is not None:
        names.add(expectation.bringup_status.value.lower())
    marks: list[Any] = []
    for name in sorted(names):
        if name not in known_marks:
            known_marks[name] = pytest.Mark(name, (), {}, _ispytest=True)
        marks.append(known_marks[name])
    return marks


def _parallelism_names(case: Case) -> list[str]:
    """Returns the names of the markers for a test's parallelism, and for its LLM phase if it has one."""
    if not case.phase:
        return [case.parallelism]
    phase = case.phase.partition("-")[0]
    return [phase, "single_device" if case.parallelism.startswith("single_device") else "tensor_parallel"]


def problems(config: pytest.Config) -> list[str]:
    """Returns the problems of loaders and files of expectations, for the head of a run's output."""
    suites = config.stash.get(_SUITES, {}).values()
    return [line for each in suites for line in (*each.discovery.problems, *each.expectations.problems)]


def validate_and_exit(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Prints errors and warnings about the files of expectations, and ends the run; status 1 means errors."""
    folder = Path(items[0].path).parent if items else config.rootpath
    lines, valid = validation(suite(config, folder))
    print("\n" + "\n".join(lines))
    pytest.exit(f"the test configuration {'is valid' if valid else 'has errors'}", int(not valid))


def validation(suite: Suite) -> tuple[list[str], bool]:
    """Returns errors and warnings about files of expectations, one per line, and whether there are no errors."""
    expectations, discovery = suite.expectations, suite.discovery
    comparison = expectations_of.validate(expectations, (case.id for case in discovery.cases), discovery.llm_cases)
    errors = [*expectations.problems, *comparison.unknown]
    lines = [f"ERROR: {line}" for line in errors]
    lines += [f"WARNING: {line}" for line in discovery.problems]
    lines += [f"WARNING: no entry for {name}" for name in comparison.unlisted]
    lines.append(
        f"{len(expectations.entries)} entries in {len(expectations.files)} files, {len(discovery.cases)} tests of "
        f"{len(discovery.loaders)} loaders: {len(errors)} errors, {len(lines) - len(errors)} warnings."
    )
    return lines, not errors


def limits(config: pytest.Config) -> Limits:
    """Returns the limits of one test that pytest's options set."""
    return Limits(config.getoption("--model-timeout"), memory_in_bytes(config.getoption("--model-memory")))
