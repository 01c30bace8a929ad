"""Writes drawn shardings into a StableHLO module, in Shardy's or in GSPMD's notation."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any

from jaxlib.mlir import ir

from tests.fuzz.meshes import Layout, Split, split
from tt_xla.compiler import parse_module

PLACED = (
    *("sdy.sharding_constraint", "sdy.reshard", "sdy.propagation_barrier", "sdy.sharding_group"),
    "stablehlo.custom_call",
)
"""Ops with a sharding rule that are placed here, between the ops of a drawn program."""

_MARKS = ("LayoutConstraint", "MoveToDevice", "annotate_device_placement")
"""Targets of custom calls that return their operand."""

_SUMMED = ("f32", "f64", "i32", "bf16", "f16")
"""Element types of tensors that may be partial sums."""
_DIRECTIONS = (0, 1, 2)
"""Where Shardy's propagation may pass a barrier: nowhere, forwards, or backwards."""


class Annotator:
    """Places shardings in one module.

    Args:
        random: the generator.
        layout: the mesh.
        gspmd: whether in GSPMD's notation.
    """

    def __init__(self, random: random.Random, layout: Layout, *, gspmd: bool) -> None:
        self._random, self._layout, self._gspmd = random, layout, gspmd
        self._share = random.choice((0.0, 0.1, 0.3, 0.6))
        self._sums = random.random() < 0.25
        self._groups: dict[str, int] = {}

    def annotated(self, text: str) -> str:
        """Returns the text of a module with shardings of arguments, results and other values."""
        module = parse_module(text)
        with module.context, ir.Location.unknown():
            declared = any(op.operation.name == "sdy.mesh" for op in module.body.operations)
            if not self._gspmd and not declared:
                declaration = ir.Module.parse(self._layout.declaration).body.operations[0]
                declaration.operation.clone(ip=ir.InsertionPoint.at_block_begin(module.body))
            count = ir.Attribute.parse(f"{self._layout.size} : i32")
            module.operation.attributes["mhlo.num_partitions"] = count
            functions = [op for op in module.body.operations if op.operation.name == "func.func"]
            (main,) = [function for function in functions if function.name.value == "main"]
            kind = main.type
            main.attributes["arg_attrs"] = self._signature(main, "arg_attrs", kind.inputs, 0.9)
            share = self._random.choice((0.0, 0.5, 1.0))
            main.attributes["res_attrs"] = self._signature(main, "res_attrs", kind.results, share)
            manual = self._is_manual(main)
            for function in functions:
                if function == main or (not manual and self._random.random() < 0.7):
                    self._constrain(function)
            return module.operation.get_asm()

    def _is_manual(self, main: Any) -> bool:
        """Whether the program says itself what chips do; its other functions are those that chips call."""
        return any(op.operation.name == "sdy.manual_computation" for op in main.regions[0].blocks[0].operations) or (
            self._gspmd and any("SPMDFullToShardShape" in str(op) for op in main.regions[0].blocks[0].operations)
        )

    def _split(self, type_: Any, *, stated: bool) -> Split:
        """Draws the sharding of a tensor; dimensions are left open where propagation may decide."""
        ranked = ir.RankedTensorType(type_)
        sums = self._sums and str(ranked.element_type) in _SUMMED
        drawn = split(self._random, self._layout, ranked.shape, sums=sums)
        if not stated and self._random.random() < 0.3 and not drawn.unreduced:
            opened = tuple(dim for dim in range(ranked.rank) if self._random.random() < 0.5)
            return Split(drawn.dims, drawn.unreduced, opened)
        return drawn

    def _signature(self, function: Any, name: str, types: Sequence[Any], share: float) -> Any:
        attributes: list[Any] = []
        known = function.attributes[name] if name in function.attributes else [ir.DictAttr.get({})] * len(types)
        for type_, given in zip(types, known, strict=True):
            items: dict[str, Any] = {item.name: item.attr for item in ir.DictAttr(given)}
            if name == "arg_attrs" and self._random.random() < 0.25:
                items["ttcore.argument_type"] = ir.StringAttr.get("parameter")
            if any("sharding" in key for key in items):
                attributes.append(ir.DictAttr.get(items))
                continue
            if self._random.random() < share and isinstance(type_, ir.RankedTensorType):
                drawn = self._split(type_, stated=self._gspmd)
                if self._gspmd:
                    items["mhlo.sharding"] = ir.StringAttr.get(drawn.gspmd(self._layout))
                else:
                    priority = self._random.choice((None, None, None, 0, 1))
                    items["sdy.sharding"] = self._attribute(drawn, priority)
            attributes.append(ir.DictAttr.get(items))
        return ir.ArrayAttr.get(attributes)

    def _attribute(self, drawn: Split, priority: int | None = None) -> Any:
        return ir.Attribute.parse(f"#sdy.sharding{drawn.shardy(self._layout, priority)}")

    def _constrain(self, function: Any) -> None:
        """Puts constraints behind some ops of a function, those in its loops and cases among them."""
        for op in list(_splittable(function.operation)):
            for value in list(op.results):
                if self._random.random() < self._share:
                    self._mark(op, value)

    def _mark(self, op: Any, value: Any) -> None:
        users = [(use.owner, use.operand_number) for use in value.uses]
        with _after(op):
            marked = self._gspmd_mark(value) if self._gspmd else self._shardy_mark(value)
        for user, number in users if marked is not None else ():
            user.operands[number] = marked

    def _gspmd_mark(self, value: Any) -> Any:
        drawn = self._split(value.type, stated=False)
        attributes: dict[str, Any] = {
            "call_target_name": ir.StringAttr.get("Sharding"),
            "mhlo.sharding": ir.StringAttr.get(drawn.gspmd(self._layout)),
        }
        if drawn.open:
            config = f"unspecified_dims=[{','.join(map(str, drawn.open))}]"
            attributes["backend_config"] = ir.StringAttr.get(config)
        return _op("stablehlo.custom_call", [value], [value.type], attributes)

    def _shardy_mark(self, value: Any) -> Any:
        kind = self._random.choice(("constraint",) * 6 + ("reshard", "barrier", "group", "call"))
        if kind == "call":
            attributes = {"call_target_name": ir.StringAttr.get(self._random.choice(_MARKS))}
            return _op("stablehlo.custom_call", [value], [value.type], attributes)
        if kind == "barrier":
            direction = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), self._random.choice(_DIRECTIONS))
            return _op("sdy.propagation_barrier", [value], [value.type], {"allowed_direction": direction})
        if kind == "group":
            number = self._groups.setdefault(str(value.type), len(self._groups))
            group = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), number)
            _op("sdy.sharding_group", [value], [], {"group_id": group})
            return None
        name = "sdy.reshard" if kind == "reshard" else "sdy.sharding_constraint"
        drawn = self._split(value.type, stated=kind == "reshard")
        return _op(name, [value], [value.type], {"sharding": self._attribute(drawn)})


def _op(name: str, operands: Sequence[Any], results: Sequence[Any], attributes: dict[str, Any]) -> Any:
    op = ir.Operation.create(name, operands=operands, results=results, attributes=attributes)
    return op.results[0] if results else op


def _splittable(root: Any) -> Iterator[Any]:
    """Yields the ops of a function whose results may have shardings: none of the bodies of reductions and the like."""
    for region in root.regions:
        for block in region.blocks:
            for op in list(block.operations):
                inner = op.operation
                if inner.name in ("stablehlo.while", "stablehlo.case", "stablehlo.if"):
                    yield from _splittable(inner)
                if inner.name in ("stablehlo.constant", "stablehlo.custom_call", "func.call"):
                    continue
                types = [value.type for value in inner.results]
                if types and all(isinstance(type_, ir.RankedTensorType) and type_.rank > 0 for type_ in types):
                    yield inner


def _after(op: Any) -> Any:
    """Returns the point behind an op."""
    following = list(op.block.operations)
    place = next(index for index, other in enumerate(following) if other.operation == op)
    return ir.InsertionPoint(following[place + 1])
