"""AOTAutograd's tracing of a graph with parts that repeat: one is traced, and the others become copies of it.

AOTAutograd runs dynamo's graph twice, op by op, through functionalization and fake tensors: once to see what aliases
and mutates, and once to record the ops. Of a :class:`Repeat`, the first occurrence runs so, and what it did is kept as
a template. A later one takes the template if its inputs are alike: the recorded nodes are copied, and new fake tensors
of the same sizes stand for the results and for inputs that were written, such as a language model's cache. The graph is
the one that tracing would have made. An occurrence whose trace cannot be copied runs as it would without this: where
gradients are needed, where results are views of inputs, where views of other tensors are written, and where sizes are
symbols.
"""

from __future__ import annotations

import contextlib
import operator
import threading
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from torch.fx import GraphModule, Node, Proxy
from torch.fx.experimental.proxy_tensor import get_proxy_mode, get_proxy_slot, track_tensor_tree
from torch.fx.node import map_arg

from tt_xla.frontends.torch.device.chips import DEVICE_TYPE
from tt_xla.frontends.torch.graph.repeats import Repeat
from tt_xla.frontends.torch.private.dispatcher import storage_identity
from tt_xla.frontends.torch.private.fake import FakeTensor
from tt_xla.frontends.torch.private.functions import without_dispatch_modes
from tt_xla.frontends.torch.private.names import names_of
from tt_xla.frontends.torch.private.ops import OpOverload

with names_of("stamping"):
    from torch._functorch._aot_autograd import graph_capture_wrappers
    from torch._subclasses.functional_tensor import FunctionalTensor

REPLACED = ((graph_capture_wrappers, "PropagateUnbackedSymInts"),)
"""Owner and name of each attribute that :func:`stamping` replaces while it is active."""

_REGENERATED = "is_functional_regenerated"
"""Mark of recorded nodes that compute a view anew after a write. They have the stack trace of the view."""

_CONSTANT = "_tensor_constant"
"""Beginning of the names that PyTorch gives to tensors made of numbers in the traced function."""

NewArguments = Callable[[Any, tuple[Any, ...]], tuple[Any, ...]]
"""Returns the arguments of an op in a copy, from the op and the arguments in the template."""


class _Active(threading.local):
    """The graph that this thread gives to AOTAutograd."""

    graph_module: GraphModule | None = None
    repeats: Sequence[Repeat] = ()
    copies: Callable[[], NewArguments] | None = None


_ACTIVE = _Active()


@contextlib.contextmanager
def stamping(
    graph_module: GraphModule, repeats: Sequence[Repeat], copies: Callable[[], NewArguments]
) -> Generator[None]:
    """Makes AOTAutograd trace one occurrence of each repeat of a graph, within a block.

    Args:
        graph_module: the graph.
        repeats: its parts that repeat.
        copies: called for each copy, also while nothing is recorded; returns a function that makes arguments which two
            copies must not share.
    """
    outer = (_ACTIVE.graph_module, _ACTIVE.repeats, _ACTIVE.copies)
    interpreter = graph_capture_wrappers.PropagateUnbackedSymInts
    _ACTIVE.graph_module, _ACTIVE.repeats, _ACTIVE.copies = graph_module, repeats, copies
    graph_capture_wrappers.PropagateUnbackedSymInts = _StampingInterpreter
    try:
        yield
    finally:
        graph_capture_wrappers.PropagateUnbackedSymInts = interpreter
        _ACTIVE.graph_module, _ACTIVE.repeats, _ACTIVE.copies = outer


class _Place(NamedTuple):
    """Place of a node: ``position`` in occurrence number ``instance`` of ``repeat``."""

    repeat: Repeat
    instance: int
    position: int


class _CannotCopyError(Exception):
    """The trace of an occurrence cannot be copied."""


@dataclass
class _Inputs:
    """Inputs of an occurrence.

    Attributes:
        values: the functional tensors.
        inner: the fake tensor in each.
        nodes: node of the recorded graph that computes each; empty while nothing is recorded.
        signature: describes the inputs and PyTorch's state. Occurrences with the same signature have the same trace.
    """

    values: list[FunctionalTensor]
    inner: list[FakeTensor]
    nodes: list[Node]
    signature: Any


