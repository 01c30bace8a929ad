"""The table of TT-NN's signatures, ``signatures.txt``, and the binding of arguments to parameters.

``make check-ttnn-api`` writes the table from the real package. A line is one overload, with the kinds of its arguments.
"""

from __future__ import annotations

import functools
import keyword
import re
import types
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tt_xla.ttnn_api import enums, geometry, kinds, operation_enums, shapes
from tt_xla.ttnn_api.errors import IncompatibleArguments

FILE = Path(__file__).with_name("signatures.txt")

VERSION = "0.81.1"
"""Release of TT-NN that the table was made from."""

_KEYWORD = re.compile(rf"\b({'|'.join(word for word in keyword.kwlist if word.islower())})(?=[:=])")


@functools.cache
def lines() -> Mapping[str, Sequence[str]]:
    """Returns the parameters of each overload, as text, by the function's full name."""
    table: dict[str, list[str]] = {}
    for line in FILE.read_text().splitlines():
        name, _, parameters = line.partition("(")
        table.setdefault(name, []).append(parameters[:-1])
    return table


class _Names(types.SimpleNamespace):
    """Names that defaults of the table use, with a stand-in for each that the emulated card lacks."""

    def __getattr__(self, name: str) -> _Names:
        return _Names()


@functools.cache
def _namespace() -> dict[str, Any]:
    """Returns the names that defaults of the table use."""
    values = {
        name: value for module in (enums, operation_enums, geometry, shapes) for name, value in vars(module).items()
    }
    return {"ttnn": _Names(**values), "__builtins__": {"locals": locals, "float": float}}


