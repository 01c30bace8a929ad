"""Runs JAX's own tests on platform ``tt`` and writes docs/conformance-jax.md.

    python -m conformance.run_jax [--tests DIR] [--sample N] [--files NAME ...] [--work DIR]

DIR is a checkout of jax-ml/jax at the tag of the installed version; without it, the repository is cloned into the work
folder. Numerics are ``exact`` and x64 is off. A test counts if it passes on JAX's CPU backend. Tests that fail on
``tt`` run on the CPU backend too; tests that pass on ``tt`` are assumed to pass there. Tests that known_failures.toml
declares are run as well, and must fail. Files about several devices run on an emulated n300-llmbox, with eight chips.
"""

from __future__ import annotations

import argparse
import collections
import importlib.metadata
import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).parent
TABLE = HERE.parent / "docs" / "conformance-jax.md"
KNOWN = HERE / "known_failures.toml"
FILES = """
    lax_test lax_numpy_test lax_numpy_operators_test lax_numpy_reducers_test lax_numpy_indexing_test nn_test
    lax_control_flow_test random_test api_test aot_test export_test dtypes_test ann_test fft_test
    linalg_test image_test lax_scipy_test
""".split()  # noqa: SIM905
FILES_OF_EIGHT_DEVICES = "array_test shard_map_test pjit_test shard_alike_test layout_test".split()  # noqa: SIM905
MAX_CRASHES = 20
"""Number of times that a file's tests are started again after the process died."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tests", type=Path, help="checkout of jax-ml/jax; cloned if left out")
    parser.add_argument("--sample", type=int, default=60, help="tests per file; 0 for all")
    parser.add_argument("--files", nargs="*", default=FILES + FILES_OF_EIGHT_DEVICES, help="names of JAX's test files")
    parser.add_argument("--work", type=Path, default=Path("build/conformance-jax"), help="folder of results and logs")
    parser.add_argument("--no-table", action="store_true", help="print the table and do not write the document")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    tests = options.tests or clone(options.work)
    known = tomllib.loads(KNOWN.read_text())
    rows, wrong = [], []
    for name in options.files:
        path = tests / "tests" / f"{name}.py"
        row, mistakes = compare(name, path, options.work, options.sample, known.get(name, {}))
        print(row, flush=True)
        rows.append(row)
        wrong += [f"{name}: {mistake}" for mistake in mistakes]
    table = render(rows, options.sample)
    if options.no_table:
        print(table)
    else:
        TABLE.write_text(table)
    if wrong:
        sys.exit("\n".join(wrong))


def clone(work: Path) -> Path:
    """Clones JAX's repository at the tag of the installed version, and returns the folder."""
    tag = f"jax-v{importlib.metadata.version('jax')}"
    target = work.absolute() / tag
    if not target.exists():
        url = "https://github.com/jax-ml/jax"
        subprocess.run(["git", "clone", "-q", "--depth", "1", "--branch", tag, url, str(target)], check=True)
    return target


def compare(
    name: str, path: Path, work: Path, sample: int, known: dict[str, str]
) -> tuple[dict[str, object], list[str]]:
    """Runs the tests of a file.

    Args:
        name: Name of the file, without folder and ending.
        path: Path of the file.
        work: Folder of results and logs.
        sample: Number of tests to run; 0 for all.
        known: Declared failures: reasons by test.

    Returns:
        A row of the table, and a line for each result that contradicts the declared failures.
    """
    on_tt = run(path, work / f"{name}.tt.jsonl", "tt,cpu", sample, None)
    passed = {test for test, result in on_tt.items() if result["outcome"] == "passed"}
    others = work / f"{name}.others"
    others.write_text("\n".join(sorted(set(on_tt) - passed)))
    on_cpu = run(path, work / f"{name}.cpu.jsonl", "cpu", 0, others) if passed < set(on_tt) else {}
    passing = passed | {test for test in on_tt if on_cpu.get(test, {}).get("outcome") == "passed"}
    # These tests skip tt themselves, for instance because they need 8 devices.
    skipped = {test for test in passing if on_tt[test]["outcome"] == "skipped"}
    passing -= skipped
    failing = passing - passed
    declared = {test for test in passing if test in known}
    mistakes = [f"{test} failed" for test in sorted(failing - declared)]
    mistakes += [f"{test} passed, and is declared to fail" for test in sorted(declared - failing)]
    row = {
        "file": name,
        "sampled": len(on_tt),
        "cpu": len(passing) + len(skipped),
        "skipped": len(skipped),
        "tt": len(passing) - len(failing),
        "declared": len(declared),
    }
    return row, mistakes


