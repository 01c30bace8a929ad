"""Runs pytorch/xla's own tests on emulated chips and writes docs/conformance-torch-xla.md.

    python -m conformance.run_torch_xla CHECKOUT [--packages FOLDER] [--files "spmd/* test_operations.py"] [--sample N]
        [--jobs N] [--again] [--systems "n150 n300-llmbox"] [--work FOLDER] [--document FILE]

CHECKOUT is a checkout of pytorch/xla, and FOLDER has packages that its tests import and that are not installed, such as
parameterized and torchvision. Nothing is fetched. Each file runs in processes of its own. Results stay in the
work folder, and only tests without a result are run; ``--again`` also runs those that failed.
``torch_xla_tests.toml`` declares tests that do not apply, which are not run, and known failures, which must fail.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import click

from conformance.torch_xla_suite import DECLARED as DECLARED_TESTS
from conformance.torch_xla_suite import Declarations, files_of_tests, load, matches, reason_of, static_names
from docs.tables import write_between_marks

HERE = Path(__file__).parent
ONE_CHIP, SEVERAL_CHIPS = SYSTEMS = ("n150", "n300-llmbox")
LOADING = "(loading)"
MAX_CRASHES = 30
"""Number of times that a file's tests are started again after the process died."""


@dataclass(frozen=True)
class Run:
    """Where the suite is, and how its tests are run."""

    checkout: Path
    work: Path
    declarations: Declarations
    declared: Path = DECLARED_TESTS
    packages: str = ""
    sample: int = 0
    seconds: int = 60
    """Limit of processor time for each test."""
    wall_factor: int = 5
    """How many times as long a test may take in all."""

    def results(self, file: str, system: str) -> Path:
        """Returns the file of the results of a file of tests."""
        return self.work / system / (file.removesuffix(".py").replace("/", ".") + ".jsonl")

    def records(self, file: str, system: str) -> dict[str, dict[str, str]]:
        """Returns the record of each test of a file that has been run."""
        path = self.results(file, system)
        lines = path.read_text().splitlines() if path.exists() else []
        names = self.names(file)
        return {record["name"]: record for record in map(json.loads, lines) if record["name"] in names}

    def names(self, file: str) -> list[str]:
        """Returns the tests of a file: as its last run found them, or as they can be read without running it."""
        for system in SYSTEMS:
            path = self.results(file, system).with_suffix(".names")
            if path.exists():
                return json.loads(path.read_text())
        return static_names(self.checkout / "test" / file)

    def systems_of(self, file: str) -> Sequence[str]:
        """Returns the systems on which a file runs."""
        return SYSTEMS if matches(file, self.declarations.several_devices) else (ONE_CHIP,)

    def applying(self, file: str, system: str) -> list[str]:
        """Returns the tests of a file that apply."""
        return [name for name in self.names(file) if self.declarations.applies(file, name, system)]

    def run_file(self, file: str, system: str) -> None:
        """Runs the tests of a file that apply and have no result. After a crash, the tests that follow are run."""
        for _ in range(MAX_CRASHES):
            expected = min(len(self.applying(file, system)), self.sample or sys.maxsize)
            before = len(self.records(file, system))
            known = self.results(file, SYSTEMS[0]).with_suffix(".names").exists() or before
            if not self.applying(file, system) or (known and before >= expected):
                return
            end = self._run_process(file, system)
            marker = self.results(file, system).with_suffix(".running")
            if marker.exists():
                self._record_death(file, system, marker.read_text(), end)
                marker.unlink()
            elif len(self.records(file, system)) == before:
                return

    def _record_death(self, file: str, system: str, test: str, end: str) -> None:
        names = static_names(self.checkout / "test" / file) if test == LOADING else [test]
        with self.results(file, system).open("a") as results:
            for name in names:
                results.write(json.dumps({"name": name, "outcome": "failed", "reason": end}) + "\n")

    def _run_process(self, file: str, system: str) -> str:
        """Runs a process for the tests of a file. Returns how it ended."""
        results = self.results(file, system)
        results.parent.mkdir(parents=True, exist_ok=True)
        root, own = HERE.parent, os.environ.get("PYTHONPATH", "")
        seconds = self.declarations.seconds.get(file, self.seconds)
        limit = self.wall_factor * seconds
        environment = os.environ | {
            "PJRT_DEVICE": "TT",
            "TTXLA_NUMERICS": "exact",
            "TTXLA_SYSTEM": system,
            "CONFORMANCE_RESULTS": str(results.absolute()),
            "CONFORMANCE_DECLARED": str(self.declared.absolute()),
            "CONFORMANCE_SAMPLE": str(self.sample),
            "CONFORMANCE_SECONDS": str(seconds),
            "CONFORMANCE_WALL_SECONDS": str(limit),
            "PYTHONPATH": os.pathsep.join(filter(None, [str(root / "src"), own, self.packages])),
            **self.declarations.environment.get(file, {}),
        }
        command = [sys.executable]
        if matches(file, self.declarations.torchrun):
            processes = 1 if system == ONE_CHIP else 2
            command += ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"]
        command += [str(HERE / "torch_xla_child.py"), str(self.checkout), file]
        command += self.declarations.arguments.get(file, [])
        marker = results.with_suffix(".running")
        marker.unlink(missing_ok=True)
        with tempfile.TemporaryDirectory() as scratch, results.with_suffix(".log").open("a") as log:
            process = subprocess.Popen(
                command, cwd=scratch, env=environment, stdout=log, stderr=log, start_new_session=True
            )
            began = time.time()
            while process.poll() is None:
                time.sleep(0.2)
                changes = [path.stat().st_mtime for path in (results, marker) if path.exists()]
                if time.time() - max([began, *changes]) > 1.5 * limit + 1:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
                    return f"the test took more than {limit} s, and the process was ended"
        return f"the process died with exit status {process.returncode}"

    def forget_failures(self, files: Iterable[str], systems: Iterable[str]) -> None:
        """Removes the results of tests that failed, and of files that could not be loaded."""
        for file in files:
            for system in systems:
                path = self.results(file, system)
                kept = [each for each in self.records(file, system).values() if each["outcome"] != "failed"]
                if path.exists():
                    path.write_text("".join(json.dumps(each) + "\n" for each in kept))


