"""Runs PyTorch's own tests of torch.distributed with gloo on the CPU and with the process group ``tt``, and compares.

    python -m conformance.run_torch_ranks CHECKOUT [--files "_tensor/* test_functional_api.py"] [--devices "cpu tt"]
        [--again] [--seconds N] [--work FOLDER] [--document FILE]

CHECKOUT is a checkout of PyTorch. Nothing is fetched. Copies of its tests that name the device and the process group
instead of ``cuda`` and ``nccl`` run in the work folder. Results stay there, and only tests without one are run;
``--again`` also runs those that failed with ``tt``. ``torch_ranks_known.toml`` declares the files and known failures.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from conformance.torch_ranks_plugin import BACKENDS, DEVICES
from conformance.torch_xla_suite import Declaration, matches, reason_of
from docs.tables import write_between_marks

DECLARED = Path(__file__).with_name("torch_ranks_known.toml")
WORK = Path("build/conformance-torch-ranks")
ROOT = Path(__file__).parent.parent
SYSTEM = {"TTXLA_SYSTEM": "n300-llmbox", "TT_VISIBLE_DEVICES": ",".join(map(str, range(DEVICES)))}
MAX_CRASHES = 10
"""Number of times that a file's tests are started again after the process died."""

BORROWED = "inductor/test_aot_inductor_utils.py"
"""A file in the checkout's folder ``test`` that tests of torch.distributed import from the folder beside theirs."""

_REWRITINGS = (
    (r"""(["'])cuda\b""", r"\1{device}"),
    (r"""(["'])nccl\1""", r"\1{backend}\1"),
    (r"\bBackend\.NCCL\b", 'Backend("{backend}")'),
    (r"\btorch\.cuda\.", "torch.{device}."),
    (r"\.cuda\(\)", '.to("{device}")'),
    (r"\.is_cuda\b", ".is_{device}"),
    (r"skipIf\(not TEST_CUDA\b", "skipIf(False"),
    (r"\bnot TEST_MULTIGPU\b", "False"),
)
"""What is replaced in the source of tests, as regular expressions."""


@dataclass(frozen=True)
class Suite:
    """The tests, and where they are run."""

    checkout: Path
    work: Path
    files: Sequence[str]
    """Files of tests, as paths below the checkout's folder ``test/distributed``."""
    known_failures: Sequence[Declaration] = ()
    seconds: int = 120
    """How long the processes of a test may take."""

    def copy(self, device: str) -> Path:
        """Copies the folder of the tests for a device, if it is not there, and returns the copy."""
        tests, folder = self.checkout / "test", self.work / device / "distributed"
        if not folder.exists():
            shutil.copytree(tests / "distributed", folder)
            if (tests / BORROWED).exists():
                (folder.parent / BORROWED).parent.mkdir()
                shutil.copy(tests / BORROWED, folder.parent / BORROWED)
            for path in folder.rglob("*.py"):
                path.write_text(adapted(path.read_text(), device))
        return folder

    def results(self, file: str, device: str) -> Path:
        """Returns the file of the results of a file of tests."""
        return self.work / device / (file.removesuffix(".py").replace("/", ".") + ".jsonl")

    def outcomes(self, file: str, device: str) -> dict[str, dict[str, str]]:
        """Returns the record of each test of a file that has been run."""
        path = self.results(file, device)
        lines = path.read_text().splitlines() if path.exists() else []
        return {record["name"]: record for record in map(json.loads, lines)}

    def run_file(self, file: str, device: str) -> None:
        """Runs the tests of a file that have no result; with ``tt`` only those that pass on the CPU."""
        if device != "cpu" and not self.passing(file):
            return
        results = self.results(file, device)
        marker = results.with_suffix(".running")
        path = self.copy(device) / file
        environment = os.environ | SYSTEM | {
            "BACKEND": BACKENDS[device],
            "CONFORMANCE_DEVICE": device,
            "CONFORMANCE_RESULTS": str(results),
            "CONFORMANCE_SECONDS": str(4 * self.seconds),
            "CONFORMANCE_WALL_SECONDS": str(2 * self.seconds),
            "DISTRIBUTED_TESTS_DEFAULT_TIMEOUT": str(self.seconds),
            "OMP_NUM_THREADS": "1",
            "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")]),
            "TORCH_DEVICE_BACKEND_AUTOLOAD": str(int(device != "cpu")),
            "TORCH_DISABLE_ADDR2LINE": "1",
            "TTXLA_NUMERICS": "exact",
            "WORLD_SIZE": str(DEVICES),
        }  # fmt: skip
        if device != "cpu":
            only = self.work / "only.txt"
            only.write_text("\n".join(self.passing(file)))
            environment["CONFORMANCE_ONLY"] = str(only)
        plugins = ["-p", "conformance.record", "-p", "conformance.torch_ranks_plugin", "-p", "no:cacheprovider"]
        command = [sys.executable, "-m", "pytest", *plugins, "--assert=plain", "-q", "--tb=short", path.name]
        for _ in range(MAX_CRASHES):
            with results.with_suffix(".log").open("a") as log:
                subprocess.run(command, cwd=path.parent, env=environment, stdout=log, stderr=log, check=False)
            if not marker.exists():
                return
            with results.open("a") as file_of_results:
                record = {"name": marker.read_text(), "outcome": "failed", "reason": "the process died"}
                file_of_results.write(json.dumps(record) + "\n")
            marker.unlink()

    def passing(self, file: str, device: str = "cpu") -> list[str]:
        """Returns the tests of a file that pass with a device."""
        records = self.outcomes(file, device)
        return [name for name, record in records.items() if record["outcome"] == "passed"]

    def forget_failures(self, file: str) -> None:
        """Removes the results of tests that failed with ``tt``."""
        kept = [record for record in self.outcomes(file, "tt").values() if record["outcome"] == "passed"]
        if (path := self.results(file, "tt")).exists():
            path.write_text("".join(json.dumps(record) + "\n" for record in kept))


