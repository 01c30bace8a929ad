"""Propagation of shardings through a module as a front end writes it.

Shardings have two notations, Shardy's and GSPMD's, and may use several meshes. After this step there is one notation
and one mesh, calls are inlined, and Shardy's propagation has run.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import sdy
from jaxlib.mlir.passmanager import PassManager

from tt_xla.compiler.sharding import gspmd, round_trip
from tt_xla.compiler.sharding.builder import dense
from tt_xla.compiler.sharding.counters import narrow_counters
from tt_xla.compiler.sharding.rules.elementwise import BROADCASTING, ELEMENTWISE
from tt_xla.compiler.sharding.shardings import SHARDING, Meshes, op_shardings, rewrite_for_one_mesh, tensor_shardings
from tt_xla.compiler.sharding.walk import copy_body, inline_calls, walk
from tt_xla.compiler.stablehlo.replica_groups import table_of
from tt_xla.compiler.stablehlo.signature import attribute_names, functions
from tt_xla.errors import CompileError, MalformedModuleError

COMPOSITE = "tt.composite"
"""Attribute of a named computation: the name, attributes and decomposition of the composite that it stands for."""

_PROPAGATE = (
    "sdy-sharding-group-import",
    "sdy-add-data-flow-edges",
    "sdy-apply-sharding-constraints",
    "sdy-user-priority-propagate{conservative-propagation=false}",
    "sdy-sink-data-flow-edges",
)


@dataclass(frozen=True)
class Propagated:
    """A copy of a module in one notation, before or after propagation."""

    module: Any
    meshes: Meshes
    stated: frozenset[tuple[str, int]]
    """Attribute and number of each argument and result whose sharding the module states, as opposed to those whose
    sharding propagation found."""
    orders: dict[int, tuple[int, ...]]
    """For arguments whose mesh has an order of its own, by number: the chip at each position of the mesh."""


def propagate(module: Any, entry_name: str, partitions: int | None, chips: int) -> Propagated:
    """Returns a copy of a module after propagation. Arguments and errors are those of :func:`prepare`."""
    prepared = prepare(module, entry_name, partitions, chips)
    run_passes(prepared.module, _PROPAGATE, verify=False)  # prepare has verified the module
    return prepared


def prepare(module: Any, entry_name: str, partitions: int | None, chips: int) -> Propagated:
    """Returns a copy of a module in Shardy's notation over one mesh, with calls inlined, before propagation.

    Args:
        module: a StableHLO module, which is left unchanged.
        entry_name: name of its entry function.
        partitions: number of chips that the module says it is for; None if it says nothing.
        chips: number of chips that there are.

    Raises:
        MalformedModuleError: a sharding is not one, or does not fit its tensor or mesh.
        CompileError: the shardings are for different numbers of devices, or for more than there are.
    """
    copy: Any = module.operation.clone()
    _verify(copy)
    _tabulate_groups(copy)
    if round_trip.restore(copy):
        _verify(copy)
    shardings = tensor_shardings(copy)
    if any(map(_names_no_mesh, shardings)):
        run_passes(copy, ("sdy-lift-inlined-meshes",))
        shardings = tensor_shardings(copy)
    meshes = Meshes(copy, partitions)
    if meshes.chips > chips:
        raise CompileError(
            f"The module is for {meshes.chips} chips, but the system has {chips}.",
            hint="Use a mesh of at most as many devices, or compile for a system with more chips.",
        )
    _check_shardings(shardings, meshes)
    known = functions(copy)
    orders = _argument_orders(copy, shardings, known[entry_name], meshes)
    inline_calls(known[entry_name], known)
    if gspmd.is_used(copy) or meshes.differ or not meshes.declared:
        writer = rewrite_for_one_mesh(copy, meshes, gspmd.digits(copy, meshes.chips))
        gspmd.convert(copy, writer)
        meshes = Meshes(copy, partitions)
    _drop_scalar_constraints(copy)
    narrow_counters(known[entry_name])
    _name_composites(known[entry_name], known, meshes)
    _verify(copy)
    stated = frozenset(_stated(known[entry_name]))
    _add_elementwise_rules(known[entry_name])
    return Propagated(copy, meshes, stated, orders)


def _tabulate_groups(module: Any) -> None:
    """Writes the groups of collectives as tables of ids: the meshes that they name are rewritten and may go."""
    for op in walk(module):
        if "replica_groups" in op.attributes:
            op.attributes["replica_groups"] = dense(table_of(op))


def _argument_orders(module: Any, shardings: Counter[Any], entry: Any, meshes: Meshes) -> dict[int, tuple[int, ...]]:
    """Returns the chip at each position of the meshes that have an order of their own, for the arguments on them.

    JAX writes such meshes for ``jax.device_put`` from one mesh to another one of the same chips.

    Args:
        module: the module.
        shardings: its shardings, and how often each occurs.
        entry: its entry function.
        meshes: its meshes.

    Raises:
        CompileError: something else than an argument has such a mesh.
    """
    declared = list(entry.attributes["arg_attrs"]) if "arg_attrs" in entry.attributes else []
    stated = {index: attributes[SHARDING] for index, attributes in enumerate(declared) if SHARDING in attributes}
    orders = {index: order for index, sharding in stated.items() if (order := meshes.order(sharding)) is not None}
    if sum(count for attribute, count in shardings.items() if meshes.order(attribute) is not None) > len(orders):
        _refuse_order(module, len(orders), meshes)
    return orders


def _refuse_order(module: Any, allowed: int, meshes: Meshes) -> None:
    """Names the first sharding whose mesh has an order of its own, after as many as arguments may have.

    Raises:
        CompileError: always, with the sharding, the order and the place.
    """
    for op in walk(module.operation):
        for attribute in op_shardings(op):
            order = meshes.order(attribute)
            allowed -= order is not None
            if order is not None and allowed < 0:
                raise CompileError(
                    f"A result or an intermediate tensor has the sharding {attribute}, whose mesh has its devices in "
                    f"the order {list(order)}. Only arguments may be on a mesh whose order is neither row-major nor "
                    "transposed.",
                    hint="Move the tensor to that mesh outside the program, with jax.device_put.",
                    location=str(op.location),
                )


def _stated(function: Any) -> Iterator[tuple[str, int]]:
    """Yields attribute and number of each argument and result with a sharding that says something."""
    for name in ("arg_attrs", "res_attrs"):
        if name in function.attributes:
            for number, attributes in enumerate(function.attributes[name]):
                if SHARDING in attributes and not _is_open(attributes[SHARDING]):
                    yield name, number


def _is_open(attribute: Any) -> bool:
    """Whether a sharding leaves every dimension to the compiler, as JAX's ``AUTO`` does."""
    sharding = sdy.TensorShardingAttr(attribute)
    dims = [sdy.DimensionShardingAttr(dim) for dim in sharding.dimension_shardings]
    stated = len(sharding.replicated_axes) + len(sharding.unreduced_axes)
    return bool(dims) and not stated and all(not dim.is_closed and len(dim.axes) == 0 for dim in dims)


