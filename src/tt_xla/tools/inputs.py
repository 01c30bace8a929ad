"""Reading of the files that commands take: modules and compiled programs."""

from __future__ import annotations

from pathlib import Path

import click

from tt_xla.errors import MalformedModuleError

_SCRIPT_NAMES = ("main.py", "main.cpp")


def read_input(path: Path) -> bytes:
    """Returns the content of a file that should be a module or a compiled program.

    Args:
        path: the file.

    Raises:
        MalformedModuleError: the path is a folder or a Python script; the message names the command that takes it.
        OSError: the file cannot be read.
    """
    check_input(path)
    return path.read_bytes()


def check_input(path: Path) -> None:
    """Checks that a path is no folder and no Python script.

    Raises:
        MalformedModuleError: it is one; the message names the command that takes it.
    """
    if path.is_dir():
        raise MalformedModuleError(
            f"'{path}' is a folder, and a file was expected: a module of StableHLO, TTIR or TTNN, or a .ttnn program.",
            hint=_folder_hint(path),
        )
    if path.suffix == ".py":
        raise MalformedModuleError(
            f"'{path}' is a Python script, and a module of StableHLO, TTIR or TTNN, or a .ttnn program, was expected.",
            hint=f"'tt-xla profile {path}' and 'tt-xla bench {path}' run a script. With TTXLA_LOGGER_LEVEL=DEBUG, it "
            "prints the modules that it compiles.",
        )


def _folder_hint(folder: Path) -> str:
    """Returns what the user of a folder can do next: run its source, or name one of its modules."""
    if any((folder / name).is_file() for name in _SCRIPT_NAMES) and (folder / "run").is_file():
        return f"It has generated source. Run it with: cd {folder} && ./run"
    modules = sorted(path for pattern in ("*.mlir", "*.ttnn") for path in folder.rglob(pattern))
    return f"Name a file, such as '{modules[0]}'." if modules else "Name a file."


def models_root_of(path_option: Path | None) -> Path:
    """Returns the folder of --models-root, or the default one.

    Raises:
        UsageError: the folder does not exist.
    """
    candidates = [path_option] if path_option else [Path("third_party/tt_forge_models"), Path("models")]
    for path in candidates:
        if path.is_dir():
            return path.resolve()
    raise click.UsageError("MODEL is not a file, and there is no folder with models here. Name one with --models-root.")
