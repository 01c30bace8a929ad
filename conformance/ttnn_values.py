"""Compares the results of drawn calls of ``ttnn``: the emulated card's with ``bit_exact``, and TT-NN's.

``make differential-calls`` writes the table into docs/numerics.md. TT-NN runs on the simulator that TT_METAL_SIMULATOR
names, or on a card; TTXLA_SYSTEM names the chip. ``--keep`` names a folder in which the results of TT-NN stay, so that
a later run makes the emulated card's calls alone. ``--list`` prints each call whose results are not the same bits.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import click
import numpy
from rich.progress import track

from conformance.ttnn_draw_families import calls as drawn_calls
from conformance.ttnn_run_calls import file_of
from conformance.ttnn_signatures import has
from docs.tables import write_between_marks
from tt_xla.codegen.mock import ttnn_python
from tt_xla.environment import selected_system

SCRIPT = Path(__file__).with_name("ttnn_run_calls.py")
SPECIAL = ("pointwise", "gradients", "data movement", "reduction", "normalization")
"""Families whose calls are made with special elements too."""
UNDEFINED = ("ttnn.empty", "ttnn.empty_like")
"""Functions whose results have any elements."""
MANTISSAS = {"DataType.BFLOAT8_B": 7, "DataType.BFLOAT4_B": 3}
"""Bits of an element of the block floats, which share an exponent in blocks of ``BLOCK`` elements of a row."""
BLOCK = 16
SILENCE = 240.0
"""Seconds after which a call that has not returned is stopped."""
KINDS = (
    *("same bits", "same but for the sign of zeros", "within 1 ULP", "beyond 1 ULP", "other type or shape"),
    *("refused by ours alone", "refused by TT-NN", "stopped"),
)


@dataclass(frozen=True)
class Comparison:
    """How the two results of a call compare."""

    kind: str
    words: str = ""
    """What differs, or why a call was refused."""


class Runs:
    """Makes calls in a process of their own, and keeps what they return in a folder.

    Args:
        folder: where the results lie.
        python: interpreter of the process.
        environment: its environment.
    """

    def __init__(self, folder: Path, python: str, environment: Mapping[str, str]) -> None:
        self.folder, self.python, self.environment = folder, python, environment
        self.records_file = folder / "records.jsonl"
        folder.mkdir(parents=True, exist_ok=True)
        self.records_file.touch()

    def records(self) -> Mapping[str, Mapping[str, str]]:
        """Returns the outcome of each call that was made."""
        lines = self.records_file.read_text().splitlines()
        return {record["call"]: record for record in map(json.loads, lines)}

    def make(self, calls: Sequence[str]) -> Iterator[None]:
        """Makes the calls that were not made yet; yields as often as there are calls."""
        done = 0
        while remaining := _missing(calls, self.records()):
            self._process(remaining)
            if remaining[0] not in self.records():
                self._record(remaining[0], "stopped", "the process ended")
            made = len(calls) - len(_missing(calls, self.records()))
            yield from (None for _ in range(made - done))
            done = made
        yield from (None for _ in range(len(calls) - done))

    def _record(self, call: str, result: str, words: str) -> None:
        with self.records_file.open("a") as file:
            file.write(json.dumps({"call": call, "result": result, "words": words}) + "\n")

    def _process(self, calls: Sequence[str]) -> None:
        """Makes calls in one process, until it ends or a call does not return."""
        source = self.folder / "calls.json"
        source.write_text(json.dumps(calls[:25]))
        command = [self.python, str(SCRIPT), str(source), str(self.records_file), str(self.folder)]
        with tempfile.TemporaryDirectory() as scratch, Path(self.folder, "log.txt").open("w") as log:
            process = subprocess.Popen(
                command, cwd=scratch, env=dict(self.environment), stdout=log, stderr=subprocess.STDOUT
            )
            seen, since = self.records_file.stat().st_size, time.monotonic()
            while process.poll() is None:
                time.sleep(0.2)
                if (size := self.records_file.stat().st_size) != seen:
                    seen, since = size, time.monotonic()
                elif time.monotonic() - since > SILENCE:
                    process.kill()
                    process.wait()


def _missing(calls: Sequence[str], records: Mapping[str, object]) -> Sequence[str]:
    """Returns the calls that were not made."""
    return [call for call in calls if call not in records]


def elements(runs: Runs, call: str) -> Sequence[numpy.ndarray]:
    """Returns the elements of a call's results."""
    with numpy.load(runs.folder / file_of(call)) as stored:
        return [stored[name] for name in stored.files]


