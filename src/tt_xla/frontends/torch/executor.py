"""Calls of one compiled graph: host tensors are gathered, the executable runs, the results are wrapped."""

from __future__ import annotations

import functools
import pickle
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from tt_xla.errors import ResourceExhaustedError
from tt_xla.frontends.torch import compilation, session, settings
from tt_xla.frontends.torch.device import placements
from tt_xla.frontends.torch.device.buffers import (
    CachedArgument,
    buffer_of,
    resolve_argument,
    reuse_aliases,
    reuse_writable,
    synchronize_for,
)
from tt_xla.frontends.torch.device.chips import DEVICE_TYPE, drawing_on
from tt_xla.frontends.torch.device.geometry import contiguous_strides
from tt_xla.frontends.torch.device.placements import Placement
from tt_xla.frontends.torch.device.tensor_factory import TensorFactory
from tt_xla.frontends.torch.errors import as_torch_error
from tt_xla.frontends.torch.lowering import Lowered
from tt_xla.frontends.torch.outputs import assembled
from tt_xla.frontends.torch.private.aot_cache import OutputCode
from tt_xla.frontends.torch.private.functions import without_dispatch_modes
from tt_xla.frontends.torch.saved_module import saved
from tt_xla.runtime.lifetimes import new_version

if TYPE_CHECKING:
    from tt_xla.codegen.export import GraphProgram
    from tt_xla.frontends.torch.device.values import Kept
    from tt_xla.runtime.executable import Executable
    from tt_xla.runtime.weights import Spare


class Loading(threading.local):
    """Cache entries that a thread of the session reads.

    Attributes:
        options: compile options of the model whose graphs are read.
        graphs: graphs that were read since the list was last emptied.
    """

    def __init__(self) -> None:
        self.options: Mapping[str, Any] = {}
        self.graphs: list[Executor] = []


Wrap = Callable[[torch.Tensor], torch.Tensor]
"""Converts a contiguous result of the program to the graph's result."""


class TensorSpec(NamedTuple):
    """The properties of a result of a graph."""

    dtype: torch.dtype
    shape: tuple[int, ...]
    device: torch.device


