"""The table of TT-NN's signatures, ``signatures.txt``, and the binding of arguments to parameters.

``make check-ttnn-api`` writes the table from the real package. A line is one overload.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tt_xla.ttnn_api import enums, geometry, operation_enums

FILE = Path(__file__).with_name("signatures.txt")

VERSION = "0.81.1"
"""Release of TT-NN that the table was made from."""

Binder = Callable[..., dict[str, Any]]
"""Takes a function's arguments and returns all of its parameters by name."""


@functools.cache
def lines() -> Mapping[str, Sequence[str]]:
    """Returns the parameters of each overload, as text, by the function's full name."""
    table: dict[str, list[str]] = {}
    for line in FILE.read_text().splitlines():
        name, _, parameters = line.partition("(")
        table.setdefault(name, []).append(parameters[:-1])
    return table


@functools.cache
def _namespace() -> dict[str, Any]:
    """Returns the names that defaults of the table use."""
    values = {name: value for module in (enums, operation_enums, geometry) for name, value in vars(module).items()}
    return {"ttnn": types.SimpleNamespace(**values), "__builtins__": {"locals": locals, "float": float}}


def binders(name: str) -> list[Binder]:
    """Returns a binder for each overload of a function; of one that the table lacks, none."""
    return [eval(f"lambda {parameters}: locals()", _namespace()) for parameters in lines().get(name, ())]


def defaults(binder: Binder) -> dict[str, Any]:
    """Returns the default of each optional parameter by name."""
    code = binder.__code__
    positional = code.co_varnames[: code.co_argcount]
    values = binder.__defaults__ or ()
    return dict(zip(positional[len(positional) - len(values) :], values, strict=True)) | (binder.__kwdefaults__ or {})


def refused(name: str, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> TypeError:
    """Returns the error for arguments that no overload takes, in nanobind's words."""
    supported = "\n".join(f"    {number}. {text}" for number, text in enumerate(_shown(name), 1))
    given = [type(argument).__name__ for argument in arguments]
    given += [f"{key}: {type(value).__name__}" for key, value in keywords.items()]
    return TypeError(
        f"{name}(): incompatible function arguments. The following argument types are supported:\n{supported}\n\n"
        f"Invoked with types: {', '.join(given) or 'none'}"
    )


def _shown(name: str) -> list[str]:
    return [f"{name}({parameters})" for parameters in lines().get(name, ())]
