"""Programs for several chips: from a module with global shapes and shardings to the module of one chip."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from jaxlib.mlir import ir
from jaxlib.mlir.passmanager import PassManager

from tt_xla.compiler.sharding import rules
from tt_xla.compiler.sharding.axes import Digit, finest_mesh, whole_axes
from tt_xla.compiler.sharding.builder import Builder
from tt_xla.compiler.sharding.context import Localiser, shape_of
from tt_xla.compiler.sharding.emitter import Shard
from tt_xla.compiler.sharding.gspmd import HLO_SHARDING
from tt_xla.compiler.sharding.propagate import Propagated, propagate, reason
from tt_xla.compiler.sharding.requests import requests
from tt_xla.compiler.sharding.round_trip import FRONTEND_ATTRIBUTES
from tt_xla.compiler.sharding.shardings import SHARDING, Meshes, as_sharding, manual_digits, tensor_shardings
from tt_xla.compiler.sharding.walk import walk
from tt_xla.compiler.stablehlo.expand import register_passes
from tt_xla.compiler.stablehlo.signature import attribute_names, entry_function, functions
from tt_xla.errors import CompileError, InternalCompilerError
from tt_xla.ir.mesh import Mesh, Shape, Sharding, replicated

__all__ = ["Localised", "localise", "rules"]

_SUM = "stablehlo.cross-replica-sum"
"""An op of older versions of StableHLO, which ``jax.pmap`` in ``jax.pmap`` still uses."""

_SIGNATURE_SHARDINGS = (SHARDING, HLO_SHARDING, FRONTEND_ATTRIBUTES)


@dataclass(frozen=True)
class Localised:
    """The module of one chip of a mesh, and what its arguments and results are parts of."""

    module: ir.Module
    """StableHLO with the shapes of one chip. What chips exchange is in StableHLO's collective ops."""
    mesh: Mesh
    arguments: tuple[tuple[Sharding, Shape], ...]
    """Sharding and global shape of each argument of the entry function."""
    results: tuple[tuple[Sharding, Shape], ...]
    """Sharding and global shape of each result."""
    source: ir.Module | None = None
    """The module with global shapes; None if there is none."""
    inspected: Mapping[bytes, Sharding] = field(default_factory=dict[bytes, Sharding])
    """Shardings that ``jax.debug.inspect_array_sharding`` asks for, by the key in its op."""
    moved: Mapping[int, tuple[Sharding, tuple[int, ...]]] = field(default_factory=dict[int, Any])
    """For arguments whose shards are on chips in an order of their own, by number: the sharding, and the chip of each
    position."""


def localise(module: ir.Module, chips: int) -> Localised | None:
    """Rewrites a module for several chips to the module that each of them runs.

    Args:
        module: a StableHLO module with shardings in Shardy's or GSPMD's form, which is left unchanged.
        chips: number of chips that there are.

    Returns:
        The module of one chip; None if the module is for one chip as it is.

    Raises:
        MalformedModuleError: a sharding is not one, or does not fit its tensor or mesh.
        CompileError: the module is for more chips than there are, or its meshes contradict each other, or an op cannot
            be split.
    """
    asked = requests(module)
    if not asked.several:
        return None
    if asked.replicas > 1:
        return _replicas(module, asked.replicas, chips)
    with module.context, ir.Location.unknown():
        entry_name = entry_function(module).name.value
        localised = _Localisation(propagate(module, entry_name, asked.partitions, chips), entry_name).run()
    return replace(localised, source=module)


def _replicas(module: Any, count: int, chips: int) -> Localised:
    """Returns a module for several replicas as the module of one chip, which it is already.

    Each chip has tensors of its own. They count as parts of larger ones, along the first dimension. A scalar cannot be
    such a part, so arguments and results that are scalars are those of all chips.
    """
    if count > chips:
        raise CompileError(
            f"The module is for {count} replicas (mhlo.num_replicas), but the system has {chips}.",
            hint="Run it on fewer devices, or compile for a system with more chips.",
        )
    if any(op.name == _SUM for op in walk(module.operation)):
        module = module.operation.clone()
        with module.context:
            register_passes()
            PassManager.parse("builtin.module(func.func(stablehlo-legalize-deprecated-ops))").run(module.operation)
    mesh = Mesh((count,), ("replica",))
    (block,) = entry_function(module).regions[0].blocks
    arguments, results = (
        tuple(_own_tensor(mesh, shape_of(value)) for value in values)
        for values in (block.arguments, list(block.operations)[-1].operands)
    )
    return Localised(module, mesh, arguments, results)


def _own_tensor(mesh: Mesh, shape: Shape) -> tuple[Sharding, Shape]:
    """Returns sharding and global shape of a tensor of which each chip has one of its own, except for scalars."""
    if not shape:
        return replicated(0), shape
    axes = tuple(range(len(mesh.shape)))
    return Sharding((axes, *(() for _ in shape[1:]))), (mesh.size * shape[0], *shape[1:])


