"""Calls of aten ops: recorded, written as text, and run on the CPU, as a compiled graph and on the device ``tt``."""

from __future__ import annotations

import contextlib
import logging
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map, tree_map_only, tree_unflatten

from tests.fuzz.cases import NotDrawnError
from tests.fuzz.torch_programs import tensors
from tt_xla.errors import UnsupportedOpError

Op = Any
"""An overload of an op, ``torch.ops.aten.add.Tensor``."""


@dataclass(frozen=True)
class Call:
    """A call of an op with its arguments.

    Attributes:
        op: the overload.
        args: positional arguments.
        kwargs: arguments that have to be given by name.
        special: whether inputs may be NaN, infinities or integers at the ends of their range.
    """

    op: Op
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    special: bool = False

    @property
    def name(self) -> str:
        """The op's name without overload: ``aten::add``."""
        return self.op._schema.name

    @property
    def inputs(self) -> list[torch.Tensor]:
        """The tensors among the arguments, in order."""
        return [leaf for leaf in tree_flatten((self.args, dict(self.kwargs)))[0] if isinstance(leaf, torch.Tensor)]

    def with_inputs(self, inputs: Sequence[Any]) -> Call:
        """Returns the call with other tensors, in the order of :attr:`inputs`."""
        leaves, structure = tree_flatten((self.args, dict(self.kwargs)))
        following = iter(inputs)
        args, kwargs = tree_unflatten(
            [next(following) if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves], structure
        )
        return replace(self, args=args, kwargs=kwargs)

    def __call__(self, *inputs: torch.Tensor) -> list[torch.Tensor]:
        """Runs the op with other tensors and returns the tensors among its results."""
        call = self.with_inputs(inputs)
        return tensors_of(self.op(*call.args, **call.kwargs))

    @property
    def text(self) -> str:
        """Source that makes the inputs and calls the op."""
        names = iter(f"x{number}" for number in range(len(self.inputs)))
        shown = self.with_inputs([_Name(name) for name in names])
        arguments = [repr(arg) for arg in shown.args] + [f"{name}={value!r}" for name, value in shown.kwargs.items()]
        lines = [f"x{number} = {tensors.text(value)}" for number, value in enumerate(self.inputs)]
        return "\n".join([*lines, f"result = torch.ops.{self.op!s}({', '.join(arguments)})"])


class _Name(str):
    """A name whose ``repr`` is the name itself."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def tensors_of(result: Any) -> list[torch.Tensor]:
    """Returns the tensors of a tree, in order."""
    return [leaf for leaf in tree_flatten(result)[0] if isinstance(leaf, torch.Tensor)]


class Recording(TorchDispatchMode):
    """Records the calls of one op that PyTorch makes within a ``with`` block, in forward and backward passes."""

    def __init__(self, op: Op) -> None:
        super().__init__()
        self.op = op
        self.calls: list[Call] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is self.op:
            kept = tree_map_only(torch.Tensor, tensors.copied, (args, dict(kwargs or {})))
            self.calls.append(Call(func, *kept))
        return func(*args, **(kwargs or {}))


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    """Keeps fake tensors from logging what they refuse."""
    logger = logging.getLogger("torch._subclasses.fake_tensor")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(level)


def graph_of(call: Call) -> tuple[torch.fx.GraphModule, list[torch.Tensor]]:
    """Returns a graph of one call, as AOTAutograd hands it to the lowering, and the graph's inputs."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    mode = FakeTensorMode()
    graph, inputs = torch.fx.Graph(), call.inputs

    def placeholder(tensor: torch.Tensor) -> torch.fx.Node:
        node = graph.placeholder(f"x{len(graph.nodes)}")
        node.meta["val"] = mode.from_tensor(tensor)
        return node

    described = call.with_inputs([placeholder(tensor) for tensor in inputs])
    faked = tree_map_only(torch.fx.Node, lambda node: node.meta["val"], (described.args, dict(described.kwargs)))
    try:
        with mode, _silent():
            result = call.op(*faked[0], **faked[1])
    except (RuntimeError, TypeError, NotImplementedError) as error:
        raise NotDrawnError(f"PyTorch's fake tensors refuse {call.op}: {error}") from error
    if [(r.shape, r.dtype) for r in tensors_of(result)] != [(r.shape, r.dtype) for r in call(*inputs)]:
        raise NotDrawnError(f"PyTorch's fake tensors disagree with the CPU about {call.op}")
    node = graph.call_function(call.op, described.args, dict(described.kwargs))
    node.meta["val"] = result
    results = [node]
    if not isinstance(result, torch.Tensor):
        results = []
        for index, item in enumerate(result):
            if isinstance(item, torch.Tensor):
                results.append(graph.call_function(operator.getitem, (node, index)))
                results[-1].meta["val"] = item
    graph.output(tuple(results))
    return torch.fx.GraphModule({}, graph), inputs


