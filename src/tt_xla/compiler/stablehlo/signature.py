"""Declarations of a StableHLO module's entry function: names, roles, types and attributes of arguments and results."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from jaxlib.mlir import ir
from xdsl.dialects.builtin import ArrayAttr, BoolAttr, DictionaryAttr, StringAttr
from xdsl.ir import Attribute, SSAValue

from tt_xla.compiler.stablehlo.annotations import marked_arguments
from tt_xla.compiler.stablehlo.types import convert_type
from tt_xla.errors import MalformedModuleError
from tt_xla.ir.mesh import Mesh, Sharding
from tt_xla.ir.program import ALIASING, DONOR, SHARDED_AXES, WEIGHT_DTYPE, WEIGHT_DTYPES, Argument, Result, Role
from tt_xla.ir.properties import I64S
from tt_xla.ir.ttcore import ArgumentTypeAttr, ShardStatus, ShardStatusAttr

DONATION = (ALIASING, DONOR)
"""Attributes of an argument whose memory its caller gives up: to a certain result, or to any use."""

SHARD_STATUS = "ttcore.shard_status"
"""Attribute of an argument in TTIR and TTNN that says whether every chip gets its own shard."""


def entry_function(module: Any) -> Any:
    """Returns the one public function of a StableHLO module, or the one named main if there are several.

    Raises:
        MalformedModuleError: there is no such function, or it has no body.
    """
    public = [function for function in functions(module).values() if _visibility(function) == "public"]
    if len(public) > 1:
        public = [function for function in public if function.name.value == "main"] or public
    if len(public) != 1:
        raise MalformedModuleError(
            f"Expected exactly one public function, found: {len(public)}.",
            hint="Mark helper functions private, or name the entry function main.",
        )
    (entry,) = public
    if not entry.regions[0].blocks:
        raise MalformedModuleError(f"Function @{entry.name.value} has no body.")
    return entry


def functions(module: Any) -> dict[str, Any]:
    """Returns the functions of a StableHLO module by name."""
    return {op.name.value: op for op in module.body.operations if op.operation.name == "func.func"}


def _visibility(function: Any) -> str:
    if "sym_visibility" not in function.attributes:
        return "public"
    return function.attributes["sym_visibility"].value


def arguments(function: Any) -> tuple[Argument, ...]:
    """Returns the arguments that an entry function declares.

    An explicit ``ttir.name`` or ``ttcore.argument_type`` goes before the mark of ``tt_jax.mark_parameters``. An
    argument that becomes a result is an input, whatever else is declared.

    Raises:
        MalformedModuleError: the name or role of an argument is not one.
    """
    marks = marked_arguments(function)
    block = function.regions[0].blocks[0]
    declared: list[Argument] = []
    for position, (argument, attributes) in enumerate(zip(block.arguments, _attributes(function), strict=True)):
        role = Role.PARAMETER if position in marks else Role.INPUT
        if "ttcore.argument_type" in attributes:
            role = _role(position, attributes["ttcore.argument_type"])
        name = marks.get(position, f"arg{position}")
        if "ttir.name" in attributes:
            name = _name(position, attributes["ttir.name"])
        becomes = _becomes(position, attributes, function.type.results)
        if becomes is not None:  # it differs in each call, so nothing that depends on it is computed once
            role = Role.INPUT
        declared.append(Argument(name, role, *_shape_and_dtype(argument.type), becomes=becomes))
    return tuple(declared)


def declares_roles(function: Any) -> bool:
    """Returns whether an entry function says of any argument whether it is a weight."""
    return any("ttcore.argument_type" in each for each in _attributes(function)) or bool(marked_arguments(function))


def results(function: Any) -> tuple[Result, ...]:
    """Returns the results that an entry function declares."""
    return tuple(Result(*_shape_and_dtype(type_)) for type_ in function.type.results)


def donated_positions(function: Any) -> set[int]:
    """Returns the positions of arguments whose memory may receive results, because their caller gives it up."""
    return {
        position
        for position, attributes in enumerate(_attributes(function))
        if any(name in attributes for name in DONATION)
    }


def ttir_attributes(
    function: Any,
    declared: tuple[Argument, ...],
    donated: set[int],
    mesh: Mesh | None = None,
    shardings: Sequence[Sharding] | None = None,
) -> ArrayAttr[DictionaryAttr]:
    """Returns the attributes of an entry function's arguments in TTIR.

    Args:
        declared: the arguments.
        donated: positions of arguments whose memory the program may write to.
        mesh: the chips of the program, each of which gets its own shards; None for one chip.
        shardings: how each argument is split over the mesh; None where nothing is known.
    """
    dtypes = _weight_dtypes(function)
    pairs = enumerate(zip(declared, dtypes, strict=True))
    return ArrayAttr(
        [
            DictionaryAttr(
                _ttir_attributes(argument, position in donated, dtype)
                | ({} if mesh is None else _shard_attributes(None if shardings is None else shardings[position]))
            )
            for position, (argument, dtype) in pairs
        ]
    )


def _shard_attributes(sharding: Sharding | None) -> dict[str, Attribute]:
    """Returns the attributes of an argument of which every chip gets its own shard."""
    status: dict[str, Attribute] = {SHARD_STATUS: ShardStatusAttr(ShardStatus.PRESHARDED)}
    return status if sharding is None else status | {SHARDED_AXES: I64S.encode(tuple(sorted(sharding.axes)))}


def name_hint(name: str) -> str | None:
    """Returns an argument's name as a name in MLIR's text, or None if no such name is like it."""
    hint = re.sub(r"\W", "_", name)
    return hint if SSAValue.is_valid_name(hint) else None


def _attributes(function: Any) -> list[Any]:
    """Returns the attributes of each argument, as mappings."""
    declared = list(function.arg_attrs) if "arg_attrs" in function.attributes else []
    return declared or [{}] * len(function.regions[0].blocks[0].arguments)


def _name(position: int, attribute: Any) -> str:
    if not isinstance(attribute, ir.StringAttr):
        raise MalformedModuleError(f"ttir.name of argument {position} is {attribute}, expected a string.")
    return attribute.value


def _becomes(position: int, attributes: Any, results: Sequence[Any]) -> int | None:
    """Returns the result that takes over an argument's memory, and is its next contents; None if none is declared."""
    if ALIASING not in attributes:
        return None
    attribute = attributes[ALIASING]
    if not isinstance(attribute, ir.IntegerAttr) or not 0 <= attribute.value < len(results):
        raise MalformedModuleError(
            f"{ALIASING} of argument {position} is {attribute}, expected the number of a result, of which there are "
            f"{len(results)}."
        )
    return attribute.value


