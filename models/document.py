"""Writes the tables of docs/models.md: ``python -m models.document small level-0 level-1 level-2``.

Each folder is a report of ``tt-xla models``, whose ``records.jsonl`` is read.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tt_xla.testing.models import records
from tt_xla.testing.models.records import Record

ENOUGH = 0.99
"""Smallest correlation that counts as agreement."""

DOCUMENT = Path("docs/models.md")


def failures(results: Mapping[str, Sequence[Record]]) -> list[str]:
    """Returns the models that fail, or correlate too little, at a level."""
    return [
        name
        for name, levels in results.items()
        if any(record.outcome != "passed" or not (record.pcc or math.nan) >= ENOUGH for record in levels)
    ]


def table(results: Mapping[str, Sequence[Record]]) -> str:
    """Returns Markdown with a section per task and a row per model.

    Args:
        results: records at the measured levels, by ``<model>/<task>/<framework>``.
    """
    lines: list[str] = []
    tasks = sorted({name.split("/")[1] for name in results})
    levels = sorted({record.level for records_of_model in results.values() for record in records_of_model})
    for task in tasks:
        lines += [
            f"\n### {task.replace('_', ' ').capitalize()}\n",
            f"| model | parameters |{''.join(f' PCC at {level} |' for level in levels)} compile s | TTNN ops | "
            "on the host | graphs |",
            f"|---|--:|{'--:|' * len(levels)}--:|--:|---|--:|",
            *(_row(name, results[name]) for name in sorted(results) if name.split("/")[1] == task),
        ]
    good = len(results) - len(failures(results))
    return f"{good} of {len(results)} models reach {ENOUGH} at every level.\n" + "\n".join(lines)


def _row(name: str, levels: Sequence[Record]) -> str:
    last = levels[-1]
    count = "" if last.parameters is None else f"{last.parameters / 1e6:.1f} M"
    correlations = [_correlation(record) for record in levels]
    seconds = " / ".join(f"{record.compile_s or 0:.1f}" for record in levels)
    ops = " / ".join(str(record.ops) for record in levels)
    kinds = ", ".join(sorted({op.split(" ")[0] for op in last.host_ops}))
    model, _, framework = name.split("/")
    shown = model if framework == "pytorch" else f"{model} ({framework})"
    return f"| {' | '.join([shown, count, *correlations, seconds, ops, kinds, str(last.graphs)])} |"


def _correlation(record: Record) -> str:
    if record.outcome == "passed" and record.pcc is not None:
        return f"{record.pcc:.4f}"
    return record.error.partition("\n")[0].replace("|", " ")[:80] or record.outcome


def write(document: Path, mark: str, text: str) -> None:
    """Replaces the text between two comments of a document.

    Raises:
        ValueError: the document does not have the comments.
    """
    begin, end = f"<!-- {mark} -->", f"<!-- /{mark} -->"
    before, opened, rest = document.read_text().partition(begin)
    _, closed, after = rest.partition(end)
    if not opened or not closed:
        raise ValueError(f"{document} lacks the marks {begin} and {end}.")
    document.write_text(f"{before}{begin}\n{text}\n{end}{after}")


def main(size: str, folders: Sequence[str]) -> None:
    """Writes the table of a size from the reports in folders, one per level."""
    results: dict[str, list[Record]] = {}
    for folder in folders:
        for test, record in records.load(Path(folder) / "records.jsonl").items():
            name, _, variant = test.removesuffix("-single_device-inference").rpartition("-")
            if variant in (size, "trained") and name:
                results.setdefault(name, []).append(record)
    write(DOCUMENT, f"models-{size}", table(results))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
