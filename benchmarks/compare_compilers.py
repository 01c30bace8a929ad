"""Compares our compiler with upstream's: compile time, ops, layout conversions, predicted device time.

Each compilation is a fresh process, as a user has it. Both compilers take turns, so that other load affects them
equally; each time is the median over the rounds. Upstream's dumps at level 2 take minutes each and are kept in
``--dumps``.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import click
from rich.console import Console
from rich.progress import Progress

from benchmarks.compilers import count, of_upstream, ours, reference_option, run_json, theirs
from benchmarks.programs import PROGRAMS
from docs.tables import write_between_marks

HERE = Path(__file__).resolve().parent
LEVELS = ("0", "2")
MOVES = ("to_layout", "typecast", "to_memory_config", "to_device", "from_device")


@dataclass
class Row:
    name: str
    ops: int
    """Number of StableHLO ops in the program."""
    ours: dict[str, list[float]] = field(default_factory=lambda: {level: [] for level in LEVELS})
    """Seconds of our compiler by level, one entry per round."""
    theirs: list[float] = field(default_factory=lambda: [])
    counts: tuple[int, int] = (0, 0)
    """Number of TTNN ops at level 0 without deallocate, ours and upstream's."""
    moves: tuple[int, int] = (0, 0)
    device_us: tuple[float, float] | None = None
    """Predicted microseconds on the device at level 2, ours and upstream's, both by our cost model."""

    @property
    def time_ratio(self) -> float:
        return statistics.median(self.ours["0"]) / statistics.median(self.theirs)

    @property
    def level_ratio(self) -> float:
        return statistics.median(self.ours["2"]) / statistics.median(self.ours["0"])

    @property
    def op_ratio(self) -> float:
        return self.counts[0] / self.counts[1]

    @property
    def device_ratio(self) -> float | None:
        return self.device_us[0] / self.device_us[1] if self.device_us else None


def _moves(ops: dict[str, int]) -> int:
    return sum(count for name, count in ops.items() if name.removeprefix("ttnn.") in MOVES)


def _device_us(path: Path, reference: Path, dumps: Path, *, make: bool) -> tuple[float, float] | None:
    """Predicts both compilers' level-2 programs for p150; returns None when upstream's dump is missing."""
    irs = dumps / path.stem / "irs"
    if make and not list(irs.glob("ttnn_[0-9]*.mlir")):
        theirs(reference, path, "2", "p150", dumps)
    upstream_dumps = list(irs.glob("ttnn_[0-9]*.mlir"))
    if not upstream_dumps:
        return None
    command = [sys.executable, "-m", "tt_xla", "estimate", str(max(upstream_dumps)), "--target", "p150", "--json"]
    return ours(path, "2", "p150")["predicted_device_us"], run_json(command)["predicted_device_us"]


def _measure(
    names: list[str], folder: Path, rounds: int, reference: Path, dumps: Path | None, make_dumps: bool, arch: str
) -> Iterator[Row]:
    with Progress(console=Console(stderr=True)) as progress:
        task = progress.add_task("programs", total=len(names))
        for name in names:
            progress.update(task, description=name)
            path = folder / f"{name}.mlir"
            text = PROGRAMS[name]().stablehlo()
            path.write_text(text)
            row = Row(name, text.count("stablehlo.") + text.count("chlo."))
            for _ in range(rounds):
                upstream = theirs(reference, path, "0", arch, folder / "reference")
                row.theirs.append(upstream["compile_seconds"])
                for level in LEVELS:
                    own = ours(path, level, arch)
                    row.ours[level].append(own["compile_seconds"])
                    if level == "0":
                        row.counts = count(own["ttnn"]), count(upstream["ttnn"])
                        row.moves = _moves(own["ttnn"]), _moves(upstream["ttnn"])
            if dumps is not None:
                row.device_us = _device_us(path, reference, dumps, make=make_dumps)
            yield row
            progress.advance(task)


def _cells(row: Row) -> list[str]:
    device = ["", "", ""]
    if row.device_us is not None:
        device = [f"{row.device_us[1]:.0f}", f"{row.device_us[0]:.0f}", f"{row.device_ratio:.2f}"]
    return [
        row.name,
        str(row.ops),
        f"{statistics.median(row.theirs) * 1e3:.0f}",
        f"{statistics.median(row.ours['0']) * 1e3:.0f}",
        f"{row.time_ratio:.2f}",
        f"{row.level_ratio:.2f}",
        str(row.counts[1]),
        str(row.counts[0]),
        f"{row.op_ratio:.2f}",
        f"{row.moves[1]}",
        f"{row.moves[0]}",
        *device,
    ]


def _table(rows: list[Row], rounds: int, arch: str) -> str:
    heads = [
        "program",
        "StableHLO ops",
        "upstream ms",
        "ours ms",
        "ratio",
        "level 2 / level 0",
        "upstream ops",
        "our ops",
        "ratio",
        "upstream moves",
        "our moves",
        "upstream us",
        "ours us",
        "ratio",
    ]
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}", *(f"| {' | '.join(_cells(row))} |" for row in rows)]
    times = [row.time_ratio for row in rows]
    counts = [row.op_ratio for row in rows]
    device = [row.device_ratio for row in rows if row.device_ratio is not None]
    levels = [row.level_ratio for row in rows]
    summary = [
        f"Level 0 for {arch}, median of {rounds} fresh processes in turn. Compile time: {of_upstream(times)}.",
        f"Our level 2 takes {statistics.median(levels):.2f} (worst {max(levels):.2f}) times as long as our level 0.",
        f"TTNN ops without deallocate: {of_upstream(counts)}.",
    ]
    if device:
        summary.append(f"Predicted device time at level 2 on p150: {of_upstream(device)}.")
    return "\n".join([*summary, "", *lines])


@click.command(help=__doc__)
@click.argument("names", nargs=-1, type=click.Choice(list(PROGRAMS)))
@click.option("--rounds", default=3, show_default=True)
@click.option("--arch", default="n150", show_default=True, help="The system of the comparison at level 0.")
@click.option("--folder", type=click.Path(path_type=Path), default=Path("build/programs"), show_default=True)
@reference_option
@click.option(
    "--dumps", type=click.Path(path_type=Path), help="Folder of upstream's level-2 dumps; compares device time."
)
@click.option("--make-dumps", is_flag=True, help="Make upstream's level-2 dumps that are missing; each takes minutes.")
@click.option("--document", type=click.Path(path_type=Path, exists=True), help="Write the table into this document.")
def main(
    names: tuple[str, ...],
    rounds: int,
    arch: str,
    folder: Path,
    reference: Path,
    dumps: Path | None,
    make_dumps: bool,
    document: Path | None,
) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    rows = list(_measure(list(names or PROGRAMS), folder, rounds, reference, dumps, make_dumps, arch))
    text = _table(rows, rounds, arch)
    click.echo(text)
    if document is not None:
        write_between_marks(document, "compare-compilers", text)


if __name__ == "__main__":
    main()