@dataclass
class _Template:
    """The complete trace of an occurrence.

    Attributes:
        inputs: what it read.
        steps: recorded nodes, by position of the node that was run.
        lines: by stack trace, the position of the first node of the occurrence that has it.
        results: fake tensor of each output of the repeat, or the index of the input that it is.
        outputs: recorded node of each output that is not an input.
        written: new fake tensor of each input that was written, by index.
        contents: recorded node of each of ``written``; empty while nothing is recorded.
    """

    inputs: _Inputs
    steps: list[list[Node]]
    lines: dict[str | None, int]
    results: list[FakeTensor | int]
    outputs: list[Node | None]
    written: dict[int, FakeTensor]
    contents: dict[int, Node]


@dataclass
class _Recording:
    """The trace of an occurrence so far.

    Attributes:
        inputs: what it reads.
        last: last recorded node before the occurrence, and then after each node that was run.
        values: values of the repeat's outputs.
    """

    inputs: _Inputs
    last: list[Node | None]
    values: dict[int, Any] = field(default_factory=lambda: {})


class _StampingInterpreter(graph_capture_wrappers.PropagateUnbackedSymInts):
    """Runs the graph of :func:`stamping` for AOTAutograd, and every other one as PyTorch does."""

    def __init__(self, module: GraphModule, *args: Any, **kwargs: Any) -> None:
        super().__init__(module, *args, **kwargs)
        self._places: dict[Node, _Place] = {}
        self._templates: dict[tuple[int, Any], _Template] = {}
        self._recording: _Recording | None = None
        self._tracer: Any = None
        if _ACTIVE.graph_module is module:
            for repeat in _ACTIVE.repeats:
                for instance, nodes in enumerate(repeat.instances):
                    for position, node in enumerate(nodes):
                        self._places[node] = _Place(repeat, instance, position)

    def run_node(self, n: Node) -> Any:
        place = self._places.get(n)
        if place is None:
            return super().run_node(n)
        if place.position == 0:
            self._recording = None
            try:
                inputs = self._inputs(place)
            except _CannotCopyError:
                return super().run_node(n)
            template = self._templates.get((id(place.repeat), inputs.signature))
            if template is not None:
                return self._copy(template, place, inputs)
            self._recording = _Recording(inputs, [self._last()])
        result = super().run_node(n)
        if self._recording is not None:
            self._record(self._recording, place, result)
        return result

    def _inputs(self, place: _Place) -> _Inputs:
        """Returns the inputs of an occurrence.

        Raises:
            _CannotCopyError: an input is no plain tensor of known sizes, or needs a gradient.
        """
        mode = get_proxy_mode()
        self._tracer = None if mode is None else mode.tracer
        values = [self.env[node] for node in place.repeat.externals[place.instance]]
        inner = [_inner(value) for value in values]
        nodes = [self._recorded(value) for value in inner] if self._tracer is not None else []
        first: dict[Any, int] = {}
        storages = [first.setdefault(storage_identity(value), len(first)) for value in inner]
        sources = [first.setdefault(node, len(first)) for node in nodes]
        signature = (_state(), tuple(map(_metadata, inner)), tuple(storages), tuple(sources))
        return _Inputs(values, inner, nodes, signature)

    def _recorded(self, value: FakeTensor) -> Node:
        """Returns the recorded node that computes a tensor which is no constant."""
        slot = get_proxy_slot(value, self._tracer, None)
        if slot is None or slot.constant is not None:
            raise _CannotCopyError
        return slot.proxy.node

    def _last(self) -> Node | None:
        """Returns the node that was recorded last."""
        return None if self._tracer is None else self._tracer.graph._root.prev

    def _record(self, recording: _Recording, place: _Place, result: Any) -> None:
        """Adds the run of a node to a recording. The last one makes it a template."""
        recording.last.append(self._last())
        if place.position in place.repeat.outputs:
            recording.values[place.position] = result
        if place.position == len(place.repeat.instances[0]) - 1:
            self._recording = None
            with contextlib.suppress(_CannotCopyError):
                key = (id(place.repeat), recording.inputs.signature)
                self._templates[key] = self._template(recording, place)

    def _template(self, recording: _Recording, place: _Place) -> _Template:
        """Returns the template of a complete recording.

        Raises:
            _CannotCopyError: the occurrence did something that copies cannot do.
        """
        inputs, repeat = recording.inputs, place.repeat
        written = _written(inputs)
        positions = {id(value): index for index, value in enumerate(inputs.values)}
        values = [recording.values[position] for position in repeat.outputs]
        results = [positions[id(value)] if id(value) in positions else _inner(value) for value in values]
        fresh = {id(value): value for value in results if not isinstance(value, int)}.values()
        memory = [storage_identity(value) for value in (*fresh, *written.values())]
        is_shared = len({*memory}) < len(memory) or not {*memory}.isdisjoint(map(storage_identity, inputs.inner))
        needs_gradient = any(value.requires_grad for value in fresh)
        if is_shared or needs_gradient or self._last() is not recording.last[-1] or _state() != inputs.signature[0]:
            raise _CannotCopyError
        steps = [_between(*ends) for ends in zip(recording.last, recording.last[1:], strict=False)]
        recorded = {node for step in steps for node in step}
        lines = {
            node.stack_trace: position for position, node in reversed([*enumerate(repeat.instances[place.instance])])
        }
        for node in recorded:
            _check_recorded(node, recorded, inputs.nodes)
            if _REGENERATED in node.meta and node.stack_trace not in lines:
                raise _CannotCopyError
        outputs = [
            None if self._tracer is None or isinstance(value, int) else self._recorded(value) for value in results
        ]
        contents = {} if self._tracer is None else {index: self._recorded(value) for index, value in written.items()}
        if any(node is not None and node not in recorded for node in (*outputs, *contents.values())):
            raise _CannotCopyError
        return _Template(inputs, steps, lines, results, outputs, written, contents)

    def _copy(self, template: _Template, place: _Place, inputs: _Inputs) -> Any:
        """Makes an occurrence a copy of the template. Returns the value of its first node."""
        fakes = _Fakes(template.inputs.inner, inputs.inner)
        assert _ACTIVE.copies is not None
        new_arguments = _ACTIVE.copies()
        is_recording = self._tracer is not None
        copies = self._copy_nodes(template, place, inputs, fakes, new_arguments) if is_recording else {}
        instance = place.repeat.instances[place.instance]
        self.env.update(dict.fromkeys(instance[1:]))
        made: dict[int, Any] = {}
        for position, result, output in zip(place.repeat.outputs, template.results, template.outputs, strict=True):
            if isinstance(result, int):
                self.env[instance[position]] = inputs.values[result]
                continue
            if id(result) not in made:
                made[id(result)] = FunctionalTensor.to_functional(self._fake(fakes, result, copies, output))
            self.env[instance[position]] = made[id(result)]
        for index, contents in template.written.items():
            value = inputs.values[index]
            value.replace_(self._fake(fakes, contents, copies, template.contents.get(index)))
            value.commit_update()
            value.sync()
        return self.env.get(instance[0])

    def _fake(self, fakes: _Fakes, value: FakeTensor, copies: dict[Node, Node], node: Node | None) -> FakeTensor:
        """Returns a fake tensor like one of the template's, which the copy of a node computes."""
        with fakes.making():
            fake = fakes.like(value)
            if node is not None:
                track_tensor_tree(fake, Proxy(copies[node], self._tracer), constant=None, tracer=self._tracer)
        return fake

    def _copy_nodes(
        self, template: _Template, place: _Place, inputs: _Inputs, fakes: _Fakes, new_arguments: NewArguments
    ) -> dict[Node, Node]:
        """Copies the nodes of a template. Returns the copies by node."""
        copies = dict(zip(template.inputs.nodes, inputs.nodes, strict=True))
        recorded: list[Node] = []
        instance = place.repeat.instances[place.instance]
        for node, step in zip(instance, template.steps, strict=True):
            with self._set_current_node(node):
                for old in step:
                    copies[old] = self._copy_constant(old) or self._copy_op(old, copies, new_arguments)
                    if _REGENERATED in old.meta:
                        copies[old].stack_trace = instance[template.lines[old.stack_trace]].stack_trace
                    recorded.append(old)
        with fakes.making():
            for old in recorded:
                meta = copies[old].meta
                for key, value in old.meta.items():
                    meta.setdefault(key, value)
                meta["val"] = fakes.like(old.meta["val"])
        return copies

    def _copy_constant(self, old: Node) -> Node | None:
        """Returns a node that reads the same constant, under a name of its own as PyTorch gives it; None for an op."""
        if old.op != "get_attr":
            return None
        name = self._tracer.get_fresh_qualname(_CONSTANT)
        setattr(self._tracer.root, name, getattr(self._tracer.root, str(old.target)))
        return self._tracer.create_node("get_attr", name, (), {})

    def _copy_op(self, old: Node, copies: dict[Node, Node], new_arguments: NewArguments) -> Node:
        args, kwargs = map_arg((old.args, old.kwargs), copies.__getitem__)
        args = new_arguments(old.target, args)
        packet: Any = getattr(old.target, "overloadpacket", old.target)
        name = self._tracer.graph._target_to_str(packet.__name__)
        return self._tracer.create_node("call_function", old.target, args, kwargs, name)