def ordered(array: numpy.ndarray, narrow: bool) -> numpy.ndarray:
    """Maps floats to integers in the same order, neighbours of their type to neighbours and both zeros to 0."""
    if array.dtype.kind != "f":
        return array.astype(numpy.int64)
    bits = array.astype(numpy.float32).view(numpy.int32).astype(numpy.int64)
    bits = numpy.where(bits < 0, -(bits & 0x7FFFFFFF), bits)
    bits = numpy.where(numpy.isnan(array), 1 << 40, bits)  # all NaNs are one value
    return bits >> 16 if narrow else bits


def distances(one: numpy.ndarray, other: numpy.ndarray, dtype: str) -> numpy.ndarray:
    """Returns how many values of a type lie between elements; in block floats, how many steps of the block."""
    between = numpy.abs(ordered(one, dtype != "DataType.FLOAT32") - ordered(other, dtype != "DataType.FLOAT32"))
    bits = MANTISSAS.get(dtype)
    if bits is None or not other.size or not other.ndim:
        return between
    padding = -other.shape[-1] % BLOCK
    rows = [(0, 0)] * (other.ndim - 1)
    blocks = numpy.pad(numpy.abs(other), [*rows, (0, padding)]).reshape(*other.shape[:-1], -1, BLOCK)
    _, exponent = numpy.frexp(numpy.where(numpy.isfinite(blocks), blocks, 0).max(-1, keepdims=True))
    steps = numpy.broadcast_to(numpy.ldexp(1.0, exponent - bits), blocks.shape).reshape(*other.shape[:-1], -1)
    with numpy.errstate(invalid="ignore", over="ignore"):
        apart = numpy.abs(one.astype(float) - other) / steps[..., : other.shape[-1]]
    return numpy.where(numpy.isfinite(apart), numpy.ceil(apart), between).astype(numpy.int64)


def compared(result: str, ours: Sequence[numpy.ndarray], real: Sequence[numpy.ndarray]) -> Comparison:
    """Compares the elements of two results of one type."""
    types = [word for word in result.replace("]", " ").split() if word.startswith("DataType.")]
    zeros, beyond, largest, near = 0, 0.0, 0, 0
    for one, other, dtype in zip(ours, real, types, strict=True):
        distance = distances(one, other, dtype)
        near += int((distance > 0).sum())
        zeros += int((numpy.signbit(one) != numpy.signbit(other))[distance == 0].sum()) if one.dtype.kind == "f" else 0
        if distance.size:
            beyond = max(beyond, float((distance > 1).mean()))
            largest = max(largest, int(distance.max()))
    if not near:
        return Comparison("same but for the sign of zeros" if zeros else "same bits")
    words = f"{beyond:.2%} beyond 1 ULP, {near} others, largest {largest}"
    return Comparison("within 1 ULP" if beyond <= 0.001 else "beyond 1 ULP", words)


def comparison(call: str, one: Mapping[str, str], other: Mapping[str, str], ours: Runs, real: Runs) -> Comparison:
    """Compares what a call gives with the emulated card and with TT-NN."""
    if other["result"] == "stopped":
        return Comparison("stopped", other["words"])
    if other["result"] in ("refused", "arguments"):
        return Comparison("refused by TT-NN")
    if one["result"] in ("refused", "arguments", "stopped"):
        return Comparison("refused by ours alone", one["words"][:200])
    if one["result"] != other["result"]:
        return Comparison("other type or shape", f"{one['result']}, TT-NN {other['result']}")
    return compared(one["result"], elements(ours, call), elements(real, call))


