"""Rules of ops with regions that say what happens next, and of constraints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jaxlib.mlir import ir

from tt_xla.compiler.sharding.context import Hints, Localiser, localises, shape_of
from tt_xla.compiler.sharding.emitter import Shard
from tt_xla.compiler.sharding.propagate import COMPOSITE
from tt_xla.compiler.stablehlo.signature import attribute_names
from tt_xla.ir.mesh import Sharding, replicated


@localises("sdy.sharding_constraint", "sdy.reshard")
def sharding_constraint(context: Localiser, op: Any, operands: Sequence[Shard], hints: Hints) -> Sequence[Shard]:
    """Changes the sharding to the one that the constraint asks for, as propagation completed it."""
    return [context.reshard(operands[0], context.sharding_of(op.attributes["sharding"]))]


@localises("sdy.propagation_barrier")
def propagation_barrier(context: Localiser, op: Any, operands: Sequence[Shard], hints: Hints) -> Sequence[Shard]:
    return operands


@localises("sdy.sharding_group")
def sharding_group(context: Localiser, op: Any, operands: Sequence[Shard], hints: Hints) -> Sequence[Shard]:
    """Drops the op: propagation has given the tensors of a group one sharding."""
    return []


@localises("stablehlo.while")
def while_loop(context: Localiser, op: Any, operands: Sequence[Shard], hints: Hints) -> Sequence[Shard]:
    """Carries each value in one sharding through all iterations.

    Partial sums stay so if the body returns partial sums as well.
    """
    (body,) = op.regions[1].blocks
    pairs = zip(operands, hints, body.arguments, list(body.operations)[-1].operands, strict=True)
    carried: list[Shard] = []
    for operand, hint, argument, returned in pairs:
        sums = {*operand.sharding.unreduced}
        sums &= sums if returned == argument else {*_stated_sums(context, returned)}
        wanted = operand.sharding if hint is None else hint
        carried.append(context.reshard(operand, wanted.with_unreduced(sums - wanted.splitting_axes)))
    copy = context.builder.op(
        "while", [shard.value for shard in carried], [shard.value.type for shard in carried], regions=2
    )
    results = [Shard(value, old.shape, old.sharding) for value, old in zip(copy.results, carried, strict=True)]
    for old, new in zip(op.regions, copy.regions, strict=True):
        is_condition = old == op.regions[0]
        region(context, old, new, carried, [replicated(0)] if is_condition else [s.sharding for s in carried])
    for name in attribute_names(op):
        if name.startswith("mhlo."):
            copy.attributes[name] = op.attributes[name]
    return results


@localises("stablehlo.case", "stablehlo.if")
def branches(context: Localiser, op: Any, operands: Sequence[Shard], hints: Hints) -> Sequence[Shard]:
    """Gives the results of all branches the sharding that propagation found; without one, each chip has all of it.

    They are partial sums if each branch returns such.
    """
    shardings: list[Sharding] = []
    for number, (result, hint) in enumerate(zip(op.results, hints, strict=True)):
        wanted = replicated(len(shape_of(result))) if hint is None else hint
        returned = [list(old.blocks[0].operations)[-1].operands[number] for old in op.regions]
        sums = frozenset.intersection(*(frozenset(_stated_sums(context, value)) for value in returned))
        shardings.append(wanted.with_unreduced(sums - wanted.splitting_axes))
    types = [context.local_type(result.type, sharding) for result, sharding in zip(op.results, shardings, strict=True)]
    name = op.operation.name
    copy = context.builder.op(name, [context.whole(operands[0])], types, regions=len(op.regions))
    for old, new in zip(op.regions, copy.regions, strict=True):
        region(context, old, new, [], shardings)
    return context.shards(op, list(copy.results), shardings)


def _stated_sums(context: Localiser, value: Any) -> tuple[int, ...]:
    """Returns the mesh axes along which a value is partial sums, as far as that is known before it is localised."""
    if value in context.values:
        return context.values[value].sharding.unreduced
    owner = value.owner
    if isinstance(owner, ir.Block):
        return ()
    if owner.name == "sdy.sharding_constraint":
        return context.sharding_of(owner.attributes["sharding"]).unreduced
    hint = context.hints(owner)[list(owner.results).index(value)]
    return () if hint is None else hint.unreduced


def region(context: Localiser, old: Any, new: Any, arguments: Sequence[Shard], shardings: Sequence[Sharding]) -> None:
    """Localises the one block of a region.

    Args:
        old: region of the module with global shapes.
        new: empty region of the module of one chip.
        arguments: shards like which the block's arguments are.
        shardings: shardings of what the block returns.
    """
    (source,) = old.blocks
    block = new.blocks.append(*[shard.value.type for shard in arguments])
    for argument, value, shard in zip(source.arguments, block.arguments, arguments, strict=True):
        context.values[argument] = Shard(value, shard.shape, shard.sharding)
    with context.inside(block):
        returned = context.block(source)
        values = [context.reshard(shard, sharding).value for shard, sharding in zip(returned, shardings, strict=True)]
        context.builder.op("return", values, [])


@localises("sdy.named_computation")
def named_computation(context: Localiser, op: Any, operands: Sequence[Shard], hints: Hints) -> Sequence[Shard]:
    """Localises the decomposition of a composite.

    Where no chip needs anything from another one for it, the composite stays, with a decomposition of its own. Else
    its ops are emitted in its place.
    """
    (source,) = op.regions[0].blocks
    if COMPOSITE in op.attributes:
        results = _composite(context, op, source, operands)
        if results is not None:
            return results
    for argument, operand in zip(source.arguments, operands, strict=True):
        context.values[argument] = operand
    return context.block(source)


def _composite(context: Localiser, op: Any, source: Any, operands: Sequence[Shard]) -> Sequence[Shard] | None:
    """Emits a composite with a decomposition for the chip's parts; None if chips need something from each other."""
    identity: dict[str, Any] = {item.name: item.attr for item in ir.DictAttr(op.attributes[COMPOSITE])}
    types = [operand.value.type for operand in operands]
    name = f"{identity['decomposition'].value}.local{len(context.added)}"
    module_block = context.module_block
    function = ir.Operation.create(
        "func.func",
        attributes={
            "sym_name": ir.StringAttr.get(name),
            "sym_visibility": ir.StringAttr.get("private"),
            "function_type": ir.TypeAttr.get(ir.FunctionType.get(types, [])),
        },
        regions=1,
        ip=ir.InsertionPoint(module_block),
    )
    block = function.regions[0].blocks.append(*types)
    crossings = context.crossings
    for argument, value, operand in zip(source.arguments, block.arguments, operands, strict=True):
        context.values[argument] = Shard(value, operand.shape, operand.sharding)
    with context.alone(block):
        returned = context.block(source)
        context.builder.op("func.return", [shard.value for shard in returned], [])
    if context.crossings != crossings:
        function.erase()
        return None
    context.added.append(name)
    result_types = [shard.value.type for shard in returned]
    function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(types, result_types))
    identity["decomposition"] = ir.FlatSymbolRefAttr.get(name)
    values = context.builder.op("composite", [operand.value for operand in operands], result_types, identity).results
    return [Shard(value, shard.shape, shard.sharding) for value, shard in zip(values, returned, strict=True)]
