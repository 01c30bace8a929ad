"""Discovery, test ids and testers of the runner, by upstream's names; ``tt_xla.testing.models`` does the work."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from tt_xla.testing.models.config import BringupStatus, Expectation, ModelTestStatus
from tt_xla.testing.models.discovery import Case, LoaderFile, discover
from tt_xla.testing.models.dynamic import DynamicTorchModelTester
from tt_xla.testing.models.suite import ROOTS

__all__ = [
    "BringupStatus",
    "DynamicTorchModelTester",
    "ModelTestConfig",
    "ModelTestStatus",
    "create_test_entries",
    "create_test_id_generator",
    "discover_loader_paths",
    "setup_test_discovery",
]

ModelTestConfig = Expectation


def setup_test_discovery(project_root: str | Path) -> tuple[Path, list[Case]]:
    """Returns the folder with the loaders of a project, and the tests of all loaders.

    Raises:
        FileNotFoundError: the project has no folder with loaders.
    """
    folders = [Path(project_root) / name for name in ROOTS]
    for folder in folders:
        if folder.is_dir():
            return folder, create_test_entries(discover_loader_paths(folder))
    raise FileNotFoundError(f"{project_root} has no folder with model loaders; expected {' or '.join(ROOTS)}.")


def discover_loader_paths(models_root: str | Path) -> list[LoaderFile]:
    """Returns the loaders below a folder that can be imported, sorted by path."""
    return discover(Path(models_root)).loaders


def create_test_entries(loaders: Iterable[LoaderFile]) -> list[Case]:
    """Returns the tests of loaders: each variant with each parallelism and run mode."""
    return [case for loader in loaders for case in loader.cases()]


def create_test_id_generator(_models_root: str | Path) -> Callable[[Case], str]:
    """Returns the function that names a test: ``<path>-<variant>-<parallelism>-<run mode>``."""
    return lambda case: case.id
