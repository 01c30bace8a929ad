"""Implements ``tt-xla smi``: shows the cards in use, by process, as a live table or as JSON."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from rich.box import SIMPLE
from rich.live import Live
from rich.table import Table

from tt_xla.environment import selected_system
from tt_xla.errors import OptionError
from tt_xla.runtime import status as processes
from tt_xla.runtime.status import Status
from tt_xla.target import load_target
from tt_xla.tools.info import links_text
from tt_xla.tools.output import console, print_json

_GIB = 1 << 30
_WEDGED_AFTER = 30.0
"""Seconds without an update after which a run counts as wedged."""


def row(now: Status, before: Status | None = None, at: float | None = None) -> dict[str, Any]:
    """Returns the displayed data of a card.

    Args:
        now: the card's status.
        before: an earlier status, from which on utilisation counts; None for the time when the card was opened.
        at: seconds since the epoch; None for the clock's time.
    """
    at = time.time() if at is None else at
    since = before.updated if before is not None else now.opened
    busy = now.busy_us - (before.busy_us if before is not None else 0.0)
    # A card that runs updates its status every second. If the last update is recent, the span ends there.
    span = max((now.updated if at - now.updated < 2 * processes.INTERVAL else at) - since, 1e-9)
    return {
        "pid": now.pid,
        "system": now.system,
        "runtime": now.runtime,
        "chip": now.chip,
        "chips": now.chips,
        "links": [{"chips": link.chips, "channels": link.channels} for link in now.links],
        "clock_mhz": round(now.clock_hz / 1e6),
        "programs": now.programs,
        "runs": now.runs,
        "dram_used_bytes": now.dram_used,
        "dram_usable_bytes": now.dram_usable,
        "predicted_busy_us": round(now.busy_us, 1),
        "predicted_utilisation": round(min(busy / 1e6 / span, 1.0), 4) if before is None or now.runs else 0.0,
        "state": state(now, at),
    }


def state(status: Status, at: float) -> str:
    """Returns ``idle``, ``running``, or ``wedged`` if a run has begun and the status is old at this time."""
    if status.running_since and at - status.updated > _WEDGED_AFTER:
        return "wedged"
    return "running" if status.running_since or at - status.updated < 2 * processes.INTERVAL else "idle"


def table(rows: Sequence[dict[str, Any]]) -> Table:
    """Returns a table of cards, from the results of :func:`row`."""
    cards = Table(title="Cards in use", box=SIMPLE, caption=_caption())
    figures = ("clock", "DRAM in use", "programs", "runs", "predicted utilisation")
    for name in ("process", "system", "runtime", *figures, "state"):
        cards.add_column(name, justify="left" if name in ("system", "runtime", "state") else "right")
    for card in rows:
        used, usable = card["dram_used_bytes"] / _GIB, card["dram_usable_bytes"] / _GIB
        cards.add_row(
            str(card["pid"]),
            f"{card['system']}, " + (f"chip {card['chip']} of {card['chips']}" if card["chips"] > 1 else "1 chip"),
            card["runtime"],
            f"{card['clock_mhz']} MHz",
            f"{used:.2f} of {usable:.1f} GiB",
            str(card["programs"]),
            str(card["runs"]),
            f"{card['predicted_utilisation']:.1%}",
            card["state"],
        )
    return cards


def _caption() -> str:
    target = load_target(selected_system())
    links = f", {links_text(target)}" if target.chips > 1 else ""
    return (
        f"A process started now opens {target.name}: {target.chips} x {target.arch}, "
        f"{target.clock_hz / 1e6:.0f} MHz, {target.dram_usable_bytes / _GIB:.1f} GiB of DRAM a chip{links}. "
        "Utilisation is the chip's predicted busy time per second of wall clock."
    )


def show(*, once: bool, as_json: bool) -> None:
    """Shows all cards in use: until the user interrupts, or once, as is done for JSON and without a terminal."""
    if as_json:
        print_json([row(status) for status in processes.read_all()], indent=2)
        return
    screen = console(folds=True)
    if once or not screen.is_terminal:
        screen.print(table([row(status) for status in processes.read_all()]))
        return
    before: dict[tuple[int, str, int], Status] = {}
    with Live(console=screen, refresh_per_second=2, screen=screen.is_terminal) as live:
        try:
            while True:
                current = {(status.pid, status.system, status.chip): status for status in processes.read_all()}
                live.update(table([row(status, before.get(key)) for key, status in current.items()]))
                # A status that was not updated since would give a utilisation of 0.
                before |= {key: status for key, status in current.items() if _is_new(status, before.get(key))}
                time.sleep(processes.INTERVAL)
        except KeyboardInterrupt:
            return


def _is_new(status: Status, before: Status | None) -> bool:
    return before is None or status.updated - before.updated >= 2 * processes.INTERVAL


def reset(pids: Sequence[int] = (), *, ask: bool = False) -> None:
    """Requests a reset of cards in use. A card drops programs, traces and const-eval results before its next run.

    Args:
        pids: processes whose cards are reset; all processes of this user if empty.
        ask: whether to ask before cards of unnamed processes are reset; without a terminal, those of other sessions
            are left alone.

    Raises:
        OptionError: a process has no card.
        click.Abort: the answer is no.
    """
    statuses = processes.read_all()
    if missing := {*pids} - {status.pid for status in statuses}:
        known = ", ".join(sorted({str(status.pid) for status in statuses})) or "none"
        raise OptionError(f"Process {min(missing)} has no card.", hint=f"Processes with a card: {known}.")
    if not statuses:
        click.echo("No card is in use. Status files of processes that have ended were removed.")
    chosen = [status for status in statuses if not pids or status.pid in pids]
    if ask and not pids and chosen:
        if sys.stdin.isatty():
            for status in chosen:
                click.echo(f"{_card(status)}: {state(status, time.time())}")
            click.confirm("Reset these cards? Their programs are loaded again", abort=True)
        else:
            for status in [each for each in chosen if not _is_of_this_session(each.pid)]:
                chosen.remove(status)
                click.echo(f"{_card(status)} is left alone: it is of another session. --yes resets it too.")
    for status in chosen:
        processes.request_reset(status)
        if state(status, time.time()) == "wedged":
            since = time.time() - status.running_since
            click.echo(
                f"{_card(status)} has been in a run for {since:.0f} s and resets after it; "
                f"`kill {status.pid}` ends it now."
            )
        else:
            click.echo(f"{_card(status)} resets before its next run.")


def _card(status: Status) -> str:
    """Returns a card in words, with the beginning of its process's command line."""
    try:
        words = Path(f"/proc/{status.pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        words = ""
    command = f" ({words[:60]}{' ...' if len(words) > 60 else ''})" if words.isprintable() and words else ""
    return f"{status.system} of process {status.pid}{command}"


def _is_of_this_session(pid: int) -> bool:
    try:
        return os.getsid(pid) == os.getsid(0)
    except OSError:
        return False
