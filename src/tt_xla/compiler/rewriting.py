"""Helpers of passes: matching values, building replacements, and running patterns to a fixed point."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache, lru_cache
from itertools import chain
from typing import Any, Generic, TypeAlias, TypeVar

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.rewriter import InsertPoint
from xdsl.traits import Pure

from tt_xla.compiler.locations import describe
from tt_xla.ir.base import Tensor, TTOp, tensor_type
from tt_xla.ir.program import FUNCTION_TYPE, FunctionKind
from tt_xla.ir.ttir.creation import splat

OpKind = TypeVar("OpKind", bound=Operation)


@dataclass(frozen=True)
class Pattern(Generic[OpKind]):
    """A rewriting of ops of some classes; ``apply`` does nothing when an op does not match."""

    roots: tuple[type[OpKind], ...]
    apply: Callable[[OpKind, PatternRewriter], None]
    approximate: bool = False
    """Whether results may change: their rounding, or what becomes of infinities, NaN and signed zeros.

    Exact numerics leave such patterns out.
    """

    @property
    def name(self) -> str:
        return self.apply.__name__


def pattern(
    *roots: type[OpKind],
    approximate: bool = False,
) -> Callable[[Callable[[OpKind, PatternRewriter], None]], Pattern[OpKind]]:
    """Makes a function of an op and a rewriter a :class:`Pattern` for ops of the classes ``roots``.

    Args:
        roots: Classes of the ops that the function is called with.
        approximate: Whether the rewriting may change results, see :attr:`Pattern.approximate`.
    """
    return lambda apply: Pattern(roots, apply, approximate)


class Worklist:
    """The ops that patterns still have to be tried on; the last one added comes first."""

    def __init__(self) -> None:
        self._stack: list[Operation] = []
        self._members: set[int] = set()
        """Identities of the ops on the stack, which hash faster than ops."""

    def push(self, op: Operation) -> None:
        identity = id(op)
        if identity not in self._members:
            self._members.add(identity)
            self._stack.append(op)

    def fill(self, ops: Sequence[Operation]) -> None:
        """Fills the worklist, which must be empty, with distinct ops; the last one comes first."""
        self._stack = list(ops)
        self._members = set(map(id, ops))

    def pop(self) -> Operation | None:
        if not self._stack:
            return None
        op = self._stack.pop()
        self._members.discard(id(op))
        return op


class Rewriter(PatternRewriter):
    """xDSL's rewriter with a worklist instead of listeners, which take more time than the rewriting itself."""

    def __init__(self, module: ModuleOp, worklist: Worklist) -> None:
        super().__init__(InsertPoint.at_start(module.body.block))
        self._worklist = worklist

    def insert(self, op: Any, insertion_point: InsertPoint | None = None) -> Any:
        if insertion_point is None or insertion_point.insert_before is None:
            raise ValueError("a pattern must insert ops before an op; this insertion point has none")
        created_ops: Sequence[Operation] = (op,) if isinstance(op, Operation) else op
        insertion_point.block.insert_ops_before(created_ops, insertion_point.insert_before)
        for one in reversed(created_ops):
            self._worklist.push(one)
        self.has_done_action = True
        return op

    def erase(self, op: Operation, safe_erase: bool = True) -> None:
        for operand in op.operands:
            if type(operand) is OpResult:
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
        created_ops = (new_ops,) if isinstance(new_ops, Operation) else new_ops
        results = created_ops[-1].results if new_results is None else new_results
        for old, new in zip(op.results, results, strict=True):
            assert new is not None
            for use in tuple(old.uses):
                self._worklist.push(use.operation)
                use.operation.operands[use.index] = new
            new.name_hint = new.name_hint or old.name_hint
        self.insert(created_ops, InsertPoint.before(op))
        self.erase(op, safe_erase)

    def notify_op_modified(self, op: Operation) -> None:
        self.has_done_action = True
        self._worklist.push(op)


Apply: TypeAlias = Callable[[Any, PatternRewriter], None]


