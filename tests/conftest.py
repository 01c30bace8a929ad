"""What all tests share: garbage collection, options of the process, a cache on disk, and the runner's own rule.

``pytest tests/runner/...`` asks for it.
"""

from __future__ import annotations

import gc
import logging
import os
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest

# References of tests run once: XLA's CPU client compiles them in a fraction of the time without its optimisations. JAX
# reads this as it is imported.
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true")

# Each process of pytest has as many threads as there are cores. One that waits for the next loop would spin on a core
# that another process needs. OpenMP and OpenBLAS read this as torch and NumPy are imported.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from tests import layers
from tests.golden import GOLDENS, Goldens
from tt_xla import disk_cache
from tt_xla.log import logger


def pytest_collection_finish() -> None:
    """Makes what runs beside each test cheap.

    What was imported stays: looking for garbage among it takes up to half a second each time. pytest listens to every
    log that does not propagate, three times a test. PyTorch has fifty of them, and writes each graph if its log of
    traces has a listener.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)
    for name, log in logging.root.manager.loggerDict.items():
        if isinstance(log, logging.Logger) and name.startswith("torch"):
            log.propagate = True


@pytest.fixture(scope="module", autouse=True)
def what_is_left_stays() -> Iterator[None]:
    """What a module's tests leave in caches stays too: later tests would look for garbage among that of all others."""
    yield
    gc.collect()
    gc.freeze()


@pytest.fixture
def all_objects() -> Iterator[None]:
    """Lets a test find all objects by ``gc.get_objects()``, also those that earlier modules left, but no garbage."""
    gc.unfreeze()
    gc.collect()
    yield
    gc.freeze()


@pytest.fixture(autouse=True)
def options_of_torch_stay() -> Iterator[None]:
    """What a test sets for all of torch, as tuning does within its process, ends with it."""
    yield
    settings = sys.modules.get("tt_xla.frontends.torch.settings")
    if settings is not None:
        settings.reset()


@pytest.fixture(autouse=True)
def environment_stays() -> Iterator[None]:
    """Restores environment variables that a test has set, such as those that options of commands stand for."""
    with mock.patch.dict(os.environ):
        yield


@pytest.fixture(scope="session", autouse=True)
def cache_of_the_session(tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> Iterator[Path]:
    """Entries of the cache on disk live as long as the tests; kernels and loaders' variants stay in pytest's cache.

    No fused kernel is compiled in the background of a test that does not ask for it by ``TTXLA_EMULATOR_CHAINS``. What
    ``PYTEST_ADDOPTS`` adds to this run is not added to runs of pytest that tests start.
    """
    folder = tmp_path_factory.mktemp("cache")
    for kind in ("fused", "loaders"):
        if pytestconfig.pluginmanager.hasplugin("cacheprovider"):
            (folder / kind).symlink_to(pytestconfig.cache.mkdir(kind).absolute())
        else:
            (folder / kind).mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("PYTEST_ADDOPTS", raising=False)
        patch.setenv("TTXLA_CACHE", str(folder))
        patch.setenv("TORCHINDUCTOR_CACHE_DIR", str(folder / "torch"))
        patch.setenv("TTXLA_EMULATOR_CHAINS", os.environ.get("TTXLA_EMULATOR_CHAINS", "off"))
        yield folder


@pytest.fixture(scope="session")
def goldens(pytestconfig: pytest.Config) -> Goldens:
    """The session's golden texts."""
    return pytestconfig.stash[GOLDENS]


@pytest.fixture
def project_log(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    """What the project logs, each record once.

    Records of the project's log do not propagate, so pytest listens to the log itself if it exists when a test begins.
    """
    monkeypatch.setattr(logger(), "propagate", False)
    monkeypatch.setattr(logger(), "handlers", [caplog.handler])
    return caplog


@pytest.fixture(autouse=True)
def no_entries_of_other_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test finds the entries of this process that it has made itself."""
    monkeypatch.setattr(disk_cache, "salt", uuid.uuid4().hex)


def pytest_addoption(parser: pytest.Parser) -> None:
    layers.add_option(parser)
    parser.addoption("--update-goldens", action="store_true", help="run the golden tests alone, and record")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    runner = Path(__file__).parent / "runner"
    asked = any("runner" in str(argument) for argument in config.args)
    if collection_path == runner:
        return None if asked else True
    return None if collection_path.is_dir() or layers.has(collection_path, config) else True


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    layers.select(config, items)
    if config.getoption("--update-goldens"):
        golden = [item for item in items if getattr(item, "has_golden", False)]
        golden += [item for item in items if "goldens" in getattr(item, "fixturenames", ())]
        config.hook.pytest_deselected(items=list(set(items) - set(golden)))
        items[:] = golden


def pytest_configure(config: pytest.Config) -> None:
    layers.choose_examples(config)
    config.stash[GOLDENS] = Goldens(update=config.getoption("--update-goldens"))


def pytest_sessionfinish(session: pytest.Session) -> None:
    session.config.stash[GOLDENS].write()
