"""Chooses names for generated source: identifiers, module names from argument names, config names from fields."""

from __future__ import annotations

import builtins
import keyword
import math
import re
from collections.abc import Iterable
from typing import TypeGuard

from tt_xla.codegen.expressions import Call, Expression, Name

_CPP_WORDS = frozenset(
    re.findall(
        r"\w+",
        """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t class
    compl concept const consteval constexpr constinit const_cast continue co_await co_return co_yield decltype
    default delete do double dynamic_cast else enum explicit export extern false float for friend goto if inline
    int long mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public register
    reinterpret_cast requires return short signed sizeof static static_assert static_cast struct switch template
    this thread_local throw true try typedef typeid typename union unsigned using virtual void volatile wchar_t
    while xor xor_eq std tt config mesh inputs load_weights load_inputs
    """,
    )
)
"""Words with a meaning in generated C++. Generated Python avoids them too, so that both use the same names."""

RESERVED = {
    *_CPP_WORDS,
    *keyword.kwlist,
    *dir(builtins),
    *("device", "main", "ttnn", "utils", "w", "tensors", "forward", "const_eval", "states"),
}
"""Words that no generated name may be."""

_WORD = re.compile(r"[A-Za-z0-9_]+")


def identifier(text: str) -> str:
    """Returns an identifier in lower case that resembles ``text`` and is not a reserved word."""
    name = re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_").lower()
    if not name or name[0].isdigit():
        name = f"x_{name}".rstrip("_")
    return f"{name}_" if name in RESERVED else name


def unique(name: str, used_names: Iterable[str]) -> str:
    """Returns ``name``, with a number appended if it is taken."""
    used_names = set(used_names)
    if name not in used_names:
        return name
    stem, number = name.rstrip("_"), 1
    while f"{stem}_{number}" in used_names:
        number += 1
    return f"{stem}_{number}"


def stem(name: str) -> str:
    """Returns a name without the number that :func:`unique` appended."""
    head, _, tail = name.rpartition("_")
    return head if head and tail.isdecimal() else name


def module_path(argument: str) -> tuple[str, ...]:
    """Returns the path of the module that an argument belongs to: ``('layers', '0', 'fc')`` for ``layers.0.fc.weight``.

    JAX names the same argument ``state['layers'][0]['fc'].kernel.value``.
    """
    parts = _WORD.findall(argument)
    if parts and parts[-1] in ("value", "get_value"):
        parts.pop()
    return tuple(parts[:-1])


def block_of(argument: str) -> str:
    """Returns the prefix of an argument's name up to its numbered module, ``layers.0.``; empty without one."""
    match = re.match(r"(.*?[^A-Za-z0-9_]\[?\d+\]?[^A-Za-z0-9_'\"]*)(?=['\"A-Za-z_])", argument)
    return match[1] if match else ""


def own_name(argument: str) -> str:
    """Returns the name of an argument in its module: ``weight`` for ``layers.0.fc.weight``; empty without a module."""
    argument = re.sub(r"\.prepared(_\d+)?$", "", argument)
    parts = [part for part in _WORD.findall(argument) if part not in ("value", "get_value")]
    return identifier(parts[-1]) if len(parts) > 1 else ""


def module_name(argument: str) -> str:
    """Returns the last name in the path of an argument's module, ``fc``; empty without one."""
    path = [part for part in module_path(argument) if not part.isdigit()]
    return identifier(path[-1]) if path else ""


_RESULT_NAMES = {
    "abs": "magnitude",
    "clamp_scalar": "clamp",
    "clamp_tensor": "clamp",
    "max": "largest",
    "min": "smallest",
    "pow_tensor": "power",
    "prepare_conv2d_bias": "bias",
    "prepare_conv2d_weights": "weight",
    "prepare_conv_transpose2d_bias": "bias",
    "prepare_conv_transpose2d_weights": "weight",
    "round": "rounded",
    "scaled_dot_product_attention": "attention",
    "scaled_dot_product_attention_decode": "attention",
    "slice_static": "part",
    "sum": "total",
}
"""Names for results of ops whose own names do not suit."""


def op_name(op: str) -> str:
    """Returns a name for the result of an op: ``matmul`` for ``ttnn.matmul``, ``total`` for ``ttnn.sum``."""
    name = op.rpartition(".")[2]
    return _RESULT_NAMES.get(name) or identifier(name)