def _names_no_mesh(attribute: Any) -> bool:
    """Whether a sharding contains its mesh instead of naming it."""
    return sdy.MeshAttr.isinstance(sdy.TensorShardingAttr(attribute).mesh_or_ref)


def _verify(module: Any) -> None:
    try:
        module.operation.verify()
    except ir.MLIRError as error:
        raise MalformedModuleError(f"The module is not well-formed: {reason(error)}.") from error


def reason(error: ir.MLIRError) -> str:
    """Returns the message of MLIR's first diagnostic."""
    return error.error_diagnostics[0].message if error.error_diagnostics else str(error)


def run_passes(module: Any, passes: tuple[str, ...], *, verify: bool = True) -> None:
    """Runs passes of Shardy's on a module, in place.

    Args:
        module: the module.
        passes: names of the passes.
        verify: whether the module is verified after each pass, which takes a third of the time of propagation.

    Raises:
        CompileError: a pass fails, or this version of jaxlib lacks it.
    """
    with module.context:
        try:
            manager = PassManager.parse(_pipeline(passes))
            manager.enable_verifier(verify)
            manager.run(module.operation)
        except ir.MLIRError as error:
            raise CompileError(f"Shardy cannot propagate the shardings of the module: {reason(error)}.") from error


@functools.cache
def _pipeline(passes: tuple[str, ...]) -> str:
    """Returns a pipeline of passes, each on the module or on its functions as this version of jaxlib has it."""
    return f"builtin.module({','.join(_placed(name) for name in passes)})"


def _placed(name: str) -> str:
    for form in (name, f"func.func({name})"):
        try:
            PassManager.parse(f"builtin.module({form})")
        except ValueError:
            continue
        return form
    raise CompileError(
        f"This jaxlib does not offer the pass {name}, which the module's shardings need.", hint="Install a newer jax."
    )


def _check_shardings(shardings: Iterable[Any], meshes: Meshes) -> None:
    """Reads every sharding once, so that a malformed one is an error here and not in a pass."""
    for attribute in shardings:
        used = list(meshes.digits(attribute))
        if len(used) != len(set(used)):
            raise MalformedModuleError(f"The sharding {attribute} uses an axis twice.")