class Executor(OutputCode):
    """A compiled graph as AOTAutograd calls it: takes a list of arguments and returns the outputs.

    AOTAutogradCache pickles it with the StableHLO module in place of the program, which has a cache of its own, and
    without options, which do not change the module.

    Args:
        lowered: the StableHLO module and how to call it.
        options: compile options of this model, on top of the process's.
        part: place of the program in the source of a model that is exported in several programs.

    Attributes:
        updated: positions of the arguments whose new contents are the first results, if dynamo may call the graph
            without AOTAutograd's wrappers (:mod:`.unwrapped`); None if it may not.
    """

    def __init__(self, lowered: Lowered, options: Mapping[str, Any], part: GraphProgram | None = None) -> None:
        self._part = part
        self._fx_graph_cache_key = None if part is not None else "tt"  # a part of a graph is not in the cache
        self._be_boxed()
        self.updated: Sequence[int] | None = None
        specs = [TensorSpec(fake.dtype, tuple(map(int, fake.shape)), fake.device) for fake in lowered.results]
        self._set_up(lowered, specs, options)

    def _set_up(self, lowered: Lowered, specs: Sequence[TensorSpec], options: Mapping[str, Any]) -> None:
        self._options = options
        self._lowered, self._specs = replace(lowered, results=[]), specs
        self._module = lowered.module
        self._chip = lowered.chip
        self._tensors = lowered.tensors
        self._checks = lowered.checks
        self._views = lowered.views
        self._numbers = lowered.numbers
        self._order_of = {position: order for position, order in enumerate(lowered.input_orders) if order is not None}
        """Order of dimensions in which the program takes an argument, where it is not the graph's, by position."""
        self._extras = [
            (make, new_version() if constant else None)
            for make, constant in zip(lowered.extras, lowered.constant, strict=True)
        ]
        self._outputs = lowered.outputs
        self._wraps = [_wrapper(*pair) for pair in zip(specs, lowered.orders, strict=True)]
        makers = [getattr(wrap, "__self__", None) for wrap in self._wraps]
        self._factories = [each if isinstance(each, TensorFactory) else None for each in makers]
        """Makes the tensor of each result; None for a result on the CPU."""
        self._needs_no_wrap = not any(self._wraps)
        self._orders = lowered.orders
        self._in_order = [order is None for order in lowered.orders]
        self._outputs_are_results = lowered.outputs == [("result", i) for i in range(len(specs))]
        self._settings: settings.Settings | None = None
        self._placements: list[Placement | None] = []
        """Placements of the arguments for which the program was compiled; empty where none has one."""
        self._result_placements: Sequence[Placement | None] | None = None
        self._chosen: Sequence[Placement | None] = ()
        """Placements of the arguments if the compiler chose those of some (``auto_sharding``)."""
        self._call: compilation.Callee | None = None
        self._written: frozenset[int] = frozenset()
        self._executable: Executable | None = None
        self._cached: list[CachedArgument | None] = [None] * len(self._tensors)
        self._keeping: compilation.Keeping | None = None
        """The program if its results stay in the memory of a card, and go to the next one from there."""
        self._writable: dict[int, CachedArgument | None] = {}
        """Arguments of the last call that the program wrote to, by position."""
        self._offloaded: set[int] = set()
        """Positions of arguments whose host bytes were offloaded at least once."""
        if specs and not placements.in_use():  # else the first call knows how its arguments are split
            self._prepare()

    def __getstate__(self) -> dict[str, Any]:
        """Returns the state for another process, with its digest; the program is in a cache of its own."""
        state = self.__dict__.get("_state")  # a copy, which no process has set up, has one
        if state is None:
            lowered = replace(self._lowered, module=saved(self._lowered.module))
            state = {"lowered": lowered, "specs": self._specs, "updated": self.updated}
        contents = pickle.dumps(state)
        return {"contents": contents, "digest": sha256(contents).digest()}

    def __setstate__(self, stored: dict[str, Any]) -> None:
        if sha256(stored["contents"]).digest() != stored["digest"]:  # PyTorch's files have no checksum
            raise pickle.UnpicklingError("The file of a traced graph was altered. It is traced again.")
        state = pickle.loads(stored["contents"])
        self._state, self.updated, self._part = state, state["updated"], None
        self._be_boxed()

    def _be_boxed(self) -> None:
        """Sets what AOTAutograd reads from a compiled graph, or from a wrapper that has its attributes."""
        self._boxed_call = True  # the list of arguments may be emptied
        self._time_taken_ns = 0

    def prepare_for_serialization(self) -> None:
        """Does nothing: :meth:`__getstate__` leaves out what belongs to this process."""

    def post_compile(self, example_inputs: Sequence[Any], constants: Any, graph_kwargs: Any) -> None:
        """Compiles or loads the program of a graph that was read from a cache, with the options of :class:`Loading`."""
        state = self.__dict__.pop("_state")
        loading = session.current.part(Loading)
        self._set_up(state["lowered"], state["specs"], loading.options)
        loading.graphs.append(self)

    def _prepare(self) -> None:
        """Compiles and loads the program under the current settings."""
        self._settings = None  # after an error the next call tries again
        current = settings.current()
        options = current.with_own(self._options)
        with without_dispatch_modes():  # AOTAutograd compiles under a fake mode, where every new tensor is fake
            loaded = compilation.compile_and_load(self._module, options, self._part, self._placements, self._chip)
        _, self._written, self._executable, self._result_placements, self._chosen, self._keeping = loaded
        self._call = loaded.call
        self._settings, self._cached = current, [None] * len(self._tensors)
        self.__dict__.pop("_updated_by", None)

    @property
    def predicted_us(self) -> float | None:
        """The program's predicted time on the device in microseconds; None before it is compiled, and for a mesh."""
        return None if self._executable is None else self._executable.program.predicted_device_us

    def __call__(self, args: list[Any]) -> Sequence[Any]:
        results = self.run(args) if self._wraps else []
        if self._outputs_are_results:
            args.clear()
            return results
        outputs = assembled(self._outputs, args, results)
        args.clear()
        return outputs

    def run(self, args: list[Any], known: Sequence[int | None] | None = None) -> list[torch.Tensor]:
        """Runs the program and returns its results, wrapped.

        Args:
            args: inputs of the graph.
            known: content versions of inputs on the CPU; None if nobody tracks their contents.
        """
        tensors: list[Any] = [args[position] for position in self._tensors]
        has_new_placements = (placements.in_use() or self._placements) and self._has_new_placements(tensors)
        if has_new_placements or self._settings is not settings.current():
            try:
                self._prepare()
            except ResourceExhaustedError as error:
                as_torch_error(error)
                raise
        if self._chosen:
            self._place(tensors)
        versions = [None if known is None else known[position] for position in self._tensors]
        donated, shared = self._gather(tensors, versions)
        for check in self._checks:
            check(tensors, versions)
        for position in self._views:
            tensors[position] = tensors[position].resolve_conj().resolve_neg()
        for position, order in self._order_of.items():
            if isinstance(tensors[position], torch.Tensor):
                tensors[position] = tensors[position].permute(order)
        if self._extras:
            with drawing_on(self._chip):
                tensors += [make() for make, _ in self._extras]
            versions += [version for _, version in self._extras]
        for read in self._numbers:
            tensors.append(torch.tensor(read(args), device="cpu"))
            versions.append(None)
        assert self._call is not None
        try:
            results = self._call(tensors, versions, donated.keys() - shared)
        except ResourceExhaustedError as error:
            as_torch_error(error)
            raise
        finally:
            for tensor in donated.values() if self._keeping is None else ():
                buffer_of(tensor).mark_written()
        if self._keeping is not None:
            return self._placed(self._kept(results, donated))
        if self._executable is not None and (spare := self._executable.spare_parameters()):
            self._offload(self._executable, spare, args)
        if self._needs_no_wrap:
            return results
        if donated or self._updated_by:
            inputs = {tensors[position].data_ptr(): tensor for position, tensor in donated.items()}
            return [
                self._written_to(args[self._updated_by[index]], result)
                if index in self._updated_by and result.data_ptr() not in inputs
                else _reuse_input(result, self._wraps[index], inputs, in_order=self._in_order[index])
                for index, result in enumerate(results)
            ]
        pairs = zip(results, self._wraps, strict=True)
        return self._placed([result if wrap is None else wrap(result) for result, wrap in pairs])

    @functools.cached_property
    def _updated_by(self) -> Mapping[int, int]:
        """Positions of the arguments that take a result as their new contents, by the result's index: results of the
        graph's own order and of one card that are no other output. It lasts from the first call on."""
        if self._keeping is not None or self._placements:
            return {}
        outputs = self._outputs
        seen = Counter(
            value if kind == "result" else value.index
            for kind, value in outputs
            if kind == "result" or (kind == "view" and not value.of_input)
        )
        pairs = zip(outputs, self.updated or (), strict=False)
        return {
            value: position
            for (kind, value), position in pairs
            if kind == "result" and seen[value] == 1 and self._in_order[value] and self._factories[value] is not None
        }

    def _written_to(self, argument: torch.Tensor, result: torch.Tensor) -> torch.Tensor:
        """Writes a result to the memory of the argument whose new contents it is, and returns the argument; no tensor
        of the device is made of it."""
        buffer = buffer_of(argument)
        buffer.writable_alias(argument).copy_(result)
        buffer.mark_written()
        return argument

    def _kept(self, handles: Sequence[Any], donated: Mapping[int, torch.Tensor]) -> list[torch.Tensor]:
        """Wraps results that stay in the memory of a card. A donated argument takes the result that it became."""
        results: list[torch.Tensor] = []
        each_result = zip(handles, self._wraps, self._factories, self._in_order, strict=True)
        for handle, wrap, factory, in_order in each_result:
            written = None if handle.argument is None else donated.get(handle.argument)
            if written is not None and in_order and written.shape == handle.shape and written.dtype is handle.dtype:
                buffer_of(written).keep(handle, written.untyped_storage().nbytes())
                results.append(written)
            elif factory is not None:
                results.append(factory.keep(handle))
            else:
                results.append(handle.read() if wrap is None else wrap(handle.read()))
        return results

    def _handles(
        self, keeping: compilation.Keeping, tensors: Sequence[torch.Tensor], positions: Iterable[int]
    ) -> dict[int, Kept]:
        """Returns what a card has of some arguments and the program takes there, by position.

        Recorded ops that compute an argument run before. Views of what the card has are copied there.
        """
        found: dict[int, Kept] = {}
        copies: dict[int, torch.Tensor] = {}
        for position in positions:
            tensor = tensors[position]
            if tensor.is_cpu or position in self._views or (self._checks and not tensor.dtype.is_floating_point):
                continue
            buffer, order = buffer_of(tensor), self._order_of.get(position)
            if buffer.pending:
                synchronize_for(buffer)
            if buffer.kept is None or (order is not None and position in self._written):
                continue
            ordered = tensor if order is None else tensor.permute(order)
            handle = buffer.kept_for(ordered)
            if handle is not None:
                if keeping.takes(position, handle):
                    found[position] = handle
            elif position not in self._written:
                copies[position] = ordered.detach().clone(memory_format=torch.contiguous_format)
        for position, copy in copies.items():
            if buffer_of(copy).pending:
                synchronize_for(buffer_of(copy))
            if (handle := buffer_of(copy).kept_for(copy)) is not None and keeping.takes(position, handle):
                found[position] = handle
        return found

    def _has_new_placements(self, tensors: Sequence[torch.Tensor]) -> bool:
        """Records the placements of the arguments; returns whether they differ from those of the last call."""
        current = [placements.placement_of_argument(tensor) for tensor in tensors]
        for position, order in self._order_of.items():
            placement = current[position]
            current[position] = None if placement is None else placement.permuted(order)
        if self._chosen and self._settings is not None and self._has_compiled_placements(current):
            return False
        current = current if any(current) else []
        changed, self._placements = current != self._placements, current
        return changed

    def _has_compiled_placements(self, current: Sequence[Placement | None]) -> bool:
        """Whether the arguments have the placements that the program was compiled for, or those that it chose."""
        before = self._placements or [None] * len(current)
        triples = zip(current, before, self._chosen, strict=False)
        return all(now == (old or new) or (now is None and old is None) for now, old, new in triples)

    def _place(self, tensors: Sequence[torch.Tensor]) -> None:
        """Gives arguments without a placement the one that the compiler chose."""
        for position, (tensor, chosen) in enumerate(zip(tensors, self._chosen, strict=False)):
            if chosen is not None and not tensor.is_cpu and placements.placement_of(tensor) is None:
                placements.place(tensor, chosen.permuted(_inverse(self._order_of.get(position))))

    def _placed(self, results: list[torch.Tensor]) -> list[torch.Tensor]:
        """Gives the wrapped results of a program for several chips their placements, and returns them."""
        for tensor, placement, order in zip(results, self._result_placements or (), self._orders, strict=False):
            if placement is not None and not tensor.is_cpu:
                placements.place_result(buffer_of(tensor), placement.permuted(_inverse(order)))
        return results

    def _gather(self, tensors: list[Any], versions: list[int | None]) -> tuple[dict[int, torch.Tensor], set[int]]:
        """Replaces ``tt`` tensors by what the program reads, in place, and sets their versions.

        Returns:
            The arguments that get the program's results, by position, and the positions of those whose memory others
            read too.
        """
        donated: dict[int, torch.Tensor] = {}
        shared: set[int] = set()
        others = reuse_aliases(self._cached, tensors, versions)
        handles = {} if self._keeping is None else self._handles(self._keeping, tensors, others)
        for position in others:
            tensor = tensors[position]
            if tensor.is_cpu:
                continue
            if (handle := handles.get(position)) is not None:
                if position in self._written:
                    donated[position] = tensor
                if buffer_of(tensor).is_read:
                    shared.add(position)
                tensors[position] = handle
                continue
            if position in self._written and tensor.is_contiguous():
                donated[position] = tensor
                known = reuse_writable(self._writable.get(position), tensor)
                if known is None:
                    *known, self._writable[position] = resolve_argument(tensor, writes=True)
                buffer, tensors[position] = known
            elif position in self._offloaded and (stand_in := self._stand_in(position, tensor)) is not None:
                buffer = buffer_of(tensor)
                tensors[position] = stand_in
            else:
                buffer, tensors[position], self._cached[position] = resolve_argument(tensor)
            versions[position] = buffer.version
        return donated, shared

    def _offload(self, executable: Executable, spare: Mapping[int, Spare], args: list[Any]) -> None:
        """Offloads the host bytes of parameters that the program keeps in a form of its own."""
        for position, (version, stand_in, restore) in spare.items():
            is_argument = position < len(self._tensors) and position not in self._order_of
            tensor = args[self._tensors[position]] if is_argument else None
            if tensor is not None and not tensor.is_cpu and buffer_of(tensor).version == version:
                buffer_of(tensor).offload(executable, stand_in, restore)
                self._offloaded.add(position)

    def _stand_in(self, position: int, tensor: torch.Tensor) -> torch.Tensor | None:
        """Returns the stand-in for offloaded bytes when this program itself keeps them; otherwise None."""
        executable, offloaded = self._executable, buffer_of(tensor).offloaded
        if executable is None or offloaded is None or offloaded.program is not executable:
            return None
        return offloaded.stand_in if executable.accepts_stand_in(position, offloaded.stand_in) else None