class _Dispatch:
    """The patterns for each class of ops, and whether unused ops of the class may be erased."""

    def __init__(self, patterns: Sequence[RewritePattern | Pattern[Any]]) -> None:
        self._by_root: dict[type, list[tuple[int, Apply]]] = {}
        for place, one in enumerate(patterns):
            roots, apply = (one.roots, one.apply) if isinstance(one, Pattern) else ((Operation,), one.match_and_rewrite)
            for root in roots:
                self._by_root.setdefault(root, []).append((place, apply))
        self.entries: dict[type[Operation], tuple[bool, tuple[Apply, ...]]] = {}

    def find(self, kind: type[Operation]) -> tuple[bool, tuple[Apply, ...]]:
        """Adds and returns the entry of ``entries`` for a class of ops."""
        places = dict(chain.from_iterable(self._by_root[base] for base in kind.__mro__ if base in self._by_root))
        entry = self.entries[kind] = (_is_pure_kind(kind), tuple(places[place] for place in sorted(places)))
        return entry


@lru_cache(maxsize=64)
def _dispatch(patterns: tuple[RewritePattern | Pattern[Any], ...]) -> _Dispatch:
    return _Dispatch(patterns)


@dataclass(frozen=True)
class Change:
    """A change that a pattern made to an op. For a stage without patterns, ``pattern`` and ``op`` are empty."""

    stage: str
    pattern: str = ""
    op: str = ""
    location: str = ""

    def __str__(self) -> str:
        place = f" at {self.location}" if self.location else ""
        return f"{self.pattern} on {self.op}{place} in {self.stage}" if self.pattern else self.stage


@dataclass
class Changes:
    """Records the changes that stages make, in order, and stops them after ``limit`` changes if a limit is set.

    Compiling is deterministic, so the first changes are the same under every limit. That allows a binary search for the
    change that makes a program wrong.
    """

    limit: int | None = None
    applied: list[Change] = field(default_factory=lambda: [])
    stage: str = ""

    @property
    def exhausted(self) -> bool:
        """Whether the limit is reached."""
        return self.limit is not None and len(self.applied) >= self.limit

    def apply(self, patterns: Sequence[Apply], op: Operation, rewriter: PatternRewriter) -> None:
        """Applies the first pattern that changes something, unless the limit is reached."""
        name, location = op.name, op.location
        for apply in () if self.exhausted else patterns:
            apply(op, rewriter)
            if rewriter.has_done_action:
                self.applied.append(Change(self.stage, apply.__name__, name, describe(location)))
                return

    @contextmanager
    def counting(self, stage: str) -> Generator[None]:
        """Counts the changes by patterns that run in this block."""
        self.stage, token = stage, _counted.set(self)
        try:
            yield
        finally:
            _counted.reset(token)


_counted: ContextVar[Changes | None] = ContextVar("changes", default=None)


def run_patterns(module: ModuleOp, *patterns: RewritePattern | Pattern[Any], exact: bool = False) -> None:
    """Applies patterns until none matches; ops whose results nothing uses disappear.

    The first of the patterns that changes something wins; the ops around the change are looked at again, and all of
    them once more after the last change, since a pattern may look further than that.

    Args:
        module: Module that is changed in place.
        patterns: Patterns in the order in which they are tried.
        exact: Leaves out patterns that may change results, see :attr:`Pattern.approximate`.
    """
    if exact:
        patterns = tuple(one for one in patterns if not (isinstance(one, Pattern) and one.approximate))
    dispatch, worklist, changes = _dispatch(patterns), Worklist(), _counted.get()
    rewriter = Rewriter(module, worklist)
    changed = True
    while changed:
        changed = False
        worklist.fill(_last_first(module))
        while (op := worklist.pop()) is not None:
            if op.parent is None:
                continue
            kind = type(op)
            pure, applicable = dispatch.entries.get(kind) or dispatch.find(kind)
            rewriter.has_done_action = False
            if pure and _is_unused(op):
                rewriter.erase(op)
            elif changes is not None:
                changes.apply(applicable, op, rewriter)
            else:
                for apply in applicable:
                    apply(op, rewriter)
                    if rewriter.has_done_action:
                        break
            changed |= rewriter.has_done_action


