"""Adds up records: verdicts by kind, refusals, and which entries of the registries were reached."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from docs.tables import write_between_marks
from tests.fuzz.running import Entries
from tests.fuzz.unreached import UNREACHED

VERDICTS = ("passed", "refused", "different", "error", "hang", "crash", "undrawn")


class Tally:
    """What the records of a run say together."""

    def __init__(self) -> None:
        self.by_kind: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.reached: Counter[str] = Counter()
        self.refusals: Counter[str] = Counter()

    def add(self, record: dict[str, Any]) -> None:
        """Adds the record of a case."""
        kind = record["case"].partition(":")[0]
        self.by_kind[kind][record["verdict"]] += 1
        self.reached.update(record["reached"].keys())
        if record["verdict"] == "refused":
            self.refusals[re.sub(r"\d+", "N", record["details"])[:110]] += 1

    def table(self) -> list[str]:
        """Returns a table in Markdown: for each kind, the programs by verdict."""
        lines = [f"| kind | {' | '.join(VERDICTS)} |", f"|---|{'--:|' * len(VERDICTS)}"]
        for kind, verdicts in sorted(self.by_kind.items()):
            lines.append(f"| `{kind}` | {' | '.join(str(verdicts[name]) for name in VERDICTS)} |")
        return lines

    def coverage(self, entries: Entries) -> list[str]:
        """Returns a table in Markdown: for each registry, how many entries programs reached, and which they did not."""
        lines = ["| registry | entries | reached | not reached |", "|---|--:|--:|---|"]
        for table, names in entries.items():
            missing = [name for name in names if not self.reached[f"{table}:{name}"]]
            known = UNREACHED.get(table, {})
            unexplained = [name for name in missing if name not in known]
            shown = ", ".join(f"`{name}`" for name in unexplained[:12])
            more = f" and {len(unexplained) - 12} more" if len(unexplained) > 12 else ""
            explained = f"{len(missing) - len(unexplained)} explained" if len(missing) > len(unexplained) else ""
            left = "; ".join(filter(None, (explained, shown + more)))
            lines.append(f"| {table} | {len(names)} | {len(names) - len(missing)} | {left} |")
        return lines

    def text(self, seed: str, entries: Entries) -> str:
        """Returns what a reader of the terminal sees."""
        refused = [f"  {count:5} {reason}" for reason, count in self.refusals.most_common(15)]
        return "\n".join(
            [
                f"seed {seed}",
                *self.table(),
                "",
                *self.coverage(entries),
                "",
                *(["refusals:"] if refused else []),
                *refused,
            ]
        )


def write(document: Path, tally: Tally, seed: str, entries: Entries) -> None:
    """Writes the tables between the marks ``<!-- fuzz -->`` of a page."""
    total = sum(verdicts.total() - verdicts["undrawn"] for verdicts in tally.by_kind.values())
    lines = [f"Seed {seed}, {total:,} programs.", "", *tally.table(), "", *tally.coverage(entries)]
    write_between_marks(document, "fuzz", "\n".join(lines))