class Overload:
    """One way to call a function.

    Args:
        text: its parameters, with their kinds and defaults.
    """

    def __init__(self, text: str) -> None:
        written = _KEYWORD.sub(r"\1_", text)
        scope: dict[str, Any] = {}
        exec(f"def overload({written}): return locals()", _namespace(), scope)  # kinds stay text, as in this file
        self._function: types.FunctionType = scope["overload"]
        self._renames = written != text
        code = self._function.__code__
        self.names: Sequence[str] = [_named(name) for name in code.co_varnames]
        self.positional = positional = self.names[: code.co_argcount]
        values = self._function.__defaults__ or ()
        self.defaults: dict[str, Any] = dict(zip(positional[len(positional) - len(values) :], values, strict=True)) | {
            _named(name): value for name, value in (self._function.__kwdefaults__ or {}).items()
        }
        """Default of each optional parameter."""
        self.required = [name for name in positional if name not in self.defaults]
        """Parameters without a default that may be given by position."""
        written_kinds = {_named(name): kind for name, kind in self._function.__annotations__.items()}
        self.kinds: Mapping[str, str] = written_kinds or (_KINDS if _KINDS.keys() <= {*self.names} else {})

    def bind(self, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> dict[str, Any]:
        """Returns all parameters by name.

        Raises:
            TypeError: there are arguments too many or too few, or with other names.
        """
        if not self._renames:
            return self._function(*arguments, **keywords)
        given = {f"{name}_" if keyword.iskeyword(name) else name: value for name, value in keywords.items()}
        return {_named(name): value for name, value in self._function(*arguments, **given).items()}

    def takes(self, values: Mapping[str, Any], *, converts: bool) -> bool:
        """Returns whether bound arguments have the kinds of the parameters.

        Args:
            values: the arguments by parameter.
            converts: whether values count that nanobind converts.
        """
        return all(
            values[name] is self.defaults.get(name, _REQUIRED) or kinds.test_of(kind, converts=converts)(values[name])
            for name, kind in self.kinds.items()
        )


_KINDS = {
    "device": "MeshDevice | None",
    "layout": "Layout | None",
    "memory_config": "MemoryConfig | None",
    "tile": "Tile | None",
}
"""Kinds of arguments of TT-NN's functions in Python that make a tensor of an array, which write none."""

_REQUIRED = object()
"""Stands in the place of the default of a parameter that has none."""


def _named(name: str) -> str:
    """Returns a name without the underscore that sets it apart from a keyword."""
    return name[:-1] if name.endswith("_") and keyword.iskeyword(name[:-1]) else name


@functools.cache
def overloads(name: str) -> Sequence[Overload]:
    """Returns the overloads of a function; of one that the table lacks, none."""
    return [Overload(text) for text in lines().get(name, ())]


def bound(
    name: str, arguments: Sequence[Any], keywords: Mapping[str, Any], *, judges_kinds: bool = True
) -> tuple[Overload, dict[str, Any]]:
    """Returns the overload that takes the arguments of a call, and all of its parameters by name.

    Args:
        name: full name of the function.
        arguments: arguments by position.
        keywords: arguments by name.
        judges_kinds: whether a call is refused whose arguments have other kinds than those of all overloads.

    Raises:
        IncompatibleArguments: no overload takes them.
    """
    fitting: list[tuple[Overload, dict[str, Any]]] = []
    for overload in overloads(name):
        try:
            fitting.append((overload, overload.bind(arguments, keywords)))
        except TypeError:
            continue
    for converts in (False, True):
        for overload, values in fitting:
            if overload.takes(values, converts=converts):
                return overload, {name: _plain(value, overload.kinds.get(name, "")) for name, value in values.items()}
    if fitting and not judges_kinds:
        return fitting[0]
    raise refused(name, arguments, keywords)


def _plain(value: Any, kind: str) -> Any:
    """Returns an argument as rules take it: sizes as a tuple, and numbers of NumPy and PyTorch, and truth values, as
    numbers."""
    if isinstance(value, shapes.Shape):
        return tuple(value)
    if "bool" in kind or not re.search("int|float|Shape", kind):
        return value
    if kinds.is_array(value):
        listed = type(value).__module__ == "numpy" and value.ndim and re.search("Sequence|Shape|tuple", kind)
        value = value.tolist() if listed else value.item()
    if type(value) in (list, tuple):
        return type(value)(_plain(each, kind) for each in value)
    return int(value) if type(value) is bool else value


def by_first_names(name: str, overload: Overload, values: Mapping[str, Any]) -> dict[str, Any]:
    """Returns bound arguments also by the names that the function's first overload has for their places."""
    places = zip(overloads(name)[0].positional, overload.positional, strict=False)
    return {first: values[own] for first, own in places} | dict(values)


def checked(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a method that refuses arguments which TT-NN's method does not take.

    Args:
        name: full name of TT-NN's method; for a constructor that of its class.
        function: ours, whose first parameter is ``self``.
    """

    @functools.wraps(function)
    def call(self: Any, *arguments: Any, **keywords: Any) -> Any:
        bound(name, arguments, keywords)
        return function(self, *arguments, **keywords)

    return call


def refused(name: str, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> IncompatibleArguments:
    """Returns the error for arguments that no overload takes, in nanobind's words."""
    given = [_kind(argument) for argument in arguments]
    given += [f"{key}: {_kind(value)}" for key, value in keywords.items()]
    reason = f"Invoked with types: {', '.join(given) or 'none'}{_unbound(name, arguments, keywords)}"
    return _incompatible(name, reason)


def unfit(name: str, reason: str) -> IncompatibleArguments:
    """Returns the error for arguments whose kinds fit and whose values no overload takes, in nanobind's words."""
    return _incompatible(name, f"{reason}.")


def _incompatible(name: str, reason: str) -> IncompatibleArguments:
    supported = "\n".join(f"    {number}. {name}({text})" for number, text in enumerate(lines().get(name, ()), 1))
    words = f"{name}(): incompatible function arguments. The following argument types are supported:\n"
    return IncompatibleArguments(f"{words}{supported}\n\n{reason}")


def _kind(value: Any) -> str:
    """Returns the name of a value's class; that of a tensor is TT-NN's, also for what stands for one in a plan."""
    kind = type(value).__name__
    return "ttnn.Tensor" if kind in ("Tensor", "Operand") and not kinds.is_array(value) else kind


def _unbound(name: str, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> str:
    """Returns the reason for which a function's only overload does not bind the arguments; empty for several."""
    if len(overloads(name)) != 1:
        return ""
    try:
        overloads(name)[0].bind(arguments, keywords)
    except TypeError as error:
        return f"\n{str(error).replace('overload()', name)}."
    return ""
