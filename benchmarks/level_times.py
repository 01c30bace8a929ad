"""Compares the processor time of compiling the set of programs at level 2 with that at level 0.

Both levels take turns in one process; the least time of several rounds counts.
"""

from __future__ import annotations

import logging
import statistics
import time

import click

from benchmarks.programs import PROGRAMS
from tt_xla.compiler import compile_module, read_module
from tt_xla.options import CompileOptions
from tt_xla.target import load_target


def processor_seconds(text: str, level: int, system: str) -> float:
    """Returns the processor time of reading and compiling a module."""
    start = time.process_time()
    compile_module(read_module(text), CompileOptions.parse({"optimization_level": level}), load_target(system))
    return time.process_time() - start


@click.command(help=__doc__)
@click.argument("names", nargs=-1)
@click.option("--rounds", type=click.IntRange(1), default=3, show_default=True)
@click.option("--arch", default="n150", show_default=True)
def main(names: tuple[str, ...], rounds: int, arch: str) -> None:
    logging.disable(logging.WARNING)
    ratios: dict[str, float] = {}
    for name in names or PROGRAMS:
        text = PROGRAMS[name]().stablehlo()
        times = [[processor_seconds(text, level, arch) for level in (0, 2)] for _ in range(rounds)]
        least = [min(column) for column in zip(*times, strict=True)]
        ratios[name] = least[1] / least[0]
        click.echo(f"{name:20}{1e3 * least[0]:8.0f} ms{1e3 * least[1]:8.0f} ms{ratios[name]:7.2f}")
    worst = max(ratios, key=lambda name: ratios[name])
    click.echo(f"median {statistics.median(ratios.values()):.2f}, worst {ratios[worst]:.2f} ({worst})")


if __name__ == "__main__":
    main()
