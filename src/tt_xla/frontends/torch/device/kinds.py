"""Works out kinds of recorded ops: shapes of the results, and the FX graph that the compiler takes.

A kind is worked out once, with PyTorch's fake tensors, and looked up from then on. Its graph is a single node where the
op has a lowering rule, PyTorch's decomposition where that leads to lowering rules, and None where the op has to run on
the host.

Lowering rules import JAX, so the functions here import them when the first op is recorded: this module is loaded by
``import torch``.
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
from typing import TYPE_CHECKING, Any

import torch

from tt_xla.frontends.torch import session
from tt_xla.frontends.torch.device import chips
from tt_xla.frontends.torch.device.geometry import Shape, contiguous_strides, memory_order
from tt_xla.frontends.torch.device.scalars import SCALARS
from tt_xla.frontends.torch.device.tensor_factory import TensorFactory
from tt_xla.frontends.torch.device.values import Kind, Number, Operand, Output
from tt_xla.frontends.torch.private import fake as private_fake
from tt_xla.frontends.torch.private.dispatcher import dispatching_to_modes, outside_dynamo
from tt_xla.frontends.torch.private.functions import decomposition_table, without_dispatch_modes
from tt_xla.frontends.torch.private.ops import OpOverload
from tt_xla.locks import Lock

if TYPE_CHECKING:
    from tt_xla.frontends.torch.private.fake import FakeTensor


@functools.cache
def _mode() -> Any:
    """Returns the one fake mode of recorded ops.

    It does not run an op whose shapes PyTorch cannot infer: that op would be recorded, and ask for its shapes again.
    """
    return private_fake.FakeTensorMode(allow_non_fake_inputs=True, allow_fallback_kernels=False)


COMPUTING = Lock()
"""Held while the one fake mode is in use, also by lowering rules, and while a kind is worked out: PyTorch's mode is for
one thread at a time, and so is the first import of the lowering rules."""


@contextlib.contextmanager
def computing_shapes(mode: Any = None) -> Iterator[None]:
    """Makes ops in the block compute shapes and dtypes alone, whatever PyTorch is tracing around it.

    Args:
        mode: the fake mode; None for that of recorded ops.
    """
    with (
        COMPUTING,
        outside_dynamo(),
        without_dispatch_modes(),
        dispatching_to_modes(),
        mode or _mode(),
        torch.no_grad(),
        _SILENCE,
    ):
        yield


def is_computing_shapes() -> bool:
    """Returns whether this thread computes the shapes of an op."""
    return _SILENCE.depth > 0


class _Silence(threading.local):
    """Context manager within which this thread's fake tensors log nothing: the caller gets the refusal as an error."""

    depth = 0

    def __enter__(self) -> None:
        _add_log_filter()
        self.depth += 1

    def __exit__(self, *_: object) -> None:
        self.depth -= 1

    def accepts(self, record: logging.LogRecord) -> bool:
        """Returns whether a log record passes, as ``logging.Filter.filter`` does."""
        return self.depth == 0


_SILENCE = _Silence()

MAX_INTEGERS = 1 << 14
"""Number of elements up to which an op on integers runs on the host."""
_MAX_FORMS = 4096


class _Lowered(set[Any]):
    """Ops with the dtypes and ranks of their operands that were lowered for some sizes in this session."""


@functools.cache
def _add_log_filter() -> None:
    logging.getLogger(private_fake.LOGGER_NAME).addFilter(_SILENCE.accepts)


def fake(shape: Sequence[int], dtype: torch.dtype, stride: Sequence[int] | None = None, mode: Any = None) -> FakeTensor:
    """Returns a fake tensor of the device.

    Args:
        shape: sizes.
        dtype: element type.
        stride: strides, in elements; contiguous by default.
        mode: the fake mode; None for that of recorded ops.
    """
    with without_dispatch_modes():
        meta = torch.empty_strided(shape, stride or contiguous_strides(shape), dtype=dtype, device="meta")
        return private_fake.FakeTensor(mode or _mode(), meta, chips.device())


def plain_kind(op: OpOverload, args: Sequence[Any], operands: Sequence[FakeTensor], out: FakeTensor) -> Kind:
    """Makes the kind of an op that is known to have a lowering rule and one contiguous result."""
    shape = tuple(out.shape)
    kind = Kind(op, (list(args), {}), list(operands), [_contiguous(shape, out.dtype)], 0)
    kind.graph = _node_graph(kind, (), out)
    return kind


def make_kind(
    op: OpOverload,
    template: tuple[list[Any], dict[str, Any]],
    operands: list[FakeTensor],
    scalars: Sequence[float],
) -> Kind:
    """Infers the results of an op and how it is lowered.

    Returns:
        The kind. When the op cannot be lowered, the kind has no graph, and its ``reason`` says why.
    """
    kind = Kind(op, template, operands)
    form = _form(kind) if runs_on_host(kind) else None
    if form in session.current.part(_Lowered) and _describe_grown(kind, scalars):
        return kind
    with computing_shapes():
        try:
            out = _called(kind, kind.operands, scalars)
            _describe_outputs(kind, out)
            kind.graph = _one_node(kind, scalars, out)
            if kind.graph is None:
                kind.graph = _expanded(kind, scalars)
            elif form is not None and runs_on_host(kind):
                _remember(form)
        except Exception as error:  # the op then runs on the CPU, which raises again if the arguments are wrong
            kind.reason = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
    return kind


