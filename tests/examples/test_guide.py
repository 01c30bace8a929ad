"""The code of docs/performance.md runs, and the options of its program, which follows upstream's guide, take effect.

The guide's own listing runs too, unmodified, where TTXLA_PERFORMANCE_GUIDE names a copy of the guide.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from docs.checks import follow_pages

PAGE = follow_pages.ROOT / "docs/performance.md"
RUNS = 16
"""Runs to time in the page's program, which has 128 of them."""


def upstream_listing(guide):
    """Returns the source of the guide's example: from its licence header to the end of its main block."""
    text = Path(guide).read_text()
    start = text.index("# SPDX-FileCopyrightText")
    end = re.search(r'^if __name__ == "__main__":\n(?:[ ].*\n|\n)+', text[start:], re.MULTILINE).end() + start
    return text[start:end]


@pytest.fixture(params=["page", "guide"])
def listing(request, tmp_path):
    path = tmp_path / "listing.py"
    if request.param == "page":
        script = follow_pages.read_page(PAGE).script
        assert script.count("\nRUNS = 128\n") == 1
        path.write_text(script.replace("\nRUNS = 128\n", f"\nRUNS = {RUNS}\n"))
        return path, RUNS
    guide = os.environ.get("TTXLA_PERFORMANCE_GUIDE")
    if not guide:
        pytest.skip("TTXLA_PERFORMANCE_GUIDE names no copy of upstream's performance guide")
    path.write_text(upstream_listing(guide))
    return path, 128


def _run(path, **environment):
    return subprocess.run(
        [sys.executable, str(path)],
        capture_output=True,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"} | environment,
        timeout=300,
    )


@pytest.mark.nightly
def test_listing_runs_with_the_options_it_sets(listing):
    """The log shows block-float weights, tensors in L1 (level 2), and that the trace was captured and replayed."""
    path, runs = listing
    run = _run(path, TTXLA_LOGGER_LEVEL="DEBUG")
    assert run.returncode == 0, run.stderr
    lines = run.stdout.splitlines()
    assert [line.split(" took:")[0] for line in lines[:-1]] == [f"Iteration {index}" for index in range(runs)]
    assert re.fullmatch(r"Average throughput: \d+ samples/second", lines[-1])
    assert "bfp_bf8" in run.stderr
    assert "ttnn.capture_or_execute_trace" in run.stderr
    assert "#l1 = #ttnn.buffer_type<l1>" in run.stderr


@pytest.mark.nightly
def test_trace_region_too_small(listing, tmp_path):
    small = tmp_path / "small.py"
    small.write_text(listing[0].read_text().replace('"10000000"', '"1000"'))
    run = _run(small)
    assert run.returncode != 0
    assert "TT_RUNTIME_TRACE_REGION_SIZE to at least" in run.stderr
