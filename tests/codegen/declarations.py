"""C++ declarations of the TT-NN functions in the table, against which g++ compiles generated source."""

from __future__ import annotations

from pathlib import Path

from tt_xla.codegen.languages.signatures import FUNCTIONS, TYPES, Function
from tt_xla.ir.op_table import UNARY

_RETURNS = {
    "one": "ttnn::Tensor",
    "several": "std::vector<ttnn::Tensor>",
    "tuple": "std::tuple<ttnn::Tensor, ttnn::Tensor, ttnn::Tensor>",
    "variant": "std::variant<ttnn::Tensor, std::tuple<ttnn::Tensor, int>>",
    "none": "void",
}


def _parameters(function: Function) -> str:
    declared: list[str] = []
    for parameter in reversed(function.parameters):
        type_, default = TYPES[parameter.code]
        defaults = default and (not declared or all("=" in other for other in declared))
        declared.append(f"{type_} {parameter.name}_{f' = {default}' if defaults else ''}")
    return ", ".join(reversed(declared))


def declaration(function: Function) -> str:
    """Returns a function's declaration in its namespace, and a using declaration if calls use another namespace."""
    namespace, _, name = function.name.rpartition("::")
    home = function.home or namespace
    template = "template <typename T>\n" if function.template == "int32_t" else ""
    text = f"namespace {home} {{ {template}{_RETURNS[function.returns]} {name}({_parameters(function)}); }}\n"
    return text + (f"namespace {namespace} {{ using {home}::{name}; }}\n" if function.home else "")


def functions() -> list[Function]:
    return [function for function in FUNCTIONS.values() if not function.name.startswith("utils::")]


def header() -> str:
    """Returns the text of a ``ttnn.hpp``."""
    types = Path(__file__).with_name("ttnn_types.hpp").read_text()
    scalar = {f"{name}_UNARY_SFPU" for name in ("ADD", "SUB", "RSUB", "MUL", "DIV")}
    kinds = sorted({row.ttnn.upper() for row in UNARY if row.ttnn} | scalar | {"LEAKY_RELU", "HARDSWISH", "SQUARE"})
    return types.replace("UNARY_OP_TYPES", ", ".join(kinds)) + "".join(map(declaration, functions()))


def uses() -> str:
    """Returns source that takes the address of each function, so that its object file names the symbols to link."""
    lines = ['#include "ttnn.hpp"', "void use(const void*);", "void all() {"]
    for function in functions():
        if function.template == "inline":
            continue
        types = ", ".join(TYPES[parameter.code][0] for parameter in function.parameters)
        name = f"{function.name}<int32_t>" if function.template else function.name
        lines.append(
            f"use(reinterpret_cast<const void*>(static_cast<{_RETURNS[function.returns]} (*)({types})>(&{name})));"
        )
    return "\n".join([*lines, "}"])