def _reuse_input(
    result: torch.Tensor, wrap: Wrap | None, inputs: Mapping[int, torch.Tensor], *, in_order: bool
) -> torch.Tensor:
    """Wraps a result. Returns the input whose memory it fills, so that AOTAutograd's copy back to it costs nothing.

    Args:
        result: contiguous result of the program.
        wrap: how to wrap it.
        inputs: arguments that the program may write to, by address of their host memory.
        in_order: whether the program left the dimensions in the graph's order.
    """
    written = inputs.get(result.data_ptr())
    if written is not None and wrap is not None and in_order and result.shape == written.shape:
        return written
    return result if wrap is None else wrap(result if written is None else result.clone())


def _inverse(order: Sequence[int] | None) -> list[int] | None:
    return None if order is None else [order.index(axis) for axis in range(len(order))]


def _wrapper(fake: TensorSpec, order: Sequence[int] | None) -> Wrap | None:
    """Returns the function that converts the program's result to the graph's; None if the two are the same.

    Args:
        fake: what the graph's result is like.
        order: permutation that the program applied to its dimensions, or None.
    """
    inverse = _inverse(order)
    if fake.device.type != DEVICE_TYPE:
        return None if inverse is None else lambda result: result.permute(inverse)
    size = [fake.shape[axis] for axis in order] if order is not None else [*fake.shape]
    stride = contiguous_strides(size)
    strides = stride if inverse is None else [stride[axis] for axis in inverse]
    return TensorFactory(fake.dtype, fake.shape, strides, fake.device.index or 0).lift


__all__ = ["Executor", "Loading"]