def with_special(call: str) -> str:
    """Returns a call whose operands have special elements."""
    return call.replace('", "dram"', '", "dram", special=True').replace('", "l1"', '", "l1", special=True')


def table(counts: Mapping[str, Counter[str]]) -> str:
    """Returns a Markdown table: the kinds of each family."""
    lines = [f"| calls | made | {' | '.join(KINDS)} |", f"|---|{'--:|' * (len(KINDS) + 1)}"]
    total = sum(counts.values(), Counter[str]())
    for family, count in [*counts.items(), ("all", total)]:
        lines.append(f"| {family} | {count.total()} | {' | '.join(str(count[each]) for each in KINDS)} |")
    return "\n".join(lines)


def drawn(each: int, seed: int, families: str, functions: str) -> Mapping[str, Sequence[str]]:
    """Returns the calls by family, those with special elements apart."""
    named = functions.split()
    chosen: dict[str, Sequence[str]] = {}
    for family, calls in drawn_calls(each, seed).items():
        if families and not any(word in family for word in families.split()):
            continue
        known = [call for call in calls if has(name := call.partition("(")[0]) and name not in UNDEFINED]
        chosen[family] = [call for call in known if not named or call.partition("(")[0][5:] in named]
        if family in SPECIAL:
            special = [with_special(call) for call in chosen[family]]
            chosen[f"{family}, special elements"] = [call for call in special if call not in chosen[family]]
    return {family: list(dict.fromkeys(calls)) for family, calls in chosen.items() if calls}


@click.command(help=__doc__)
@click.option("--each", default=1, show_default=True, help="Calls of each function.")
@click.option("--seed", default=0, show_default=True)
@click.option("--families", default="", help="Words of the families to draw.")
@click.option("--functions", default="", help="Names of functions to draw.")
@click.option("--list", "listed", is_flag=True, help="Print the calls whose results are not the same bits.")
@click.option("--keep", type=click.Path(path_type=Path), help="Folder in which the results of TT-NN stay.")
@click.option("--document", type=click.Path(path_type=Path, exists=True), help="Write the table into this document.")
def main(
    each: int, seed: int, families: str, functions: str, listed: bool, keep: Path | None, document: Path | None
) -> None:
    if not os.environ.get("TT_METAL_SIMULATOR") and not Path("/dev/tenstorrent").exists():
        raise click.ClickException("TT_METAL_SIMULATOR names no simulator, and there is no card. Set it.")
    calls = drawn(each, seed, families, functions)
    everything = [call for group in calls.values() for call in group]
    with tempfile.TemporaryDirectory() as scratch:
        without = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
        real = Runs((keep or Path(scratch)).resolve() / "real", ttnn_python(), without)
        emulated = {**os.environ, "TTXLA_NUMERICS": "bit_exact", "TTXLA_SYSTEM": selected_system()}
        ours = Runs(Path(scratch, "ours"), sys.executable, emulated)
        for runs, name in ((real, "TT-NN"), (ours, "emulated card")):
            for _ in track(runs.make(everything), description=name, total=len(everything)):
                pass
        counts: dict[str, Counter[str]] = {}
        one, other = ours.records(), real.records()
        for family, group in calls.items():
            found = {call: comparison(call, one[call], other[call], ours, real) for call in group}
            counts[family] = Counter(each.kind for each in found.values())
            for call, result in found.items() if listed else ():
                if result.kind not in ("same bits", "refused by TT-NN"):
                    click.echo(f"{result.kind}: {call}\n  {result.words}")
    text = table(counts)
    click.echo(text)
    if document is not None:
        write_between_marks(document, "differential-calls", text)


if __name__ == "__main__":
    main()
