"""Runs upstream's tests and examples of several chips, of JAX and PyTorch, and writes the counts into docs/testing.md.

    python -m conformance.run_multi_chip CHECKOUT [--document FILE]

CHECKOUT is a checkout of tenstorrent/tt-xla. Tests that upstream skips or expects to fail are run too, and count.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import click

from docs.tables import write_between_marks

HERE = Path(__file__).parent
FOLDERS = {
    "tests/jax/multi_chip/n300": "n300",
    "tests/jax/multi_chip/llmbox/4_devices": "n300-llmbox",
    "tests/jax/multi_chip/llmbox/8_devices": "n300-llmbox",
    "examples/pytorch/multichip/n300": "n300",
    "tests/torch/graphs/test_reshape_sharding.py": "n300-llmbox",
    "tests/torch/graphs/test_tensor_persistence.py": "n300-llmbox",
    "tests/torch/codegen/test_codegen_emit_load_multichip.py": "n300-llmbox",
}
"""System of each folder or file of tests."""


def outcomes_of(checkout: Path, folder: str, system: str) -> dict[str, dict[str, bool]]:
    """Runs a folder of tests. Returns for each test whether it passed, and whether upstream excuses it.

    Raises:
        ClickException: pytest wrote no outcomes.
    """
    with tempfile.TemporaryDirectory() as scratch:
        written = Path(scratch, "outcomes.json")
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join([str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])]),
            "TTXLA_SYSTEM": system,
            "MULTI_CHIP_OUTCOMES": str(written),
        }
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--noconftest"]
        done = subprocess.run(
            [*command, "-p", "multi_chip_plugin", f"--rootdir={checkout}", folder],
            cwd=checkout,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if not written.exists():
            raise click.ClickException(f"pytest failed in {folder}:\n{(done.stdout + done.stderr)[-4000:]}")
        return json.loads(written.read_text())


@click.command(help=__doc__)
@click.argument("checkout", type=click.Path(path_type=Path, exists=True))
@click.option("--document", type=click.Path(path_type=Path, exists=True), help="Write the table into this document.")
def main(checkout: Path, document: Path | None) -> None:
    lines = ["| tests | system | run | excused upstream | pass |", "|---|---|--:|--:|--:|"]
    failed: list[str] = []
    for folder, system in FOLDERS.items():
        outcomes = outcomes_of(checkout.resolve(), folder, system)
        passed = [outcome for outcome in outcomes.values() if outcome.get("passed")]
        failed += [name for name, outcome in outcomes.items() if not outcome.get("passed")]
        excused = sum(outcome["excused"] for outcome in outcomes.values())
        lines.append(f"| `{folder}` | {system} | {len(outcomes)} | {excused} | {len(passed)} |")
    table = "\n".join(lines)
    click.echo("\n".join([table, *(f"failed: {name}" for name in failed)]))
    if document is not None:
        write_between_marks(document, "multi-chip", table)
    raise SystemExit(bool(failed))


if __name__ == "__main__":
    main()
