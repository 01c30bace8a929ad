"""Rules about the repository itself."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def _sources():
    return sorted((ROOT / "src").rglob("*.py"))


def _python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("module", ["tt_xla", "tt_xla.runtime", "tt_xla.compiler", "tt_xla.tools.cli", "tt_xla.target"])
def test_import_is_light(module):
    """The heavy frameworks come in when something needs them, not before."""
    heavy = _python(f"import {module}, sys; print([m for m in ('torch', 'jax', 'xdsl', 'numpy') if m in sys.modules])")
    assert heavy.strip() == "[]"


def test_import_order():
    run = subprocess.run(
        [Path(sys.executable).parent / "lint-imports"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout


def test_files_stay_readable():
    long = [path for path in (ROOT / "src").rglob("*.py") if len(path.read_text().splitlines()) > 600]
    assert not long


def test_properties_are_read_as_fields():
    """``op.value(name)`` is for names that are computed; a literal name is read as ``op.<field>``, which is typed."""
    literal = re.compile(r"""\.value\(\s*["']""")
    readers = [str(path.relative_to(ROOT)) for path in _sources() if literal.search(path.read_text())]
    assert not readers
