"""Conversion of GSPMD's annotations (``mhlo.sharding`` and custom calls named Sharding) to Shardy's."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from jaxlib.mlir import ir

from tt_xla.compiler.sharding.axes import Digit
from tt_xla.compiler.sharding.hlo_sharding import HloSharding, parse
from tt_xla.compiler.sharding.shardings import SHARDING, Writer
from tt_xla.compiler.sharding.walk import walk
from tt_xla.errors import MalformedModuleError

HLO_SHARDING = "mhlo.sharding"
CONSTRAINT = "Sharding"
FULL_TO_SHARD = "SPMDFullToShardShape"
SHARD_TO_FULL = "SPMDShardToFullShape"

_OPEN_DIMS = re.compile(r"unspecified_dims=\[([\d,]*)\]")


def target(op: Any) -> str:
    """Returns the target of a custom call; an empty string for other ops."""
    if op.operation.name != "stablehlo.custom_call":
        return ""
    return op.attributes["call_target_name"].value


def parsed(op_or_attributes: Any, chips: int) -> list[HloSharding]:
    """Returns GSPMD's shardings in some attributes, one for each value."""
    if HLO_SHARDING not in op_or_attributes:
        return []
    attribute = op_or_attributes[HLO_SHARDING]
    if not isinstance(attribute, ir.StringAttr):
        raise MalformedModuleError(f"{HLO_SHARDING} is {attribute}, expected a string.")
    return parse(attribute.value, chips)


def parsed_one(op: Any, chips: int) -> HloSharding:
    """Returns the one GSPMD sharding of a custom call with one operand and one result.

    Raises:
        MalformedModuleError: the call has another number of shardings, operands or results.
    """
    shardings = parsed(op.attributes, chips)
    if len(shardings) != 1 or len(op.operands) != 1 or len(op.results) != 1:
        raise MalformedModuleError(
            f"A custom call @{target(op)} has {len(shardings)} shardings, {len(op.operands)} operands and "
            f"{len(op.results)} results, expected one of each."
        )
    return shardings[0]


def _all(module: Any, chips: int) -> Iterator[HloSharding]:
    for op in walk(module.operation):
        yield from parsed(op.attributes, chips)
        for name in ("arg_attrs", "res_attrs"):
            if name in op.attributes:
                for attributes in op.attributes[name]:
                    yield from parsed(attributes, chips)


def digits(module: Any, chips: int) -> list[Digit]:
    """Returns the digits that GSPMD's shardings of a module use.

    Raises:
        MalformedModuleError: a sharding is not one.
        CompileError: a sharding is for another number of chips.
    """
    used: list[Digit] = []
    for sharding in _all(module, chips):
        used.extend(digit for dim in sharding.dims or () for digit in dim)
        used.extend(sharding.manual)
        used.extend(sharding.unreduced)
    return used


def is_used(module: Any) -> bool:
    """Returns whether a module has annotations of GSPMD's."""
    return any(
        HLO_SHARDING in op.attributes
        or any(
            HLO_SHARDING in attributes
            for name in ("arg_attrs", "res_attrs")
            if name in op.attributes
            for attributes in op.attributes[name]
        )
        for op in walk(module.operation)
        if len(op.attributes) > 0
    )


def convert(module: Any, writer: Writer) -> None:
    """Converts GSPMD's annotations in a module to Shardy's, in place.

    The custom calls into and out of code that says what each chip does stay: their ``mhlo.sharding`` says along which
    digits it does. A constraint tells propagation how the result of such code is split.

    Raises:
        MalformedModuleError: a sharding has another rank than its tensor.
    """
    chips = writer.mesh.size
    for op in list(walk(module.operation)):
        if op.operation.name == "func.func":
            _convert_signature(op, writer)
        elif target(op) == CONSTRAINT:
            _convert_constraint(op, writer)
        elif target(op) == SHARD_TO_FULL:
            _constrain_result(op, writer)
        elif target(op) not in (FULL_TO_SHARD, SHARD_TO_FULL) and HLO_SHARDING in op.attributes:
            _convert_results(op, parsed(op.attributes, chips), writer)


