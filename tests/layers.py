"""The layers of this suite, which ``make quick``, ``make test`` and ``make test-all`` run.

A marker beside a test says its layer: ``quick``, none, or ``nightly``. ``sample(n)`` leaves n cases of a parametrized
test in its layer, spread evenly, and makes the others nightly. ``docs/testing.md`` says what each layer does not see.
A file or a test that the command line names runs whatever its layer is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import pytest

LAYERS = {
    "quick": "tests marked quick",
    "change": "all tests but those marked nightly",
    "all": "all tests",
}

QUICK = re.compile(r"\bmark\.quick\b")
NIGHTLY = re.compile(r"^pytestmark = .*\bmark\.nightly\b", re.MULTILINE)


def add_option(parser: pytest.Parser) -> None:
    meanings = "; ".join(f"{name}: {meaning}" for name, meaning in LAYERS.items())
    parser.addoption(
        "--layer", choices=[*LAYERS], default="change", help=f"which tests run ({meanings}; default change)"
    )


def choose_examples(config: pytest.Config) -> None:
    """Sets how many examples Hypothesis draws for a test: the same few for each change, and other ones each night."""
    from hypothesis import settings

    nightly = config.getoption("--layer") == "all"
    settings.register_profile("layer", deadline=None, max_examples=300 if nightly else 50, derandomize=not nightly)
    settings.load_profile("layer")


def has(path: Path, config: pytest.Config) -> bool:
    """Returns whether a test file may have tests of the layer that runs. Other files are not even imported."""
    layer = config.getoption("--layer")
    if path.suffix != ".py" or layer == "all" or path in _named(config):
        return True
    text = path.read_text()
    return bool(QUICK.search(text)) if layer == "quick" else not NIGHTLY.search(text)


def select(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselects the tests that the layer does not run."""
    layer = config.getoption("--layer")
    if layer == "all":
        return
    named = _named(config)
    needed = {"quick"} if layer == "quick" else set()
    markers = {item: {marker.name for marker in item.iter_markers()} for item in items}
    left_out = _not_sampled(item for item in items if "nightly" not in markers[item])
    runs = {
        item: item.path in named or (needed <= of and "nightly" not in of and item not in left_out)
        for item, of in markers.items()
    }
    config.hook.pytest_deselected(items=[item for item, run in runs.items() if not run])
    items[:] = [item for item, run in runs.items() if run]


def _not_sampled(items: Iterable[pytest.Item]) -> set[pytest.Item]:
    """Returns the cases of tests marked ``sample`` that are not among those spread evenly over all."""
    cases: dict[tuple[Path, str], list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("sample") is not None:
            cases.setdefault((item.path, item.nodeid.split("[")[0]), []).append(item)
    left_out: set[pytest.Item] = set()
    for same in cases.values():
        count = same[0].get_closest_marker("sample").args[0]
        sampled = {same[len(same) * place // count] for place in range(count)}
        left_out.update(item for item in same if item not in sampled)
    return left_out


def _named(config: pytest.Config) -> set[Path]:
    """Returns the files that the command line names, alone or before ``::``."""
    paths = [config.invocation_params.dir / argument.split("::")[0] for argument in config.args]
    return {path.resolve() for path in paths if path.is_file()}
