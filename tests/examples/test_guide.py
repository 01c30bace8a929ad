"""A program written as upstream's performance guide recommends runs, and its options take effect.

The guide's own listing runs too, unmodified, where TTXLA_PERFORMANCE_GUIDE names a copy of the guide.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parents[2] / "examples/pytorch/mnist_performant.py"


def upstream_listing(guide):
    """Returns the source of the guide's example: from its licence header to the end of its main block."""
    text = Path(guide).read_text()
    start = text.index("# SPDX-FileCopyrightText")
    end = re.search(r'^if __name__ == "__main__":\n(?:[ ].*\n|\n)+', text[start:], re.MULTILINE).end() + start
    return text[start:end]


@pytest.fixture(params=["program", "guide"])
def listing(request, tmp_path):
    if request.param == "program":
        return PROGRAM
    guide = os.environ.get("TTXLA_PERFORMANCE_GUIDE")
    if not guide:
        pytest.skip("TTXLA_PERFORMANCE_GUIDE names no copy of upstream's performance guide")
    path = tmp_path / "listing.py"
    path.write_text(upstream_listing(guide))
    return path


def _run(path, **environment):
    return subprocess.run(
        [sys.executable, str(path)], capture_output=True, text=True, env=os.environ | environment, timeout=300
    )


def test_listing_runs_with_the_options_it_sets(listing):
    """The log shows block-float weights, tensors in L1 (level 2), and that the trace was captured and replayed."""
    run = _run(listing, TTXLA_LOGGER_LEVEL="DEBUG")
    assert run.returncode == 0, run.stderr
    lines = run.stdout.splitlines()
    assert [line.split(" took:")[0] for line in lines[:-1]] == [f"Iteration {index}" for index in range(128)]
    assert re.fullmatch(r"Average throughput: \d+ samples/second", lines[-1])
    assert "bfp_bf8" in run.stderr
    assert "ttnn.capture_or_execute_trace" in run.stderr
    assert "#l1 = #ttnn.buffer_type<l1>" in run.stderr


def test_trace_region_too_small(listing, tmp_path):
    small = tmp_path / "small.py"
    small.write_text(listing.read_text().replace('"10000000"', '"1000"'))
    run = _run(small)
    assert run.returncode != 0
    assert "TT_RUNTIME_TRACE_REGION_SIZE to at least" in run.stderr
