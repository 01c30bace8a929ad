"""Commands that take a script with its arguments, and one rule for whose an option is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click

from tt_xla.profiling.ranks.commands import torchrun_arguments
from tt_xla.tools.inputs import Kind, kind_of_name


class ScriptCommand(click.Command):
    """A command that takes a script, and may take files and folders too.

    Options before a script are the command's; everything after it is the script's. ``--`` may stand between the two.
    What is no script has no arguments, so options of the command may follow it. Where the command ``takes_torchrun``,
    torchrun with its arguments may stand in the script's place.
    """

    takes_torchrun = False

    def _has_arguments(self, words: Sequence[str], *, as_module: bool) -> bool:
        """Returns whether words begin with what has arguments of its own."""
        if as_module or kind_of_name(words[0]) is Kind.SCRIPT:
            return True
        return self.takes_torchrun and torchrun_arguments(words) is not None

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.allow_interspersed_args = False
        options, rest, _ = self.make_parser(ctx).parse_args(list(args))
        rest = [*self._positional(options), *rest]
        if not rest or not self._has_arguments(rest, as_module=bool(options.get("as_module"))):
            ctx.allow_interspersed_args = True
            return super().parse_args(ctx, args)
        before, own = args[: len(args) - len(rest)], rest[1:]
        if before[-1:] == ["--"]:
            before.pop()
        if own[:1] == ["--"]:
            own = own[1:]
        else:
            self._warn(ctx, rest[0], own)
        return super().parse_args(ctx, [*before, "--", rest[0], *own])

    def _positional(self, options: Mapping[str, Any]) -> Iterator[str]:
        """Yields what stands for the arguments of the command, in order."""
        for parameter in self.params:
            value = options.get(parameter.name or "") if isinstance(parameter, click.Argument) else None
            yield from (each for each in (value if isinstance(value, tuple) else (value,)) if isinstance(each, str))

    def _warn(self, ctx: click.Context, script: str, arguments: Sequence[str]) -> None:
        """Says which options of the command the script gets, because they come after it."""
        names = {name for parameter in self.params for name in parameter.opts if isinstance(parameter, click.Option)}
        passed = dict.fromkeys(name for text in arguments if (name := text.partition("=")[0]) in names)
        if passed and not ctx.resilient_parsing:
            click.echo(
                f"warning: {', '.join(passed)} after '{script}' goes to the script; options of '{ctx.command_path}' "
                "come before it. Write -- after the script if that is meant.",
                err=True,
            )


class RecordedScriptCommand(ScriptCommand):
    """A command that records a script, or the ranks of a script that torchrun starts."""

    takes_torchrun = True