def new_fakes(value: Any) -> Any:
    """Returns new fake tensors like those in ``value``: nodes that used a kind's own would seem to share memory."""
    if isinstance(value, torch.Tensor):
        return fake(value.shape, value.dtype)
    return [new_fakes(item) for item in value] if isinstance(value, list | tuple) else value


def _describe_grown(kind: Kind, scalars: Sequence[float]) -> bool:
    """Describes the result of an op whose form has lowered, by PyTorch's meta tensors: they are quicker than fake ones.

    Returns:
        Whether that could be done. The kind then has no graph yet.
    """
    if any(isinstance(value, torch.device) for value in kind.template[1].values()):
        return False
    with outside_dynamo(), without_dispatch_modes(), torch.no_grad():
        operands = [
            torch.empty_strided(operand.shape, operand.stride(), dtype=operand.dtype, device="meta")
            for operand in kind.operands
        ]
        try:
            out = _called(kind, operands, scalars)
        except (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError):
            return False
    if not isinstance(out, torch.Tensor) or not has_few_integers(out.dtype, out.shape) or not out.is_contiguous():
        return False
    kind.structure = 0
    kind.outputs.append(_contiguous(tuple(out.shape), out.dtype))
    return True


def runs_on_host(kind: Kind) -> bool:
    """Returns whether all tensors of an op are integers or booleans of at most :data:`MAX_INTEGERS` elements."""
    tensors = (*kind.operands, *kind.outputs)
    return kind.op.namespace in ("aten", "prims") and all(has_few_integers(each.dtype, each.shape) for each in tensors)


def has_few_integers(dtype: torch.dtype, shape: Sequence[int]) -> bool:
    """Returns whether a tensor is one of integers or booleans with at most :data:`MAX_INTEGERS` elements."""
    return not dtype.is_floating_point and not dtype.is_complex and math.prod(shape) <= MAX_INTEGERS


def _form(kind: Kind) -> Any:
    """Returns the common form of kinds that differ in the sizes of their operands and in scalars."""
    args, kwargs = kind.template
    operands = tuple((operand.dtype, operand.dim()) for operand in kind.operands)
    return kind.op, operands, repr(args), repr(kwargs)


def _remember(form: Any) -> None:
    lowered = session.current.part(_Lowered)
    if len(lowered) >= _MAX_FORMS:
        lowered.clear()
    lowered.add(form)


def graph_with_inputs(kind: Kind, inputs: frozenset[int], scalars: Sequence[float]) -> torch.fx.Graph:
    """Returns the kind's graph with some scalars as inputs.

    Args:
        kind: a kind that has a graph.
        inputs: indices of the scalars that become 0-dim inputs, after the operands. The others are embedded.
        scalars: values of all scalars.
    """
    if not scalars:
        if kind.graph is None:
            with computing_shapes():
                kind.graph = _checked_graph(kind, scalars)
        return kind.graph
    if len(inputs) == len(scalars) and inputs in kind.variants:
        return kind.variants[inputs]
    with computing_shapes():
        graph = _with_scalars(kind, inputs, scalars) if inputs else _checked_graph(kind, scalars)
    if len(inputs) == len(scalars):
        kind.variants[inputs] = graph
    return graph


def fill(template: tuple[list[Any], dict[str, Any]], operands: Sequence[Any], scalars: Sequence[Any]) -> Any:
    """Returns positional and keyword arguments: the template with its placeholders replaced."""

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
        raise NotImplementedError(f"the op returns {type(out).__name__}, expected tensors")
    indices = itertools.count()
    kind.structure = type(out)([None if item is None else next(indices) for item in out])
    kind.outputs.extend(_output(item) for item in out if item is not None)


def _output(out: torch.Tensor) -> Output:
    if out.device.type != chips.DEVICE_TYPE:
        raise NotImplementedError(f"the result is on {out.device}, expected {chips.device()}")
    shape = tuple(int(size) for size in out.shape)
    stride = tuple(out.stride())
    if out.is_contiguous() or math.prod(shape) == 0:
        return _contiguous(shape, out.dtype)
    order = memory_order(shape, stride)
    if order is None:
        return _contiguous(shape, out.dtype)
    return Output(shape, stride, out.dtype, order, TensorFactory(out.dtype, shape, stride))


def _contiguous(shape: Shape, dtype: torch.dtype) -> Output:
    stride = contiguous_strides(shape)
    return Output(shape, stride, dtype, None, TensorFactory(dtype, shape, stride))


def _called(kind: Kind, operands: Sequence[torch.Tensor], scalars: Sequence[float]) -> Any:
    """Returns the op's results for some operands."""
    args, kwargs = fill(kind.template, operands, scalars)
    return kind.op(*args, **kwargs)