def _convert_signature(function: Any, writer: Writer) -> None:
    types = function.type
    for name, values in (("arg_attrs", types.inputs), ("res_attrs", types.results)):
        if name in function.attributes:
            converted = [
                _with_sharding(attributes, type_, writer)
                for attributes, type_ in zip(function.attributes[name], values, strict=True)
            ]
            function.attributes[name] = ir.ArrayAttr.get(converted)


def _with_sharding(attributes: Any, type_: Any, writer: Writer) -> Any:
    items = {item.name: item.attr for item in ir.DictAttr(attributes)}
    shardings = parsed(items, writer.mesh.size)
    items.pop(HLO_SHARDING, None)
    if shardings and SHARDING not in items:
        items[SHARDING] = _attribute(shardings[0], type_, writer)
    return ir.DictAttr.get(items)


def _attribute(sharding: HloSharding, type_: Any, writer: Writer, open_dims: Sequence[int] = ()) -> Any:
    rank = ir.RankedTensorType(type_).rank if isinstance(type_, ir.RankedTensorType) else 0
    dims = ((),) * rank if sharding.dims is None else sharding.dims
    if len(dims) != rank:
        raise MalformedModuleError(f"A sharding of {len(dims)} dimensions is on a tensor of type {type_}.")
    if any(dim >= rank for dim in open_dims):
        raise MalformedModuleError(f"unspecified_dims={list(open_dims)} is on a tensor of type {type_}.")
    return writer.sharding(dims, open_dims, sharding.unreduced)


def _convert_constraint(op: Any, writer: Writer) -> None:
    sharding = parsed_one(op, writer.mesh.size)
    operand = op.operands[0]
    if not (sharding.all_manual or sharding.maximal):
        config = str(op.attributes["backend_config"]) if "backend_config" in op.attributes else ""
        match = _OPEN_DIMS.search(config)
        opened = [int(dim) for dim in match[1].split(",") if dim] if match else []
        operand = _constraint(op, operand, _attribute(sharding, operand.type, writer, opened)).result
    op.results[0].replace_all_uses_with(operand)
    op.operation.erase()


def _constrain_result(op: Any, writer: Writer) -> None:
    """Constrains the result of a custom call to the call's own sharding."""
    sharding, result = parsed_one(op, writer.mesh.size), op.results[0]
    if sharding.dims is None or len(sharding.dims) != ir.RankedTensorType(result.type).rank:
        return  # The localiser refuses a wrong rank, with the shapes of the part and of the tensor.
    users = [(use.owner, use.operand_number) for use in result.uses]
    constraint = _constraint(op, result, _attribute(sharding, result.type, writer))
    constraint.move_after(op.operation)
    for user, number in users:
        user.operands[number] = constraint.result


def _constraint(op: Any, value: Any, attribute: Any) -> Any:
    """Creates a constraint of a value before an op."""
    return ir.Operation.create(
        "sdy.sharding_constraint",
        results=[value.type],
        operands=[value],
        attributes={"sharding": attribute},
        ip=ir.InsertionPoint(op),
        loc=op.location,
    )


def _convert_results(op: Any, shardings: list[HloSharding], writer: Writer) -> None:
    del op.attributes[HLO_SHARDING]
    plain = [sharding for sharding in shardings if not (sharding.maximal or sharding.all_manual)]
    ranked = all(isinstance(result.type, ir.RankedTensorType) for result in op.results)
    if len(plain) == len(op.results) and plain and ranked and SHARDING not in op.attributes:
        attributes = [
            _attribute(sharding, result.type, writer) for sharding, result in zip(plain, op.results, strict=True)
        ]
        op.attributes[SHARDING] = writer.values(attributes)