class _Fakes:
    """Makes fake tensors like those of a template, which share memory as those do.

    Args:
        old: inputs of the template.
        new: inputs of the copy.
    """

    def __init__(self, old: Sequence[FakeTensor], new: Sequence[FakeTensor]) -> None:
        self._storages = {
            storage_identity(before): after.untyped_storage() for before, after in zip(old, new, strict=True)
        }

    @contextlib.contextmanager
    def making(self) -> Generator[None]:
        """Keeps PyTorch's modes off, which would trace how fake tensors are made."""
        with without_dispatch_modes():
            yield

    def like(self, value: Any) -> Any:
        """Returns a fake tensor, or a sequence of them, for one of the template's."""
        if value is None:
            return None
        if isinstance(value, list | tuple):
            return type(value)([self.like(item) for item in value])
        storage = value.untyped_storage()
        identity = storage_identity(value)
        if identity not in self._storages:
            self._storages[identity] = torch.UntypedStorage(storage.nbytes(), device="meta")
        shared, place = self._storages[identity], (value.storage_offset(), value.shape, value.stride())
        dense = torch.empty(0, dtype=value.dtype, device="meta").set_(shared, *place)
        return FakeTensor(value.fake_mode, dense, value.device)


def _inner(value: Any) -> FakeTensor:
    """Returns the fake tensor in a functional tensor of which no gradient is computed.

    Raises:
        _CannotCopyError: the value is something else.
    """
    if type(value) is not FunctionalTensor or (value.requires_grad and torch.is_grad_enabled()):
        raise _CannotCopyError
    inner: Any = value.from_functional()
    is_plain = type(inner) is FakeTensor and inner.layout is torch.strided and not inner._has_symbolic_sizes_strides
    if not is_plain or inner.constant is not None or inner.is_conj() or inner.is_neg():
        raise _CannotCopyError
    return inner


