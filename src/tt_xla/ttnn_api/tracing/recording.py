"""Records calls of PyTorch and TT-NN, and the tensors that go from one to the next, as a graph.

PyTorch shows its calls to a :class:`torch.overrides.TorchFunctionMode`, and TT-NN's operations theirs to a hook. A
module's calls are a graph of their own, which the module's node holds.
"""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
import itertools
import time
import warnings
import weakref
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import networkx
import torch
from torch.overrides import TorchFunctionMode

from tt_xla.ttnn_api import operation as operations
from tt_xla.ttnn_api.settings import CONFIG, POST_HOOKS
from tt_xla.ttnn_api.tensor import Tensor
from tt_xla.ttnn_api.tracing.nodes import (
    Arguments,
    InputTensorIndex,
    ModuleTensor,
    Node,
    Operation,
    PositionalArgumentName,
    TorchFunction,
    TorchModule,
    TorchModuleInput,
    TorchParameter,
    TorchTensor,
    TTNNOperation,
    TTNNTensor,
)

if TYPE_CHECKING:
    from tt_xla.ttnn_api.tracing.nodes import Graph

_ids = itertools.count()

AnyTensor = torch.Tensor | Tensor
Place = tuple[Node, int]
"""A node and the index of one of its outputs."""


def set_item(tensor: torch.Tensor, key: Any, value: Any) -> torch.Tensor:
    """Assigns to elements of a tensor, as ``tensor[key] = value`` does, and returns the tensor."""
    tensor[key] = value
    return tensor


set_item.__module__ = "ttnn.tracer"  # where users find it


def tensors_in(value: Any) -> Iterator[AnyTensor]:
    """Yields the tensors in an argument or a result: in sequences, mappings, dataclasses and torch's pytrees."""
    if isinstance(value, (torch.Tensor, Tensor)):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from tensors_in(each)
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from tensors_in(each)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for each in dataclasses.fields(value):
            yield from tensors_in(getattr(value, each.name))


class _Scope:
    """A graph that is being recorded: of all calls, or of those of a module.

    Args:
        outer: the scope in which the module is called; None for the scope of all calls.
    """

    def __init__(self, outer: _Scope | None) -> None:
        self.graph: Graph = networkx.MultiDiGraph()
        self.outer = outer
        self.captured: list[AnyTensor] = []
        """Tensors that a module takes from outside without being given them."""
        self.inputs: list[ModuleTensor] = []
        self._places: dict[int, tuple[weakref.ref[Any], Place]] = {}
        self._inside: dict[int, tuple[weakref.ref[Any], Node, _Scope]] = {}
        """Tensors that modules made and did not return, such as those of a cache, with the module's node and scope."""

    def add(self, operation: Operation, outputs: Sequence[AnyTensor], name: str, **attributes: Any) -> Node:
        """Adds a node whose outputs are these tensors."""
        number = next(_ids)
        node = Node(f"{name}_{number}", number)
        self.graph.add_node(node, operation=operation, **_described(outputs), **attributes)
        for index, tensor in enumerate(outputs):
            self._put(tensor, (node, index))
        return node

    def connect(self, node: Node, inputs: Sequence[Place]) -> None:
        """Adds the edges to a node from the places of its inputs."""
        for index, (source, output_index) in enumerate(inputs):
            self.graph.add_edge(source, node, source_output_index=output_index, sink_input_index=index)

    def find(self, tensor: AnyTensor) -> Place | None:
        """Returns the place of a tensor; None if no call of the scope has returned it."""
        found = self._places.get(id(tensor))
        if found is not None and found[0]() is tensor:
            return found[1]
        inside = self._inside.get(id(tensor))
        if inside is None or inside[0]() is not tensor:
            return None
        _, node, scope = inside
        inner = scope.find(tensor)
        assert inner is not None
        attributes = self.graph.nodes[node]
        attributes["operation"].outputs.append(ModuleTensor(scope.graph, *inner))
        for key, values in _described([tensor]).items():
            attributes[key] = (*attributes[key], *values)
        self._put(tensor, (node, len(attributes["shapes"]) - 1))
        return self._places[id(tensor)][1]

    def close(self, node: Node, outer: _Scope) -> None:
        """Tells the outer scope which tensors the scope of a module has made."""
        for number, (reference, _) in self._places.items():
            outer._inside[number] = (reference, node, self)
        for number, (reference, *_) in self._inside.items():
            outer._inside.setdefault(number, (reference, node, self))

    def _put(self, tensor: AnyTensor, place: Place) -> None:
        self._places[id(tensor)] = (weakref.ref(tensor), place)
        if self.outer is None:
            tensor.graph, tensor.node, tensor.output_index = self.graph, *place  # pyright: ignore[reportAttributeAccessIssue]


