"""Layers of the suite: markers beside the tests decide which of them run."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.quick

CONFTEST = """
from tests import layers

def pytest_addoption(parser):
    layers.add_option(parser)

def pytest_ignore_collect(collection_path, config):
    return None if collection_path.is_dir() or layers.has(collection_path, config) else True

def pytest_collection_modifyitems(config, items):
    layers.select(config, items)
"""
FILES = {
    "test_mixed.py": """
        import pytest
        @pytest.mark.quick
        def test_quick(): pass
        def test_change(): pass
        @pytest.mark.nightly
        def test_nightly(): pass
        @pytest.mark.parametrize("x", [1, pytest.param(2, marks=pytest.mark.nightly)])
        def test_cases(x): pass
        @pytest.mark.sample(2)
        @pytest.mark.parametrize("x", [*range(4), pytest.param(4, marks=pytest.mark.nightly)])
        def test_sampled(x): pass
    """,
    "test_fast.py": """
        import pytest
        pytestmark = pytest.mark.quick
        def test_fast(): pass
        @pytest.mark.nightly
        def test_fast_each_night(): pass
    """,
    "test_night.py": "import pytest\npytestmark = pytest.mark.nightly\ndef test_night(): pass",
}
QUICK = {"test_quick", "test_fast"}
CHANGE = QUICK | {"test_change", "test_cases[1]", "test_sampled[0]", "test_sampled[2]"}
MIXED = {"test_quick", "test_change", "test_nightly", "test_cases[1]", "test_cases[2]"}
MIXED |= {f"test_sampled[{x}]" for x in range(5)}


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(Path(__file__).parents[2])
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makeconftest(CONFTEST)
    for name, text in FILES.items():
        pytester.makepyfile(**{Path(name).stem: text})

    def run(*arguments: str) -> set[str]:
        result = pytester.inline_run("-p", "no:cacheprovider", "--import-mode=prepend", *arguments)
        reports = result.getreports("pytest_runtest_logreport")
        return {report.nodeid.split("::")[1] for report in reports if report.when == "call"}

    return run


@pytest.mark.parametrize(
    ("arguments", "tests"),
    [
        ((), CHANGE),
        (("--layer", "quick"), QUICK),
        (("--layer", "change"), CHANGE),
        (("--layer", "all"), MIXED | {"test_fast", "test_fast_each_night", "test_night"}),
        (("test_mixed.py",), MIXED),
        (("--layer", "quick", "test_mixed.py"), MIXED),
        (("test_mixed.py::test_nightly",), {"test_nightly"}),
        (("test_night.py",), {"test_night"}),
    ],
)
def test_a_layer_runs_the_tests_with_its_markers(run, arguments, tests):
    assert run(*arguments) == tests


@pytest.mark.parametrize("layer", ["quick", "change"])
def test_files_without_tests_of_the_layer_are_not_imported(run, pytester, layer):
    pytester.makepyfile(test_broken="import pytest\npytestmark = [pytest.mark.nightly]\nraise RuntimeError")
    assert run("--layer", layer) == (QUICK if layer == "quick" else CHANGE)
