"""Compares what our ``ttnn`` and the real package accept: drawn calls, each made with both.

``make check-ttnn-calls`` writes the table of agreements into docs/ttnn_api.md. The real package runs in its mock mode,
in which it checks each call and computes nothing. ``--list`` prints each call on which the two disagree.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from conformance.ttnn_draw_families import calls as drawn_calls
from conformance.ttnn_signatures import has
from docs.tables import write_between_marks
from tt_xla.codegen.mock import mock, ttnn_python

SCRIPT = Path(__file__).with_name("ttnn_run_calls.py")
KINDS = ("same result", "both refuse", "other type", "ours accepts", "ours refuses")


def outcomes(
    calls: Sequence[str], python: str, environment: Mapping[str, str], system: str
) -> dict[str, Mapping[str, str]]:
    """Returns the outcome of each call. A call that ends the interpreter is a refusal, and a new one makes the rest."""
    done: dict[str, Mapping[str, str]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        while remaining := [call for call in calls if call not in done]:
            source, target = Path(scratch, "calls.json"), Path(scratch, "results.jsonl")
            source.write_text(json.dumps(remaining))
            target.write_text("")
            run = subprocess.run(
                [python, str(SCRIPT), str(source), str(target)],
                env={**environment, "TTXLA_SYSTEM": system},
                cwd=scratch,
                capture_output=True,
                text=True,
                check=False,
            )
            records = [json.loads(line) for line in target.read_text().splitlines()]
            if not records and run.returncode:
                words = run.stderr.strip().splitlines()[-1:] or ["the interpreter ended"]
                records = [{"call": remaining[0], "result": "refused", "words": words[0]}]
            done |= {record["call"]: record for record in records}
    return done


def kind(ours: str, real: str) -> str:
    """Returns how the results of a call compare."""
    refused = ("refused", "arguments")
    if ours in refused or real in refused:
        if ours in refused and real in refused:
            return "both refuse"
        return "ours refuses" if ours in refused else "ours accepts"
    return "same result" if ours == real else "other type"


def table(counts: Mapping[str, Counter[str]]) -> str:
    """Returns a Markdown table of the kinds of each family, with the share of calls on which the two agree."""
    lines = [f"| calls | drawn | {' | '.join(KINDS)} | agree |", f"|---|{'--:|' * (len(KINDS) + 2)}"]
    total = sum(counts.values(), Counter[str]())
    for family, count in [*counts.items(), ("all", total)]:
        number = count.total()
        agree = 100 * (count["same result"] + count["both refuse"]) / number
        lines.append(f"| {family} | {number} | {' | '.join(str(count[each]) for each in KINDS)} | {agree:.0f} % |")
    return "\n".join(lines)


@click.command(help=__doc__)
@click.option("--each", default=4, show_default=True, help="Calls of each function.")
@click.option("--seed", default=0, show_default=True)
@click.option("--families", default="", help="Words of the families to draw.")
@click.option("--functions", default="", help="Names of functions to draw.")
@click.option("--system", default="p150", show_default=True)
@click.option("--list", "listed", is_flag=True, help="Print the calls on which the two disagree.")
@click.option("--document", type=click.Path(path_type=Path, exists=True), help="Write the table into this document.")
def main(each: int, seed: int, families: str, functions: str, system: str, listed: bool, document: Path | None) -> None:
    drawn = {
        family: [
            call
            for call in calls
            if has(name := call.partition("(")[0]) and (not functions or name[5:] in functions.split())
        ]
        for family, calls in drawn_calls(each, seed).items()
        if not families or any(word in family for word in families.split())
    }
    everything = [call for calls in drawn.values() for call in calls]
    interpreter = mock(ttnn_python(), system)
    real = outcomes(everything, str(interpreter.python), interpreter.environment, system)
    ours = outcomes(everything, sys.executable, os.environ, system)
    counts: dict[str, Counter[str]] = {}
    for family, calls in drawn.items():
        if not calls:
            continue
        counts[family] = Counter(kind(ours[call]["result"], real[call]["result"]) for call in calls)
        for call in calls if listed else ():
            one, other = ours[call], real[call]
            compared = kind(one["result"], other["result"])
            if compared not in ("same result", "both refuse"):
                click.echo(f"{compared}: {call}")
                click.echo(f"  ours {one['result']} {one['words'].splitlines()[:1]}")
                click.echo(f"  real {other['result']} {reason(other['words'])}")
    text = table(counts)
    click.echo(text)
    if document is not None:
        write_between_marks(document, "check-ttnn-calls", text)


def reason(words: str) -> str:
    """Returns what TT-NN says about a refusal, without the place in its sources."""
    lines = [line.strip() for line in words.splitlines()]
    if "info:" in lines:
        return " ".join(lines[lines.index("info:") + 1 :])[:300].partition("backtrace:")[0]
    return " ".join(lines)[:300]


if __name__ == "__main__":
    main()
