"""Recognises torchrun in a command line, without importing torch."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

_MODULE = "torch.distributed.run"


def torchrun_arguments(words: Sequence[str], *, as_module: bool = False) -> list[str] | None:
    """Returns the arguments of torchrun in a command line; None for another command.

    Args:
        words: the command, as ``torchrun ARGUMENTS`` or ``python -m torch.distributed.run ARGUMENTS``.
        as_module: whether the first word is the name of a module.
    """
    if not words:
        return None
    if as_module:
        return list(words[1:]) if words[0] == _MODULE else None
    name = Path(words[0]).name
    if name == "torchrun":
        return list(words[1:])
    is_python = name.startswith("python") and list(words[1:3]) == ["-m", _MODULE]
    return list(words[3:]) if is_python else None
