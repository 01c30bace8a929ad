"""The pytest plugin (entry point group ``pytest11``).

Every pytest run of an environment with tt-xla imports this file, so its top level imports no other module of tt-xla.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

MARKERS = {
    "filecheck(patterns)": "check the IR of the test with these pattern files of tests/filecheck",
    # Schedules of continuous integration.
    "push": "runs for each change",
    "nightly": "runs each night",
    "weekly": "runs each week",
    "large": "needs much memory or time",
    # Tests of the model runner.
    "model_test": "a test of the model runner",
    "placeholder": "a model that does not exist yet, listed in reports",
    "inference": "runs the forward pass",
    "training": "runs the backward pass too",
    "single_device": "runs on one chip",
    "data_parallel": "runs on all chips, each with a part of the batch",
    "tensor_parallel": "runs on all chips, each with a part of the weights",
    # Expected outcomes of the model runner's tests.
    "expected_passing": "passes",
    "known_failure_xfail": "fails for a known reason",
    "not_supported_skip": "is skipped",
    "unspecified": "has no expected outcome yet",
    # Systems. The model runner also marks tests with the names in --arch, such as n300-llmbox and n300_llmbox.
    "dual_chip": "needs two chips",
    "llmbox": "needs the eight chips of an LLMBox",
    "galaxy": "needs the chips of a Galaxy",
}
"""Meaning of each marker, which every project with tt-xla can use; the names are those of upstream's pytest.ini."""


_COLLECTION = pytest.StashKey[Any]()
"""Module of the model runner, which is imported when its tests are collected."""

OPTIONS: dict[str, dict[str, Any]] = {
    "--serialize": {"action": "store_true", "help": "write the IR that each test compiles under output_artifact/"},
    "--models-root": {"help": "folder with model loaders (default third_party/tt_forge_models, or models)"},
    "--test-config": {
        "action": "append",
        "help": "folder with test_config_*.yaml files (default test_config beside the tests, in the models' root or in "
        "tests/runner)",
    },
    "--arch": {"help": "apply the arch_overrides of this architecture"},
    "--optimization-level": {
        "type": int,
        "choices": (0, 1, 2),
        "help": "optimization level of all models, instead of the levels in their entries",
    },
    "--golden-f32": {
        "action": "store_true",
        "help": "compare torch models with float32 instead of bfloat16 on the CPU",
    },
    "--validate-test-config": {
        "action": "store_true",
        "help": "check the test_config_*.yaml files without running models",
    },
    "--force-run": {"action": "store_true", "help": "also run models marked NOT_SUPPORTED_SKIP"},
    "--emitpy": {
        "action": "store_true",
        "help": "run torch models that pass again with backend codegen_py, and compare",
    },
    "--lenient-xfail": {
        "action": "store_true",
        "help": "do not fail tests that pass although they are expected to fail",
    },
    "--model-timeout": {"type": float, "default": 1800, "help": "time limit of one model in seconds (default 1800)"},
    "--model-memory": {"default": "", "help": "memory limit of one model, such as 8G (default no limit)"},
    "--model-records": {"help": "append one JSON line per test to this file"},
}


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests(parser: pytest.Parser) -> Generator[None, object, object]:
    """Adds the options after those of conftest.py files.

    A conftest.py file, such as upstream's, may define options with the same names, and pytest refuses a duplicate. Such
    an option of the file then serves both.
    """
    result = yield
    groups = (parser._anonymous, *parser._groups)  # pyright: ignore[reportPrivateUsage]
    defined = {name for group in groups for option in group.options for name in option.names()}
    group = parser.getgroup("tt-xla", "tests of programs for Tenstorrent chips")
    for name, values in OPTIONS.items():
        if name not in defined:
            group.addoption(name, **values)
    return result


def pytest_configure(config: pytest.Config) -> None:
    for name, meaning in MARKERS.items():
        config.addinivalue_line("markers", f"{name}: {meaning}")


def pytest_sessionstart(session: pytest.Session) -> None:
    logs = session.config.pluginmanager.get_plugin("logging-plugin")
    for handler in (getattr(logs, name, None) for name in ("caplog_handler", "report_handler")):
        if handler is not None:
            handler.addFilter(lambda record: record.name != "torch.__trace")  # such records have no text


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Fails a test that is marked filecheck and passes, but did not check its IR."""
    result = yield
    if item.get_closest_marker("filecheck") is not None:
        from tt_xla.testing import filechecks

        if item not in filechecks.CHECKED:
            pytest.fail(
                "The test is marked filecheck, but no IR was checked. Give it the fixture `request` and pass it on, as "
                "in run_op_test(..., request=request).",
                pytrace=False,
            )
    return result


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "model_test" in metafunc.fixturenames or "placeholder_model" in metafunc.fixturenames:
        from tt_xla.testing.models import collection

        metafunc.config.stash[_COLLECTION] = collection
        collection.parametrize(metafunc)


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Adds similar names to the error about a model's test that does not exist."""
    try:
        return (yield)
    except pytest.UsageError as error:
        collection = session.config.stash.get(_COLLECTION, None)
        near = [] if collection is None else collection.unknown_tests(session.config)
        raise pytest.UsageError(*error.args, *near) from error


def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--validate-test-config"):
        from tt_xla.testing.models import collection

        collection.validate_and_exit(config, items)


def pytest_report_collectionfinish(config: pytest.Config) -> list[str]:
    collection = config.stash.get(_COLLECTION, None)
    return [] if collection is None else collection.problems(config)