def _described(tensors: Sequence[AnyTensor]) -> dict[str, tuple[Any, ...]]:
    """Returns the attributes of a node that describe its outputs."""
    ours = [tensor if isinstance(tensor, Tensor) else None for tensor in tensors]
    return {
        "shapes": tuple(tensor.shape if isinstance(tensor, Tensor) else tuple(tensor.shape) for tensor in tensors),
        "dtypes": tuple(tensor.dtype for tensor in tensors),
        "layouts": tuple(None if each is None else each.layout for each in ours),
        "memory_configs": tuple(
            None if each is None or not each.is_allocated() else each.memory_config() for each in ours
        ),
    }


class Recorder(TorchFunctionMode):
    """Records the calls that are made while it is active."""

    def __init__(self) -> None:
        super().__init__()
        self.scopes = [_Scope(None)]
        self._names: dict[int, str] = {}
        """Names of modules, parameters and buffers in the outermost module that was called."""
        self._call_module: Callable[..., Any] = torch.nn.Module.__call__

    def start(self) -> None:
        """Begins to record."""
        recorder = self

        def call(module: torch.nn.Module, *arguments: Any, **keywords: Any) -> Any:
            return recorder._module_called(module, arguments, keywords)

        torch.nn.Module.__call__ = call
        POST_HOOKS.append(self._operation_called)
        self.__enter__()

    def stop(self) -> None:
        """Ends recording."""
        self.__exit__(None, None, None)
        POST_HOOKS.remove(self._operation_called)
        torch.nn.Module.__call__ = self._call_module

    def __torch_function__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if operations.watched():  # TT-NN's operations compute with PyTorch themselves
            return func(*args, **kwargs)
        start = time.perf_counter()
        result = func(*args, **kwargs)
        duration = time.perf_counter() - start
        if func is torch.Tensor.__setitem__:
            func, outputs = set_item, [args[0]]
        else:
            outputs = [*tensors_in(result)]
        if outputs:
            inputs = [self._place(tensor) for tensor in tensors_in([*args, kwargs])]
            name = func.__name__ if inputs else "torch_input"
            operation = TorchFunction(func, _argument_pairs(args, kwargs))
            self.scopes[-1].connect(self.scopes[-1].add(operation, outputs, name, duration=duration), inputs)
        return result

    def _operation_called(self, operation: Any, arguments: Sequence[Any], keywords: Any, output: Any) -> None:
        """Adds the node of an operation of TT-NN."""
        inputs = [self._place(tensor) for tensor in tensors_in([*arguments, keywords])]
        name = operation.python_fully_qualified_name
        made = TTNNOperation(name, operation, _argument_pairs(arguments, keywords))
        scope = self.scopes[-1]
        scope.connect(scope.add(made, [*tensors_in(output)], name, operation_id=next(_ids)), inputs)

    def _module_called(self, module: torch.nn.Module, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
        """Calls a module, and adds a node with the graph of its calls."""
        if operations.watched():
            return self._call_module(module, *arguments, **keywords)
        outer = self.scopes[-1]
        if outer.outer is None:
            self._name_parts_of(module)
        given = [*tensors_in([*arguments, keywords])]
        inputs = [self._place(tensor) for tensor in given]
        scope = _Scope(outer)
        for name, tensor in _named_tensors(module, arguments, keywords):
            node = scope.add(TorchModuleInput(name), [tensor], "module_input")
            scope.inputs.append(ModuleTensor(scope.graph, node, 0))
        self.scopes.append(scope)
        start = time.perf_counter()
        try:
            result = self._call_module(module, *arguments, **keywords)
            duration = time.perf_counter() - start
            outputs = [*tensors_in(result)]
            returned = [ModuleTensor(scope.graph, *self._place(tensor)) for tensor in outputs]
        finally:
            self.scopes.pop()
        own_name = self._names.get(id(module), "")
        pairs = _argument_pairs(arguments, keywords)
        operation = TorchModule(module, scope.graph, scope.inputs, returned, pairs, own_name)
        inputs += [self._place(tensor) for tensor in scope.captured]
        node = outer.add(operation, outputs, own_name or type(module).__name__, duration=duration)
        scope.close(node, outer)
        outer.connect(node, inputs)
        return result

    def _name_parts_of(self, module: torch.nn.Module) -> None:
        self._names = {id(each): name for name, each in module.named_modules()}
        self._names |= {id(each): name for name, each in module.named_buffers()}
        self._names |= {id(each): name for name, each in module.named_parameters()}

    def _place(self, tensor: AnyTensor) -> Place:
        """Returns the place of a tensor in the innermost scope; adds a node for one that no call has returned."""
        scope = self.scopes[-1]
        found = scope.find(tensor)
        if found is not None:
            return found
        if isinstance(tensor, Tensor):
            made: Operation = TTNNTensor()
        elif id(tensor) in self._names or isinstance(tensor, torch.nn.Parameter):
            made = TorchParameter(tensor, self._names.get(id(tensor), ""))
        else:
            made = TorchTensor(tensor)
        if not isinstance(made, TorchParameter) and self._is_outside(tensor):
            node = scope.add(TorchModuleInput(f"captured_{len(scope.captured)}"), [tensor], "module_input")
            scope.inputs.append(ModuleTensor(scope.graph, node, 0))
            scope.captured.append(tensor)
            return node, 0
        kind = "parameter" if isinstance(made, TorchParameter) else "input"
        return scope.add(made, [tensor], f"{'ttnn' if isinstance(made, TTNNTensor) else 'torch'}_{kind}"), 0

    def _is_outside(self, tensor: AnyTensor) -> bool:
        """Returns whether a call outside of the innermost module has returned a tensor."""
        return any(scope.find(tensor) is not None for scope in self.scopes[:-1])


def _named_tensors(
    module: torch.nn.Module, arguments: Sequence[Any], keywords: Mapping[str, Any]
) -> Iterator[tuple[str, AnyTensor]]:
    """Yields the tensors among a module's arguments, in order, with unique names for them."""
    signature = inspect.signature(module.forward).parameters.values()
    names = [each.name for each in signature if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    named = [
        (names[place] if place < len(names) else f"argument_{place}", each) for place, each in enumerate(arguments)
    ]
    for name, value in [*named, *keywords.items()]:
        found = [*tensors_in(value)]
        for index, tensor in enumerate(found):
            yield name if len(found) == 1 else f"{name}_{index}", tensor


def _argument_pairs(arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Arguments:
    """Returns the names and values of arguments, with indices of the inputs in the place of tensors."""
    numbers = itertools.count()

    def stand_in(value: Any) -> Any:
        if isinstance(value, (torch.Tensor, Tensor)):
            return InputTensorIndex(next(numbers))
        if isinstance(value, Mapping):
            return {key: stand_in(each) for key, each in value.items()}
        if isinstance(value, (list, tuple)):
            made = [stand_in(each) for each in value]
            return made if isinstance(value, list) else tuple(made)
        if dataclasses.is_dataclass(value) and not isinstance(value, type) and any(True for _ in tensors_in(value)):
            return {each.name: stand_in(getattr(value, each.name)) for each in dataclasses.fields(value)}
        return value

    positional = [(PositionalArgumentName(index), stand_in(each)) for index, each in enumerate(arguments)]
    return [*positional, *((name, stand_in(each)) for name, each in keywords.items())]


_active: list[Recorder] = []


def _begin(callers: int) -> None:
    """Begins to record calls.

    Args:
        callers: frames between this one and the user's, for the place that a warning names.
    """
    if _active:
        raise ValueError(
            "Tracing is already enabled. Traces do not nest: end the first, with ttnn.tracer.disable_tracing() or by "
            "leaving its `with ttnn.tracer.trace()`."
        )
    if CONFIG.values()["enable_fast_runtime_mode"]:
        warnings.warn(
            "TT-NN on a card traces only with ttnn.CONFIG.enable_fast_runtime_mode off, and raises a ValueError "
            "otherwise; the emulated card traces in both modes. Turn it off with "
            "TTNN_CONFIG_OVERRIDES='{\"enable_fast_runtime_mode\": false}'.",
            stacklevel=2 + callers,
        )
    _active.append(Recorder())
    _active[0].start()


def enable_tracing() -> None:
    """Begins to record calls.

    Raises:
        ValueError: tracing is enabled already.
    """
    _begin(1)


def disable_tracing() -> None:
    """Ends recording, if it has begun."""
    if _active:
        _active.pop().stop()


def is_tracing_enabled() -> bool:
    """Returns whether calls are being recorded."""
    return bool(_active)


@contextlib.contextmanager
def trace() -> Generator[None]:
    """Records the calls of PyTorch and TT-NN that the block makes.

    Tensors that they return have the attributes ``graph``, ``node`` and ``output_index``.

    Raises:
        ValueError: tracing is enabled already.
    """
    _begin(2)
    try:
        yield
    finally:
        disable_tracing()
