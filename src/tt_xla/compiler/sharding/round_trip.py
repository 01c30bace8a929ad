"""Shardy's attributes and ops as XLA hides them from tools that know StableHLO alone.

Attributes become text in ``mhlo.frontend_attributes``, with the prefix ``xla.sdy``, and ops become custom calls.
Source of the format: the tests ``sdy_round_trip_*.mlir`` of openxla/xla (``xla/service/spmd/shardy/test``).
"""

from __future__ import annotations

import re
from typing import Any

from jaxlib.mlir import ir

from tt_xla.compiler.sharding.gspmd import CONSTRAINT, HLO_SHARDING, target
from tt_xla.compiler.sharding.shardings import SHARDING, per_value
from tt_xla.compiler.sharding.walk import walk
from tt_xla.compiler.stablehlo.signature import functions
from tt_xla.errors import MalformedModuleError

FRONTEND_ATTRIBUTES = "mhlo.frontend_attributes"
MESHES = "xla.sdy.meshes"
"""Frontend attribute of a module with the text of its meshes."""
GLOBAL_TO_LOCAL = "xla.sdy.GlobalToLocalShape"
LOCAL_TO_GLOBAL = "xla.sdy.LocalToGlobalShape"

_PREFIX = "xla.sdy."
_RESULT_SHARDING = "xla.sdy.FuncResultSharding"
_GROUP = "xla.sdy.ShardingGroup"
_MESH = re.compile(r'([\w.$-]+)\s*=\s*"?(#sdy\.mesh<[^>]*>)')
_OUT = "out_shardings"
_NAMES = {
    "xla.sdy.sharding": SHARDING,
    "xla.sdy.sharding_rule": "sdy.sharding_rule",
    "xla.sdy.in_shardings": "in_shardings",
    "xla.sdy.out_shardings": _OUT,
    "xla.sdy.manual_axes": "manual_axes",
}
"""Names of Shardy's attributes, by those of frontend attributes."""


def restore(module: Any) -> bool:
    """Replaces the hidden form of Shardy's attributes and ops in a module, in place.

    The custom calls into and out of code that says what each chip does stay, with their shardings as attributes.

    Returns:
        Whether the module has the hidden form. What its text says is not verified then.

    Raises:
        MalformedModuleError: the text of an attribute is not one of Shardy's.
    """
    frontend = frontend_attributes(module.operation.attributes)
    if MESHES not in frontend:
        return False
    declared = {op.attributes["sym_name"].value for op in module.body.operations if "sym_name" in op.attributes}
    for name, text in _MESH.findall(plain_text(frontend, MESHES)):
        if name not in declared:
            ir.Operation.create(
                "sdy.mesh",
                attributes={"sym_name": ir.StringAttr.get(name), "mesh": _parsed(text)},
                ip=ir.InsertionPoint.at_block_begin(module.body),
            )
    for function in functions(module).values():
        _restore_arguments(function)
    for op in list(walk(module.operation)):
        if FRONTEND_ATTRIBUTES in op.attributes:
            _restore_attributes(op)
        if target(op) == CONSTRAINT and SHARDING in op.attributes:
            _constraint(op)
        elif target(op).endswith(LOCAL_TO_GLOBAL) and _OUT in op.attributes and SHARDING not in op.attributes:
            op.attributes[SHARDING] = op.attributes[_OUT]  # so that propagation carries it on
        elif target(op) == _RESULT_SHARDING:
            _result_sharding(op)
        elif target(op) == _GROUP:
            op.operation.erase()
    return True


def frontend_attributes(attributes: Any) -> dict[str, Any]:
    """Returns the frontend attributes among the attributes of an op or an argument, by name.

    Raises:
        MalformedModuleError: they are no dictionary.
    """
    if FRONTEND_ATTRIBUTES not in attributes:
        return {}
    frontend = attributes[FRONTEND_ATTRIBUTES]
    if not isinstance(frontend, ir.DictAttr):
        raise MalformedModuleError(f"The attribute {FRONTEND_ATTRIBUTES} is {frontend}, expected a dictionary.")
    return {item.name: item.attr for item in frontend}


