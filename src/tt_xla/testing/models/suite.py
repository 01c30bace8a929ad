"""The tests of a folder of loaders: what exists, what is expected, and where the two differ."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from tt_xla import disk_cache
from tt_xla.environment import selected_system, variables_with_effect
from tt_xla.errors import OptionError
from tt_xla.testing.models.config import Expectation, Expectations, ModelTestStatus, config_files, read, read_beside
from tt_xla.testing.models.discovery import Case, Discovery, discover
from tt_xla.testing.models.processes import Limits

ROOTS = "third_party/tt_forge_models", "models"
"""Folders of the project that may hold the loaders, in order."""

RUNNER = "tests/runner"
"""Folder of the project with the runner's test module and its files of expectations."""

UPSTREAM = "third_party/tt-xla"
"""Folder of the project that may hold a checkout of upstream's tt-xla, with expectations for tt-forge-models."""


@dataclass(frozen=True)
class Task:
    """A test of a root, and the outcome that is expected of it.

    Attributes:
        root: folder with the loaders.
        group: model group of the variant; empty if the loader does not tell.
        digest: digest of the loader's files.
    """

    root: Path
    case: Case
    expectation: Expectation
    group: str = ""
    digest: str = ""

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
        return replace(self, expectation=replace(self.expectation, **changes))

    def key(self, limits: Limits, *, lenient: bool) -> str:
        """Returns the key of the test's record: it differs if anything differs on which the outcome depends."""
        parts = (
            self.case,
            self.expectation,
            self.digest,
            limits.seconds,
            limits.memory,
            lenient,
            selected_system(),
            sorted(variables_with_effect().items()),
        )
        return disk_cache.key_of(parts)


@dataclass(frozen=True)
class Suite:
    """The loaders of a root, and the outcomes expected of their tests.

    Attributes:
        arch: architecture whose overrides apply; None for none.
    """

    discovery: Discovery
    expectations: Expectations
    arch: str | None = None

    @cached_property
    def tasks(self) -> list[Task]:
        """The tests that are not excluded. Tests of LLM phases are included if an entry names them."""
        cases = [*self.discovery.cases, *filter(None, map(self.discovery.phase, self.expectations.entries))]
        loaders = {loader.folder: loader for loader in self.discovery.loaders}
        tasks: list[Task] = []
        for case in cases:
            loader, expectation = loaders[case.model], self.expectations.of(case.id, self.arch)
            if expectation.status is not ModelTestStatus.EXCLUDE_MODEL:
                group = loader.group(case.variant)
                tasks.append(Task(self.discovery.root, case, expectation, group, loader.digest))
        return tasks

    @cached_property
    def unknown(self) -> list[str]:
        """Messages about entries whose test does not exist. Tests of a loader that cannot be imported may exist."""
        known = dict.fromkeys(case.id for case in self.discovery.cases)
        unreadable = tuple(f"{folder}-" for folder in self.discovery.unreadable)
        return [
            f"{entry.where}: no test is named '{name}'.{similar(name, known)}"
            for name, entry in self.expectations.entries.items()
            if name not in known and not self.discovery.phase(name) and not name.startswith(unreadable)
        ]

    @cached_property
    def unlisted(self) -> list[str]:
        """Ids of tests without an entry."""
        return sorted({case.id for case in self.discovery.cases} - self.expectations.entries.keys())

    @property
    def errors(self) -> list[str]:
        """Problems of the files of expectations, and entries whose test does not exist."""
        return [*self.expectations.problems, *self.unknown]

    @property
    def warnings(self) -> list[str]:
        """Loaders that cannot be imported, and that there are files about other loaders only."""
        warnings = list(self.discovery.problems)
        if self.expectations.other_files and not self.expectations.files:
            count, others = len(self.expectations.other_files), sorted(set(self.expectations.other_files.values()))
            warnings.append(
                f"No file of expectations is about {self.discovery.root}: {count} are about {', '.join(others)}. "
                f"--test-config names a folder of others, such as upstream's; see docs/adding_models.md."
            )
        return warnings

    def validation(self) -> list[str]:
        """Returns errors and warnings about the files of expectations, one per line, and their number."""
        warnings = self.warnings
        if self.unlisted:
            more = len(self.unlisted) - 3
            names = ", ".join(self.unlisted[:3]) + (f" and {more:,} others" if more > 0 else "")
            warnings = [*warnings, f"no entry for {names}"]
        return [
            *(f"ERROR: {line}" for line in self.errors),
            *(f"WARNING: {line}" for line in warnings),
            f"{len(self.expectations.entries)} entries in {len(self.expectations.files)} files, "
            f"{len(self.discovery.cases)} tests of {len(self.discovery.loaders)} loaders: {len(self.errors)} errors, "
            f"{len(warnings)} warnings.",
        ]


def similar(name: str, tests: Collection[str]) -> str:
    """Returns a sentence with ids of tests that are similar to one that does not exist; empty if there are none."""
    near = [test for test in tests if test.startswith(name[:2])]  # all would take seconds
    matches = difflib.get_close_matches(name, near, 3, 0.8)
    return f" Did you mean: {', '.join(matches)}?" if matches else ""


def models_folder(root: str | Path | None, project: Path) -> Path:
    """The folder with loaders that is named, or else the first one of :data:`ROOTS` in the project.

    Raises:
        OptionError: there is none.
    """
    candidates = [Path(root)] if root else [project / name for name in ROOTS]
    for path in candidates:
        if path.is_dir():
            return path.resolve()
    raise OptionError(
        f"No folder with model loaders exists: {', '.join(map(str, candidates))}.",
        hint="Name one with --models-root, or a file that exists.",
    )


def read_suite(root: str | None, folders: Sequence[str], project: Path, beside: Path, arch: str | None = None) -> Suite:
    """Reads the loaders of a root and the outcomes expected of their tests.

    Args:
        root: folder with loaders; None for that of the project (:func:`models_folder`).
        folders: folders with ``test_config_*.yaml``. Without any, the first folder ``test_config`` that is about these
            loaders is read: that of ``beside``, of the root, of the project's :data:`RUNNER`, or of upstream's.
        project: root of the project.
        beside: folder of the test module.
        arch: architecture whose overrides apply.

    Raises:
        OptionError: there are no loaders, or a folder does not exist.
    """
    models = models_folder(root, project)
    if missing := [folder for folder in folders if not Path(folder).is_dir()]:
        raise OptionError(f"--test-config names folders that do not exist: {', '.join(missing)}.")
    if folders:
        expectations = read(config_files([Path(folder) for folder in folders]))
    else:
        expectations = read_beside(models, beside, models, project / RUNNER, project / UPSTREAM / RUNNER)
    return Suite(discover(models), expectations, arch)