def lowered(call: Call) -> Callable[[Mapping[str, Any]], list[torch.Tensor]]:
    """Lowers a call with its rule. Returns a function of compile options that compiles the program and runs it."""
    from tt_xla.frontends.torch.executor import Executor
    from tt_xla.frontends.torch.lowering import lower_to_stablehlo
    from tt_xla.frontends.torch.stages import host_nodes

    graph_module, inputs = graph_of(call)
    if host_nodes(graph_module):
        raise UnsupportedOpError(f"{call.op} runs on the host.")
    program = lower_to_stablehlo(graph_module)

    def run(options: Mapping[str, Any]) -> list[torch.Tensor]:
        return list(Executor(program, options)(list(inputs)))

    return run


def compiled(call: Call, options: Mapping[str, Any], *, symbols: bool = False) -> list[torch.Tensor]:
    """Runs a call through ``torch.compile(backend="tt")`` with tensors on the device.

    Args:
        call: the call.
        options: compile options.
        symbols: whether all sizes and numbers are symbols, whose values are those of the call.

    Raises:
        NotDrawnError: PyTorch does not take symbols.
    """
    torch._dynamo.reset()
    function = torch.compile(lambda *inputs: call(*inputs), backend="tt", dynamic=symbols, options=dict(options))
    try:
        with torch.no_grad(), _silent():
            return [result.cpu() for result in function(*map(tensors.on_device, call.inputs))]
    except RuntimeError as error:
        if symbols and "when making fake tensor call" in str(error):
            raise NotDrawnError(f"PyTorch takes no symbols: {error}") from error
        raise


def variants(op: Op) -> Iterator[Op]:
    """Yields the op, and its forms that write to the first argument or to ``out``."""
    yield op
    namespace, _, name = op._schema.name.partition("::")
    for packet, overload in ((f"{name}_", op._overloadname), (name, "out"), (name, f"{op._overloadname}_out")):
        found = getattr(getattr(getattr(torch.ops, namespace), packet, None), overload, None)
        if found is not None and _takes_the_same(op, found):
            yield found


def _takes_the_same(op: Op, other: Op) -> bool:
    """Whether an op takes the arguments of another, apart from outputs."""
    own, others = (
        [(each.name, str(each.type)) for each in one._schema.arguments if not each.is_out] for one in (op, other)
    )
    return own == others


def on_device(call: Call, op: Op, place: Callable[[torch.Tensor], torch.Tensor]) -> list[torch.Tensor]:
    """Runs a call or a variant of its op outside of a graph.

    Args:
        call: the call.
        op: one of :func:`variants`.
        place: makes a tensor that the op may write to: a copy on the CPU, or on the device.

    Returns:
        The results and, where the op writes, the tensors that it wrote to.
    """
    inputs = [place(tensor) for tensor in call.inputs]
    moved = call.with_inputs(inputs)
    kwargs = dict(moved.kwargs)
    outs = [argument.name for argument in op._schema.arguments if argument.is_out]
    if outs:
        shapes = [result.clone() for result in call(*[tensor.clone() for tensor in call.inputs])]
        kwargs |= dict(zip(outs, [place(torch.zeros_like(shape)) for shape in shapes], strict=True))
    with torch.no_grad():
        results = tensors_of(op(*moved.args, **tree_map(lambda leaf: leaf, kwargs)))
    written = inputs[:1] if op._schema.is_mutable and not outs else []
    return [result.cpu() for result in (*results, *written)]


__all__ = ["Call", "Op", "Recording", "compiled", "graph_of", "lowered", "on_device", "tensors_of", "variants"]
