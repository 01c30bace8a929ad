"""Implements ``tt-xla explore`` and ``tt-explorer``."""

from __future__ import annotations

import re
import time
import webbrowser
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tt_xla.environment import selected_system
from tt_xla.errors import RuntimeUnavailableError
from tt_xla.tools.explorer.session import Session
from tt_xla.tools.explorer.subjects import is_script
from tt_xla.tools.inputs import MODULE_KINDS, Kind, check_input
from tt_xla.tools.options import compile_options, out_option, system_option
from tt_xla.tools.output import writing
from tt_xla.tools.script_command import ScriptCommand

if TYPE_CHECKING:
    from tt_xla.tools.explorer.server import Server


@click.command("explore", cls=ScriptCommand)
@click.argument("model", required=False, type=click.Path(path_type=Path), metavar="[MODEL]")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "-p", "--port", type=click.IntRange(0, 65535), default=8080, show_default=True, help="0 for any free one."
)
@click.option("-u", "--url", default="localhost", show_default=True, help="Host to listen on; only this machine.")
@click.option("-q", "--no-browser", is_flag=True, help="Do not open the page in a browser.")
@click.option("-x", "--no-model-execution", "no_runs", is_flag=True, help="Run neither models nor scripts.")
@click.option(
    "-c", "--cors_host", "origin", metavar="ORIGIN", help="Also answer pages of this origin, which need the token."
)
@click.option("--run", "execute", is_flag=True, help="Run each program on the emulated card, beside float32, at once.")
@out_option("--export", metavar="FILE", text="Write one HTML file and serve nothing.")
@system_option("--arch")
@compile_options
def explore_command(
    model: Path | None,
    arguments: Sequence[str],
    port: int,
    url: str,
    no_browser: bool,
    no_runs: bool,
    origin: str | None,
    execute: bool,
    out: Path | None,
    options: dict[str, object],
) -> None:
    """Show the graphs of a model in the browser.

    Choices of the compiler can be changed there, and the model compiled and run again. MODEL is a module of StableHLO,
    TTIR or TTNN, a .ttnn file, a folder with dumps (option export_path) of this compiler or of upstream's, or a Python
    script, which is run with its ARGUMENTS.
    """
    if url not in ("127.0.0.1", "localhost"):
        raise click.UsageError(
            f"--url got {url!r}; the explorer listens on localhost alone. From another machine, use ssh -L "
            f"{port}:localhost:{port}."
        )
    if no_runs and (execute or (model is not None and is_script(model))):
        raise click.UsageError(
            "--no-model-execution (-x) contradicts " + ("--run." if execute else "a script as MODEL.")
        )
    if origin is not None and re.fullmatch(r"https?://[\w.-]+(:\d+)?", origin) is None:
        raise click.UsageError(f"--cors_host got {origin!r}; expected an origin such as https://example.org:8443.")
    if model is not None:
        check_input(model, *MODULE_KINDS, Kind.PROGRAM, Kind.SCRIPT, Kind.MODULES)
    if out is not None:
        if model is None:
            raise click.UsageError("--out needs a MODEL.")
        for path in _exported(model, arguments, options, selected_system(), execute, out):
            click.echo(f"written: {path}")
        return
    server = started(
        model, arguments, port, options, selected_system(), execute=execute, runs=not no_runs, origin=origin or ""
    )
    click.echo(f"tt-explorer: {server.url}")
    click.echo("Ctrl+C ends it.")
    try:
        if not no_browser:
            _open_browser(server)
        while True:
            time.sleep(1)
    except KeyboardInterrupt:
        click.echo("")
    finally:
        server.close()


def _open_browser(server: Server) -> None:
    """Opens the page in a browser, by a file that has the token: everyone can read the browser's command line."""
    try:
        webbrowser.open_new_tab(server.write_redirect())
    except OSError as error:
        click.echo(f"No browser was opened: {error}. Open the address above.", err=True)


def started(
    model: Path | None,
    arguments: Sequence[str],
    port: int,
    options: Mapping[str, object],
    arch: str,
    *,
    execute: bool = False,
    runs: bool = True,
    origin: str = "",
) -> Server:
    """Returns a server that was started, and that opens a model, if any; see ``tt-xla explore --help``.

    Args:
        execute: whether to run the model's programs at once.
        runs: whether the page may run programs.

    Raises:
        RuntimeUnavailableError: Model Explorer is not installed.
        OptionError: the port is taken.
    """
    session = Session([], arch, options, runs=runs)
    server = server_class()(session, port, origin=origin)
    session.worker.start()
    server.start()
    if model is not None:
        session.start(f"opening {model.name}", _open, session, str(model.resolve()), arguments, execute)
    return server


def _exported(
    model: Path, arguments: Sequence[str], options: Mapping[str, object], arch: str, execute: bool, out: Path
) -> list[Path]:
    """Writes an HTML file for each program of a model, and returns their paths.

    Raises:
        RuntimeUnavailableError: Model Explorer is not installed.
        OutputError: the file cannot be written.
    """
    server_class()
    from tt_xla.tools.explorer.export import export

    session = Session([], arch, options)
    try:
        _open(session, str(model.resolve()), arguments, execute)
        for line in [
            *(subject.warning for subject in session.subjects),
            *(each.compiled.error for each in session.versions),
        ]:
            if line:
                click.echo(f"warning: {line}", err=True)
        numbers = [version.number for version in session.versions if version.stages]
        paths = [out if len(numbers) == 1 else out.with_stem(f"{out.stem}-{number}") for number in numbers]
        for number, path in zip(numbers, paths, strict=True):
            page = export(session, number)
            with writing(path):
                path.write_text(page, encoding="utf-8")
    finally:
        session.close()
    return paths


def _open(session: Session, path: str, arguments: Sequence[str], execute: bool) -> None:
    session.open(path, arguments)
    for version in list(session.versions) if execute else ():
        if version.compiled.program is not None:
            session.execute(version.number)


def server_class() -> type[Server]:
    """Returns the class of servers.

    Raises:
        RuntimeUnavailableError: Model Explorer is not installed.
    """
    try:
        from tt_xla.tools.explorer.server import Server
    except ModuleNotFoundError as error:
        if error.name not in ("model_explorer", "flask", "werkzeug"):
            raise
        raise RuntimeUnavailableError(
            "The explorer needs Model Explorer, which is not installed.", hint="pip install ai-edge-model-explorer"
        ) from error
    return Server
