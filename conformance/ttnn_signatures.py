"""Compares ``ttnn`` of the emulated card with the real package: which functions it has, and their signatures.

``make check-ttnn-api`` writes the table of signatures (src/tt_xla/ttnn_api/signatures.txt) and the list of functions
that are missing, in docs/ttnn_api.md.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import click

from docs.tables import write_between_marks
from tt_xla.codegen.mock import mock, ttnn_python
from tt_xla.ttnn_api import absent, signatures
from tt_xla.ttnn_api.families import operations
from tt_xla.ttnn_api.tensor import Tensor

DUMP = Path(__file__).with_name("dump_ttnn_signatures.py")

FOUR = "ttnn.slice(input_tensor: Tensor, starts: Sequence[int], "
"""Start of the overload of slices whose bounds and steps are four numbers each; TT-NN's text calls them sequences."""

FAMILIES: Mapping[str, Callable[[str], bool]] = {
    "pointwise, backward": lambda name: name.endswith("_bw"),
    "experimental": lambda name: name.startswith("ttnn.experimental."),
    "transformer": lambda name: name.startswith("ttnn.transformer."),
    "configs": lambda name: name.rpartition(".")[2][:1].isupper(),
    "all others": lambda name: True,
}
"""Which functions belong to each row of the table; the first row that takes a function counts it."""


def real_lines() -> list[str]:
    """Returns the signatures of the real package."""
    interpreter = mock(ttnn_python(), "p150")
    command = [interpreter.python, str(DUMP)]
    done = subprocess.run(command, env=interpreter.environment, capture_output=True, text=True, check=True)
    lines = [line for line in done.stdout.splitlines() if line.startswith("ttnn.")]
    return [line.replace("Sequence[int]", "tuple[int, int, int, int]") if FOUR in line else line for line in lines]


def by_family(names: Sequence[str]) -> Mapping[str, list[str]]:
    families: dict[str, list[str]] = {family: [] for family in FAMILIES}
    for name in names:
        families[next(family for family, takes in FAMILIES.items() if takes(name))].append(name)
    return families


def table(names: Sequence[str], ours: Sequence[str]) -> str:
    """Returns a Markdown table of the functions that we have and that are missing."""
    lines = ["| family | ours | of | without meaning | missing |", "|---|---|---|---|---|"]
    for family, members in by_family(names).items():
        lacking = [name for name in members if name not in ours]
        missing = [name.removeprefix("ttnn.") for name in lacking if not absent.reason(name)]
        counts = f"{len(members) - len(lacking)} | {len(members)} | {len(lacking) - len(missing)}"
        lines.append(f"| {family} | {counts} | {', '.join(missing)} |")
    return "\n".join(lines)


def has(name: str) -> bool:
    """Returns whether our ``ttnn`` has a function."""
    import ttnn

    value = ttnn
    for part in name.split(".")[1:]:
        value = getattr(value, part, None)
    return value is not None


@click.command(help=__doc__)
@click.option("--document", type=click.Path(path_type=Path, exists=True), help="Write the table into this document.")
def main(document: Path | None) -> None:
    lines = real_lines()
    before = signatures.FILE.read_text().splitlines()
    changed = set(before) ^ set(lines)
    for line in sorted(changed):
        click.echo(f"{'-' if line in before else '+'} {line}")
    signatures.FILE.write_text("\n".join(lines) + "\n")
    methods = f"ttnn.{Tensor.__name__}."
    names = [name for name in dict.fromkeys(line.partition("(")[0] for line in lines) if not name.startswith(methods)]
    ours = [name for name in names if has(name)]
    unknown = [name for name in operations() if name not in names]
    click.echo(f"{len(ours)} of {len(names)} functions and configs; {len(changed)} signatures changed.")
    if unknown:
        click.echo(f"TT-NN has no {', '.join(unknown)}.")
    if document is not None:
        write_between_marks(document, "check-ttnn-api", table(names, ours))
    raise SystemExit(bool(unknown))


if __name__ == "__main__":
    main()
