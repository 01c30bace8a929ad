"""The ops of a module and the dimensions that they tie together.

Shardy has a rule for each op: which dimension of which tensor each of its loops is (a *factor*). Dimensions of one
factor are split alike, so a chain of ops ties dimensions of many tensors to one *group*: the heads of an attention are
columns of three weights, a dimension of the scores, and rows of the output's weight. A search over groups instead of
tensors is the idea of automap (Schaarschmidt et al., 2021) and TOAST (Alabed et al., 2025).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import sdy

from tt_xla.compiler.sharding.context import shape_of
from tt_xla.compiler.sharding.propagate import SHARDING_RULE, run_passes
from tt_xla.compiler.stablehlo.signature import arguments, entry_function
from tt_xla.ir.mesh import Shape
from tt_xla.ir.program import Argument, Role

LOOP_ROUNDS = 8
"""Assumed number of rounds of a loop: the quick estimate does not look for it."""

_POPULATE = ("sdy-populate-op-sharding-rules",)


@dataclass(frozen=True)
class Factor:
    """One of the loops that an op stands for."""

    size: int
    reduced: bool
    """Whether the op sums over it, so that chips that split it have partial results."""
    blocked: bool
    """Whether an op whose dimension this is needs all of it on one chip."""


Dims = tuple["int | None", ...]
"""Number of the factor of each dimension of a tensor; None for a dimension that the op does not tie to others."""


@dataclass(frozen=True)
class Op:
    """An op with its factors."""

    kind: str
    """Name without the dialect."""
    operands: tuple[int, ...]
    """Numbers of tensors."""
    results: tuple[int, ...]
    operand_dims: tuple[Dims, ...]
    result_dims: tuple[Dims, ...]
    factors: tuple[Factor, ...]
    prepared: bool
    """Whether const-eval computes it once, because it depends on parameters and constants alone."""
    runs: int
    """Assumed number of runs in a call of the program."""


@dataclass(frozen=True)
class Tensor:
    """A tensor of the module with global shapes."""

    shape: Shape
    element_bytes: float

    @property
    def bytes(self) -> float:
        """Size of the tensor in bytes."""
        return math.prod(self.shape) * self.element_bytes


@dataclass
class Graph:
    """The ops of a module in the order in which they run."""

    tensors: list[Tensor] = field(default_factory=list[Tensor])
    ops: list[Op] = field(default_factory=list[Op])
    arguments: list[Argument] = field(default_factory=list[Argument])
    """Arguments of the entry function. The first tensors are theirs."""
    results: list[int] = field(default_factory=list[int])
    """Tensors that the entry function returns."""
    groups: list[tuple[int, ...]] = field(default_factory=list[tuple[int, ...]])
    """Number of the group of each dimension of each tensor."""
    granularity: dict[int, int] = field(default_factory=dict[int, int])
    """For each group, the greatest number of parts into which all its dimensions can be split evenly."""


def read_graph(module: Any) -> Graph:
    """Returns the ops of a module.

    Args:
        module: a module as :func:`tt_xla.compiler.sharding.propagate.prepare` leaves it. Shardy's rules are added to
            its ops, which invalidates references to them.
    """
    run_passes(module, _POPULATE)
    return _Reader().run(entry_function(module))


class _Reader:
    """One call of :func:`read_graph`."""

    def __init__(self) -> None:
        self.graph = Graph()
        self.numbers: dict[Any, int] = {}
        self.prepared: set[int] = set()
        self.rules: dict[Any, tuple[tuple[Dims, ...], tuple[Dims, ...], tuple[Factor, ...]]] = {}
        self.parents: list[int] = []
        """For each dimension of a tensor, another one of the same group, or itself."""
        self.first: list[int] = []
        """Number of the first dimension of each tensor."""
        self.ties: dict[int, int] = {}
        """Greatest number of parts of a group, by its first dimension."""

    def run(self, entry: Any) -> Graph:
        """Reads a function."""
        block = entry.regions[0].blocks[0]
        self.graph.arguments = [
            _named(argument, number, value)
            for number, (argument, value) in enumerate(zip(arguments(entry), block.arguments, strict=True))
        ]
        for value, argument in zip(block.arguments, self.graph.arguments, strict=True):
            number = self.number(value)
            if argument.role in (Role.PARAMETER, Role.CONSTANT):
                self.prepared.add(number)
        self.block(block, 1)
        self.graph.results = [self.number(value) for value in list(block.operations)[-1].operands]
        for first, tensor in zip(self.first, self.graph.tensors, strict=True):
            self.graph.groups.append(tuple(self.root(first + dim) for dim in range(len(tensor.shape))))
        for group in {group for groups in self.graph.groups for group in groups}:
            self.graph.granularity[group] = self.ties[group]
        return self.graph

    def number(self, value: Any) -> int:
        """Returns the number of a tensor."""
        number = self.numbers.get(value)
        if number is None:
            shape = shape_of(value)
            number = self.numbers[value] = len(self.graph.tensors)
            self.graph.tensors.append(Tensor(shape, _element_bytes(value.type)))
            self.first.append(len(self.parents))
            for size in shape:
                self.ties[len(self.parents)] = size
                self.parents.append(len(self.parents))
        return number

    # ---- Groups

    def root(self, dim: int) -> int:
        """Returns the dimension that stands for the group of a dimension."""
        while self.parents[dim] != dim:
            self.parents[dim] = self.parents[self.parents[dim]]
            dim = self.parents[dim]
        return dim

    def tie(self, first: int, second: int, parts: int) -> None:
        """Puts two dimensions into one group.

        Args:
            parts: size of the factor that both have outermost.
        """
        roots = sorted((self.root(first), self.root(second)))
        self.parents[roots[1]] = roots[0]
        self.ties[roots[0]] = math.gcd(self.ties[roots[0]], self.ties[roots[1]], parts)

    def tie_values(self, values: Iterable[Sequence[Any]]) -> None:
        """Ties all dimensions of tensors that stand for each other, such as the states of a loop."""
        for alike in values:
            numbers = [self.number(value) for value in alike]
            for number in numbers[1:]:
                for dim, size in enumerate(self.graph.tensors[number].shape):
                    self.tie(self.first[numbers[0]] + dim, self.first[number] + dim, size)

    # ---- Ops

    def block(self, block: Any, runs: int) -> None:
        """Reads the ops of a block, except its last one."""
        for op in list(block.operations)[:-1]:
            self.op(op, runs)

    def op(self, op: Any, runs: int) -> None:
        """Reads an op, with those in its regions if they work on tensors."""
        name = op.operation.name
        blocks = [region.blocks[0] for region in op.regions if len(region.blocks)]
        if name == "stablehlo.while":
            returned = list(blocks[1].operations)[-1].operands
            states = zip(op.operands, op.results, blocks[0].arguments, blocks[1].arguments, returned, strict=True)
            self.tie_values(states)
            for block in blocks:
                self.block(block, runs * LOOP_ROUNDS)
        elif name in ("stablehlo.case", "stablehlo.if"):
            self.tie_values(zip(op.results, *(list(block.operations)[-1].operands for block in blocks), strict=True))
            for block in blocks:
                self.block(block, runs)
        elif name == "sdy.named_computation":
            self.tie_values(zip(op.operands, blocks[0].arguments, strict=True))
            self.block(blocks[0], runs)
            self.tie_values(zip(op.results, list(blocks[0].operations)[-1].operands, strict=True))
            self.prepared.update(
                self.number(result)
                for result, value in zip(op.results, list(blocks[0].operations)[-1].operands, strict=True)
                if self.number(value) in self.prepared
            )
        else:
            self.plain(op, runs)

    def plain(self, op: Any, runs: int) -> None:
        """Reads an op whose regions, if there are any, work on scalars."""
        operands = tuple(self.number(value) for value in op.operands)
        results = tuple(self.number(value) for value in op.results)
        name = op.operation.name.partition(".")[2]
        if SHARDING_RULE in op.attributes:
            operand_dims, result_dims, factors = self.rule(op.attributes[SHARDING_RULE])
        else:
            operand_dims, result_dims = (
                tuple((None,) * len(self.graph.tensors[number].shape) for number in numbers)
                for numbers in (operands, results)
            )
            factors = ()
        prepared = name not in _IMPURE and all(operand in self.prepared for operand in operands)
        if prepared:
            self.prepared.update(results)
        self.graph.ops.append(Op(name, operands, results, operand_dims, result_dims, factors, prepared, runs))
        firsts: dict[int, int] = {}
        for number, dims in zip((*operands, *results), (*operand_dims, *result_dims), strict=True):
            for dim, factor in enumerate(dims):
                if factor is not None and not factors[factor].blocked:
                    place = self.first[number] + dim
                    self.tie(firsts.setdefault(factor, place), place, factors[factor].size)

    def rule(self, attribute: Any) -> tuple[tuple[Dims, ...], tuple[Dims, ...], tuple[Factor, ...]]:
        """Returns the factors of each dimension of the operands and of the results, and the factors."""
        rule = self.rules.get(attribute)
        if rule is None:
            read: Any = sdy.OpShardingRuleAttr(attribute)
            sizes = list(read.factor_sizes)
            reduced = set(read.reduction_factors)
            blocked = set(read.need_replication_factors) | _inner(read, sizes)
            factors = tuple(Factor(size, i in reduced, i in blocked) for i, size in enumerate(sizes))
            operands, results = (
                tuple(
                    tuple(_outermost(sdy.DimMappingAttr(dim).factor_indices, sizes) for dim in _mapping(tensor))
                    for tensor in tensors
                )
                for tensors in (read.operand_mappings, read.result_mappings)
            )
            rule = self.rules[attribute] = operands, results, factors
        return rule


_IMPURE = ("rng", "rng_bit_generator", "partition_id", "replica_id", "custom_call")
"""Ops that const-eval does not compute."""


_NAME = re.compile(r'loc\("([^"]{1,200})"[()]')


def _named(argument: Argument, number: int, value: Any) -> Argument:
    """Returns an argument with the name that its location has, if it has no other one."""
    name = _NAME.match(str(value.location)) if argument.name == f"arg{number}" else None
    return argument if name is None else msgspec.structs.replace(argument, name=name[1])


def _mapping(tensor: Any) -> Any:
    return sdy.TensorMappingAttr(tensor).dim_mappings


def _inner(rule: Any, sizes: Sequence[int]) -> set[int]:
    """Returns the factors that are an inner part of a dimension, which cannot be split without the outer part."""
    inner: set[int] = set()
    for tensors in (rule.operand_mappings, rule.result_mappings):
        for tensor in tensors:
            for dim in _mapping(tensor):
                inner.update([factor for factor in sdy.DimMappingAttr(dim).factor_indices if sizes[factor] > 1][1:])
    return inner


def _outermost(factors: Iterable[int], sizes: Sequence[int]) -> int | None:
    """Returns the outermost factor of a dimension that has several values; None if none has."""
    return next((factor for factor in factors if sizes[factor] > 1), None)


def _element_bytes(type_: Any) -> float:
    if not isinstance(type_, ir.RankedTensorType):
        return 0.0
    element = ir.RankedTensorType(type_).element_type
    if isinstance(element, ir.IntegerType | ir.FloatType):
        return max(element.width // 8, 1)
    return 8.0
