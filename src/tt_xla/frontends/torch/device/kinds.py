"""Kinds of recorded ops: an op on arguments of certain shapes and types, its results, and its graph for the compiler.

A kind is worked out once, with torch's fake tensors, and looked up from then on. Its graph is one node where there is a
lowering rule, torch's decomposition where that leads to rules, and missing where the op has to run on the host.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import logging
import math
import operator
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from tt_xla.frontends.torch.device import buffers
from tt_xla.frontends.torch.device.geometry import Shape, contiguous_strides, memory_order
from tt_xla.frontends.torch.device.scalars import SCALARS

if TYPE_CHECKING:
    from torch._subclasses.fake_tensor import FakeTensor

# What torch and JAX import slowly is imported when the first op is recorded: this module loads whenever torch does.

aten = torch.ops.aten

_SERIALS = itertools.count()


class Operand(int):
    """In a template: the operand of this number, a tensor."""


class Number(int):
    """In a template: the scalar of this number, which may differ from one use of the kind to the next."""


@dataclass(frozen=True)
class Output:
    """One result as a tensor: ``order`` permutes it into the contiguous base of its storage, None where it is that."""

    shape: Shape
    stride: Shape
    dtype: torch.dtype
    order: Shape | None
    base: Shape


@dataclass(eq=False)
class Kind:
    """An op on operands of certain shapes and types.

    Attributes:
        template: positional and keyword arguments, with :class:`Operand` and :class:`Number` in the places of tensors
            and of numbers that vary.
        structure: int for one result; else a list or tuple of numbers of results and None.
        reason: why it has no graph and runs on the host.
    """

    op: torch._ops.OpOverload
    template: tuple[list[Any], dict[str, Any]]
    operands: list[FakeTensor]
    outputs: list[Output] = field(default_factory=list)
    structure: Any = None
    graph: torch.fx.Graph | None = None
    reason: str = ""
    serial: int = field(default_factory=lambda: next(_SERIALS))
    _variants: dict[frozenset[int], torch.fx.Graph] = field(default_factory=dict)

    def graph_with(self, inputs: frozenset[int], scalars: Sequence[float]) -> torch.fx.Graph:
        """Its graph with some of the scalars as 0-dim inputs, after the operands, and the others embedded."""
        if not scalars:
            assert self.graph is not None
            return self.graph
        key = inputs
        if len(inputs) == len(scalars) and key in self._variants:
            return self._variants[key]
        with _faking():
            graph = _with_scalars(self, inputs, scalars) if inputs else _one_node(self, scalars)
            graph = graph if graph is not None else _expanded(self, scalars)
        if len(inputs) == len(scalars):
            self._variants[key] = graph
        return graph


@functools.cache
def _mode() -> Any:
    from torch._subclasses.fake_tensor import FakeTensorMode

    return FakeTensorMode(allow_non_fake_inputs=True)


@contextlib.contextmanager
def _faking() -> Iterator[None]:
    """Within it, ops compute shapes and types alone, whatever torch is tracing around it."""
    from torch._subclasses.fake_tensor import unset_fake_temporarily

    with outside_dynamo(), unset_fake_temporarily(), _dispatching_modes(), _mode(), torch.no_grad(), _QUIET:
        yield


class _Quiet(threading.local):
    """Within it, this thread logs nothing of what torch's fake tensors refuse: the caller hears of it once, as an
    exception."""

    depth = 0

    def __enter__(self) -> None:
        _hush()
        self.depth += 1

    def __exit__(self, *_: object) -> None:
        self.depth -= 1

    def passes(self, record: logging.LogRecord) -> bool:
        return self.depth == 0


_QUIET = _Quiet()


@functools.cache
def _hush() -> None:
    logging.getLogger("torch._subclasses.fake_tensor").addFilter(_QUIET.passes)


@contextlib.contextmanager
def _dispatching_modes() -> Iterator[None]:
    """Within it, modes see ops, also where torch runs one with its modes off, as a fake tensor of constants does."""
    with torch._C._PreserveDispatchKeyGuard():
        for key in (torch._C.DispatchKey.Python, torch._C.DispatchKey.PythonTLSSnapshot):
            torch._C._dispatch_tls_set_dispatch_key_excluded(key, False)
        yield


@contextlib.contextmanager
def outside_dynamo() -> Iterator[None]:
    """Within it, dynamo compiles no frame: an op that a compiled function runs eagerly is traced by us alone."""
    prior = torch._C._dynamo.eval_frame.set_eval_frame(None)
    try:
        yield
    finally:
        torch._C._dynamo.eval_frame.set_eval_frame(prior)


def fake(shape: Sequence[int], dtype: torch.dtype, stride: Sequence[int] | None = None) -> FakeTensor:
    """A tensor of the device without contents."""
    from torch._subclasses.fake_tensor import FakeTensor, unset_fake_temporarily

    with unset_fake_temporarily():
        meta = torch.empty_strided(shape, stride or contiguous_strides(shape), dtype=dtype, device="meta")
        return FakeTensor(_mode(), meta, buffers.device())


def plain_kind(op: torch._ops.OpOverload, args: Sequence[Any], operands: Sequence[FakeTensor], out: FakeTensor) -> Kind:
    """A kind of an op that is known to have a rule and one contiguous result."""
    shape = tuple(out.shape)
    output = Output(shape, contiguous_strides(shape), out.dtype, None, shape)
    kind = Kind(op, (list(args), {}), list(operands), [output], 0)
    kind.graph = _node_graph(kind, (), out)
    return kind


def make_kind(
    op: torch._ops.OpOverload,
    template: tuple[list[Any], dict[str, Any]],
    operands: list[FakeTensor],
    scalars: Sequence[float],
) -> Kind:
    """Infers what an op gives and how it is lowered. One that cannot be has no graph, and says why."""
    kind = Kind(op, template, operands)
    with _faking():
        try:
            args, kwargs = fill(template, operands, scalars)
            out = op(*args, **kwargs)
            _describe_outputs(kind, out)
            kind.graph = _one_node(kind, scalars) or _expanded(kind, scalars)
        except Exception as error:  # the CPU knows better what is wrong, if anything is
            kind.reason = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
    return kind


def fill(template: tuple[list[Any], dict[str, Any]], operands: Sequence[Any], scalars: Sequence[Any]) -> Any:
    """Arguments from a template."""

    def value(entry: Any) -> Any:
        kind = type(entry)
        if kind is Operand:
            return operands[entry]
        if kind is Number:
            return scalars[entry]
        return kind(value(item) for item in entry) if kind in (list, tuple) else entry

    args, kwargs = template
    return [value(entry) for entry in args], {name: value(entry) for name, entry in kwargs.items()}


def _describe_outputs(kind: Kind, out: Any) -> None:
    if isinstance(out, torch.Tensor):
        kind.structure = 0
        kind.outputs.append(_output(out))
        return
    if not isinstance(out, list | tuple) or not all(item is None or isinstance(item, torch.Tensor) for item in out):
        raise NotImplementedError(f"it gives {type(out).__name__}")
    numbers = itertools.count()
    kind.structure = type(out)([None if item is None else next(numbers) for item in out])
    kind.outputs.extend(_output(item) for item in out if item is not None)


def _output(out: torch.Tensor) -> Output:
    if out.device.type != buffers.DEVICE_TYPE:
        raise NotImplementedError(f"its result is on {out.device}")
    shape = tuple(int(size) for size in out.shape)
    stride = tuple(out.stride())
    if out.is_contiguous() or math.prod(shape) == 0:
        return Output(shape, contiguous_strides(shape), out.dtype, None, shape)
    order = memory_order(shape, stride)
    if order is None:
        return Output(shape, contiguous_strides(shape), out.dtype, None, shape)
    return Output(shape, stride, out.dtype, order, tuple(shape[dim] for dim in order))


def _one_node(kind: Kind, scalars: Sequence[float]) -> torch.fx.Graph | None:
    """The op itself, if its rule takes these arguments."""
    from tt_xla.frontends.torch.aten import LOWERINGS

    if kind.op not in LOWERINGS:
        return None
    args, kwargs = fill(kind.template, kind.operands, scalars)
    graph = _node_graph(kind, scalars, kind.op(*args, **kwargs))
    return graph if _lowers(graph) else None


def _node_graph(kind: Kind, scalars: Sequence[float], out: Any) -> torch.fx.Graph:
    graph = torch.fx.Graph()
    placeholders = [_placeholder(graph, number, operand) for number, operand in enumerate(kind.operands)]
    args, kwargs = fill(kind.template, placeholders, scalars)
    node = graph.call_function(kind.op, tuple(args), kwargs)
    node.meta["val"] = out
    if isinstance(out, torch.Tensor):
        graph.output((node,))
        return graph
    results = []
    for index, item in enumerate(out):
        if item is not None:
            result = graph.call_function(operator.getitem, (node, index))
            result.meta["val"] = item
            results.append(result)
    graph.output(tuple(results))
    return graph


def _placeholder(graph: torch.fx.Graph, number: int, operand: FakeTensor) -> torch.fx.Node:
    node = graph.placeholder(f"arg_{number}")
    node.meta["val"] = operand
    return node


def _lowers(graph: torch.fx.Graph) -> bool:
    """Whether every rule takes what it gets."""
    from tt_xla.frontends.torch.lowering import check_rules

    return check_rules(torch.fx.GraphModule(torch.nn.Module(), graph))


def _expanded(kind: Kind, scalars: Sequence[float]) -> torch.fx.Graph:
    """What torch decomposes the op into.

    Raises:
        NotImplementedError: that has ops without a rule, or needs random numbers or contents.
    """

    def call(*operands: torch.Tensor) -> list[torch.Tensor]:
        args, kwargs = fill(kind.template, operands, scalars)
        return results_of(kind.op(*args, **kwargs))

    return _traced(kind, call, kind.operands)


def results_of(out: Any) -> list[torch.Tensor]:
    """The tensors among an op's results."""
    return [out] if isinstance(out, torch.Tensor) else [item for item in out if item is not None]