def _last_first(root: Operation) -> list[Operation]:
    """Returns the ops inside an op from the last to the first, each before the ops in its own regions."""
    ops: list[Operation] = []
    for region in reversed(root.regions):
        for block in reversed(region.blocks):
            op = block.last_op
            while op is not None:
                ops.append(op)
                if op.regions:
                    ops += _last_first(op)
                op = op.prev_op
    return ops


@cache
def _is_pure_kind(kind: type[Operation]) -> bool:
    return kind.has_trait(Pure)


def is_pure(op: Operation) -> bool:
    """Whether an op has no effect besides its results."""
    return _is_pure_kind(type(op)) and "effects" not in op.properties


def _is_unused(op: Operation) -> bool:
    """Whether an op without effects has results and none of them is used."""
    if "effects" in op.properties:
        return False
    for result in op.results:
        if result.first_use is not None:
            return False
    return bool(op.results)


def producer(value: SSAValue, kind: type[OpKind]) -> OpKind | None:
    """Returns the op that produced a value if the op is of a class, else None."""
    if type(value) is not OpResult:  # ``isinstance`` asks the abstract base class, which takes longer
        return None
    op = value.op
    return op if isinstance(op, kind) else None


def look_through(value: SSAValue, *kinds: type[Operation]) -> SSAValue:
    """Returns the value behind ops of some classes, following the first operand of each."""
    while type(value) is OpResult and isinstance(value.op, kinds):
        value = value.op.operands[0]
    return value


def is_splat(value: SSAValue, expected: float) -> bool:
    """Whether a value is a constant whose elements all equal ``expected``."""
    return splat(value) == expected


def both_ways(op: Operation) -> tuple[tuple[SSAValue, SSAValue], tuple[SSAValue, SSAValue]]:
    """Returns the two operands of a commutative op in both orders."""
    lhs, rhs = op.operands
    return (lhs, rhs), (rhs, lhs)


def replace_with(
    rewriter: PatternRewriter,
    op: Operation,
    kind: type[TTOp],
    operands: Sequence[Any],
    result: Tensor | None = None,
    **values: Any,
) -> None:
    """Replaces an op with one result by an op of class ``kind`` at the same location.

    Args:
        result: type of the new result; by default that of the old one.
        values: properties of the new op.
    """
    created = kind.make(operands, [result or tensor_type(op.results[0])], op.location, **values)
    rewriter.replace(op, created)


def set_operand(rewriter: PatternRewriter, op: Operation, index: int, value: SSAValue) -> None:
    """Replaces an operand. The op that produced the old one is looked at again, since it may be unused now."""
    old = op.operands[index]
    op.operands[index] = value
    if type(old) is OpResult:
        rewriter.notify_op_modified(old.op)
    rewriter.notify_op_modified(op)


def insert_before(
    rewriter: PatternRewriter, op: Operation, kind: type[TTOp], operands: Sequence[Any], result: Tensor, **values: Any
) -> SSAValue:
    """Inserts a new op before ``op``, at the same location, and returns its result."""
    created = kind.make(operands, [result], op.location, **values)
    rewriter.insert(created, InsertPoint.before(op))
    return created.results[0]


def functions(module: ModuleOp) -> Iterator[FuncOp]:
    """Yields the functions of a module in order. Functions may be added during the iteration."""
    for op in list(module.body.block.ops):
        if isinstance(op, FuncOp):
            yield op


def is_forward(function: FuncOp) -> bool:
    """Whether a function runs in every call: it is an entry, or a loop or case runs it."""
    kind = function.attributes.get(FUNCTION_TYPE)
    return kind is None or kind == StringAttr(FunctionKind.FORWARD.value)


def is_entry(function: FuncOp) -> bool:
    """Whether a function is called from outside the module."""
    return is_forward(function) and (function.sym_visibility is None or function.sym_visibility.data == "public")


def body(function: FuncOp) -> Block:
    """Returns the one block of a function."""
    return function.body.block