def _drop_scalar_constraints(module: Any) -> None:
    """Erases the constraints of scalars, which no sharding splits; those in bodies of reductions are no ops there.

    Constraints to partial sums stay.
    """
    for op in list(walk(module.operation)):
        if op.operation.name != "sdy.sharding_constraint" or ir.RankedTensorType(op.results[0].type).rank > 0:
            continue
        if len(sdy.TensorShardingAttr(op.attributes["sharding"]).unreduced_axes) == 0:
            op.results[0].replace_all_uses_with(op.operands[0])
            op.operation.erase()


def _add_elementwise_rules(function: Any) -> None:
    """Tells Shardy that dimensions of elementwise CHLO ops on equal shapes correspond, which it does not know."""
    for op in walk(function):
        if op.operation.name in _ELEMENTWISE and op.operands and SHARDING_RULE not in op.attributes:
            types = [value.type for value in (*op.operands, *op.results)]
            shapes = {tuple(ir.RankedTensorType(type_).shape) for type_ in types}
            if len(shapes) == 1 and 0 < len(shape := shapes.pop()) <= len(_FACTORS):
                op.attributes[SHARDING_RULE] = _elementwise_rule(shape, len(op.operands), len(op.results))


SHARDING_RULE = "sdy.sharding_rule"
_ELEMENTWISE = frozenset(name for name in (*ELEMENTWISE, *BROADCASTING) if name.startswith("chlo."))
_FACTORS = "ijklmnopqrstuvw"
"""Shardy's names of the first dimensions."""


def _elementwise_rule(shape: tuple[int, ...], operands: int, results: int) -> Any:
    factors = _FACTORS[: len(shape)]
    dims = f"[{', '.join(factors)}]"
    sizes = ", ".join(f"{factor}={size}" for factor, size in zip(factors, shape, strict=True))
    sides = (", ".join([dims] * count) for count in (operands, results))
    return ir.Attribute.parse(f"#sdy.op_sharding_rule<({')->('.join(sides)}) {{{sizes}}}>")


def _name_composites(entry: Any, known: dict[str, Any], meshes: Meshes) -> None:
    """Replaces composites by named computations with the ops of their decompositions, which propagation looks into."""
    mesh = next((name for name, mesh in meshes.declared.items() if len(mesh.axes) > 0), None)
    if mesh is None:
        return
    _name_composites_in(entry, known, mesh, ())


def _name_composites_in(op: Any, known: dict[str, Any], mesh: str, active: tuple[str, ...]) -> None:
    """Replaces the composites in the regions of an op.

    Args:
        active: names of the decompositions that the op comes from.
    """
    for composite in [inner for inner in walk(op) if inner.operation.name == "stablehlo.composite"]:
        name = composite.attributes["decomposition"].value
        callee = known.get(name)
        if callee is None or not callee.regions[0].blocks:
            raise MalformedModuleError(f"The decomposition @{name} of a composite is not defined.")
        if name in active:
            raise MalformedModuleError(f"The decompositions @{', @'.join(active)} contain each other in a cycle.")
        inline_calls(callee, known)
        _name_composites_in(_named_computation(composite, callee, mesh), known, mesh, (*active, name))


def _named_computation(op: Any, callee: Any, mesh: str) -> Any:
    """Replaces a composite by a named computation, and returns that."""
    block = callee.regions[0].blocks[0]
    identity = {name: op.attributes[name] for name in attribute_names(op) if name != SHARDING}
    with op.location:
        region_op = ir.Operation.create(
            "sdy.named_computation",
            results=[result.type for result in op.results],
            operands=list(op.operands),
            attributes={
                "name": ir.StringAttr.get(op.attributes["name"].value),
                "in_shardings": _open_shardings(mesh, op.operands),
                "out_shardings": _open_shardings(mesh, op.results),
                COMPOSITE: ir.DictAttr.get(identity),
            },
            regions=1,
            ip=ir.InsertionPoint(op),
        )
        body = region_op.regions[0].blocks.append(*[argument.type for argument in block.arguments])
        point = ir.InsertionPoint(body)
        returned = copy_body(block, list(body.arguments), point)
        ir.Operation.create("sdy.return", operands=returned, ip=point)
    for old, new in zip(op.results, region_op.results, strict=True):
        old.replace_all_uses_with(new)
    op.operation.erase()
    return region_op


def _open_shardings(mesh: str, values: Any) -> Any:
    return sdy.TensorShardingPerValueAttr.get(
        [
            sdy.TensorShardingAttr.get(
                mesh,
                [sdy.DimensionShardingAttr.get([], is_closed=False)] * ir.RankedTensorType(value.type).rank,
            )
            for value in values
        ]
    )
