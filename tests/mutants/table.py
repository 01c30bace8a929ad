"""The tables of mutants in docs/testing.md."""

from __future__ import annotations

import re
import subprocess
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from docs.tables import write_between_marks
from tests.mutants.running import KILLED, NOT_EXECUTED, SURVIVED, Verdict
from tests.mutants.sources import ROOT

MARK = "mutants"
_REASONS = {SURVIVED: "not judged", NOT_EXECUTED: "not reached"}
_ROW = re.compile(r"^\| `(?P<file>[^`:]+):\d+` \| (?P<old>.*?) \| (?P<new>.*?) \| [\d,]+ \| (?P<why>.*?) \|$", re.M)


def _code(text: str) -> str:
    """Returns a text as code in a cell of a table."""
    escaped = text.replace("|", "\\|")
    return f"`` {escaped} ``" if "`" in text else f"`{escaped}`"


def kept_reasons(document: str) -> dict[tuple[str, str, str], str]:
    """Returns the reasons that stand in a document's table, by file, old and new text."""
    return {(row["file"], row["old"], row["new"]): row["why"] for row in _ROW.finditer(document)}


def tables(verdicts: Sequence[Verdict], seed: str, reasons: Mapping[tuple[str, str, str], str]) -> str:
    """Returns the sentence on the drawing, the table of packages and the table of living mutants."""
    killed = sum(not verdict.is_alive for verdict in verdicts)
    lines = [
        f"Drawn with seed {seed} at commit {_commit()}: {killed} of {len(verdicts)} mutants are killed.",
        "",
        "| package | drawn | killed | survived | not executed |",
        "|---|--:|--:|--:|--:|",
    ]
    packages: dict[str, Counter[str]] = defaultdict(Counter)
    for verdict in verdicts:
        packages[verdict.mutant.package][verdict.outcome] += 1
    for package, counts in sorted(packages.items()):
        numbers = (sum(counts.values()), counts[KILLED], counts[SURVIVED], counts[NOT_EXECUTED])
        lines.append(f"| {package} | {' | '.join(map(str, numbers))} |")
    alive = sorted((verdict for verdict in verdicts if verdict.is_alive), key=lambda each: each.mutant.place)
    if alive:
        lines += [
            "",
            "| living mutant | line | with the fault | tests that pass | why it lives |",
            "|---|---|---|--:|---|",
        ]
    for verdict in alive:
        mutant = verdict.mutant
        old, new = _code(mutant.old), _code(mutant.new)
        why = reasons.get((mutant.place.partition(":")[0], old, new), _REASONS[verdict.outcome])
        lines.append(f"| `{mutant.place}` | {old} | {new} | {verdict.tests:,} | {why} |")
    return "\n".join(lines)


def _commit() -> str:
    command = ["git", "-C", str(ROOT), "rev-parse", "--short=8", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip() or "unknown"


def write(document: Path, verdicts: Sequence[Verdict], seed: str) -> None:
    """Writes the tables between the marks of a document and keeps the reasons that stand there."""
    write_between_marks(document, MARK, tables(verdicts, seed, kept_reasons(document.read_text())))
