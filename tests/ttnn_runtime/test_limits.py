"""A card that does not answer: limits of a run and of compiling kernels, and the reset of the board."""

from __future__ import annotations

import contextlib
import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.ttnn_runtime.test_runtime import check, inputs, loaded
from tt_xla import stage_times
from tt_xla.errors import ExecutionError, OptionError, RuntimeUnavailableError
from tt_xla.runtime.ttnn import board, launch, waiting

if TYPE_CHECKING:
    from tests.ttnn_runtime.conftest import StandIn


def test_compiling_kernels_has_a_limit_of_its_own(
    stand_in: StandIn, monkeypatch: pytest.MonkeyPatch, project_log: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("TTXLA_TTNN_TIMEOUT", "1.5")
    monkeypatch.setattr(waiting, "LOG_SECONDS", 1.0)
    executable, arguments = loaded(), inputs()
    stand_in.tan.write_text("compile 4")
    with project_log.at_level(logging.INFO, "tt_xla"), stage_times.counted_apart():
        check(executable.run(arguments, [None, 7]), arguments)
        assert stage_times.spent()[stage_times.KERNELS].wall_s > 2
    assert "TT-NN has compiled kernels for " in project_log.text
    launch.close_workers()
    monkeypatch.setenv("TTXLA_TTNN_COMPILE_TIMEOUT", "1")
    executable = loaded()
    stand_in.tan.write_text("compile 30")
    with pytest.raises(ExecutionError, match=r"has compiled kernels for 1 s.*TTXLA_TTNN_COMPILE_TIMEOUT"):
        executable.run(arguments, [None, 7])


def test_a_board_that_did_not_answer_is_reset_before_the_next_start(
    stand_in: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, project_log: pytest.LogCaptureFixture
) -> None:
    resets = tmp_path / "resets"
    monkeypatch.setenv("TTXLA_TTNN_TIMEOUT", "1")
    monkeypatch.setenv("TTXLA_TTNN_RESET", f"sh -c 'echo x >>{resets}'")
    executable, arguments = loaded(), inputs()
    stand_in.tan.write_text("hang")
    with pytest.raises(ExecutionError):
        executable.run(arguments, [None, 7])
    stand_in.tan.write_text("")
    assert not resets.exists()
    for _ in range(2):
        check(executable.run(arguments, [None, 7]), arguments)
        executable.worker.kill()
    assert resets.read_text() == "x\n"
    stand_in.tan.write_text("hang")
    monkeypatch.setenv("TTXLA_TTNN_RESET", "sh -c 'echo no driver; exit 3'")
    with pytest.raises(ExecutionError):
        executable.run(arguments, [None, 7])
    stand_in.tan.write_text("")
    check(executable.run(arguments, [None, 7]), arguments)
    assert "ended with status 3. no driver" in project_log.text
    project_log.clear()
    board.reset(())
    assert "pip install tt-smi" in project_log.text
    project_log.clear()
    board.reset(None)
    assert not project_log.text


def test_the_tool_that_resets_boards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python = Path(sys.executable)
    cards, folder = tmp_path / "cards", tmp_path / "bin"
    for path in (cards / "0", cards / "3", cards / "by-id", folder):
        path.mkdir(parents=True)
    monkeypatch.setenv("PATH", str(python.parent))  # with our own command of the same name
    assert board.reset_command(python, cards) == ()
    tool = folder / "tt-smi"
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{python.parent}:{folder}")
    assert board.reset_command(python, cards) == (str(tool), "-r", "0,3")
    monkeypatch.setenv("TT_VISIBLE_DEVICES", "3")
    assert board.reset_command(python, cards) == (str(tool), "-r", "3")
    (tmp_path / "tt_smi.py").write_text("")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert board.reset_command(python, cards) == (str(python), "-m", "tt_smi", "-r", "3")
    monkeypatch.setenv("TTXLA_TTNN_RESET", "off")
    assert board.reset_command(python, cards) is None
    monkeypatch.setenv("TTXLA_TTNN_RESET", "tt-smi -r '0'")
    assert board.reset_command(python, cards) == ("tt-smi", "-r", "0")
    monkeypatch.setenv("TTXLA_TTNN_RESET", "tt-smi '")
    with pytest.raises(OptionError, match="no command line"):
        board.reset_command(python, cards)


HOLDER = """
import mmap, sys, time
board, library = open(sys.argv[1]), open(sys.argv[2], "rb")
mapped = mmap.mmap(library.fileno(), 0, prot=mmap.PROT_READ)
print("ready", flush=True)
time.sleep(600)
"""


@contextlib.contextmanager
def holding(board_file: Path, library: Path) -> Iterator[subprocess.Popen[str]]:
    """Runs a process that has opened a board and loaded a library."""
    for path in (board_file, library):
        path.write_text("contents")
    command = [sys.executable, "-c", HOLDER, str(board_file), str(library)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process
    finally:
        process.kill()
        process.communicate()


def test_a_card_that_another_process_has_is_refused_by_its_name(stand_in: StandIn, tmp_path: Path) -> None:
    """TT-NN would wait for ever, and the board would then be reset under the other process."""
    cards = launch.CARDS
    with holding(cards / "0", tmp_path / "_ttnn.so") as process:
        expected = rf"the card is in use by process {process.pid} \(\S*python\S* -c"
        with pytest.raises(RuntimeUnavailableError, match=expected):
            loaded()
    executable, arguments = loaded(), inputs()
    check(executable.run(arguments, [None, 7]), arguments)


def test_tools_and_other_boards_are_no_users_of_the_card(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with holding(tmp_path / "0", tmp_path / "libsmi.so"):
        assert board.users(tmp_path) == []
    with holding(tmp_path / "0", tmp_path / "_ttnncpp.so"):
        assert len(board.users(tmp_path)) == 1
        monkeypatch.setenv("TT_VISIBLE_DEVICES", "1,2")
        assert board.users(tmp_path) == []
        monkeypatch.setenv("TT_VISIBLE_DEVICES", "0,2")
        assert len(board.users(tmp_path)) == 1


def test_mock_mode_acts_as_each_system_that_is_selected(mock_runtime: None, monkeypatch: pytest.MonkeyPatch) -> None:
    workers = []
    for system in ("p150", "p300", "p150"):
        monkeypatch.setenv("TTXLA_SYSTEM", system)
        workers.append(launch.worker())
    assert workers[0] is workers[2]
    assert workers[0] is not workers[1]
