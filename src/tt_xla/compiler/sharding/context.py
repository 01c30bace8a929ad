"""The state that rules of the localiser work with: shards of values, and changes of their sharding."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from jaxlib.mlir import ir

from tt_xla.compiler.sharding.axes import Digits
from tt_xla.compiler.sharding.builder import element_type, local_shape, tensor
from tt_xla.compiler.sharding.emitter import Emitter, Shard
from tt_xla.compiler.sharding.linear import operand_sums, prepared
from tt_xla.compiler.sharding.partial_sums import marked, reshard, unmarked
from tt_xla.compiler.sharding.shardings import SHARDING, per_value
from tt_xla.compiler.sharding.walk import Functions, remap_captures, walk
from tt_xla.compiler.stablehlo.signature import arguments
from tt_xla.errors import CompileError, UnsupportedOpError
from tt_xla.ir.mesh import Mesh, Shape, Sharding, replicated
from tt_xla.ir.program import Role
from tt_xla.registry import Registry

Hints = Sequence["Sharding | None"]
"""Sharding that propagation found for each result of an op; None where it found none."""

Rule = Callable[["Localiser", Any, Sequence[Shard], Hints], Sequence[Shard]]
"""Emits what one chip does for an op, given its operands; returns its results."""

RULES: Registry[str, Rule] = Registry("localisation rule")
localises = RULES.register
"""Registers the rule of ops, given by their names."""


SUM_AWARE = frozenset(
    (
        *("sdy.sharding_constraint", "sdy.reshard", "sdy.propagation_barrier", "sdy.sharding_group"),
        *("sdy.manual_computation", "sdy.named_computation", "stablehlo.optimization_barrier"),
        *("stablehlo.case", "stablehlo.if", "stablehlo.while", "stablehlo.custom_call"),
    )
)
"""Ops whose rules take and return partial sums as they are."""

COMBINING = frozenset(f"stablehlo.{name}" for name in ("convolution", "dot_general", "gather", "reduce", "scatter"))
"""Ops whose rules leave the sums unfinished that their hints have as unreduced."""

_FUNCTION_ATTRIBUTES = ("called_computations", "callee", "decomposition")
"""Attributes that name functions."""


@dataclass(frozen=True)
class Broadcast:
    """The smaller tensor that a broadcast value comes from."""

    source: Shard
    dims: tuple[int, ...]
    """Dimension of the value that each dimension of the source becomes."""


@dataclass
class Localiser(Emitter):
    """The state of one localisation."""

    functions: Functions
    """Functions of the module with global shapes."""
    sharding_of: Callable[[Any], Sharding]
    """Reads a sharding attribute."""
    manual_axes: Callable[[Any], frozenset[int]]
    """Reads the manual axes of a manual computation."""
    axes_of: Callable[[Digits], tuple[int, ...]]
    """Returns the mesh axes that some digits consist of."""
    module_block: Any
    """Block of the module of one chip, for further functions."""
    values: dict[Any, Shard] = field(default_factory=lambda: {})
    """Shards of the values of the module with global shapes."""
    constants: set[Any] = field(default_factory=lambda: set[Any]())
    """Values of the module with global shapes that depend on no argument."""
    copied: dict[str, None] = field(default_factory=lambda: {})
    """Names of functions that copied ops refer to."""
    added: list[str] = field(default_factory=lambda: [])
    """Names of functions that rules have added."""
    inspected: dict[bytes, Sharding] = field(default_factory=lambda: {})
    """Shardings of the values whose shardings the program asks for, by the key of the asking op."""
    _local_types: dict[tuple[Any, tuple[tuple[int, ...], ...]], Any] = field(default_factory=lambda: {})
    """Types of one chip by the global type and the axes of each dimension; layers repeat them."""
    _hints: dict[Any, Hints] = field(default_factory=lambda: {})
    """Shardings of results by the attribute that has them; ops share attributes."""

    # ---- Blocks

    def block(self, block: Any) -> list[Shard]:
        """Localises the ops of a block; returns the operands of its terminator."""
        *body, terminator = list(block.operations)
        for op in body:
            self.op(op)
        return [self.values[operand] for operand in terminator.operands]

    def op(self, op: Any) -> None:
        """Localises one op.

        Every chip has the results of an op that computes constants of 64-bit integers, or from such constants. The chip
        has no such type. The importer computes them, as the counters of random numbers, while they are the same on
        every chip.

        Raises:
            UnsupportedOpError: the op has no rule, and an operand of it is sharded.
        """
        sources, results = list(op.operands), list(op.results)
        operands = [self.values[source] for source in sources]
        is_constant = _is_computation(op) and self.constants.issuperset(sources)
        if is_constant:
            self.constants.update(results)
        with op.location:
            rule = RULES.get(op.operation.name, _unknown)
            if _is_empty(op):
                rule = _empty
            elif is_constant and any(map(_is_wide_integer, (*results, *sources))):
                rule = _unsplit_constant
            shards = self._apply(rule, op, operands, self.hints(op))
        for result, shard in zip(results, shards, strict=True):
            self.values[result] = shard

    def _apply(self, rule: Rule, op: Any, operands: Sequence[Shard], hints: Hints) -> Sequence[Shard]:
        """Applies a rule. If it is for plain tensors, it gets the terms of sums that may stay unfinished.

        Sums of other operands are finished first.
        """
        name = op.operation.name
        given = any(operand.sharding.unreduced for operand in operands)
        wanted = frozenset.intersection(*(_unreduced(hint) for hint in hints)) if hints else frozenset[int]()
        if name in SUM_AWARE or not (given or wanted):
            return rule(self, op, operands, hints)
        sums = operand_sums(op, operands, wanted)
        kept = frozenset(axis for axes in sums for axis in axes)
        ready = [
            unmarked(self.reshard(operand, prepared(operand.sharding, own, kept)))
            for operand, own in zip(operands, sums, strict=True)
        ]
        left = wanted - kept if name in COMBINING else ()
        plain = [None if hint is None else hint.with_unreduced(left) for hint in hints]
        return [marked(result, {*result.sharding.unreduced} | kept) for result in rule(self, op, ready, plain)]

    def term(self, value: Any, sharding: Sharding) -> Any:
        """Returns the addend of each chip that makes partial sums grow by a value that all chips hold."""
        whole = Shard(value, tuple(local_shape(value)), replicated(len(local_shape(value))))
        return self.reshard(whole, whole.sharding.with_unreduced(sharding.unreduced)).value

    def hints(self, op: Any) -> Hints:
        """Returns the sharding that propagation found for each result of an op."""
        attributes = op.attributes
        if SHARDING not in attributes:
            return [None] * len(op.results)
        attribute = attributes[SHARDING]
        if attribute not in self._hints:
            self._hints[attribute] = [self.sharding_of(one) for one in per_value(attribute)]
        return self._hints[attribute]

    # ---- Copies of ops

    def copy(
        self,
        op: Any,
        values: Sequence[Any],
        results: Sequence[Any] | None = None,
        attributes: Mapping[str, Any] | None = None,
    ) -> list[Any]:
        """Copies an op with other operands, types of results, and attributes.

        Args:
            op: an op of the module with global shapes. Ops in its regions may use scalars of blocks around it.
            values: operands of the copy.
            results: types of the results; None for those of the op.
            attributes: attributes in which the copy differs.
        """
        captured = {
            operand: self.whole(self.values[operand])
            for inner in (walk(op) if len(op.regions) > 0 else ())
            for operand in inner.operands
            if operand in self.values
        }
        copy = op.operation.clone(ip=self.builder.point).operation
        operands, created, properties = copy.operands, list(copy.results), copy.attributes
        for index, value in enumerate(values):
            operands[index] = value
        for result, type_ in zip(created, results or [], strict=False):
            result.set_type(type_)
        if SHARDING in properties:
            del properties[SHARDING]
        for name, attribute in (attributes or {}).items():
            properties[name] = attribute
        if captured:
            remap_captures(copy, captured)
        for name in _FUNCTION_ATTRIBUTES if len(properties) > 0 else ():
            if name in properties:
                self._note_functions(properties[name])
        return created

    def _note_functions(self, attribute: Any) -> None:
        if isinstance(attribute, ir.FlatSymbolRefAttr):
            self.copied[attribute.value] = None
        elif isinstance(attribute, ir.ArrayAttr):
            for inner in attribute:
                self._note_functions(inner)

    def local_type(self, type_: Any, sharding: Sharding) -> Any:
        """Returns the type that one chip has for a tensor of a type."""
        if sharding.is_replicated:
            return type_
        local = self._local_types.get((type_, sharding.dims))
        if local is None:
            ranked = ir.RankedTensorType(type_)
            local = tensor(sharding.local_shape(self.mesh, list(ranked.shape)), ranked.element_type)
            self._local_types[type_, sharding.dims] = local
        return local

    def shards(self, op: Any, values: Sequence[Any], shardings: Sequence[Sharding]) -> list[Shard]:
        """Returns the results of an op as shards."""
        return [
            Shard(value, shape_of(result), sharding)
            for value, result, sharding in zip(values, op.results, shardings, strict=True)
        ]

    def replicated_copy(self, op: Any, operands: Sequence[Shard]) -> list[Shard]:
        """Copies an op that every chip computes on whole tensors."""
        values = self.copy(op, [self.whole(operand) for operand in operands])
        return self.shards(op, values, [replicated(len(shape_of(result))) for result in op.results])

    # ---- Shardings

    def whole(self, shard: Shard) -> Any:
        """Returns the value of a shard after every chip has received the whole tensor."""
        return self.reshard(shard, replicated(shard.rank)).value

    def unsplit(self, shard: Shard, dims: Sequence[int]) -> Shard:
        """Returns a shard whose given dimensions are not split."""
        kept = tuple(() if dim in dims else axes for dim, axes in enumerate(shard.sharding.dims))
        return self.reshard(shard, Sharding(kept, shard.sharding.unreduced))

    def reshard(self, shard: Shard, sharding: Sharding) -> Shard:
        """Returns the same tensor in another sharding; of a broadcast, the smaller tensor changes its sharding."""
        if shard.sharding == sharding:
            return shard
        broadcast = self.noted(_broadcast_key(shard))
        if broadcast is None or shard.sharding.unreduced or sharding.unreduced:
            return self.once((shard, sharding), lambda: reshard(self, shard, sharding))
        return self.once((shard, sharding), lambda: self._broadcast_again(broadcast, shard, sharding))

    def broadcast(self, shard: Shard, origin: Broadcast) -> Shard:
        """Notes that a shard is a broadcast, and returns it."""
        self.note(_broadcast_key(shard), origin)
        return shard

    def _broadcast_again(self, broadcast: Broadcast, shard: Shard, sharding: Sharding) -> Shard:
        source = broadcast.source
        dims = [
            sharding.dims[dim] if source.shape[index] == shard.shape[dim] else ()
            for index, dim in enumerate(broadcast.dims)
        ]
        part = self.reshard(source, Sharding(tuple(dims)))
        value = self.builder.broadcast(part.value, sharding.local_shape(self.mesh, shard.shape), broadcast.dims)
        return self.broadcast(Shard(value, shard.shape, sharding), broadcast)


def _broadcast_key(shard: Shard) -> Any:
    """Returns the key of a broadcast. The same value is a part of a larger tensor outside of a manual computation, and
    no broadcast there."""
    return "broadcast", shard.value, shard.shape


def shape_of(value: Any) -> Shape:
    """Returns the shape of a tensor of static shape; () for a value that is no tensor.

    Raises:
        CompileError: the shape is not static.
    """
    ranked = value.type
    if not isinstance(ranked, ir.RankedTensorType):
        return ()
    if not ranked.has_static_shape:
        raise CompileError(
            f"A tensor of type {ranked} in a program for several chips has a dynamic shape.",
            hint="Give the program arguments of static shapes.",
        )
    return tuple(ranked.shape)


def is_parameter(value: Any) -> bool:
    """Whether a value of the module with global shapes is a parameter of the program, or a mark or cast of one.

    What depends on parameters alone is computed once, exchanges between chips included.
    """
    while not isinstance(value.owner, ir.Block):
        if len(value.owner.operands) != 1:
            return False
        value = value.owner.operands[0]
    function = value.owner.owner
    if function.operation.name != "func.func":
        return False
    return arguments(function)[ir.BlockArgument(value).arg_number].role is not Role.INPUT


def _is_empty(op: Any) -> bool:
    """Whether an op only computes tensors without elements."""
    return len(op.results) > 0 and len(op.regions) == 0 and all(0 in shape_of(result) for result in op.results)


def _is_computation(op: Any) -> bool:
    """Whether an op's results follow from its operands and attributes alone."""
    name = op.operation.name
    impure = name in ("stablehlo.custom_call", "stablehlo.partition_id", "stablehlo.replica_id", "stablehlo.rng")
    return len(op.results) > 0 and len(op.regions) == 0 and name.startswith("stablehlo.") and not impure


