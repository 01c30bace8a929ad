"""The pytest plugin (entry point group ``pytest11``). Every pytest run imports it, so it imports nothing of ours."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

MARKERS = {
    "filecheck(patterns)": "hold the IR of the test against these pattern files of tests/filecheck",
    "model_test": "a test of the model runner",
    "placeholder": "a model that is not there yet, for reports",
}


OPTIONS: dict[str, dict[str, Any]] = {
    "--serialize": {"action": "store_true", "help": "write the IR that each test compiles under output_artifact/"},
    "--models-root": {"help": "folder with loaders; third_party/tt_forge_models, else models"},
    "--test-config": {
        "action": "append",
        "help": "folder with test_config_*.yaml; test_config beside the tests",
    },
    "--arch": {"help": "apply arch_overrides of this architecture"},
    "--optimization-level": {
        "type": int,
        "choices": (0, 1, 2),
        "help": "of models, in place of what entries say",
    },
    "--golden-f32": {
        "action": "store_true",
        "help": "compare torch models with float32 on the CPU, not with bfloat16",
    },
    "--validate-test-config": {
        "action": "store_true",
        "help": "check the files of expectations, and run nothing",
    },
    "--force-run": {"action": "store_true", "help": "run models that are marked NOT_SUPPORTED_SKIP too"},
    "--emitpy": {
        "action": "store_true",
        "help": "run passing torch models again with backend codegen_py, and compare",
    },
    "--lenient-xfail": {
        "action": "store_true",
        "help": "a test that is expected to fail and passes is no failure",
    },
    "--model-timeout": {"type": float, "default": 1800, "help": "seconds for one model (default 1800)"},
    "--model-memory": {"default": "", "help": "memory for one model, as in 8G; without a limit when left out"},
    "--model-records": {"help": "add a JSON line of each test to this file"},
}


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests(parser: pytest.Parser) -> Generator[None, object, object]:
    """Adds the options after those of conftest.py files, which may have some of the same names, as tt-xla's own has:
    pytest takes no name twice, and theirs then hold for both."""
    result = yield
    groups = (parser._anonymous, *parser._groups)  # pyright: ignore[reportPrivateUsage]
    taken = {name for group in groups for option in group.options for name in option.names()}
    group = parser.getgroup("tt-xla", "tests of programs for Tenstorrent chips")
    for name, values in OPTIONS.items():
        if name not in taken:
            group.addoption(name, **values)
    return result


def pytest_configure(config: pytest.Config) -> None:
    for name, meaning in MARKERS.items():
        config.addinivalue_line("markers", f"{name}: {meaning}")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "model_test" in metafunc.fixturenames or "placeholder_model" in metafunc.fixturenames:
        from tt_xla.testing.models import collection

        collection.parametrize(metafunc)


def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--validate-test-config"):
        from tt_xla.testing.models import collection

        collection.validate_and_exit(config, items)


def pytest_report_collectionfinish(config: pytest.Config) -> list[str]:
    import sys

    collection = sys.modules.get("tt_xla.testing.models.collection")
    return [] if collection is None else collection.problems(config)