def _written(inputs: _Inputs) -> dict[int, FakeTensor]:
    """Returns the new fake tensor of each input that was written, by index.

    Raises:
        _CannotCopyError: the input is a view, another input shares its memory, or more than its contents has changed.
    """
    written: dict[int, FakeTensor] = {}
    memory = [*map(storage_identity, inputs.inner)]
    for index, (value, before) in enumerate(zip(inputs.values, inputs.inner, strict=True)):
        after = _inner(value)
        if after is before:
            continue
        is_whole = value.is_base_tensor() and memory.count(memory[index]) == 1
        if not is_whole or _metadata(after) != _metadata(before):
            raise _CannotCopyError
        written[index] = after
    return written


def _metadata(value: FakeTensor) -> Any:
    return (value.dtype, value.device, tuple(value.shape), value.stride(), value.storage_offset(), value.requires_grad)


def _state() -> Any:
    """Returns the state of PyTorch that decides what an op does."""
    autocast = [
        (torch.is_autocast_enabled(device), torch.get_autocast_dtype(device)) for device in ("cpu", DEVICE_TYPE)
    ]
    return (torch.is_grad_enabled(), torch.is_inference_mode_enabled(), *autocast)


def _between(before: Node | None, last: Node | None) -> list[Node]:
    """Returns the nodes after ``before``, up to ``last``."""
    nodes: list[Node] = []
    while last is not before:
        assert last is not None
        nodes.append(last)
        last = last._prev
    return nodes[::-1]


def _check_recorded(node: Node, recorded: set[Node], inputs: Sequence[Node]) -> None:
    """Raises :class:`_CannotCopyError` if a recorded node is no constant, and more than an op on inputs and results of
    other ops."""
    is_op = isinstance(node.target, OpOverload) or node.target is operator.getitem
    is_constant = node.op == "get_attr" and str(node.target).startswith(_CONSTANT)
    if not (is_op or is_constant) or any(
        source not in recorded and source not in inputs for source in node.all_input_nodes
    ):
        raise _CannotCopyError
    if "unbacked_bindings" in node.meta or (_REGENERATED in node.meta and "custom" in node.meta):
        raise _CannotCopyError
    value = node.meta.get("val")
    for item in value if isinstance(value, list | tuple) else [value]:
        if item is not None and (type(item) is not FakeTensor or item.is_conj() or item.is_neg()):
            raise _CannotCopyError


__all__ = ["REPLACED", "NewArguments", "stamping"]
