"""Compares the compile time of the digits network, StableHLO to a loadable Program, with upstream's compiler.

Each measurement is a fresh process, as a user has it; both compilers take turns, so that other load affects them
equally. Upstream's compiler is the script that ``TTXLA_REFERENCE_COMPILER`` names, which prints ``compile_seconds``.
"""

import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

import pytest

ROUNDS = 7
REFERENCE = Path(
    os.environ.get(
        "TTXLA_REFERENCE_COMPILER", Path(__file__).parent.parent.parent / "shared" / "tools" / "reference_compile.py"
    )
)


def _seconds(command):
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(run.stdout.splitlines()[-1])["compile_seconds"]


def _ours(path, level):
    return _seconds([sys.executable, "-m", "tt_xla", "compile", str(path), "--level", str(level), "--json"])


@pytest.mark.parametrize("level", [0, 1, 2])
@pytest.mark.benchmark(group="compile, warm process")
def test_compile(benchmark, network_mlir, level):
    from tt_xla.compiler import compile_module, parse_module
    from tt_xla.options import CompileOptions
    from tt_xla.target import load_target

    options, target = CompileOptions.parse({"optimization_level": level}), load_target("n150")
    text = network_mlir.read_bytes()

    def fresh_module():
        return (parse_module(text), options, target), {}

    program = benchmark.pedantic(compile_module, setup=fresh_module, rounds=20, warmup_rounds=1)
    assert program.predicted_device_us > 0


def test_beside_the_reference(network_mlir, capsys, request):
    if not request.config.getoption("benchmark_enable"):
        pytest.skip("a benchmark: run `make bench`")
    if not REFERENCE.exists():
        pytest.skip(f"no reference compiler at {REFERENCE}; name one in TTXLA_REFERENCE_COMPILER")
    seconds = {name: [] for name in ("reference, level 0", "level 0", "level 1", "level 2")}
    for _ in range(ROUNDS):
        command = [sys.executable, str(REFERENCE), "--arch", "n150", "--level", "0", "--json", str(network_mlir)]
        seconds["reference, level 0"].append(_seconds(command))
        for level in range(3):
            seconds[f"level {level}"].append(_ours(network_mlir, level))
    reference = statistics.median(seconds["reference, level 0"])
    with capsys.disabled():
        print(f"\ncompile time of the digits network, fresh processes in turn, median of {ROUNDS}")
        for name, durations in seconds.items():
            median = statistics.median(durations)
            print(f"  {name:20s} {median * 1e3:7.1f} ms   {median / reference:5.2f} x the reference")
