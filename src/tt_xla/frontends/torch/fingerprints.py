"""Fingerprints of Python objects: two processes have equal ones for what is the same object in both.

Constants have their values; functions their code; classes and modules their names, as far as these names lead back to
the object. The files that define functions, classes and modules are collected, because a fingerprint says nothing about
code that they call.
"""

from __future__ import annotations

import enum
import functools
import hashlib
import os
import sys
import sysconfig
import time
import types
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import torch

from tt_xla.frontends.torch.private.ops import HigherOrderOperator, OpOverload, OpOverloadPacket


class NoFingerprintError(Exception):
    """Nothing tells whether another process has the same object."""


_PLAIN = (bool, int, str, bytes, float, complex, type(None), type(Ellipsis), type(NotImplemented))
_OF_TORCH = (torch.dtype, torch.device, torch.layout, torch.memory_format)
_BUILT_IN = (
    types.BuiltinFunctionType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.ClassMethodDescriptorType,
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
)
_CLASSES_OF_PYTHON = {value: name for name, value in vars(types).items() if isinstance(value, type)}
"""Classes that their own module and name do not lead to."""

_MARKS = ("_dynamo_", "_torchdynamo_")
"""Beginnings of the attributes by which decorators tell dynamo what to do with a function."""

_OPS = (OpOverload, OpOverloadPacket, HigherOrderOperator)
_VERSIONED = tuple(
    str(Path(folder)) + "/"
    for folder in (Path(torch.__file__).parent, Path(__file__).parents[2], sysconfig.get_path("stdlib"))
)
"""Folders whose contents the key of an entry names by version or digest: PyTorch, this package, Python's library."""

_PACKAGES = (sysconfig.get_path("purelib") + "/", sysconfig.get_path("platlib") + "/")
"""Folders of installed packages, which lie within that of Python's library."""


class Fingerprints:
    """Makes fingerprints.

    Attributes:
        files: the files that define what has a fingerprint, but for those of PyTorch, this package and Python.
    """

    def __init__(self) -> None:
        self.files: set[str] = set()
        self._known: dict[int, tuple[Any, Any]] = {}

    def of(self, value: Any) -> Any:
        """Returns the fingerprint of an object: a tree of tuples of plain values.

        Raises:
            NoFingerprintError: the object has none.
        """
        kind = type(value)
        if kind in _PLAIN:
            return (kind.__name__, repr(value))
        if kind in _OF_TORCH:
            return (kind.__name__, str(value))
        if kind in (tuple, list, torch.Size):
            return (kind.__name__, *map(self.of, value))
        if kind in (set, frozenset):
            return (kind.__name__, *sorted(map(self.of, value), key=repr))
        if kind is dict:
            return ("dict", *((self.of(name), self.of(item)) for name, item in value.items()))
        if kind in (slice, range):
            return (kind.__name__, self.of((value.start, value.stop, value.step)))
        known = self._known.get(id(value))
        if known is None:
            known = self._known[id(value)] = value, self._of_object(value)
        return known[1]

    def add_file(self, name: str | None) -> None:
        """Adds a file to those that define something.

        Raises:
            NoFingerprintError: there is no such file.
        """
        if name is None or name in self.files or is_versioned(name):
            return
        if file_digest(name) is None:
            raise NoFingerprintError(f"code of {name}")
        self.files.add(name)

    def defines(self, code: types.CodeType) -> bool:
        """Returns whether code is a method, such as one that ``dataclass`` writes, of a class with a fingerprint."""
        classes = {base for value, _ in self._known.values() if isinstance(value, type) for base in value.__mro__}
        return any(getattr(vars(item).get(code.co_name), "__code__", None) is code for item in classes)

    def _of_object(self, value: Any) -> Any:
        if isinstance(value, enum.Enum):
            return ("enum", self.of(type(value)), value.name)
        if isinstance(value, types.CodeType):
            self.add_file(value.co_filename)
            return ("code", code_digest(value))
        if isinstance(value, types.FunctionType):
            self.add_file(value.__code__.co_filename)
            marks = sorted(name for name in vars(value) if name.startswith(_MARKS))
            return ("function", value.__module__, value.__qualname__, code_digest(value.__code__), *marks)
        if isinstance(value, type):
            if value in _CLASSES_OF_PYTHON:
                return ("class", "types", _CLASSES_OF_PYTHON[value])
            self._found(value.__module__, value.__qualname__, value)
            return ("class", value.__module__, value.__qualname__, _methods(value))
        if isinstance(value, types.ModuleType):
            if sys.modules.get(value.__name__) is not value:
                raise NoFingerprintError(f"module {value.__name__}")
            self.add_file(getattr(value, "__file__", None))
            return ("module", value.__name__)
        if isinstance(value, _OPS):
            return ("op", type(value).__name__, str(value))
        if isinstance(value, types.MethodType) and isinstance(value.__self__, type | types.ModuleType):
            return ("method", self.of(value.__self__), self.of(value.__func__))
        if isinstance(value, staticmethod | classmethod):
            return (type(value).__name__, self.of(value.__func__))
        if isinstance(value, property):
            return ("property", *map(self.of, (value.fget, value.fset, value.fdel)))
        if isinstance(value, _BUILT_IN):
            owner = getattr(value, "__self__", None)
            if owner is None or isinstance(owner, type | types.ModuleType):
                module = getattr(value, "__module__", None) or getattr(value, "__objclass__", type(None)).__module__
                return ("builtin", type(value).__name__, module, value.__qualname__)
        raise NoFingerprintError(f"a {type(value).__module__}.{type(value).__qualname__}")

    def _found(self, module: str, path: str, value: Any) -> None:
        if find(module, path) is not value:
            raise NoFingerprintError(f"{module}.{path}")
        self.add_file(getattr(sys.modules[module], "__file__", None))


