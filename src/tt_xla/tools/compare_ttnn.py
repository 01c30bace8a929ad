"""Implements ``tt-xla compare --against ttnn``: shows the first op whose values do not agree with TT-NN's."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

from tt_xla.environment import RUNTIMES, runtime_for_now, selected_runtime
from tt_xla.options import CompileOptions
from tt_xla.testing.divergence.distances import Deviation
from tt_xla.testing.divergence.subjects import Subject
from tt_xla.testing.divergence.ttnn_values import Step, Tolerance, Verdict, compare_with_ttnn
from tt_xla.tools.compare import View
from tt_xla.tools.output import console, print_json, table


def compare(subject: Subject, options: CompileOptions, tolerance: Tolerance, view: View) -> bool:
    """Compares instructions with TT-NN's, and prints the first that does not agree and those that deviate most.

    TT-NN runs on a card or a simulator even where TTXLA_RUNTIME does not ask for it.

    Returns:
        Whether the results agree.
    """
    runtime = selected_runtime()
    with runtime_for_now("ttnn" if runtime == RUNTIMES[0] else runtime):
        verdict = compare_with_ttnn(subject.source, subject.inputs, options, tolerance)
    if view.as_json:
        print_json(_record(subject, verdict))
    else:
        _show(subject, verdict, view.shown)
    return verdict.passed


def _show(subject: Subject, verdict: Verdict, shown: int) -> None:
    numbers = (">alone: ULP", ">beyond 1", ">PCC", ">so far: ULP", ">beyond 1", ">PCC")
    title = f"{subject.name}: {len(verdict.steps)} instructions beside TT-NN's"
    steps = table(">#", "instruction", "result", *numbers, "source", title=title)
    for step in _chosen(verdict, shown):
        source = "/".join(step.location.split("/")[-2:])
        numbers = (*_numbers(step.alone), *_numbers(step.running))
        steps.add_row(str(step.index), step.op, step.result, *numbers, source)
    console(folds=True).print(steps)
    results = verdict.results
    click.echo(
        f"Results of the program: largest distance {results.largest} ULP, {results.beyond_one:.2%} beyond 1, "
        f"PCC {results.pcc:.6f}."
    )
    if verdict.first is None:
        click.echo(f"Every instruction agrees with TT-NN within {verdict.tolerance}.")
    else:
        click.echo(f"First beyond {verdict.tolerance}: {_title(verdict.first)}")
    if verdict.worst is not None:
        click.echo(f"Largest deviation by itself: {_title(verdict.worst)}")


def _chosen(verdict: Verdict, shown: int) -> list[Step]:
    """Returns the first instruction that does not agree and those that deviate most by themselves, in their order."""
    ranked = sorted(verdict.steps, key=lambda step: (step.alone or step.running).pcc)[:shown]
    chosen = {step.index: step for step in (*ranked, *filter(None, (verdict.first, verdict.worst)))}
    return [chosen[index] for index in sorted(chosen)]


def _numbers(found: Deviation | None) -> tuple[str, str, str]:
    return ("", "", "") if found is None else (str(found.largest), f"{found.beyond_one:.2%}", f"{found.pcc:.6f}")


def _title(step: Step) -> str:
    where = f" at {step.location}" if step.location else ""
    return f"#{step.index} {step.op} to {step.result}{where}"


def _record(subject: Subject, verdict: Verdict) -> dict[str, Any]:
    first, worst = verdict.first, verdict.worst
    return {
        "program": subject.name,
        "passed": verdict.passed,
        "tolerance": asdict(verdict.tolerance),
        "results": asdict(verdict.results),
        "first": first and asdict(first),
        "worst": worst and asdict(worst),
        "instructions": [asdict(step) for step in verdict.steps],
    }
