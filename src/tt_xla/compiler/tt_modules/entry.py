"""The entry function of a module, and the functions that it needs."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr, SymbolRefAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from tt_xla.compiler.locations import describe
from tt_xla.compiler.rewriting import body, functions, is_entry
from tt_xla.errors import MalformedModuleError, UnsupportedOpError
from tt_xla.ir.program import FUNCTION_TYPE, FunctionKind

_ENTRY_NAMES = ("main", "forward")
"""Names that mark the entry of a module with several public functions."""


def isolate(module: ModuleOp, *, keep_calls: bool) -> FuncOp:
    """Removes everything from a module but its entry function and the functions that this needs.

    Args:
        module: the module, which is changed in place.
        keep_calls: whether functions that are called may be const-eval functions, as in TTNN.

    Returns:
        The entry function.

    Raises:
        MalformedModuleError: there is no entry function, there are several, or a function has no single block.
        UnsupportedOpError: a function that the program needs has no body here.
    """
    by_name = {function.sym_name.data: function for function in functions(module)}
    for function in by_name.values():
        if function.attributes.pop("const_eval", None) is not None:  # upstream's mark until 2025
            function.attributes[FUNCTION_TYPE] = StringAttr(FunctionKind.CONST_EVAL.value)
    entry = _entry(list(by_name.values()))
    needed = _reachable(entry, by_name)
    for op in list(module.body.block.ops):
        if op not in needed:
            op.detach()
            op.erase(safe_erase=False)
    for function in needed:
        _check_body(function)
        if function is not entry:
            function.properties["sym_visibility"] = StringAttr("private")
            if FUNCTION_TYPE not in function.attributes and keep_calls:
                function.attributes[FUNCTION_TYPE] = StringAttr(FunctionKind.FORWARD.value)
    return entry


def _entry(candidates: list[FuncOp]) -> FuncOp:
    entries = [function for function in candidates if is_entry(function) and function.body.blocks]
    if len(entries) > 1:
        entries = [function for function in entries if function.sym_name.data in _ENTRY_NAMES] or entries
    if len(entries) != 1:
        names = ", ".join(f"@{function.sym_name.data}" for function in entries) or "none"
        raise MalformedModuleError(
            f"Expected exactly one public function with a body, found: {names}.",
            hint="Mark the other functions private, or name the entry function main.",
        )
    return entries[0]


def _reachable(entry: FuncOp, by_name: dict[str, FuncOp]) -> dict[FuncOp, None]:
    """Returns the functions that an entry needs, itself first."""
    needed: dict[FuncOp, None] = {}
    waiting = [entry]
    while waiting:
        function = waiting.pop()
        if function in needed:
            continue
        needed[function] = None
        for op in function.walk():
            named = (name for value in op.properties.values() for name in _symbols(value))
            waiting += [by_name[name] for name in named if name in by_name and op is not function]
    return needed


def _symbols(value: Attribute) -> Iterator[str]:
    """Yields the names of functions that a property may refer to."""
    if isinstance(value, SymbolRefAttr):
        yield value.root_reference.data
    elif isinstance(value, ArrayAttr):
        for item in value.data:
            yield from _symbols(item)


def _check_body(function: FuncOp) -> None:
    name = function.sym_name.data
    if not function.body.blocks:
        raise UnsupportedOpError(
            f"Function @{name} has no body here; upstream's compiler runs it on the host.",
            hint="Compile the StableHLO module that the text was made from.",
            location=describe(function.location),
        )
    if len(function.body.blocks) > 1:
        raise MalformedModuleError(
            f"Function @{name} has {len(function.body.blocks)} blocks, expected one.",
            location=describe(function.location),
        )
    if body(function).last_op is None or not list(body(function).ops)[-1].name.endswith(".return"):
        raise MalformedModuleError(
            f"Function @{name} does not end with a return.", location=describe(function.location)
        )
