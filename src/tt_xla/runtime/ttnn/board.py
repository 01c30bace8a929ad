"""Boards: which processes use them, and a reset after TT-NN did not answer, as kernels may still run on them."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tt_xla.environment import variable
from tt_xla.errors import OptionError
from tt_xla.log import logger

_SECONDS = 180.0
"""Time that a reset may take: links between chips are trained again."""

_MODULE = "tt_smi"
"""Python module of Tenstorrent's tool."""

_LIBRARIES = ("ttnn", "tt_metal")
"""Parts of the names of the libraries with which a process takes a board for itself. Tenstorrent's tools, which look at
boards that others use, have none of them."""


def users(cards: Path) -> list[str]:
    """Returns the processes in which TT-NN has opened a board that TT-NN would open here, each as words.

    TT-NN waits for ever for a board that another process has. What this process may not look at is left out.

    Args:
        cards: folder of the boards' device files.
    """
    visible = variable("TT_VISIBLE_DEVICES").split(",")
    boards = {str(path) for path in cards.glob("*") if path.name.isdigit()}
    if all(number.strip().isdigit() for number in visible):
        boards &= {str(cards / number.strip()) for number in visible}
    return [_described(process) for process in Path("/proc").glob("[0-9]*") if boards and _uses(process, boards)]


def _uses(process: Path, boards: set[str]) -> bool:
    """Returns whether a process has opened one of these device files and loaded TT-NN."""
    try:
        opened = {_target(each) for each in (process / "fd").iterdir()}
        mapped = [] if opened.isdisjoint(boards) else (process / "maps").read_text().splitlines()
    except OSError:  # it has ended, or belongs to somebody else
        return False
    return any(name in line.rpartition("/")[2] for line in mapped for name in _LIBRARIES)


def _target(link: Path) -> str:
    """Returns what an open file of a process is; an empty text once it is closed."""
    try:
        return os.readlink(link)
    except FileNotFoundError:
        return ""


def _described(process: Path) -> str:
    """Returns a process by its number and command; that of a worker of this package by its user's process."""
    try:
        words = (process / "cmdline").read_text().split("\0")
        parent = (process / "stat").read_text().rpartition(")")[2].split()[1]
        if any(word.endswith("ttnn/worker.py") for word in words):
            return f"the worker {process.name} of {_described(process.parent / parent)}"
        return f"process {process.name} ({' '.join(words).strip()[:200]})"
    except OSError:
        return f"process {process.name}"


def reset_command(python: Path, cards: Path) -> tuple[str, ...] | None:
    """Returns the command that resets the boards which TT-NN opens; empty if there is none, None if none is wanted.

    By default it is Tenstorrent's ``tt-smi`` in the interpreter that has ``ttnn``, or in ``PATH``. The command of this
    package that has the same name resets programs, not boards.

    Args:
        python: interpreter that has ``ttnn``.
        cards: folder of the boards' device files.

    Raises:
        OptionError: ``TTXLA_TTNN_RESET`` is no command line.
    """
    wanted = variable("TTXLA_TTNN_RESET")
    if wanted == "off":
        return None
    if wanted != "auto":
        try:
            return tuple(shlex.split(wanted))
        except ValueError as error:
            raise OptionError(
                f"TTXLA_TTNN_RESET was given {wanted!r}, which is no command line: {error}.",
                hint="It takes a command such as 'tt-smi -r 0', auto or off.",
            ) from None
    tool = _tool(python)
    present = sorted(int(path.name) for path in cards.glob("*") if path.name.isdigit())
    numbers = variable("TT_VISIBLE_DEVICES") or ",".join(map(str, present))
    return (*tool, "-r", numbers) if tool and numbers else ()


def _tool(python: Path) -> tuple[str, ...]:
    found = subprocess.run(
        [python, "-c", f"import importlib.util, sys; sys.exit(importlib.util.find_spec({_MODULE!r}) is None)"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    if found.returncode == 0:
        return (str(python), "-m", _MODULE)
    for folder in os.get_exec_path():
        path = shutil.which("tt-smi", path=folder)
        with contextlib.suppress(OSError):
            if path is not None and b"tt_xla" not in Path(path).read_bytes():
                return (path,)
    return ()


def reset(command: Sequence[str] | None) -> None:
    """Resets the board, and logs what was done or why it was not.

    Args:
        command: the result of :func:`reset_command`.
    """
    if command is None:
        return
    if not command:
        logger().warning(
            "TT-NN did not answer, and the board is not reset: kernels may still run on it. Install Tenstorrent's tool "
            "(pip install tt-smi) beside ttnn, or name a command in TTXLA_TTNN_RESET."
        )
        return
    text = shlex.join(command)
    logger().warning("TT-NN did not answer, so the board is reset: %s", text)
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        logger().warning("The board was not reset: %s", error)
        return
    if done.returncode:
        output = done.stdout.decode(errors="replace").strip()[-500:]
        logger().warning("The board was not reset: %s ended with status %d. %s", text, done.returncode, output)
