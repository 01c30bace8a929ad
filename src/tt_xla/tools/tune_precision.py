"""Implements ``tt-xla tune --accuracy``: finds the precision of each layer and writes a precision file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from tt_xla import __version__
from tt_xla.environment import selected_system
from tt_xla.profiling.precision.measures import measure_of
from tt_xla.profiling.precision.report import FILE_NAME, HTML_NAME, label_of, write_results
from tt_xla.profiling.precision.search import TRIALS_NAME, LogRecord, PrecisionSearch, Trial, front_of
from tt_xla.profiling.precision.subject import Subject, recorded_subject
from tt_xla.profiling.tune.trial_log import TrialLog
from tt_xla.tools.output import console, print_json, progress_bar, table

SUBJECT_NAME = "precision-subject.pt"


def tune_precision(
    program: str, arguments: Sequence[str], budget: float, measure: str, groups: int, out: Path, as_json: bool
) -> bool:
    """Searches with a progress bar, writes the files, and prints the front; see ``tt-xla tune --help``.

    Args:
        budget: Least accuracy.
        groups: Greatest number of groups of layers.

    Returns:
        Whether the search ended; False if the user stopped it.

    Raises:
        TTXLAError: The program does not run or compile, or nothing is accurate enough.
    """
    judge = measure_of(measure, Path(program).parent)
    made_from: dict[str, Any] = {
        "program": program,
        "arguments": list(arguments),
        "system": selected_system(),
        "tt_xla": __version__,
        "measure": measure,
    }
    log = TrialLog(out / TRIALS_NAME, LogRecord, program, (tuple(arguments), measure, groups))
    try:
        with progress_bar("recording the program") as progress:
            subject = _subject(program, arguments, log, out / SUBJECT_NAME)
            search = PrecisionSearch(subject, judge, log, budget, groups, progress)
            chosen = search.run()
    except KeyboardInterrupt:
        click.echo(f"interrupted; the same command continues the search ({out}).", err=True)
        return False
    write_results(out, search, chosen, made_from)
    if as_json:
        own = search.trials[()]
        before, after = ({"us": trial.us, "accuracy": trial.accuracy, "pcc": trial.pcc} for trial in (own, chosen))
        print_json({"file": str(out / FILE_NAME), "before": before, "after": after})
    else:
        _show(search, chosen, measure)
        click.echo(f"chosen: {out / FILE_NAME}; the front: {out / HTML_NAME}")
    return True


def _subject(program: str, arguments: Sequence[str], log: TrialLog[LogRecord], path: Path) -> Subject:
    """Returns the program that an earlier search in the folder recorded, or records it anew."""
    if log.is_current() and path.is_file():
        return Subject.load(path)
    log.clear()  # before the subject, so that a stop in between leaves no trials of another program
    subject = recorded_subject(program, arguments)
    subject.save(path)
    log.sources = subject.sources
    return subject


def _show(search: PrecisionSearch, chosen: Trial, measure: str) -> None:
    front = table("Front", "predicted us", measure, "")
    for trial in [*front_of(search.trials.values()), search.trials[()]]:
        mark = "chosen" if trial is chosen else ""
        front.add_row(label_of(search, trial), f"{trial.us:,.1f}", f"{trial.accuracy:.5f}", mark)
    console().print(front)
    if search.subject.inexact:
        click.echo(f"Compared with exact arithmetic in the program's types: {search.subject.inexact}")
