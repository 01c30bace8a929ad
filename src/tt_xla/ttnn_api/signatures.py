"""The table of TT-NN's signatures, ``signatures.txt``, and the binding of arguments to parameters.

``make check-ttnn-api`` writes the table from the real package. A line is one overload.
"""

from __future__ import annotations

import functools
import keyword
import re
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
    return [_binder(parameters) for parameters in lines().get(name, ())]


def _binder(parameters: str) -> Binder:
    """Returns the binder of a line. A parameter whose name is a keyword of Python is written with an underscore."""
    written = re.sub(rf"\b({'|'.join(keyword.kwlist)})=(?!=)", r"\1_=", parameters)
    binder: Binder = eval(f"lambda {written}: locals()", _namespace())
    if written == parameters:
        return binder
    return _KeywordBinder(binder)


class _KeywordBinder:
    """A binder of a function with parameters that are named as keywords of Python."""

    def __init__(self, binder: Binder) -> None:
        self.binder = binder
        names = [_named(name) for name in binder.__code__.co_varnames]
        self.__code__ = binder.__code__.replace(co_varnames=tuple(names))
        self.__defaults__ = binder.__defaults__
        self.__kwdefaults__ = binder.__kwdefaults__

    def __call__(self, *arguments: Any, **keywords: Any) -> dict[str, Any]:
        given = {f"{name}_" if keyword.iskeyword(name) else name: value for name, value in keywords.items()}
        return {_named(name): value for name, value in self.binder(*arguments, **given).items()}


def _named(name: str) -> str:
    """Returns a name without the underscore that sets it apart from a keyword."""
    return name[:-1] if name.endswith("_") and keyword.iskeyword(name[:-1]) else name


def defaults(binder: Binder) -> dict[str, Any]:
    """Returns the default of each optional parameter by name."""
    code = binder.__code__
    positional = code.co_varnames[: code.co_argcount]
    values = binder.__defaults__ or ()
    return dict(zip(positional[len(positional) - len(values) :], values, strict=True)) | (binder.__kwdefaults__ or {})


def refused(name: str, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> TypeError:
    """Returns the error for arguments that no overload takes, in nanobind's words."""
    supported = "\n".join(f"    {number}. {text}" for number, text in enumerate(_shown(name), 1))
    given = [_kind(argument) for argument in arguments]
    given += [f"{key}: {_kind(value)}" for key, value in keywords.items()]
    return TypeError(
        f"{name}(): incompatible function arguments. The following argument types are supported:\n{supported}\n\n"
        f"Invoked with types: {', '.join(given) or 'none'}{_unbound(name, arguments, keywords)}"
    )


def unfit(name: str, reason: str) -> TypeError:
    """Returns the error for arguments whose kinds fit and whose values no overload takes, in nanobind's words."""
    supported = "\n".join(f"    {number}. {text}" for number, text in enumerate(_shown(name), 1))
    return TypeError(
        f"{name}(): incompatible function arguments. The following argument types are supported:\n{supported}\n\n"
        f"{reason}."
    )


def _kind(value: Any) -> str:
    """Returns the name of a value's class; that of a tensor is TT-NN's, also for what stands for one in a plan."""
    kind = type(value).__name__
    return "ttnn.Tensor" if kind in ("Tensor", "Operand") else kind


def _unbound(name: str, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> str:
    """Returns why a function's only overload does not take the arguments; nothing for several, or for a wrong kind."""
    overloads = binders(name)
    if len(overloads) != 1:
        return ""
    try:
        overloads[0](*arguments, **keywords)
    except TypeError as error:
        return f"\n{str(error).replace('<lambda>()', name)}."
    return ""


def _shown(name: str) -> list[str]:
    return [f"{name}({parameters})" for parameters in lines().get(name, ())]
