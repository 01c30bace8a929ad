"""The table of docs/models.md."""

from __future__ import annotations

from typing import Any

from models import FAMILIES

ENOUGH = 0.99


def failures(found: dict[str, Any]) -> list[str]:
    """Models that do not run, or whose results correlate too little."""
    return [
        name
        for name, result in found.items()
        if "error" in result or any(level["pcc"] < ENOUGH for level in result["levels"].values())
    ]


def table(found: dict[str, Any]) -> str:
    """Markdown: a row a model, families in the order of the registry."""
    lines: list[str] = []
    for family, loaders in FAMILIES.items():
        rows = [_row(loader.name, found[loader.name]) for loader in loaders if loader.name in found]
        if rows:
            lines += [
                f"\n### {family[0].upper()}{family[1:]}\n",
                "| model | parameters | CPU | PCC at 0 | 1 | 2 | compile s | TTNN ops | on the host | graphs |",
                "|---|--:|--:|--:|--:|--:|--:|--:|---|--:|",
                *rows,
            ]
    good = len(found) - len(failures(found))
    return f"{good} of {len(found)} models reach {ENOUGH} at every level.\n" + "\n".join(lines)


def _row(name: str, result: dict[str, Any]) -> str:
    if "error" in result:
        return f"| {name} | {result['error'].replace('|', ' ')[:120]} |" + " |" * 8
    levels = {str(level): found for level, found in result["levels"].items()}
    correlations = [f"{levels[level]['pcc']:.4f}" if level in levels else "" for level in "012"]
    seconds = " / ".join(f"{found['compile_s']:.1f}" for found in levels.values())
    ops = " / ".join(str(found["ops"]) for found in levels.values())
    last = list(levels.values())[-1]
    kinds = sorted({op.split(" ")[0] for op in last["host_ops"]})
    cells = [
        name,
        f"{result['parameters'] / 1e6:.1f} M",
        f"{result['cpu_pcc']:.4f}",
        *correlations,
        seconds,
        ops,
        ", ".join(kinds),
        str(last["graphs"]),
    ]
    return f"| {' | '.join(cells)} |"
