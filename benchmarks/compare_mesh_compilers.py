"""Compares our compiler with upstream's on programs for several chips: ops, collectives, bytes over links, and time.

Collectives and bytes come from the TTNN text of both compilers (``traffic.py``). Both compilers take turns; each
time is the shortest of the rounds. One process measures the time on the wall, another one the processor time. A
program that upstream's compiler refuses has only our figures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import click
import jax
from rich.console import Console
from rich.progress import Progress

from benchmarks.compilers import CompilerFailed, count, of_upstream, ours, reference_option, theirs
from benchmarks.programs.meshes import MESH_PROGRAMS
from benchmarks.traffic import NO_TRAFFIC, Traffic, traffic
from docs.tables import write_between_marks


@dataclass
class Side:
    """The figures of one compiler."""

    ops: int = 0
    """Number of TTNN ops besides deallocate."""
    traffic: Traffic = NO_TRAFFIC
    seconds: list[float] = field(default_factory=lambda: [])
    """Compile time of each round."""
    processor_seconds: list[float] = field(default_factory=lambda: [])
    """Processor time of each round, of all threads."""

    @property
    def time(self) -> float:
        return min(self.seconds)

    @property
    def processor_time(self) -> float:
        return min(self.processor_seconds)


@dataclass
class Row:
    name: str
    arch: str
    ops: int
    """Number of StableHLO ops in the program."""
    ours: Side
    theirs: Side | None
    """None if upstream's compiler refuses the program."""


def _measure(names: list[str], folder: Path, rounds: int, reference: Path) -> Iterator[Row]:
    with Progress(console=Console(stderr=True)) as progress:
        task = progress.add_task("programs", total=len(names))
        for name in names:
            progress.update(task, description=name)
            program = MESH_PROGRAMS[name]()
            text = program.stablehlo()
            path = folder / f"{name}.mlir"
            path.write_text(text)
            row = Row(name, program.arch, text.count("stablehlo.") + text.count("chlo."), Side(), Side())
            for _ in range(rounds):
                _compile(row, path, folder, reference)
            yield row
            progress.advance(task)


def _compile(row: Row, path: Path, folder: Path, reference: Path) -> None:
    """Compiles a program with both compilers once, and keeps the figures."""
    own = ours(path, "0", row.arch, folder / "ours" / row.name)
    row.ours.seconds.append(own["compile_seconds"])
    row.ours.processor_seconds.append(ours(path, "0", row.arch, processor_time=True)["compile_seconds"])
    row.ours.ops, row.ours.traffic = count(own["ttnn"]), _traffic(Path(own["irs"]), "ttnn_*.mlir")
    if row.theirs is None:
        return
    try:
        clocked = theirs(reference, path, "0", row.arch, folder / "reference", processor_time=True)
        upstream = theirs(reference, path, "0", row.arch, folder / "reference")
    except CompilerFailed:
        row.theirs = None
        return
    row.theirs.seconds.append(upstream["compile_seconds"])
    row.theirs.processor_seconds.append(clocked["compile_seconds"])
    row.theirs.ops = count(upstream["ttnn"])
    row.theirs.traffic = _traffic(Path(upstream["irs"]), "ttnn_[0-9]*.mlir")


def _traffic(irs: Path, pattern: str) -> Traffic:
    """Returns the traffic of the newest dump."""
    return traffic(max(irs.glob(pattern), key=lambda path: path.stat().st_mtime).read_text())


def _cells(row: Row) -> list[str]:
    own, upstream = row.ours, row.theirs
    figures: list[tuple[Callable[[Side], float], str]] = [
        (lambda side: side.ops, "{:.0f}"),
        (lambda side: side.traffic.collectives, "{:.0f}"),
        (lambda side: side.traffic.bytes / 1e3, "{:.1f}"),
        (lambda side: side.time * 1e3, "{:.0f}"),
        (lambda side: side.processor_time * 1e3, "{:.0f}"),
    ]
    cells = [row.name, str(row.ops)]
    for figure, form in figures:
        cells += ["refused" if upstream is None else form.format(figure(upstream)), form.format(figure(own))]
    return [*cells, "" if upstream is None else f"{own.ops / upstream.ops:.2f}"]


def _table(rows: list[Row], rounds: int) -> str:
    pairs = [("ops", "our ops"), *((head, "ours") for head in ("collectives", "kB over links", "ms", "processor ms"))]
    heads = [
        "program",
        "StableHLO ops",
        *(f"{side}{head}" for pair in pairs for side, head in zip(("upstream ", ""), pair, strict=True)),
    ]
    heads.append("ratio of ops")
    compared = [(row.name, row.ours, row.theirs) for row in rows if row.theirs is not None]
    worse = {
        kind: [name for name, own, upstream in compared if figure(own.traffic) > figure(upstream.traffic)]
        for kind, figure in _EXCHANGED.items()
    }
    processor_times = [own.processor_time / upstream.processor_time for _, own, upstream in compared]
    lines = [
        f"Level 0 for n300 and n300-llmbox, shortest of {rounds} fresh processes in turn; upstream compiles "
        f"{len(compared)} of {len(rows)} programs.",
        f"Compile time: {of_upstream([own.time / upstream.time for _, own, upstream in compared])}.",
        f"Processor time: {of_upstream(processor_times)}.",
        f"TTNN ops besides deallocate: {of_upstream([own.ops / upstream.ops for _, own, upstream in compared])}.",
        *(f"More {kind} than upstream: {', '.join(names) or 'no program'}." for kind, names in worse.items()),
        "",
        f"| {' | '.join(heads)} |",
        f"|{'---|' * len(heads)}",
        *(f"| {' | '.join(_cells(row))} |" for row in rows),
    ]
    return "\n".join(lines)


_EXCHANGED: dict[str, Callable[[Traffic], float]] = {
    "collectives": lambda traffic: traffic.collectives,
    "bytes over links": lambda traffic: traffic.bytes,
}


@click.command(help=__doc__)
@click.argument("names", nargs=-1, type=click.Choice(list(MESH_PROGRAMS)))
@click.option("--rounds", default=3, show_default=True)
@click.option("--folder", type=click.Path(path_type=Path), default=Path("build/programs"), show_default=True)
@reference_option
@click.option("--document", type=click.Path(path_type=Path, exists=True), help="Write the table into this document.")
def main(names: tuple[str, ...], rounds: int, folder: Path, reference: Path, document: Path | None) -> None:
    jax.config.update("jax_num_cpu_devices", 8)
    folder.mkdir(parents=True, exist_ok=True)
    text = _table(list(_measure(list(names or MESH_PROGRAMS), folder, rounds, reference)), rounds)
    click.echo(text)
    if document is not None:
        write_between_marks(document, "compare-mesh-compilers", text)


if __name__ == "__main__":
    main()
