"""What passes share: matching values, building replacements, running patterns to a fixed point."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Generic, TypeVar

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.rewriter import InsertPoint
from xdsl.traits import Pure

from tt_xla.ir.base import Tensor, TTOp, tensor_type
from tt_xla.ir.ttir.creation import splat

OpKind = TypeVar("OpKind", bound=Operation)


@dataclass(frozen=True)
class Pattern(Generic[OpKind]):
    """A rewriting of ops of some classes; ``apply`` does nothing when an op does not match."""

    roots: tuple[type[OpKind], ...]
    apply: Callable[[OpKind, PatternRewriter], None]

    @property
    def name(self) -> str:
        return self.apply.__name__


def pattern(
    *roots: type[OpKind],
) -> Callable[[Callable[[OpKind, PatternRewriter], None]], Pattern[OpKind]]:
    """Makes a function of an op and a rewriter a :class:`Pattern` for ops of the classes ``roots``."""
    return lambda apply: Pattern(roots, apply)


class Worklist:
    """Ops still to be looked at, the last one added first."""

    def __init__(self) -> None:
        self._stack: list[Operation] = []
        self._members: set[Operation] = set()

    def push(self, op: Operation) -> None:
        if op not in self._members:
            self._members.add(op)
            self._stack.append(op)

    def pop(self) -> Operation | None:
        if not self._stack:
            return None
        op = self._stack.pop()
        self._members.discard(op)
        return op


class Rewriter(PatternRewriter):
    """xDSL's rewriter with a worklist in the place of listeners, which cost more than the rewriting itself."""

    def __init__(self, module: ModuleOp, worklist: Worklist) -> None:
        super().__init__(InsertPoint.at_start(module.body.block))
        self._worklist = worklist

    def insert(self, op: Any, insertion_point: InsertPoint | None = None) -> Any:
        if insertion_point is None or insertion_point.insert_before is None:
            raise ValueError("a pattern inserts before an op that it names")
        made: Sequence[Operation] = (op,) if isinstance(op, Operation) else op
        insertion_point.block.insert_ops_before(made, insertion_point.insert_before)
        for one in reversed(made):
            self._worklist.push(one)
        self.has_done_action = True
        return op

    def erase(self, op: Operation, safe_erase: bool = True) -> None:
        for operand in op.operands:
            if isinstance(operand, OpResult):
                self._worklist.push(operand.op)
        op.detach()
        op.erase(safe_erase=safe_erase)
        self.has_done_action = True

    def replace(
        self,
        op: Operation,
        new_ops: Operation | Sequence[Operation],
        new_results: Sequence[SSAValue | None] | None = None,
        safe_erase: bool = True,
    ) -> None:
        made = (new_ops,) if isinstance(new_ops, Operation) else new_ops
        results = made[-1].results if new_results is None else new_results
        for old, new in zip(op.results, results, strict=True):
            assert new is not None
            for use in tuple(old.uses):
                self._worklist.push(use.operation)
                use.operation.operands[use.index] = new
            new.name_hint = new.name_hint or old.name_hint
        self.insert(made, InsertPoint.before(op))
        self.erase(op, safe_erase)

    def notify_op_modified(self, op: Operation) -> None:
        self.has_done_action = True
        self._worklist.push(op)


class _Dispatch:
    """The patterns by the class of op that they start from."""

    def __init__(self, patterns: Sequence[RewritePattern | Pattern[Any]]) -> None:
        self._patterns = patterns
        self._found: dict[type[Operation], tuple[Callable[[Any, PatternRewriter], None], ...]] = {}

    def __getitem__(self, kind: type[Operation]) -> tuple[Callable[[Any, PatternRewriter], None], ...]:
        found = self._found.get(kind)
        if found is None:
            found = self._found[kind] = tuple(
                pattern.apply if isinstance(pattern, Pattern) else pattern.match_and_rewrite
                for pattern in self._patterns
                if not isinstance(pattern, Pattern) or issubclass(kind, pattern.roots)
            )
        return found


def run_patterns(module: ModuleOp, *patterns: RewritePattern | Pattern[Any]) -> None:
    """Applies patterns until none matches; ops whose results nothing uses disappear.

    The first of the patterns that changes something wins; the ops around the change are looked at again, and all of
    them once more after the last change, since a pattern may look further than that.
    """
    dispatch, worklist = _Dispatch(patterns), Worklist()
    rewriter = Rewriter(module, worklist)
    changed = True
    while changed:
        changed = False
        for op in module.walk(reverse=True):
            worklist.push(op)
        while (op := worklist.pop()) is not None:
            if op.parent is None:
                continue
            rewriter.has_done_action = False
            if _is_dead(op):
                rewriter.erase(op)
            else:
                for apply in dispatch[type(op)]:
                    apply(op, rewriter)
                    if rewriter.has_done_action:
                        break
            changed |= rewriter.has_done_action


def _is_dead(op: Operation) -> bool:
    return bool(op.results) and _is_pure(type(op)) and all(result.first_use is None for result in op.results)


@cache
def _is_pure(kind: type[Operation]) -> bool:
    return kind.has_trait(Pure)


def producer(value: SSAValue, kind: type[OpKind]) -> OpKind | None:
    """The op that made a value, if it is of a kind."""
    return value.op if isinstance(value, OpResult) and isinstance(value.op, kind) else None


def look_through(value: SSAValue, *kinds: type[Operation]) -> SSAValue:
    """The value behind ops of the given kinds, each taken from its first operand."""
    while isinstance(value, OpResult) and isinstance(value.op, kinds):
        value = value.op.operands[0]
    return value


def is_splat(value: SSAValue, expected: float) -> bool:
    return splat(value) == expected


def both_ways(op: Operation) -> Iterator[tuple[SSAValue, SSAValue]]:
    """The two operands of a commutative op in both orders."""
    lhs, rhs = op.operands
    yield lhs, rhs
    yield rhs, lhs


def replace_with(
    rewriter: PatternRewriter,
    op: Operation,
    kind: type[TTOp],
    operands: Sequence[Any],
    result: Tensor | None = None,
    **values: Any,
) -> None:
    """Replaces an op of one result by an op of ``kind`` that keeps its location, and its type unless one is given."""
    made = kind.make(operands, [result or tensor_type(op.results[0])], op.location, **values)
    rewriter.replace(op, made)


def insert_before(
    rewriter: PatternRewriter, op: Operation, kind: type[TTOp], operands: Sequence[Any], result: Tensor, **values: Any
) -> SSAValue:
    """A new op before ``op``, at its location; its result."""
    made = kind.make(operands, [result], op.location, **values)
    rewriter.insert(made, InsertPoint.before(op))
    return made.results[0]


def functions(module: ModuleOp) -> Iterator[FuncOp]:
    """The functions of a module, in order; adding some while iterating is safe."""
    for op in list(module.body.block.ops):
        if isinstance(op, FuncOp):
            yield op


def body(function: FuncOp) -> Block:
    return function.body.block