def number_name(value: float) -> str:
    """Returns a number as part of a name: ``0_5``, ``minus_1e_06``, ``inf``."""
    text = f"{value:.6g}" if math.isfinite(value) else str(value)
    return re.sub(r"[^a-z0-9]+", "_", text.replace("-", "minus_" if text[0] == "-" else "_", 1).replace("e+", "e"))


_NUMBERS = {0.0: "zero", 1.0: "one", -1.0: "minus_one", math.inf: "infinity", -math.inf: "minus_infinity"}


def filled_name(value: float) -> str:
    """Returns a name for a tensor whose elements are all this number: ``zero``, ``full_0_5``."""
    return _NUMBERS.get(value) or f"full_{number_name(value)}"


def config_name(config: Call) -> str:
    """Returns a name for a config: ``HIFI4_FP32``, ``L1_BLOCK_SHARDED_64X32_ON_8``, ``MUL_0_5``, ``SPLIT_0_ALL``."""
    kind = config.function.rpartition(".")[2]
    if kind == "dict":
        return _geometry_name(config)
    if kind == "MemoryConfig":
        layout, buffer, spec = config.arguments
        assert isinstance(spec, Call)
        cores, shard, _ = spec.arguments
        size = "X".join(map(str, shard)) if isinstance(shard, tuple) else ""
        return f"{_last(buffer)}_{_last(layout)}_{size}_ON_{_cores(cores)}"
    if kind == "WormholeComputeKernelConfig":
        parts = [_last(config.keywords["math_fidelity"]).upper()] if "math_fidelity" in config.keywords else ["COMPUTE"]
        return "_".join([*parts, "FP32"] if config.keywords.get("fp32_dest_acc_en") else parts)
    if kind == "UnaryWithParam":
        name = _last(config.arguments[0]).removesuffix("_SFPU").removesuffix("_UNARY")
        return "_".join([name, *(number_name(value).upper() for value in config.arguments[1:] if _is_number(value))])
    if kind == "MeshMapperConfig":
        placements = (item for item in _items(config.arguments[0]) if isinstance(item, Call))
        return "_".join(["SPLIT", *(str(item.arguments[0]) if item.arguments else "ALL" for item in placements)])
    if kind == "MeshComposerConfig":
        return "_".join(["JOIN", *(str(dim) for dim in _items(config.arguments[0]))])
    if kind == "CoreGrid":
        return f"CORES_{config.keywords['y']}X{config.keywords['x']}"
    kind = kind.replace("MultiCoreReuse", "").replace("MultiCast", "").removesuffix("ProgramConfig")
    name = re.sub(r"(?<=[a-z])(?=[A-Z0-9])|(?<=[0-9])(?=[A-Z][a-z])", "_", kind).upper()
    grid, fused = config.keywords.get("compute_with_storage_grid_size"), config.keywords.get("fused_activation")
    size = ["X".join(map(str, grid.arguments))] if isinstance(grid, Call) else []
    return "_".join([name, *size, *([config_name(fused)] if isinstance(fused, Call) else [])])


def _items(expression: Expression) -> tuple[Expression, ...]:
    return expression if isinstance(expression, tuple) else ()


def _geometry_name(geometry: Call) -> str:
    """Returns a name for the geometry of a convolution: ``CONV_3X3_32_TO_64_AT_26X26``."""
    sizes = geometry.keywords
    kernel = sizes["kernel_size"]
    window = "X".join(map(str, kernel)) if isinstance(kernel, tuple) else ""
    input_size = f"{sizes['input_height']}X{sizes['input_width']}"
    return f"CONV_{window}_{sizes['in_channels']}_TO_{sizes['out_channels']}_AT_{input_size}"


def _cores(ranges: Expression) -> int:
    """Returns the number of cores in a ``ttnn.CoreRangeSet``."""
    match ranges:
        case Call("ttnn.CoreRangeSet", (tuple(inner),)):
            return sum(map(_cores, inner))
        case Call("ttnn.CoreRange", (Call(_, (int(x0), int(y0))), Call(_, (int(x1), int(y1))))):
            return (x1 - x0 + 1) * (y1 - y0 + 1)
        case _:
            return 0


def _is_number(expression: Expression) -> TypeGuard[float]:
    return isinstance(expression, (int, float)) and not isinstance(expression, bool)


def _last(expression: Expression) -> str:
    return expression.text.rpartition(".")[2] if isinstance(expression, Name) else ""