def find(module: str, path: str) -> Any:
    """Returns the object at a dotted path in an imported module; the module for no path, None if there is none."""
    value: Any = sys.modules.get(module)
    for name in filter(None, path.split(".")):
        value = getattr(value, name, None)
    return value


def is_versioned(name: str) -> bool:
    """Returns whether a file belongs to PyTorch, this package or Python, whose versions are part of every key."""
    return name.startswith(("<frozen ", *_VERSIONED[:2])) or (
        name.startswith(_VERSIONED[2]) and not name.startswith(_PACKAGES)
    )


def code_digest(code: types.CodeType) -> str:
    """Returns a digest of code: its instructions, names and constants."""
    digest = hashlib.sha256()
    digest.update(code.co_code)
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars, code.co_flags, code.co_argcount)
    digest.update(repr((names, code.co_kwonlyargcount, code.co_posonlyargcount, _constants(code.co_consts))).encode())
    return digest.hexdigest()


def _constants(values: Iterable[Any]) -> list[Any]:
    """Returns constants in a form whose ``repr`` is the same in each process."""
    plain: list[Any] = []
    for value in values:
        if isinstance(value, types.CodeType):
            plain.append(code_digest(value))
        elif isinstance(value, frozenset):
            plain.append(sorted(map(repr, value)))
        elif isinstance(value, tuple):
            plain.append(_constants(value))
        else:
            plain.append(repr(value))
    return plain


@functools.cache
def file_digest(name: str) -> str | None:
    """Returns a digest of a file; None if there is none, or if it may have changed since this process imported it."""
    try:
        changed = Path(name).stat().st_mtime
        return hashlib.sha256(Path(name).read_bytes()).hexdigest() if changed < _process_start() else None
    except OSError:
        return None


@functools.cache
def _process_start() -> float:
    """Returns the time at which this process started, in seconds of :func:`time.time`."""
    ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
    return time.time() - time.clock_gettime(time.CLOCK_BOOTTIME) + ticks / os.sysconf("SC_CLK_TCK")


def replaced_functions(namespaces: Mapping[str, Mapping[str, Any]]) -> str:
    """Returns a digest of the functions in namespaces, which tells whether somebody has replaced one.

    A function of PyTorch, this package or Python has its name, any other its code.
    """
    digest = hashlib.sha256()
    for namespace, members in namespaces.items():
        for name, member in [*members.items()]:
            for value in _functions_of(member):
                if isinstance(value, types.FunctionType):
                    code = value.__code__
                    own = "" if is_versioned(code.co_filename) else code_digest(code)
                    digest.update(repr((namespace, name, value.__module__, value.__qualname__, own)).encode())
                else:
                    digest.update(repr((namespace, name, value.__qualname__)).encode())
    return digest.hexdigest()


def _functions_of(member: Any) -> Iterator[Any]:
    if isinstance(member, property):
        yield from (value for value in (member.fget, member.fset) if isinstance(value, types.FunctionType))
    inner = member.__func__ if isinstance(member, staticmethod | classmethod) else member
    if isinstance(inner, types.FunctionType | types.BuiltinFunctionType | types.MethodDescriptorType):
        yield inner


def _methods(kind: type) -> str:
    """Returns a digest of the methods of a class and its bases: dynamo guards some of those that it traces, not all."""
    return replaced_functions({f"{base.__module__}.{base.__qualname__}": vars(base) for base in kind.__mro__})


__all__ = [
    "Fingerprints",
    "NoFingerprintError",
    "code_digest",
    "file_digest",
    "find",
    "is_versioned",
    "replaced_functions",
]
