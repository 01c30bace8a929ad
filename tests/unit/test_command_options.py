"""One word for one thing: the options that commands share, whose an option is, and what goes to standard output."""

from __future__ import annotations

import itertools
import json
import os
import re
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from tt_xla.environment import selected_system
from tt_xla.json_text import to_json
from tt_xla.tools.cli import cli
from tt_xla.tools.options import json_option, system_option
from tt_xla.tools.output import console, json_alone, print_json, progress_bar, table
from tt_xla.tools.profile_command import tracy_command
from tt_xla.tools.script_command import ScriptCommand

pytestmark = pytest.mark.quick

SCRIPTS = ("bench", "codegen", "compare", "compile", "explore", "profile", "reduce", "tune")
"""The commands that take a script."""


def options_of(command: click.Command) -> list[click.Option]:
    return [each for each in command.params if isinstance(each, click.Option)]


ALL = [(name, option) for name, command in cli.commands.items() for option in options_of(command)]


NAMES = (
    ("--system", "--arch", "--target"),
    ("-o", "--out", "--output", "--export", "--output-folder", "--reproduce"),
    ("--level",),
    ("--option",),
)
"""The names of one thing."""


@pytest.mark.parametrize(("name", "option"), ALL, ids=[f"{name} {option.opts[0]}" for name, option in ALL])
def test_one_thing_has_one_name(name: str, option: click.Option) -> None:
    for names in NAMES:
        if {*names} & {*option.opts}:
            canonical = [each for each in names if each in ("--system", "-o", "--out", "--level", "--option")]
            assert option.opts[: len(canonical)] == canonical


@pytest.mark.parametrize("name", ["compile", "run", "codegen", "explore", "models"])
def test_upstreams_names_stay(name: str) -> None:
    (option,) = (each for each in options_of(cli.commands[name]) if each.name == "system")
    assert option.opts == ["--system", "--arch"]


def test_each_command_that_needs_a_system_takes_one() -> None:
    without = {name for name, command in cli.commands.items() if "system" not in {each.name for each in command.params}}
    assert without == {"cache", "completion", "doctor", "info", "report", "show", "smi"}


def test_a_system_counts_while_the_command_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    @click.command()
    @system_option("--arch")
    def command() -> None:
        seen.append(selected_system())

    monkeypatch.setenv("TTXLA_SYSTEM", "n300")
    monkeypatch.setenv("TT_COMPILE_ONLY_SYSTEM_DESC", "card.ttsys")
    for spelling in ("--system", "--arch"):
        assert CliRunner().invoke(command, [spelling, "p150"]).exit_code == 0
    assert seen == ["p150", "p150"]
    assert selected_system() == "card.ttsys"


def test_summaries_are_not_cut() -> None:
    shown = CliRunner().invoke(cli, ["--help"], terminal_width=80).output
    commands = shown.split("Commands:\n")[1]
    assert [line.split()[0] for line in commands.splitlines()] == sorted(cli.commands)
    assert "..." not in commands


# Whose an option is


