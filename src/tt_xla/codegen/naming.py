"""Names for generated source: identifiers, modules of a model from its arguments' names, configs from their fields."""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Iterable

from tt_xla.codegen.expressions import Call, Expression, Name

_OF_CPP = {
    "alignas",
    "alignof",
    "and",
    "asm",
    "auto",
    "bitand",
    "bitor",
    "bool",
    "break",
    "case",
    "catch",
    "char",
    "class",
    "compl",
    "const",
    "constexpr",
    "continue",
    "decltype",
    "default",
    "delete",
    "do",
    "double",
    "else",
    "enum",
    "explicit",
    "export",
    "extern",
    "false",
    "float",
    "for",
    "friend",
    "goto",
    "if",
    "inline",
    "int",
    "long",
    "mutable",
    "namespace",
    "new",
    "noexcept",
    "not",
    "operator",
    "or",
    "private",
    "protected",
    "public",
    "register",
    "requires",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "static_assert",
    "struct",
    "switch",
    "template",
    "this",
    "throw",
    "true",
    "try",
    "typedef",
    "typeid",
    "typename",
    "union",
    "unsigned",
    "using",
    "virtual",
    "void",
    "volatile",
    "wchar_t",
    "while",
    "xor",
    "std",
    "tt",
    "config",
    "mesh",
    "inputs",
    "load_weights",
    "load_inputs",
}
"""Words that mean something in generated C++, so that names are the same in both languages."""

RESERVED = {
    *_OF_CPP,
    *keyword.kwlist,
    *dir(builtins),
    "device",
    "main",
    "ttnn",
    "utils",
    "w",
    "tensors",
    "forward",
    "const_eval",
}

_WORD = re.compile(r"[A-Za-z0-9_]+")


def identifier(text: str) -> str:
    """A Python identifier that resembles ``text``."""
    found = re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_").lower()
    if not found or found[0].isdigit():
        found = f"x_{found}".rstrip("_")
    return f"{found}_" if found in RESERVED else found


def unique(name: str, taken: Iterable[str]) -> str:
    """``name``, numbered where it is taken."""
    taken = set(taken)
    if name not in taken:
        return name
    number = 1
    while f"{name}_{number}" in taken:
        number += 1
    return f"{name}_{number}"


def module_path(argument: str) -> tuple[str, ...]:
    """The module that an argument belongs to: ``layers.0.fc.weight`` to ``('layers', '0', 'fc')``.

    JAX writes the same as ``state['layers'][0]['fc'].kernel.value``.
    """
    parts = _WORD.findall(argument)
    if parts and parts[-1] in ("value", "get_value"):
        parts.pop()
    return tuple(parts[:-1])


def block_of(argument: str) -> str:
    """The repeated part of a model that an argument belongs to, as a prefix of its name: ``layers.0.``; else empty."""
    match = re.match(r"(.*?[^A-Za-z0-9_]\[?\d+\]?[^A-Za-z0-9_'\"]*)(?=['\"A-Za-z_])", argument)
    return match[1] if match else ""


def module_name(argument: str) -> str:
    """The last name in a module's path, ``fc``; empty where there is none."""
    path = [part for part in module_path(argument) if not part.isdigit()]
    return identifier(path[-1]) if path else ""


def config_name(config: Call) -> str:
    """``HIFI4_FP32``, ``L1_BLOCK_SHARDED_64X32``, ``MATMUL_1D``, ``CONV_2D_CONFIG``."""
    kind = config.function.rpartition(".")[2]
    if kind == "MemoryConfig":
        layout, buffer, spec = config.arguments
        assert isinstance(spec, Call)
        shard = spec.arguments[1]
        size = "X".join(map(str, shard)) if isinstance(shard, tuple) else ""
        return f"{_last(buffer)}_{_last(layout)}_{size}"
    if kind == "WormholeComputeKernelConfig":
        parts = [_last(config.keywords["math_fidelity"]).upper()] if "math_fidelity" in config.keywords else ["COMPUTE"]
        return "_".join([*parts, "FP32"] if config.keywords.get("fp32_dest_acc_en") else parts)
    if kind == "UnaryWithParam":
        return _last(config.arguments[0])
    if kind == "CoreGrid":
        return f"CORES_{config.keywords['y']}X{config.keywords['x']}"
    kind = kind.replace("MultiCoreReuse", "").replace("MultiCast", "").removesuffix("ProgramConfig")
    return re.sub(r"(?<=[a-z])(?=[A-Z0-9])|(?<=[0-9])(?=[A-Z][a-z])", "_", kind).upper()


def _last(expression: Expression) -> str:
    return expression.text.rpartition(".")[2] if isinstance(expression, Name) else ""
