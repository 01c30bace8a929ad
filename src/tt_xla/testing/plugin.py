"""The pytest plugin (entry point group ``pytest11``). Every pytest run imports it, so it imports nothing itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

MARKERS = {
    "filecheck(patterns)": "hold the IR of the test against these pattern files of tests/filecheck",
    "model_test": "a test of the model runner",
    "placeholder": "a model that is not there yet, for reports",
}


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("tt-xla", "tests of programs for Tenstorrent chips")
    add = group.addoption
    add("--serialize", action="store_true", help="write the IR that each test compiles under output_artifact/")
    add("--models-root", help="folder with loaders; third_party/tt_forge_models, else models")
    add("--test-config", action="append", help="folder with test_config_*.yaml; test_config beside the tests")
    add("--arch", help="apply arch_overrides of this architecture")
    add("--optimization-level", type=int, choices=(0, 1, 2), help="of models, in place of what entries say")
    add("--golden-f32", action="store_true", help="compare torch models with float32 on the CPU, not with bfloat16")
    add("--validate-test-config", action="store_true", help="check the files of expectations, and run nothing")
    add("--force-run", action="store_true", help="run models that are marked NOT_SUPPORTED_SKIP too")
    add("--emitpy", action="store_true", help="run passing torch models again with backend codegen_py, and compare")
    add("--lenient-xfail", action="store_true", help="a test that is expected to fail and passes is no failure")
    add("--model-timeout", type=float, default=1800, help="seconds for one model (default 1800)")
    add("--model-memory", default="", help="memory for one model, as in 8G; without a limit when left out")
    add("--model-records", help="add a JSON line of each test to this file")


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