def parsed(name: str, *arguments: str) -> tuple[dict[str, object], str]:
    """Returns the parameters of a command, and what it says on standard error."""
    command = tracy_command if name == "tracy" else cli.commands[name]
    given: dict[str, object] = {}

    @click.command(name, cls=ScriptCommand, params=command.params)
    def recorded(**parameters: object) -> None:
        given.update(parameters, system=selected_system())

    result = CliRunner().invoke(recorded, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return given, result.stderr


def required(name: str) -> list[str]:
    return ["--out", "place"] if name == "codegen" else []


def script_and_arguments(name: str, given: dict[str, object]) -> list[object]:
    """Returns the script and its arguments, as one list for each command."""
    if name in ("compile", "codegen"):
        return [*given["files"]]  # type: ignore[misc]
    positional = next(each.name for each in cli.commands[name].params if isinstance(each, click.Argument))
    return [str(given[str(positional)]), *given["arguments"]]  # type: ignore[misc]


@pytest.mark.parametrize("name", SCRIPTS)
def test_options_after_a_script_are_the_scripts(name: str) -> None:
    given, said = parsed(name, *required(name), "train.py", "--epochs", "2", "-x", "--", "y")
    assert script_and_arguments(name, given) == ["train.py", "--epochs", "2", "-x", "--", "y"]
    assert given["system"] == "n150"
    if name != "explore":  # it has an option -x
        assert said == ""


@pytest.mark.parametrize("name", SCRIPTS)
def test_options_before_a_script_are_the_commands(name: str) -> None:
    given, said = parsed(name, *required(name), "--system", "p150", "train.py", "--epochs", "2")
    assert script_and_arguments(name, given) == ["train.py", "--epochs", "2"]
    assert given["system"] == "p150"
    assert said == ""


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_known_option_after_a_script_warns(name: str) -> None:
    given, said = parsed(name, *required(name), "train.py", "--system", "p150", "-o=x")
    assert script_and_arguments(name, given) == ["train.py", "--system", "p150", "-o=x"]
    assert said == (
        f"warning: --system, -o after 'train.py' goes to the script; options of '{name}' come before it. "
        "Write -- after the script if that is meant.\n"
    )


@pytest.mark.parametrize(("name", "before"), [*itertools.product(SCRIPTS, (True, False))])
def test_two_dashes_separate(name: str, before: bool) -> None:
    line = ["--", "train.py", "--epochs", "2"] if before else ["train.py", "--", "--system", "p150"]
    given, said = parsed(name, *required(name), *line)
    assert script_and_arguments(name, given) == [word for word in line if word != "--"]
    assert said == ""


@pytest.mark.parametrize("name", [name for name in SCRIPTS if name not in ("compile", "codegen")])
def test_options_may_follow_what_is_no_script(name: str) -> None:
    given, said = parsed(name, "model.mlir", "--system", "p150")
    assert script_and_arguments(name, given) == ["model.mlir"]
    assert given["system"] == "p150"
    assert said == ""


def test_a_script_without_a_suffix_is_known_by_its_first_line(tmp_path: Path) -> None:
    script = tmp_path / "train"
    script.write_text("#!/usr/bin/env python3\nprint(1)\n")
    given, _ = parsed("bench", str(script), "--steps", "2")
    assert given["arguments"] == ("--steps", "2")


def test_the_line_of_the_benchmark_procedure() -> None:
    words = "-p -r --sync-host-device --tracy-tools-folder tools -o base/tracy_profile train.py --lr 1 -o x"
    given, _ = parsed("tracy", *words.split())
    assert (given["partial"], given["report"], given["synchronised"]) == (True, True, True)
    assert (given["out"], given["script"], given["arguments"]) == (
        Path("base/tracy_profile"),
        "train.py",
        ("--lr", "1", "-o", "x"),
    )


# What goes to standard output


def strict(text: str) -> object:
    """Reads JSON as other languages do, which have no NaN."""

    def refuse(constant: str) -> None:
        raise ValueError(constant)

    return json.loads(text, parse_constant=refuse)


def test_numbers_that_json_lacks_are_texts() -> None:
    inf, nan = float("inf"), float("nan")
    assert strict(to_json({"a": [nan, inf, -inf, 1.5], "b": (nan,), nan: None})) == {
        "a": ["NaN", "Infinity", "-Infinity", 1.5],
        "b": ["NaN"],
        "NaN": None,
    }


def test_json_is_alone_whatever_else_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    with json_alone():
        print("a script")
        os.write(1, b"a library\n")
        print_json({"figure": 1.0})
        os.system("echo a child")
    print("after")
    shown = capfd.readouterr()
    assert shown.out.splitlines() == ['{"figure": 1.0}', "after"]
    assert re.findall(r"a \w+", shown.err) == ["a script", "a library", "a child"]


def test_progress_is_lines_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar("recording") as step:
        step(2, "times of each layer")
        step(0, "bfp8: 0.5 ms a step")
        step(1, "")
        step(0, "")
    shown = capsys.readouterr()
    assert (shown.out, shown.err.splitlines()) == ("", ["times of each layer: 2 trials", "bfp8: 0.5 ms a step"])


def test_tables_show_texts_in_brackets_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    cells = table("name", ">us", title="[red]x")
    cells.add_row("w[0] [/]", "7")
    console().print(cells)
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines == [["[red]x"], ["name", "us"], ["w[0]", "[/]", "7"]]


def test_the_option_makes_json_alone() -> None:
    @click.command()
    @json_option("JSON.")
    def command(as_json: bool) -> None:
        click.echo("a table")
        if as_json:
            print_json([1])

    runner = CliRunner()
    assert runner.invoke(command, []).stdout == "a table\n"
    done = runner.invoke(command, ["--json"])
    assert (done.stdout, done.stderr) == ("[1]\n", "a table\n")