def adapted(source: str, device: str) -> str:
    """Returns the source of tests for another device than CUDA's."""
    for pattern, replacement in _REWRITINGS:
        source = re.sub(pattern, replacement.format(device=device, backend=BACKENDS[device]), source)
    return source


def load(checkout: Path, work: Path, seconds: int, declared: Path = DECLARED) -> Suite:
    """Reads which files are run, and what is known of their tests."""
    content = tomllib.loads(declared.read_text())
    known = [Declaration(**entry) for entry in content.get("known_failures", [])]
    return Suite(checkout.resolve(), work.resolve(), content["files"], known, seconds)


def mistakes(suite: Suite, file: str) -> list[str]:
    """Returns a line for each test of a file whose result contradicts the declarations."""
    found, records = [], suite.outcomes(file, "tt")
    for name in suite.passing(file):
        outcome = records.get(name, {"outcome": "without a result", "reason": ""})
        known = reason_of(suite.known_failures, file, name, "")
        if (outcome["outcome"] == "passed") == (known is not None):
            last = (outcome["reason"].strip().splitlines() or [""])[-1]
            found.append(f"{file}::{name}: {outcome['outcome']}, declared: {known}. {last[:200]}")
    return found


def table(suite: Suite, files: Sequence[str]) -> str:
    """Returns a table of the files with results, and one of the reasons why tests that pass with gloo fail with tt."""
    lines = ["| tests of | with gloo: run | pass | of these with tt: run | pass | share |", "|---|--:|--:|--:|--:|--:|"]
    sums: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    for file in files:
        run = [record for record in suite.outcomes(file, "cpu").values() if record["outcome"] != "skipped"]
        expected = set(suite.passing(file))
        known = expected & suite.outcomes(file, "tt").keys()
        failed = known - set(suite.passing(file, "tt"))
        reasons.update(str(reason_of(suite.known_failures, file, name, "")) for name in failed)
        counts = {"run": len(run), "gloo": len(expected), "tt": len(known), "passed": len(known) - len(failed)}
        sums.update(counts)
        if known:
            lines.append(_row(f"`{file}`", counts))
    lines.append(_row("all", sums))
    if reasons:
        lines += ["", "| reason why a test fails with tt | tests |", "|---|--:|"]
    return "\n".join([*lines, *(f"| {reason} | {number} |" for reason, number in reasons.most_common())])


def _row(name: str, counts: dict[str, int]) -> str:
    share = f"{100 * counts['passed'] / counts['tt']:.1f} %" if counts["tt"] else ""
    return f"| {name} | {counts['run']} | {counts['gloo']} | {counts['tt']} | {counts['passed']} | {share} |"


@click.command(help=__doc__)
@click.argument("checkout", type=click.Path(path_type=Path, exists=True))
@click.option("--files", default="*", show_default=True, help="Globs of the files to run.")
@click.option("--devices", default="cpu tt", show_default=True, help="Devices to run on: cpu, tt.")
@click.option("--again", is_flag=True, help="Also run the tests that failed with tt before.")
@click.option("--seconds", default=120, show_default=True, help="How long the processes of a test may take.")
@click.option("--work", type=click.Path(path_type=Path), default=WORK, show_default=True)
@click.option("--document", type=click.Path(path_type=Path, exists=True), help="Write the table into this document.")
def main(
    checkout: Path, files: str, devices: str, again: bool, seconds: int, work: Path, document: Path | None
) -> None:
    suite = load(checkout, work, seconds)
    chosen = [file for file in suite.files if matches(file, files.split())]
    for file in chosen:
        if again:
            suite.forget_failures(file)
        for device in devices.split():
            suite.run_file(file, device)
            click.echo(f"{device} {file}", err=True)
    text = table(suite, chosen)
    wrong = [line for file in chosen for line in mistakes(suite, file)]
    click.echo("\n".join([text, *wrong]))
    if document is not None:
        write_between_marks(document, "conformance-torch-ranks", text)
    raise SystemExit(bool(wrong))


if __name__ == "__main__":
    main()