def _with_scalars(kind: Kind, inputs: frozenset[int], scalars: Sequence[float]) -> torch.fx.Graph:
    """The op in terms of tensors, some of which are its scalars."""
    order = sorted(inputs)
    extra = [fake((), scalar_dtype(kind, scalars[number])) for number in order]
    count = len(kind.operands)

    def call(*tensors: torch.Tensor) -> list[torch.Tensor]:
        values: list[Any] = list(scalars)
        for number, tensor in zip(order, tensors[count:], strict=True):
            values[number] = tensor
        args, kwargs = fill(kind.template, tensors[:count], values)
        results = results_of(SCALARS[kind.op].form(*args, **kwargs))
        return [
            result if result.dtype is output.dtype else result.to(output.dtype)
            for result, output in zip(results, kind.outputs, strict=True)
        ]

    return _traced(kind, call, [*kind.operands, *extra])


def scalar_dtype(kind: Kind, scalar: float) -> torch.dtype:
    """The type that a scalar has as a 0-dim input: one that holds it as exactly as the op computes."""
    types = [operand.dtype for operand in kind.operands] + [output.dtype for output in kind.outputs]
    if torch.float64 in types:
        return torch.float64
    if isinstance(scalar, float) or any(dtype.is_floating_point for dtype in types):
        return torch.float32
    return torch.int64


