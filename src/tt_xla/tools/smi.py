"""``tt-xla smi``: emulated cards in use, by process, as tables, live or as JSON."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import Any

import click
from rich.box import SIMPLE
from rich.console import Console
from rich.live import Live
from rich.table import Table

from tt_xla.options import selected_system
from tt_xla.runtime import status as processes
from tt_xla.runtime.status import Status
from tt_xla.target import load_target

_GIB = 1 << 30
_LONG = 30.0
"""Seconds without a sign of life from which a run counts as wedged."""


def row(now: Status, before: Status | None = None, at: float | None = None) -> dict[str, Any]:
    """What is shown of a card; utilisation since ``before``, or since the card was opened."""
    at = time.time() if at is None else at
    target = load_target(now.system)
    since = before.updated if before is not None else now.opened
    busy = now.busy_us - (before.busy_us if before is not None else 0.0)
    # Since the last write nothing was counted: a card that runs writes every second.
    span = max((now.updated if at - now.updated < 2 * processes.INTERVAL else at) - since, 1e-9)
    return {
        "pid": now.pid,
        "system": now.system,
        "chips": target.chips,
        "clock_mhz": round(target.clock_hz / 1e6),
        "programs": now.programs,
        "runs": now.runs,
        "dram_used_bytes": now.dram_used,
        "dram_usable_bytes": now.dram_usable,
        "predicted_busy_us": round(now.busy_us, 1),
        "predicted_utilisation": round(min(busy / 1e6 / span, 1.0), 4) if before is None or now.runs else 0.0,
        "state": state(now, at),
    }


def state(status: Status, at: float) -> str:
    """``idle``, ``running``, or ``wedged`` when a run has begun and nothing was heard for long."""
    if status.running_since and at - status.updated > _LONG:
        return "wedged"
    return "running" if status.running_since or at - status.updated < 2 * processes.INTERVAL else "idle"


def table(rows: Sequence[dict[str, Any]]) -> Table:
    made = Table(title="Emulated cards in use", box=SIMPLE, caption=_caption())
    for name in ("process", "system", "clock", "DRAM in use", "programs", "runs", "predicted utilisation", "state"):
        made.add_column(name, justify="left" if name in ("system", "state") else "right")
    for each in rows:
        used, usable = each["dram_used_bytes"] / _GIB, each["dram_usable_bytes"] / _GIB
        made.add_row(
            str(each["pid"]),
            f"{each['system']}, {each['chips']} chip" + ("s" if each["chips"] > 1 else ""),
            f"{each['clock_mhz']} MHz",
            f"{used:.2f} of {usable:.1f} GiB",
            str(each["programs"]),
            str(each["runs"]),
            f"{each['predicted_utilisation']:.1%}",
            each["state"],
        )
    return made


def _caption() -> str:
    target = load_target(selected_system())
    return (
        f"A process started now opens {target.name}: {target.chips} x {target.arch}, "
        f"{target.clock_hz / 1e6:.0f} MHz, {target.dram_usable_bytes / _GIB:.1f} GiB of DRAM a chip. Utilisation is "
        "the chip's predicted busy time a second of wall clock."
    )


def show(*, once: bool, as_json: bool) -> None:
    """All cards in use, once or until interrupted."""
    if as_json:
        click.echo(json.dumps([row(status) for status in processes.read_all()], indent=2))
        return
    console = Console()
    if once:
        console.print(table([row(status) for status in processes.read_all()]))
        return
    before: dict[tuple[int, str], Status] = {}
    with Live(console=console, refresh_per_second=2, screen=console.is_terminal) as live:
        try:
            while True:
                found = {(status.pid, status.system): status for status in processes.read_all()}
                live.update(table([row(status, before.get(key)) for key, status in found.items()]))
                # A file that was not written since has nothing new to say.
                before |= {key: status for key, status in found.items() if _is_new(status, before.get(key))}
                time.sleep(processes.INTERVAL)
        except KeyboardInterrupt:
            return


def _is_new(status: Status, before: Status | None) -> bool:
    return before is None or status.updated - before.updated >= 2 * processes.INTERVAL


def reset() -> None:
    """Resets every card in use: each forgets programs, traces and const-eval results before its next run."""
    found = processes.read_all()
    for status in found:
        processes.request_reset(status)
        what = f"{status.system} of process {status.pid}"
        if state(status, time.time()) == "wedged":
            since = time.time() - status.running_since
            click.echo(f"{what} is in a run since {since:.0f} s and resets after it; `kill {status.pid}` ends it now.")
        else:
            click.echo(f"{what} resets before its next run.")
    if not found:
        click.echo("No emulated card is in use; what processes that have ended left behind is removed.")