def run(path: Path, results: Path, platforms: str, sample: int, only: Path | None) -> dict[str, dict[str, str]]:
    """Runs the tests of a file in a process, and returns their results by test.

    If the process dies, it is started again for the tests after the one that it was running.

    Args:
        path: The file of tests.
        results: File that receives one JSON object for each test.
        platforms: Value of ``JAX_PLATFORMS``.
        sample: Number of tests to run; 0 for all.
        only: File with the names of the tests to run; None for all.
    """
    environment = os.environ | {
        "JAX_PLATFORMS": platforms,
        "JAX_ENABLE_X64": "0",
        "JAX_NUM_GENERATED_CASES": "10",
        "TTXLA_NUMERICS": "exact",
        "TTXLA_SYSTEM": "n300-llmbox" if path.stem in FILES_OF_EIGHT_DEVICES else "n150",
        "CONFORMANCE_RESULTS": str(results.absolute()),
        "CONFORMANCE_SAMPLE": str(sample),
        "PYTHONPATH": os.pathsep.join(filter(None, [str(HERE), os.environ.get("PYTHONPATH", "")])),
    }
    if only is not None:
        environment["CONFORMANCE_ONLY"] = str(only.absolute())
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "record",
        "-p",
        "no:cacheprovider",
        "-q",
        "--no-header",
        "--tb=short",
    ]
    command += ["-W", "ignore", "--rootdir", str(path.parent), "-c", os.devnull, str(path)]
    marker = results.with_suffix(".running")
    for _ in range(MAX_CRASHES):
        marker.unlink(missing_ok=True)
        with results.with_suffix(".log").open("a") as log:
            code = subprocess.run(
                command, env=environment, stdout=log, stderr=log, cwd=path.parent, check=False
            ).returncode
        if code >= 0 or not marker.exists():
            break
        with results.open("a") as file:
            entry = {"name": marker.read_text(), "outcome": "died", "reason": f"signal {-code}"}
            file.write(json.dumps(entry) + "\n")
    lines = results.read_text().splitlines() if results.exists() else []
    return {entry["name"]: entry for entry in map(json.loads, lines)}


def render(rows: list[dict[str, object]], sample: int) -> str:
    """Returns the document."""
    eight = [row for row in rows if row["file"] in FILES_OF_EIGHT_DEVICES]
    sums = [_sum(eight, "several devices")] if eight else []
    lines = [
        "# JAX's own tests on platform `tt`",
        "",
        f"Written by `make conformance-jax` with JAX {importlib.metadata.version('jax')}, numerics `exact`, no x64 and "
        + (f"a fixed sample of {sample} tests a file." if sample else "all tests."),
        f"Files about several devices ({', '.join(FILES_OF_EIGHT_DEVICES)}) run on an emulated n300-llmbox. "
        "A test counts if it passes on JAX's CPU backend and does not skip `tt` itself. "
        "A test that passes on `tt` is assumed to pass on the CPU backend and is not run there. "
        "`conformance/known_failures.toml` declares failures with their reasons; they are run, and must fail.",
        "",
        "| tests | run | pass on JAX's CPU | skip `tt` | pass on `tt` | declared to fail | share |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in [*rows, *sums, _sum(rows, "all")]:
        share = 100 * int(str(row["tt"])) / max(1, int(str(row["cpu"])) - int(str(row["skipped"])))
        lines.append(
            "| {file} | {sampled} | {cpu} | {skipped} | {tt} | {declared} | {share:.1f} % |".format(**row, share=share)
        )
    lines += [
        "",
        '`SAMPLE=0` runs all tests, and `FILES="shard_map_test pjit_test"` prints the rows of some files without '
        "writing this page.",
    ]
    return "\n".join([*lines, ""])


def _sum(rows: list[dict[str, object]], name: str) -> dict[str, object]:
    """Returns a row of the table with the sums of some rows."""
    total: collections.Counter[str] = collections.Counter()
    for row in rows:
        total.update({key: int(str(value)) for key, value in row.items() if key != "file"})
    return {"file": name, **total}


if __name__ == "__main__":
    main()