def _traced(kind: Kind, call: Callable[..., list[torch.Tensor]], operands: Sequence[FakeTensor]) -> torch.fx.Graph:
    from torch.fx.experimental.proxy_tensor import make_fx

    from tt_xla.frontends.torch.aten import LOWERINGS

    for beyond, functional in (((), False), ((kind.op,), False), ((), True)):
        function = torch.func.functionalize(call) if functional else call
        graph = make_fx(function, decomposition_table=_decompositions(beyond), tracing_mode="real")(*operands).graph
        graph.eliminate_dead_code()
        if _lowers(graph):
            return graph
    overloads = [node.target for node in graph.nodes if isinstance(node.target, torch._ops.OpOverload)]
    names = sorted({str(op) for op in overloads if op not in LOWERINGS})
    raise NotImplementedError(f"no lowering rule for {', '.join(names) or 'these arguments'}")


@functools.cache
def _decompositions(beyond: tuple[torch._ops.OpOverload, ...]) -> Mapping[Any, Callable[..., Any]]:
    """Decompositions of ops without a rule, and torch's of those ``beyond``, whose rule does not cover all uses."""
    from torch._decomp import decomposition_table

    from tt_xla.frontends.torch.aten.decompositions import decompositions

    return decompositions() | {op: decomposition_table[op] for op in beyond if op in decomposition_table}
