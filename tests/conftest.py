"""What all tests share: garbage collection, options of the process, a cache on disk, and the runner's own rule.

``pytest tests/runner/...`` asks for it.
"""

from __future__ import annotations

import gc
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tt_xla import disk_cache


def pytest_collection_finish() -> None:
    """What was imported stays: looking for garbage among it takes up to half a second each time."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def options_of_torch_stay() -> Iterator[None]:
    """What a test sets for all of torch, as tuning does within its process, ends with it."""
    before = getattr(sys.modules.get("tt_xla.frontends.torch.settings"), "_current", None)
    yield
    settings = sys.modules.get("tt_xla.frontends.torch.settings")
    if settings is not None:
        settings._current = before


@pytest.fixture(scope="session", autouse=True)
def cache_of_the_session(tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> Iterator[None]:
    """Entries of the cache on disk live as long as the tests; libraries of fused kernels stay in pytest's cache."""
    folder = tmp_path_factory.mktemp("cache")
    if pytestconfig.pluginmanager.hasplugin("cacheprovider"):
        (folder / "fused").symlink_to(pytestconfig.cache.mkdir("fused").absolute())
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TTXLA_CACHE", str(folder))
        patch.setenv("TORCHINDUCTOR_CACHE_DIR", str(folder / "torch"))
        yield


@pytest.fixture(autouse=True)
def no_entries_of_other_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test finds the entries of this process that it has made itself."""
    monkeypatch.setattr(disk_cache, "salt", uuid.uuid4().hex)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    runner = Path(__file__).parent / "runner"
    asked = any("runner" in str(argument) for argument in config.args)
    return True if collection_path == runner and not asked else None
