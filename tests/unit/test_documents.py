"""Checks that the documents name files and sections that exist."""

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.quick

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
ARCHITECTURE = [ROOT / "docs/architecture.md", *sorted((ROOT / "docs/architecture").glob("*.md"))]
SOURCES = {path.relative_to(ROOT).as_posix() for path in (ROOT / "src").rglob("*") if "__pycache__" not in path.parts}
OTHER_FILES = {"pyproject.toml"}
LONGEST_CELL = 240
"""Characters in a table cell of the architecture: two lines of 120."""


def anchors(document: Path) -> set[str]:
    """Returns the anchors that GitHub gives to the headings of a document."""
    headings = re.findall(r"^#+ (.+)$", document.read_text(), flags=re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(document):
    broken = []
    for target in re.findall(r"\]\(([^)\s]+)\)", document.read_text()):
        name, _, anchor = target.partition("#")
        path = (document.parent / name).resolve() if name else document
        if target.startswith(("http://", "https://")):
            continue
        if not path.exists() or (anchor and anchor not in anchors(path)):
            broken.append(target)
    assert not broken


@pytest.mark.parametrize("document", ARCHITECTURE, ids=lambda path: path.name)
def test_files_that_the_architecture_names_exist(document):
    names = re.findall(r"`([\w./]+(?:\.(?:py|c|hpp)|/))`", document.read_text())
    missing = [name for name in names if name not in OTHER_FILES and not _exists(name)]
    assert not missing


def _exists(name: str) -> bool:
    ending = "/" + name.removesuffix("/")
    return (ROOT / name).exists() or any(("/" + source).endswith(ending) for source in SOURCES)


@pytest.mark.parametrize("document", ARCHITECTURE, ids=lambda path: path.name)
def test_cells_of_tables_are_short(document):
    rows = [line for line in document.read_text().splitlines() if line.startswith("|")]
    assert not [cell for row in rows for cell in row.split(" | ") if len(cell) > LONGEST_CELL]


def test_no_page_and_no_hint_installs_this_package_from_an_index():
    """It is on none: pages install a clone (``pip install .``), and hints name the package that is missing."""
    texts = [*DOCUMENTS, *(ROOT / "src").rglob("*.py")]
    commands = {path: re.findall(r"pip install[^`\n]*\btt-xla\b[^`\n]*", path.read_text()) for path in texts}
    assert {path.name: found for path, found in commands.items() if found} == {}
