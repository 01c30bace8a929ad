"""The performance guide's listing, taken from the requirement document as it stands there, runs unmodified."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

GUIDE = Path(__file__).parents[3] / "shared" / "requirements" / "performance_guide_with_example.txt"


@pytest.fixture
def listing(tmp_path):
    if not GUIDE.exists():
        pytest.skip(f"the performance guide is not at {GUIDE}; this project holds no copy of it")
    text = GUIDE.read_text()
    start = text.index("# SPDX-FileCopyrightText")
    end = re.search(r'^if __name__ == "__main__":\n(?:[ ].*\n|\n)+', text[start:], re.MULTILINE).end() + start
    path = tmp_path / "listing.py"
    path.write_text(text[start:end])
    return path


def _run(path, **environment):
    return subprocess.run(
        [sys.executable, str(path)], capture_output=True, text=True, env=os.environ | environment, timeout=300
    )


def test_listing_runs(listing):
    run = _run(listing)
    assert run.returncode == 0, run.stderr
    lines = run.stdout.splitlines()
    assert [line.split(" took:")[0] for line in lines[:-1]] == [f"Iteration {index}" for index in range(128)]
    assert re.fullmatch(r"Average throughput: \d+ samples/second", lines[-1])


def test_listing_uses_the_options_it_sets(listing, tmp_path):
    """The log of a run shows level 2, the block-float weights, and that the trace was captured and replayed."""
    run = _run(listing, TTXLA_LOGGER_LEVEL="DEBUG")
    assert run.returncode == 0, run.stderr
    assert "bfp_bf8" in run.stderr
    assert "ttnn.capture_or_execute_trace" in run.stderr
    assert "#l1 = #ttnn.buffer_type<l1>" in run.stderr


def test_trace_region_too_small(listing):
    small = listing.with_name("small.py")
    small.write_text(listing.read_text().replace('"10000000"', '"1000"'))
    run = _run(small)
    assert run.returncode != 0
    assert "TT_RUNTIME_TRACE_REGION_SIZE to at least" in run.stderr