def _role(position: int, attribute: Any) -> Role:
    text = re.sub(r'^#ttcore\.argument_type<(.*)>$|^"(.*)"$', r"\1\2", str(attribute))
    if text not in (*Role, "default"):
        raise MalformedModuleError(
            f"ttcore.argument_type of argument {position} is {attribute}, expected default, {', '.join(Role)}."
        )
    return Role.INPUT if text == "default" else Role(text)


def _shape_and_dtype(type_: Any) -> tuple[tuple[int, ...], str]:
    convert_type(type_)
    ranked = ir.RankedTensorType(type_)
    return tuple(ranked.shape), str(ranked.element_type)


def _weight_dtypes(function: Any) -> Iterator[str]:
    """Yields the ``ttcore.weight_dtype`` of each argument; an empty string for an argument without one."""
    for position, attributes in enumerate(_attributes(function)):
        dtype = str(attributes[WEIGHT_DTYPE]).strip('"') if WEIGHT_DTYPE in attributes else ""
        if dtype and dtype not in WEIGHT_DTYPES:
            raise MalformedModuleError(
                f"{WEIGHT_DTYPE} of argument {position} is {dtype}, expected one of {', '.join(WEIGHT_DTYPES)}."
            )
        yield dtype


def _ttir_attributes(argument: Argument, donated: bool, weight_dtype: str) -> dict[str, Attribute]:
    attributes: dict[str, Attribute] = {
        "ttcore.argument_type": ArgumentTypeAttr(argument.role),
        "ttir.name": StringAttr(argument.name),
    }
    if donated:
        attributes[DONOR] = BoolAttr.from_bool(True)
    if weight_dtype:
        attributes[WEIGHT_DTYPE] = StringAttr(weight_dtype)
    return attributes


def attribute_names(op: Any) -> list[str]:
    """Returns the names of the attributes of an operation."""
    return [item if isinstance(item, str) else item.name for item in op.attributes]  # jaxlib 0.7 has named attributes