def plain_text(frontend: dict[str, Any], name: str) -> str:
    """Returns the text of a frontend attribute, whose quotation marks may be escaped.

    Raises:
        MalformedModuleError: the attribute is no string.
    """
    attribute = frontend[name]
    if not isinstance(attribute, ir.StringAttr):
        raise MalformedModuleError(f"The attribute {name} is {attribute}, expected a string.")
    return attribute.value.replace('\\"', '"').replace("\\22", '"')


def _parsed(text: str) -> Any:
    try:
        return ir.Attribute.parse(text)
    except ir.MLIRError as error:
        raise MalformedModuleError(f"'{text}' is not an attribute of Shardy's.") from error


def _hidden(frontend: dict[str, Any]) -> dict[str, Any]:
    """Returns Shardy's attributes among frontend attributes, by their names in Shardy."""
    return {_NAMES[name]: _parsed(plain_text(frontend, name)) for name in frontend if name in _NAMES}


def _restore_arguments(function: Any) -> None:
    if "arg_attrs" not in function.attributes:
        return
    restored: list[Any] = []
    for attributes in function.attributes["arg_attrs"]:
        items = {item.name: item.attr for item in ir.DictAttr(attributes)}
        hidden = _hidden(frontend_attributes(items))
        items.pop(FRONTEND_ATTRIBUTES, None)
        if hidden:
            items.pop(HLO_SHARDING, None)
        items |= hidden
        restored.append(ir.DictAttr.get(items))
    function.attributes["arg_attrs"] = ir.ArrayAttr.get(restored)


def _restore_attributes(op: Any) -> None:
    frontend = frontend_attributes(op.attributes)
    hidden = _hidden(frontend)
    for name, attribute in hidden.items():
        op.attributes[name] = attribute
    if hidden and HLO_SHARDING in op.attributes:
        del op.attributes[HLO_SHARDING]
    rest = {name: attribute for name, attribute in frontend.items() if not name.startswith(_PREFIX)}
    if rest:
        op.attributes[FRONTEND_ATTRIBUTES] = ir.DictAttr.get(rest)
    else:
        del op.attributes[FRONTEND_ATTRIBUTES]


def _one_sharding(op: Any) -> Any:
    shardings = per_value(op.attributes[SHARDING]) if SHARDING in op.attributes else []
    if len(shardings) != 1 or len(op.operands) != 1 or len(op.results) != 1:
        raise MalformedModuleError(f"A custom call @{target(op)} has not one operand, result and sharding: {op}.")
    return shardings[0]


def _constraint(op: Any) -> None:
    constraint = ir.Operation.create(
        "sdy.sharding_constraint",
        results=[op.results[0].type],
        operands=[op.operands[0]],
        attributes={"sharding": _one_sharding(op)},
        ip=ir.InsertionPoint(op),
        loc=op.location,
    )
    op.results[0].replace_all_uses_with(constraint.result)
    op.operation.erase()


def _result_sharding(op: Any) -> None:
    """Moves a sharding from the custom call on a returned value to the result of the function."""
    sharding = _one_sharding(op)
    for use in op.results[0].uses:
        if use.owner.name == "func.return":
            function = use.owner.parent.opview
            items: list[dict[str, Any]] = [{} for _ in function.type.results]
            if "res_attrs" in function.attributes:
                items = [{one.name: one.attr for one in ir.DictAttr(a)} for a in function.attributes["res_attrs"]]
            items[use.operand_number][SHARDING] = sharding
            items[use.operand_number].pop(HLO_SHARDING, None)
            function.attributes["res_attrs"] = ir.ArrayAttr.get([ir.DictAttr.get(one) for one in items])
    op.results[0].replace_all_uses_with(op.operands[0])
    op.operation.erase()