def _checked_graph(kind: Kind, scalars: Sequence[float]) -> torch.fx.Graph:
    """Returns a graph of ops that have lowering rules.

    Raises:
        NotImplementedError: there is none.
    """
    graph = _one_node(kind, scalars, _called(kind, kind.operands, scalars))
    return _expanded(kind, scalars) if graph is None else graph


def _one_node(kind: Kind, scalars: Sequence[float], out: Any) -> torch.fx.Graph | None:
    """Returns a graph of the op alone, which returns ``out``, or None when no lowering rule takes these arguments."""
    from tt_xla.frontends.torch.aten import LOWERINGS

    if kind.op not in LOWERINGS:
        return None
    graph = _node_graph(kind, scalars, out)
    return graph if _lowers(graph) else None


def _node_graph(kind: Kind, scalars: Sequence[float], out: Any) -> torch.fx.Graph:
    graph = torch.fx.Graph()
    placeholders = [_placeholder(graph, index, operand) for index, operand in enumerate(kind.operands)]
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


def _placeholder(graph: torch.fx.Graph, index: int, operand: FakeTensor) -> torch.fx.Node:
    node = graph.placeholder(f"arg_{index}")
    node.meta["val"] = operand
    return node


def _lowers(graph: torch.fx.Graph) -> bool:
    """Returns whether every op of a graph has a lowering rule that takes its arguments."""
    from tt_xla.frontends.torch.lowering import check_rules

    return check_rules(torch.fx.GraphModule(torch.nn.Module(), graph))


def _expanded(kind: Kind, scalars: Sequence[float]) -> torch.fx.Graph:
    """Returns the graph of PyTorch's decomposition of the op.

    Raises:
        NotImplementedError: the decomposition has ops without a rule, or needs random numbers or contents.
    """

    def call(*operands: torch.Tensor) -> list[torch.Tensor]:
        args, kwargs = fill(kind.template, operands, scalars)
        return results_of(kind.op(*args, **kwargs))

    return _traced(kind, call, kind.operands)


def results_of(out: Any) -> list[torch.Tensor]:
    """Returns the tensors among the results of an op."""
    return [out] if isinstance(out, torch.Tensor) else [item for item in out if item is not None]


def _with_scalars(kind: Kind, inputs: frozenset[int], scalars: Sequence[float]) -> torch.fx.Graph:
    """Returns the graph of the op in terms of tensors, with the scalars ``inputs`` as 0-dim tensors."""
    order = sorted(inputs)
    scalar_inputs = [fake((), scalar_dtype(kind, scalars[index])) for index in order]
    operand_count = len(kind.operands)

    def call(*tensors: torch.Tensor) -> list[torch.Tensor]:
        values: list[Any] = list(scalars)
        for index, tensor in zip(order, tensors[operand_count:], strict=True):
            values[index] = tensor
        args, kwargs = fill(kind.template, tensors[:operand_count], values)
        results = results_of(SCALARS[kind.op].form(*args, **kwargs))
        return [
            result if result.dtype is output.dtype else result.to(output.dtype)
            for result, output in zip(results, kind.outputs, strict=True)
        ]

    return _traced(kind, call, [*kind.operands, *scalar_inputs])


def scalar_dtype(kind: Kind, scalar: float) -> torch.dtype:
    """Returns the dtype of a scalar as a 0-dim input: one that holds it as exactly as the op computes."""
    dtypes = [operand.dtype for operand in kind.operands] + [output.dtype for output in kind.outputs]
    if torch.float64 in dtypes:
        return torch.float64
    if isinstance(scalar, float) or any(dtype.is_floating_point for dtype in dtypes):
        return torch.float32
    return torch.int64


def _traced(kind: Kind, call: Callable[..., list[torch.Tensor]], operands: Sequence[FakeTensor]) -> torch.fx.Graph:
    """Traces ``call`` and decomposes its ops, first as little as possible, until every op has a lowering rule.

    Raises:
        NotImplementedError: no decomposition leads to lowering rules.
    """
    from torch.fx.experimental.proxy_tensor import make_fx

    from tt_xla.frontends.torch.aten import LOWERINGS

    for also_decomposed, functional in (((), False), ((kind.op,), False), ((), True)):
        function = torch.func.functionalize(call) if functional else call
        table = _decompositions(also_decomposed)
        graph = make_fx(function, decomposition_table=table, tracing_mode="real")(*operands).graph
        graph.eliminate_dead_code()
        if _lowers(graph):
            return graph
    overloads = [node.target for node in graph.nodes if isinstance(node.target, OpOverload)]
    names = sorted({str(op) for op in overloads if op not in LOWERINGS})
    raise NotImplementedError(f"no lowering rule for {', '.join(names) or 'these arguments'}")


@functools.cache
def _decompositions(also_decomposed: tuple[OpOverload, ...]) -> Mapping[Any, Callable[..., Any]]:
    """Returns decompositions of ops without a rule, and PyTorch's of ops whose rule does not cover all uses."""
    from tt_xla.frontends.torch.aten.decompositions import decompositions

    table = decompositions()
    return table | {op: decomposition_table[op] for op in also_decomposed if op in decomposition_table}