@dataclass
class Counts:
    """Outcomes of tests on each system."""

    tests: int = 0
    not_applicable: int = 0
    outcomes: dict[str, Counter[str]] = field(default_factory=dict)

    def add(self, other: Counts) -> None:
        """Adds the outcomes of other tests."""
        self.tests += other.tests
        self.not_applicable += other.not_applicable
        for system, outcomes in other.outcomes.items():
            self.outcomes.setdefault(system, Counter()).update(outcomes)

    def row(self, name: str) -> str:
        """Returns a row of the table."""
        cells = [name, str(self.tests), str(self.not_applicable)]
        for system in SYSTEMS:
            outcomes = self.outcomes.get(system, Counter())
            run = outcomes["passed"] + outcomes["failed"]
            share = f"{100 * outcomes['passed'] / run:.1f} %" if run else ""
            columns = [str(outcomes[each]) for each in ("skipped", "passed", "failed")]
            cells += [*columns, share] if system in self.outcomes else ["", "", "", ""]
        return f"| {' | '.join(cells)} |"


def count(run: Run, file: str, systems: Iterable[str]) -> tuple[Counts, list[str]]:
    """Returns the outcomes of a file's tests, and a line for each result that contradicts the declarations."""
    names = run.names(file)
    anywhere = {name for system in run.systems_of(file) for name in run.applying(file, system)}
    counts, mistakes = Counts(len(names), len(names) - len(anywhere)), []
    for system in [each for each in run.systems_of(file) if each in systems]:
        records = run.records(file, system)
        outcomes = Counter(skipped=len(anywhere) - len(run.applying(file, system)))
        applying = run.applying(file, system)
        if (missing := len(applying) - len(records.keys() & set(applying))) and not run.sample:
            outcomes["without result"] = missing
            mistakes.append(f"{system} {file}: {missing} tests have no result")
        for name in [each for each in applying if each in records]:
            record = records[name]
            outcomes[record["outcome"]] += 1
            known = reason_of(run.declarations.known_failures, file, name, system)
            if record["outcome"] == "failed" and known is None:
                mistakes.append(f"{system} {file}::{name} failed: {shown(record['reason'])}")
            elif record["outcome"] == "passed" and known is not None:
                mistakes.append(f"{system} {file}::{name} passed, and is declared to fail")
        counts.outcomes[system] = outcomes
    return counts, mistakes


def shown(reason: str) -> str:
    """Returns the line of a failure that says what happened."""
    lines = reason.strip().splitlines() or [""]
    errors = [line for line in lines if re.match(r"[\w.]+(Error|Exception): ", line)]
    return [*lines, *errors][-1][:300]


