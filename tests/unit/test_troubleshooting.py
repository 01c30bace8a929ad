"""Each message of docs/troubleshooting.md is one that a program prints."""

import re
from importlib.util import find_spec
from pathlib import Path

import pytest

pytestmark = pytest.mark.quick

ROOT = Path(__file__).resolve().parents[2]
OTHERS = ("jax/_src/xla_bridge.py", "torch/_dynamo/exc.py", "torch/_tensor.py", "tt_perf_report/perf_report.py")
"""Files of other packages whose messages the page has."""
ELSEWHERE = ("tt-metal's", "upstream's", "files of two")
"""How the cause of a message begins that only a card or upstream prints."""
VARYING = re.compile(r"\.\.\.|'[^']*'|<[^>]*>|\bN\b")


def sources() -> str:
    """Returns the text of all sources, with adjoining literals joined and without placeholders."""
    paths = [*(ROOT / "src").rglob("*.py"), ROOT / "src/tt_xla/frontends/jax/pjrt/trampoline.c"]
    for name in OTHERS:
        package, _, file = name.partition("/")
        spec = find_spec(package)
        if spec is None or not spec.submodule_search_locations:
            pytest.skip(f"{package} is not installed")
        paths.append(Path(spec.submodule_search_locations[0]) / file)
    text = "\n".join(path.read_text() for path in paths)
    return re.sub(r"\{[^{}]*\}", "", re.sub(r'"\s*\n\s*f?"', "", text))


def messages(page: str) -> list[str]:
    """Returns the messages of the table that are printed by what is installed here."""
    rows = [line.split(" | ") for line in page.splitlines() if line.startswith("| ") and " | " in line]
    return [
        message
        for cell, cause, *_ in rows
        if not cause.startswith(ELSEWHERE)
        for message in re.findall(r"`([^`]+)`", cell)
    ]


def missing(page: str, text: str) -> list[tuple[str, str]]:
    """Returns the messages with the part that the sources lack."""
    parts = [(message, part.strip(" :;,.")) for message in messages(page) for part in VARYING.split(message)]
    return [(message, part) for message, part in parts if len(part) > 3 and part not in text]


def test_messages_are_those_of_the_sources() -> None:
    text = sources()
    page = (ROOT / "docs/troubleshooting.md").read_text()
    assert len(messages(page)) > 20
    assert missing(page, text) == []
    assert missing("| `Card ... is on fire` | heat | water |", text) == [("Card ... is on fire", "is on fire")]