def _is_wide_integer(value: Any) -> bool:
    type_ = value.type
    if not isinstance(type_, ir.RankedTensorType):
        return False
    element = type_.element_type
    return isinstance(element, ir.IntegerType) and ir.IntegerType(element).width == 64


def _unsplit_constant(context: Localiser, op: Any, operands: Sequence[Shard], hints: Hints) -> Sequence[Shard]:
    """Copies an op on constants, so that every chip has all of its results."""
    return context.replicated_copy(op, operands)


def _empty(context: Localiser, op: Any, operands: Sequence[Shard], hints: Hints) -> Sequence[Shard]:
    """Creates the tensors without elements that an op computes."""
    build = context.builder
    return [
        Shard(build.broadcast(build.zero(element_type(result)), shape), shape, replicated(len(shape)))
        for result, shape in ((result, shape_of(result)) for result in op.results)
    ]


def _unknown(context: Localiser, op: Any, operands: Sequence[Shard], hints: Hints) -> Sequence[Shard]:
    """Copies an op without a rule if every chip has its operands, else refuses it."""
    for number, operand in enumerate(operands):
        if not operand.sharding.is_replicated:
            raise UnsupportedOpError(
                f"tt-xla cannot split {op.operation.name} over chips: operand {number} of shape "
                f"{list(operand.shape)} is split as {describe(operand.sharding, context.mesh)}.",
                hint="Constrain the operand to a replicated sharding, or write the op in ops that can be split.",
                location=str(op.location),
            )
    return context.replicated_copy(op, operands)


def describe(sharding: Sharding, mesh: Mesh) -> str:
    """Returns a sharding as text, such as ``[x, -]``."""
    dims = ["·".join(mesh.axes[axis] for axis in axes) or "-" for axes in sharding.dims]
    partial = f", partial sums along {', '.join(mesh.axes[axis] for axis in sharding.unreduced)}"
    return f"[{', '.join(dims)}]{partial if sharding.unreduced else ''}"


def _unreduced(hint: Sharding | None) -> frozenset[int]:
    return frozenset() if hint is None else frozenset(hint.unreduced)
