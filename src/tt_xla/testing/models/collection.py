"""The runner's tests in pytest: which there are, their markers, and what ``--validate-test-config`` says."""

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
"""Markers that say when a test runs; an entry without one is nightly if many wait for its model, else weekly."""
ROOTS = "third_party/tt_forge_models", "models"


@dataclass(frozen=True)
class ModelTest:
    """What a test function is given."""

    root: Path
    case: Case
    expectation: Expectation


@dataclass(frozen=True)
class Suite:
    found: Discovery
    expectations: Expectations
    arch: str | None

    def tests(self) -> list[ModelTest]:
        """Each test that is not excluded; those of phases of language models where an entry names them."""
        named = [self.found.llm_cases[name] for name in self.expectations.entries if name in self.found.llm_cases]
        tests = [
            ModelTest(self.found.root, case, self.expectations.of(case.id, self.arch))
            for case in (*self.found.cases, *named)
        ]
        return [test for test in tests if test.expectation.status is not ModelTestStatus.EXCLUDE_MODEL]


_SUITES: pytest.StashKey[dict[tuple[Any, ...], Suite]] = pytest.StashKey()


def suite(config: pytest.Config, beside: Path) -> Suite:
    """What is found by the options; read once a run.

    Args:
        beside: the folder of the test module, which may have a ``test_config``.
    """
    arch = config.getoption("--arch")
    if arch is not None and arch not in ARCHS:
        raise pytest.UsageError(f"--arch was given {arch!r}; known are {', '.join(ARCHS)}.")
    known = config.stash.setdefault(_SUITES, {})
    given = config.getoption("--models-root"), tuple(config.getoption("--test-config") or ()), config.rootpath, beside
    if (*given, arch) not in known:
        known[*given, arch] = read_suite(*given, arch)
    return known[*given, arch]


def read_suite(root: str | None, folders: Sequence[str], project: Path, beside: Path, arch: str | None = None) -> Suite:
    """Loaders below ``root``, else below a folder of the project, with what is expected of them.

    Args:
        folders: with files of expectations; ``test_config`` ``beside`` the tests, or of the root, where none is given.
    """
    candidates = [Path(root)] if root else [project / name for name in ROOTS]
    found = next((path.resolve() for path in candidates if path.is_dir()), None)
    if found is None:
        shown = ", ".join(map(str, candidates))
        raise pytest.UsageError(f"There is no folder with models: {shown}. --models-root names one.")
    if missing := [folder for folder in folders if not Path(folder).is_dir()]:
        raise pytest.UsageError(f"--test-config names no folder: {', '.join(missing)}")
    own = next((path / "test_config" for path in (beside, found) if (path / "test_config").is_dir()), None)
    used = [Path(folder) for folder in folders] or ([] if own is None else [own])
    return Suite(discover(found), expectations_of.read(expectations_of.config_files(used)), arch)


def parametrize(metafunc: pytest.Metafunc) -> None:
    found = suite(metafunc.config, Path(metafunc.module.__file__).parent)
    if "placeholder_model" in metafunc.fixturenames:
        models = list(found.expectations.placeholders.items())
        metafunc.parametrize("placeholder_model", models, ids=[name for name, _ in models])
        return
    tests = found.tests()
    known: dict[str, Any] = {}
    loaders = {loader.folder: loader for loader in found.found.loaders}
    parameters = [
        pytest.param(
            test, id=test.case.id, marks=_marks(test, loaders[test.case.model].group(test.case.variant), known)
        )
        for test in tests
    ]
    for name in known:
        metafunc.config.addinivalue_line("markers", f"{name}: from an entry of a test")
    metafunc.parametrize("model_test", parameters)


def _marks(test: ModelTest, group: str, known: dict[str, Any]) -> list[Any]:
    expectation, case = test.expectation, test.case
    names = {"model_test", case.run_mode, *_spread(case), expectation.status.value, *expectation.markers}
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
        if name not in known:
            known[name] = pytest.Mark(name, (), {}, _ispytest=True)
        marks.append(known[name])
    return marks


def _spread(case: Case) -> list[str]:
    if not case.phase:
        return [case.parallelism]
    phase = case.phase.partition("-")[0]
    return [phase, "single_device" if case.parallelism.startswith("single_device") else "tensor_parallel"]


def problems(config: pytest.Config) -> list[str]:
    """Lines for the head of a run: what of the files and loaders could not be used."""
    suites = config.stash.get(_SUITES, {}).values()
    return [line for found in suites for line in (*found.found.problems, *found.expectations.problems)]


def validate_and_exit(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Prints errors and warnings about the files of expectations, and ends the run: 1 where there are errors."""
    folder = Path(items[0].path).parent if items else config.rootpath
    lines, valid = validation(suite(config, folder))
    print("\n" + "\n".join(lines))
    pytest.exit(f"the test configuration {'is valid' if valid else 'has errors'}", int(not valid))


def validation(found: Suite) -> tuple[list[str], bool]:
    """Lines of errors and warnings about files of expectations, and whether they are without errors."""
    held = expectations_of.validate(found.expectations, (case.id for case in found.found.cases), found.found.llm_cases)
    errors = [*found.expectations.problems, *held.unknown]
    lines = [f"ERROR: {line}" for line in errors]
    lines += [f"WARNING: {line}" for line in found.found.problems]
    lines += [f"WARNING: no entry for {name}" for name in held.unlisted]
    count = len(found.expectations.entries)
    lines.append(
        f"{count} entries in {len(found.expectations.files)} files, {len(found.found.cases)} tests of "
        f"{len(found.found.loaders)} loaders: {len(errors)} errors, {len(lines) - len(errors)} warnings."
    )
    return lines, not errors


def limits(config: pytest.Config) -> Limits:
    return Limits(config.getoption("--model-timeout"), memory_in_bytes(config.getoption("--model-memory")))