def unused(run: Run, files: Sequence[str]) -> list[str]:
    """Returns the globs of declarations that match no test."""
    tests = [(file, name) for file in files for name in run.names(file)]
    return [
        f"{glob}: the declaration matches no test"
        for each in [*run.declarations.not_applicable, *run.declarations.known_failures]
        for glob in each.tests
        if not any(type(each)(each.reason, [glob]).names(file, name, ONE_CHIP) for file, name in tests)
    ]


def reasons(run: Run, files: Sequence[str]) -> str:
    """Returns a table of the reasons why tests do not apply or are known to fail."""
    tables: list[str] = []
    for title, declared in (
        ("reason why tests do not apply", run.declarations.not_applicable),
        ("known failure", run.declarations.known_failures),
    ):
        tests: Counter[str] = Counter()
        for file in files:
            for name in run.names(file):
                found = {reason_of(declared, file, name, system) for system in run.systems_of(file)} - {None}
                tests.update(map(str, found))
        lines = [f"| {title} | tests |", "|---|--:|", *(f"| {reason} | {number} |" for reason, number in tests.items())]
        tables.append("\n".join(lines))
    return "\n\n".join(tables)


def table(rows: Mapping[str, Counts], run: Run) -> str:
    """Returns the table of all files, with the sums of those that need the export and of the others."""
    heads = ["tests of", "tests", "do not apply"]
    for system in SYSTEMS:
        heads += [f"{system}: skipped", "pass", "fail", "share"]
    lines = [f"| {' | '.join(heads)} |", "|---|" + "--:|" * (len(heads) - 1)]
    exports, others = Counts(), Counts()
    for file, counts in rows.items():
        (exports if matches(file, run.declarations.stablehlo_export) else others).add(counts)
        if counts.not_applicable < counts.tests:
            lines.append(counts.row(f"`{file}`"))
    lines.append(others.row("all but the export of StableHLO"))
    lines.append(exports.row("export of StableHLO"))
    lines += [
        f"\n{missing} tests have no result on {system}: the run was ended before them."
        for system in SYSTEMS
        if (missing := sum(part.outcomes.get(system, Counter())["without result"] for part in (exports, others)))
    ]
    return "\n".join(lines)


@click.command(help=__doc__)
@click.argument("checkout", type=click.Path(path_type=Path, exists=True))
@click.option("--packages", default="", help="Folder of packages that the tests import and that are not installed.")
@click.option("--files", default="*", show_default=True, help="Globs of the files to run.")
@click.option("--sample", default=0, show_default=True, help="Tests of each file; 0 for all.")
@click.option("--jobs", default=1, show_default=True, help="Number of files that run at the same time.")
@click.option("--seconds", default=60, show_default=True, help="Limit of processor time for each test.")
@click.option("--again", is_flag=True, help="Also run the tests that failed before.")
@click.option("--systems", default=" ".join(SYSTEMS), show_default=True, help="Systems to run on.")
@click.option("--work", type=click.Path(path_type=Path), default=Path("build/conformance-torch-xla"), show_default=True)
@click.option("--declared", type=click.Path(path_type=Path, exists=True), default=DECLARED_TESTS, hidden=True)
@click.option("--document", type=click.Path(path_type=Path, exists=True), help="Write the table into this document.")
def main(
    checkout: Path,
    packages: str,
    files: str,
    sample: int,
    jobs: int,
    seconds: int,
    again: bool,
    systems: str,
    work: Path,
    declared: Path,
    document: Path | None,
) -> None:
    checkout = checkout.resolve()
    folder = str(Path(packages).resolve()) if packages else ""
    run = Run(checkout, work.resolve(), load(declared), declared, folder, sample, seconds)
    chosen = [file for file in files_of_tests(checkout) if matches(file, files.split())]
    if again:
        run.forget_failures(chosen, systems.split())
    pairs = [(file, system) for file in chosen for system in run.systems_of(file) if system in systems.split()]
    with ThreadPoolExecutor(jobs) as threads:
        ends = threads.map(run.run_file, *zip(*pairs, strict=True))
        for (file, system), _ in zip(pairs, ends, strict=True):
            click.echo(f"{system} {file}", err=True)
    rows, mistakes = {}, []
    for file in chosen:
        rows[file], wrong = count(run, file, systems.split())
        mistakes += wrong
    text = table(rows, run)
    if files == "*" and not sample:
        mistakes += unused(run, chosen)
    click.echo("\n".join([text, *mistakes]))
    if document is not None:
        write_between_marks(document, "conformance-torch-xla", text)
        write_between_marks(document, "conformance-torch-xla-reasons", reasons(run, chosen))
    raise SystemExit(bool(mistakes))


if __name__ == "__main__":
    main()
