"""Runs tt-metal's unit tests of operations on the emulated card and writes the counts into docs/ttnn_api.md.

    python -m conformance.run_ttnn CHECKOUT [--goldens FOLDER] [--sample N] [--each-file N] [--seed S]
        [--families "reduction"] [--document FILE]

CHECKOUT is a checkout of tenstorrent/tt-metal. FOLDER has an installed ``ttnn``, whose golden functions judge results.
A failure that ``ttnn_known_failures.toml`` declares is run too, and must fail.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from docs.tables import write_between_marks

HERE = Path(__file__).parent
FOLDER = "tests/ttnn/unit_tests/operations"
FAMILIES = {
    "pointwise": ["eltwise/test_*.py", "eltwise/complex/test_*.py"],
    "gradients": ["eltwise/backward/test_*.py", "eltwise/backward/complex_ops/test_*.py"],
    "reduction": ["reduce/test_*.py"],
    "products": ["matmul/test_*.py"],
    "normalization and fused": ["fused/test_*.py"],
    "convolution": ["conv/test_*.py", "conv/data_movement/test_*.py"],
    "pooling": ["pool/test_*.py"],
    "moreh": ["test_moreh_*.py"],
    "data movement and others": ["data_movement/test_*.py", "rand/test_*.py", "test_*.py"],
}
"""Files of each family of tests; a file belongs to the first family that names it."""

_SEVERAL_CHIPS = re.compile(r"t3k|t3000|_TG|galaxy|prefetcher|distributed|all_gather|point_to_point|6u")
"""Files whose tests need several chips, or cores that dispatch work."""

_REFUSED = ("incompatible function arguments", "Invoked with types", "TT-NN has no such name")
"""What failures say whose call the release of the signatures refuses."""


def files_by_family(checkout: Path) -> Mapping[str, Sequence[Path]]:
    """Returns the files of each family that apply to one chip."""
    taken: set[Path] = set()
    families: dict[str, list[Path]] = {}
    for family, patterns in FAMILIES.items():
        found = [path for pattern in patterns for path in sorted((checkout / FOLDER).glob(pattern))]
        families[family] = [path for path in found if path not in taken and not _SEVERAL_CHIPS.search(path.name)]
        taken.update(found)
    return families


def outcomes_of(
    checkout: Path, files: Sequence[Path], sample: Mapping[str, str], goldens: str
) -> tuple[list[dict[str, str]], str]:
    """Runs tests. Returns a record of each, and what pytest printed."""
    with tempfile.TemporaryDirectory() as scratch:
        results = Path(scratch, "results.jsonl")
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join([str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])]),
            "TTXLA_SYSTEM": os.environ.get("TTXLA_SYSTEM", "p150"),
            "TTNN_GOLDENS": goldens,
            "CONFORMANCE_RESULTS": str(results),
            "CONFORMANCE_SECONDS": "30",
            **sample,
        }
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--noconftest", "-p", "record"]
        command += ["-p", "ttnn_plugin", "--continue-on-collection-errors", f"--rootdir={checkout}", "-o", "addopts="]
        command += ["--import-mode=importlib"]
        # Run elsewhere: the checkout has a folder named ttnn, which would be imported.
        done = subprocess.run(
            [*command, *map(str, files)], cwd=scratch, env=environment, capture_output=True, text=True, check=False
        )
        lines = results.read_text().splitlines() if results.exists() else []
        return [json.loads(line) for line in lines], done.stdout + done.stderr


def declared(name: str, reason: str, known: Mapping[str, str]) -> bool:
    """Returns whether a failure is declared: a pattern matches the test's name, or the last lines of the failure."""
    return any(re.search(pattern, name) or re.search(pattern, reason) for pattern in known)


def _shown(reason: str) -> str:
    """Returns the line of a failure that says what happened."""
    lines = reason.strip().splitlines() or [""]
    return next((line for line in lines if line.startswith("E ")), lines[-1])[:200]


def counts(records: Sequence[dict[str, str]], known: Mapping[str, str]) -> tuple[Counter[str], list[str]]:
    """Returns how many tests have each outcome, and the names of the failures that nothing excuses."""
    total: Counter[str] = Counter()
    failures: list[str] = []
    for record in records:
        name, outcome = record["name"], record["outcome"]
        if outcome == "failed":
            if any(words in record["reason"] for words in _REFUSED):
                outcome = "of another release"
            elif declared(name, record["reason"], known):
                outcome = "declared"
            else:
                failures.append(f"{name}: {_shown(record['reason'])}")
        elif outcome == "passed" and any(re.search(pattern, name) for pattern in known):
            failures.append(f"{name}: passes, although it is declared to fail")
        total[outcome] += 1
    return total, failures


@click.command(help=__doc__)
@click.argument("checkout", type=click.Path(path_type=Path, exists=True))
@click.option("--goldens", default="", help="Folder with an installed ttnn.")
@click.option("--sample", default=150, show_default=True, help="Tests of each family; 0 for all.")
@click.option("--each-file", default=0, show_default=True, help="Tests of each file; 0 for all.")
@click.option("--seed", default="", help="Chooses another sample.")
@click.option("--families", default="", help="Names of the families to run, by words.")
@click.option("--document", type=click.Path(path_type=Path, exists=True), help="Write the table into this document.")
def main(
    checkout: Path, goldens: str, sample: int, each_file: int, seed: str, families: str, document: Path | None
) -> None:
    known: dict[str, str] = tomllib.loads((HERE / "ttnn_known_failures.toml").read_text())["declared"]
    lines = [
        "| tests | run | pass | of another release | declared | fail | skipped by tt-metal |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    chosen = {
        "CONFORMANCE_SAMPLE": str(sample),
        "CONFORMANCE_EACH_FILE": str(each_file),
        "CONFORMANCE_SEED": seed,
    }
    failures: list[str] = []
    missing: list[str] = []
    sums: Counter[str] = Counter()
    for family, files in files_by_family(checkout.resolve()).items():
        if families and not any(word in family for word in families.split()):
            continue
        records, printed = outcomes_of(checkout.resolve(), files, chosen, goldens)
        total, missed = counts(records, known)
        failures += missed
        missing += [line for line in printed.splitlines() if line.startswith("ERROR ")]
        sums += total
        lines.append(row(family, total))
    lines.append(row("all", sums))
    table = "\n".join(lines)
    click.echo("\n".join([table, *(f"failed: {failure}" for failure in failures), *missing]))
    if document is not None:
        write_between_marks(document, "conformance-ttnn", table)
    raise SystemExit(bool(failures))


def row(family: str, total: Counter[str]) -> str:
    """Returns a row of the table."""
    run = sum(total.values()) - total["skipped"]
    columns = [total[name] for name in ("passed", "of another release", "declared", "failed", "skipped")]
    return f"| {family} | {run} | {' | '.join(map(str, columns))} |"


if __name__ == "__main__":
    main()