class _Localisation:
    """One call of :func:`localise`, after propagation."""

    def __init__(self, propagated: Propagated, entry_name: str) -> None:
        self.module: Any = propagated.module
        self.meshes: Meshes = propagated.meshes
        self.stated = propagated.stated
        self.orders = propagated.orders
        self.functions = functions(self.module)
        self.entry = self.functions[entry_name]
        self.mesh, self.axes = finest_mesh(self._digits(), self.meshes.chips, self.meshes.names)

    def _digits(self) -> Iterator[Digit]:
        yield from self.meshes.all_digits()
        for attribute in tensor_shardings(self.module):
            yield from self.meshes.digits(attribute)

    def run(self) -> Localised:
        """Emits the module of one chip."""
        local: Any = ir.Module.create(self.module.operation.location)
        for name in attribute_names(self.module.operation):
            if name != FRONTEND_ATTRIBUTES:
                local.operation.attributes[name] = self.module.operation.attributes[name]
        body = self.entry.regions[0].blocks[0]
        arguments = [self._entry_sharding(value, "arg_attrs", i) for i, value in enumerate(body.arguments)]
        returned_values = list(body.operations)[-1].operands
        results = [self._entry_sharding(value, "res_attrs", i) for i, value in enumerate(returned_values)]
        function, block = self._function(local, arguments)
        context = Localiser(
            mesh=self.mesh,
            builder=Builder(block),
            functions=self.functions,
            sharding_of=self._sharding_of,
            manual_axes=lambda op: frozenset(whole_axes(manual_digits(op, self.meshes), self.axes)),
            axes_of=lambda digits: whole_axes(digits, self.axes),
            module_block=local.body,
        )
        for old, new, sharding in zip(body.arguments, block.arguments, arguments, strict=True):
            context.values[old] = Shard(new, shape_of(old), sharding)
        moved = {
            index: (arguments[index], order) for index, order in self.orders.items() if shape_of(body.arguments[index])
        }
        for index, (sharding, order) in moved.items():
            value = context.builder.collective_permute(
                block.arguments[index], [(chip, position) for position, chip in enumerate(order)]
            )
            context.values[body.arguments[index]] = Shard(value, shape_of(body.arguments[index]), sharding)
        returned = context.block(body)
        values = [context.reshard(shard, sharding).value for shard, sharding in zip(returned, results, strict=True)]
        context.builder.op("func.return", values, [])
        types = ir.FunctionType.get([value.type for value in block.arguments], [value.type for value in values])
        function.attributes["function_type"] = ir.TypeAttr.get(types)
        self._copy_functions(local, context)
        _verify(local)
        return Localised(
            local,
            self.mesh,
            tuple(
                _own_tensor(self.mesh, shape_of(block.arguments[index]))
                if index in moved
                else (sharding, shape_of(value))
                for index, (sharding, value) in enumerate(zip(arguments, body.arguments, strict=True))
            ),
            tuple((sharding, shard.shape) for sharding, shard in zip(results, returned, strict=True)),
            inspected=context.inspected,
            moved=moved,
        )

    def _sharding_of(self, attribute: Any) -> Sharding:
        return as_sharding(self.meshes.dims(attribute), self.axes, self.meshes.unreduced(attribute))

    def _entry_sharding(self, value: Any, name: str, number: int) -> Sharding:
        """Returns the sharding of an argument or result of the entry function.

        What propagation found by itself neither splits a dimension unevenly nor splits it along a part of an axis, as
        arrays of JAX cannot be split so. It leaves no partial sums either.
        """
        shape = shape_of(value)
        attributes = self.entry.attributes[name][number] if name in self.entry.attributes else {}
        if SHARDING not in attributes:
            return replicated(len(shape))
        if (name, number) in self.stated:
            return self._sharding_of(attributes[SHARDING])
        return as_sharding(self.meshes.even_dims(attributes[SHARDING], shape), self.axes)

    def _function(self, local: Any, arguments: list[Sharding]) -> tuple[Any, Any]:
        """Returns the entry function of one chip, whose block is empty, and that block."""
        attributes = {name: self.entry.attributes[name] for name in attribute_names(self.entry)}
        for name in ("arg_attrs", "res_attrs"):
            if name in attributes:
                attributes[name] = ir.ArrayAttr.get([_without_shardings(item) for item in attributes[name]])
        types: list[Any] = []
        for value, sharding in zip(self.entry.regions[0].blocks[0].arguments, arguments, strict=True):
            ranked = ir.RankedTensorType(value.type) if isinstance(value.type, ir.RankedTensorType) else None
            shape = sharding.local_shape(self.mesh, shape_of(value))
            types.append(value.type if ranked is None else ir.RankedTensorType.get(list(shape), ranked.element_type))
        function = ir.Operation.create(
            "func.func", attributes=attributes, regions=1, ip=ir.InsertionPoint(local.body), loc=self.entry.location
        )
        locations = [argument.location for argument in self.entry.regions[0].blocks[0].arguments]
        return function, function.regions[0].blocks.append(*types, arg_locs=locations)

    def _copy_functions(self, local: Any, context: Localiser) -> None:
        """Copies the functions that ops of the module of one chip refer to."""
        pending = [name for name in context.copied if name not in context.added]
        done: set[str] = set()
        while pending:
            name = pending.pop()
            if name in done or name not in self.functions:
                continue
            done.add(name)
            copy = self.functions[name].operation.clone(ip=ir.InsertionPoint(local.body))
            for op in walk(copy):
                for attribute in ("callee", "decomposition"):
                    if attribute in op.attributes:
                        pending.append(op.attributes[attribute].value)


def _without_shardings(attributes: Any) -> Any:
    items = {item.name: item.attr for item in ir.DictAttr(attributes) if item.name not in _SIGNATURE_SHARDINGS}
    return ir.DictAttr.get(items)


def _verify(module: Any) -> None:
    try:
        module.operation.verify()
    except ir.MLIRError as error:
        raise InternalCompilerError(
            f"The module of one chip is not well-formed: {reason(error)}.",
            hint="This is a fault of tt-xla; please report it with the module.",
        ) from error
