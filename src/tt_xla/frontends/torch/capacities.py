"""Compiled graphs whose sizes are symbols: one program for all sizes up to a capacity.

Dynamo makes a size symbolic that was seen to change, or that ``mark_dynamic`` or ``dynamic=True`` names. The graph is
traced once with symbols (:mod:`.symbolic`); a call takes the program of the least capacities that hold its sizes
(:func:`~tt_xla.frontends.capacity.sizes.step_capacity`). Arguments are padded with zeros, results are cut.
"""

from __future__ import annotations

import functools
import logging
import math
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np
import torch
from jax.export import is_symbolic_dim
from jax.extend.core import ClosedJaxpr
from torch.fx.experimental.symbolic_shapes import free_symbols, free_unbacked_symbols

from tt_xla.errors import TTXLAError, UnsupportedOpError
from tt_xla.frontends.capacity.program import PaddedProgram, SymbolicProgram
from tt_xla.frontends.capacity.sizes import integer_value, step_capacity, symbols_of
from tt_xla.frontends.torch import settings, symbolic
from tt_xla.frontends.torch.device.buffers import buffer_of, resolve_argument
from tt_xla.frontends.torch.device.chips import DEVICE_TYPE
from tt_xla.frontends.torch.device.geometry import contiguous_strides, memory_order
from tt_xla.frontends.torch.device.kinds import has_few_integers
from tt_xla.frontends.torch.device.tensor_factory import factory_for
from tt_xla.frontends.torch.executor import Executor, TensorSpec
from tt_xla.frontends.torch.extras import Sampler
from tt_xla.frontends.torch.lowering import Argument, Lowering, tracing
from tt_xla.frontends.torch.outputs import assembled
from tt_xla.log import logger

_TILE = 32
"""Least capacity of a size that is no first one of an input, such as a batch: fewer elements fill a tile anyway."""

Sizes = tuple[Any, ...]
"""Sizes of a tensor: ints and expressions of JAX's symbols."""


def has_symbols(graph_module: torch.fx.GraphModule) -> bool:
    """Returns whether sizes of a graph are symbols whose values its inputs give."""
    values = [node.meta.get("val") for node in graph_module.graph.nodes]
    tensors = [value for value in values if isinstance(value, torch.Tensor)]
    found = set[Any]().union(*(free_symbols(value.shape) for value in tensors))
    return bool(found) and not any(free_unbacked_symbols(value.shape) for value in tensors)


@dataclass(frozen=True)
class _Result:
    """Describes a result of a graph.

    Attributes:
        dtype: element type.
        sizes: sizes.
        order: dimensions from the outermost in memory to the innermost; None for a contiguous result.
        device: device.
    """

    dtype: torch.dtype
    sizes: Sizes
    order: tuple[int, ...] | None
    device: torch.device

    def contents(self, padded: torch.Tensor, symbols: Mapping[str, int]) -> torch.Tensor | PaddedContents:
        """Returns the elements in the order of the dimensions, given a program's result on the CPU."""
        sizes = tuple(integer_value(size, symbols) for size in self.sizes)
        if padded.shape == sizes:
            return padded
        return _cut(padded, sizes) if has_few_integers(self.dtype, sizes) else PaddedContents(padded, sizes)

    def made(self, padded: torch.Tensor, symbols: Mapping[str, int]) -> torch.Tensor:
        """Returns the result, given a program's result on the same device, whose valid elements are the first ones."""
        sizes = tuple(integer_value(size, symbols) for size in self.sizes)
        if padded.shape == sizes and self.order is None:
            return padded
        strides = contiguous_strides(sizes)
        if self.order is not None:
            steps = contiguous_strides([sizes[axis] for axis in self.order])
            strides = tuple(steps[self.order.index(axis)] for axis in range(len(sizes)))
        if self.device.type != DEVICE_TYPE:
            return _cut(padded, sizes, self.order).as_strided(sizes, strides)
        factory = factory_for(self.dtype, sizes, strides, self.device.index or 0)
        if self.order is None and not has_few_integers(self.dtype, sizes):
            return factory.keep(PaddedContents(padded, sizes))
        return factory.lift(_cut(_on_host(padded), sizes, self.order))


def _cut(padded: torch.Tensor, sizes: Sequence[int], order: Sequence[int] | None = None) -> torch.Tensor:
    """Returns the valid elements of a CPU tensor as a contiguous tensor, its dimensions in another order."""
    for axis, size in enumerate(sizes):
        padded = padded.narrow(axis, 0, size)
    return (padded if order is None else padded.permute(order)).contiguous()


def _on_host(tensor: torch.Tensor) -> torch.Tensor:
    return tensor if tensor.is_cpu else resolve_argument(tensor)[1]


class PaddedContents:
    """The contents of a tensor of the device, as the valid elements of a longer one, which programs take as it is.

    Args:
        padded: the longer tensor of the device, with zeros behind the valid elements.
        sizes: the sizes of the valid elements.
    """

    argument = None

    def __init__(self, padded: torch.Tensor, sizes: tuple[int, ...]) -> None:
        self.padded = padded
        self.shape = sizes
        self.dtype = padded.dtype
        self.nbytes = math.prod(sizes) * padded.dtype.itemsize

    def read(self) -> torch.Tensor:
        """Returns the valid elements as a contiguous CPU tensor of its own."""
        return _cut(_on_host(self.padded), self.shape).clone()


def _ranges(sizes: Sequence[torch.SymInt]) -> Mapping[Any, Any]:
    """Returns the least and greatest values of symbols."""
    return sizes[0].node.shape_env.var_to_range


def _described(value: torch.Tensor) -> _Result:
    sizes = tuple(map(symbolic.size, value.shape))
    order = memory_order([*map(symbolic.hint, value.shape)], [*map(symbolic.hint, value.stride())])
    in_order = order is None or tuple(order) == tuple(range(len(sizes)))
    return _Result(value.dtype, sizes, None if in_order else tuple(order), value.device)


class CapacityExecutor:
    """A compiled graph with symbolic sizes, as AOTAutograd calls it.

    Args:
        graph_module: the graph, whose nodes carry fake tensors.
        arguments: description of each placeholder.
        options: compile options of this model.
        chip: the chip that runs recorded ops, by :meth:`run_values`; None for a graph of dynamo.

    Raises:
        NoRuleError: an op has no rule for the padding of its operands.
        UnsupportedOpError: an op cannot be compiled, or not with symbolic sizes.
    """

    _boxed_call = True  # the list of arguments may be emptied
    _fx_graph_cache_key = None  # PyTorch's cache does not store it

    def __init__(
        self,
        graph_module: torch.fx.GraphModule,
        arguments: list[Argument] | None,
        options: Mapping[str, Any],
        chip: int | None = None,
    ) -> None:
        self._options = options
        self._chip = chip
        self._current = threading.local()
        placeholders = graph_module.graph.find_nodes(op="placeholder")
        values = [node.meta.get("val") for node in placeholders]
        sizes = [size for value in values for size in _symbolic_sizes(value)]
        if not sizes:
            raise UnsupportedOpError("No size that changes is one of an input.")
        facts = symbolic.Facts(sizes)
        while not self._trace(graph_module, arguments, sizes, facts):
            pass
        lowering = self._lowering
        with symbolic.symbols(sizes, _ranges(sizes), facts.constraints):
            self._results = [_described(node.meta["val"]) for node in lowering.results]
            self._readers = _readers(self._program.symbols, values)
            shown = {str(size.node.expr) for size in sizes if size.node.expr.is_Symbol} - {*self._program.symbols}
            self._other_readers = _readers(sorted(shown), values)
            batches = {name for shape in self._program.shapes for name in symbols_of(shape[0] if shape else 0)}
            self._least = {name: 1 if name in batches else _TILE for name in self._program.symbols}
        self._executors: dict[tuple[int, ...], tuple[PaddedProgram, Executor]] = {}
        if chip is None and lowering.results:
            self._of_values([reader.hint for reader in self._readers])  # an op without a rule is found now
        elif lowering.results:
            self._check()

    def _trace(
        self,
        graph_module: torch.fx.GraphModule,
        arguments: list[Argument] | None,
        sizes: Sequence[torch.SymInt],
        facts: symbolic.Facts,
    ) -> bool:
        """Traces the graph; returns whether the facts about its sizes sufficed, to which one is added otherwise."""
        try:
            with symbolic.symbols(sizes, _ranges(sizes), facts.constraints):
                self._lowering = lowering = Lowering(graph_module, arguments)
                lowering.prepare(has_views=self._chip is None)  # recorded ops have results alone
                with tracing():
                    self._program = SymbolicProgram(_jaxpr_of(*lowering.traceable()))
            return True
        except symbolic.UndecidedError as error:
            if not facts.settle(error):
                raise UnsupportedOpError(error.message) from error
            return False

    def _check(self) -> None:
        """Finds an op without a rule before the first program is compiled."""
        padded = self._program.padded(self._capacities_of([reader.hint for reader in self._readers]))
        with tracing():
            jax.eval_shape(padded, *padded.arguments, *self._lengths)

    @property
    def _lengths(self) -> list[jax.ShapeDtypeStruct]:
        """The last arguments of each program: the values of the symbols."""
        return [jax.ShapeDtypeStruct((), np.dtype("int64"))] * len(self._readers)

    def _capacities_of(self, values: Sequence[int]) -> dict[str, int]:
        """Returns the capacities for some values of the symbols."""
        half_steps = settings.current().with_own(self._options).capacity_steps == "halves"
        offsets = self._program.offsets
        return {
            name: step_capacity(value + offsets.get(name, 0), self._least[name], half_steps=half_steps)
            for name, value in zip(self._program.symbols, values, strict=True)
        }

    def has_program(self, args: Sequence[Any]) -> bool:
        """Returns whether there is a program for the sizes of some inputs of the graph."""
        return tuple(self._capacities_of([*self._symbols(args).values()]).values()) in self._executors

    def prepare(self, args: Sequence[Any]) -> None:
        """Compiles the program for the sizes of some inputs of the graph."""
        self._of_values([*self._symbols(args).values()])

    def _of_values(self, values: Sequence[int]) -> tuple[PaddedProgram, Executor]:
        """Returns the program for some values of the symbols."""
        capacities = self._capacities_of(values)
        key = tuple(capacities.values())
        found = self._executors.get(key)
        if found is None:
            found = self._executors[key] = self._compiled(capacities)
        return found

    def _compiled(self, capacities: Mapping[str, int]) -> tuple[PaddedProgram, Executor]:
        padded = self._program.padded(capacities)
        if logger().isEnabledFor(logging.INFO):
            names = [argument.name for argument in self._lowering.arguments]
            sizes = [f"{reader.described(names)} up to {capacities[reader.name]}" for reader in self._readers]
            logger().info("A program is compiled for %s.", " and ".join(sizes))
        with tracing():
            arguments = [*padded.arguments, *self._lengths]
            module = jax.jit(padded, keep_unused=True).lower(*arguments).compiler_ir("stablehlo")
        specs = [
            TensorSpec(result.dtype, shape, result.device if self._chip is None else torch.device("cpu"))
            for result, shape in zip(self._results, padded.results, strict=True)
        ]
        lengths = [_Length(name, self._current) for name in self._program.symbols]
        lowered = self._lowering.lowered(module, specs, lengths)
        lowered.chip = lowered.chip if self._chip is None else self._chip
        first = len(lowered.tensors)
        lowered.extras = [
            _PaddedSampler(make, padded.shapes[first + index], self._current)
            if isinstance(make, Sampler) and any(map(is_symbolic_dim, make.shape))
            else make
            for index, make in enumerate(lowered.extras)
        ]
        return padded, Executor(lowered, self._options)

    def __call__(self, args: list[Any]) -> Sequence[Any]:
        arrays, symbols = self._run(args, None)
        results = [result.made(array, symbols) for result, array in zip(self._results, arrays, strict=True)]
        symbols |= {reader.name: reader(args) for reader in self._other_readers}  # which the program needs not know
        value_of = functools.partial(integer_value, symbols=symbols)
        outputs = assembled(self._lowering.outputs, args, results, value_of)
        args.clear()
        return outputs

    def _symbols(self, args: Sequence[Any]) -> dict[str, int]:
        """Returns the values of the symbols in a call."""
        return {reader.name: reader(args) for reader in self._readers}

    def run_values(self, args: Sequence[Any], versions: Sequence[int | None]) -> list[torch.Tensor | PaddedContents]:
        """Runs the program of recorded ops for the sizes of some arguments.

        Args:
            args: inputs of the graph: CPU tensors, or :class:`PaddedContents`.
            versions: content versions of the inputs; None for one that changes unnoticed.

        Returns:
            The elements of each result, in the order of its dimensions.
        """
        arrays, symbols = self._run(args, versions)
        return [result.contents(array, symbols) for result, array in zip(self._results, arrays, strict=True)]

    def _run(
        self, args: Sequence[Any], versions: Sequence[int | None] | None
    ) -> tuple[list[torch.Tensor], dict[str, int]]:
        """Returns what the program computes, with its padding, and the values of the symbols."""
        symbols = self._symbols(args)
        if not self._results:
            return [], symbols
        program, executor = self._of_values([*symbols.values()])
        if getattr(self._current, "program", None) is not program and logger().isEnabledFor(logging.INFO):
            self._report(program, executor, symbols)
        self._current.symbols, self._current.program = symbols, program
        padded = list(args)
        for index, position in enumerate(self._lowering.tensors):
            if any(map(is_symbolic_dim, self._program.shapes[index])):
                padded[position] = _padded(args[position], program.shapes[index])
            elif isinstance(args[position], PaddedContents):
                padded[position] = args[position].read()
        return executor.run(padded, versions), symbols

    def _report(self, program: PaddedProgram, executor: Executor, symbols: Mapping[str, int]) -> None:
        """Logs which program a call takes, when it is not that of the last call, and what its padding costs."""
        names = [argument.name for argument in self._lowering.arguments]
        sizes = [f"{reader.described(names)} is {symbols[reader.name]}" for reader in self._readers]
        shapes = zip(self._program.shapes, program.shapes, strict=True)
        padded = [pair for pair in shapes if any(map(is_symbolic_dim, pair[0]))]
        valid = sum(math.prod(integer_value(size, symbols) for size in shape) for shape, _ in padded)
        share = 1 - valid / max(sum(math.prod(shape) for _, shape in padded), 1)
        time = executor.predicted_us
        logger().info(
            "Where %s, the program takes inputs of %s elements, of which %.0f %% are padding%s.",
            " and ".join(sizes),
            " and ".join("x".join(map(str, shape)) for _, shape in padded[:3]) + (", ..." if padded[3:] else ""),
            100 * share,
            "" if time is None else f", and {time:,.0f} us on the chip by prediction",
        )


@dataclass(frozen=True)
class _Length:
    """Reads the value of a symbol in a call, whose arguments are padded by then.

    Attributes:
        name: the symbol.
        current: has the values of the symbols in this thread's call.
    """

    name: str
    current: threading.local

    def __call__(self, args: Sequence[Any]) -> int:
        return self.current.symbols[self.name]


@dataclass(frozen=True)
class _PaddedSampler:
    """Draws random numbers for the sizes of a call.

    Attributes:
        sampler: draws them for symbolic sizes.
        shape: shape of the program's argument.
        current: has the values of the symbols in this thread's call.
    """

    sampler: Sampler
    shape: Sequence[int]
    current: threading.local

    def __call__(self) -> torch.Tensor:
        sizes = tuple(integer_value(size, self.current.symbols) for size in self.sampler.shape)
        return _padded(replace(self.sampler, shape=sizes)(), self.shape)


def _jaxpr_of(forward: Callable[..., Any], specs: Sequence[jax.ShapeDtypeStruct]) -> ClosedJaxpr:
    """Traces a function.

    Raises:
        UndecidedError: what it does depends on what JAX cannot tell about sizes.
        UnsupportedOpError: a rule computes with a symbol as with a number.
    """
    try:
        return jax.make_jaxpr(forward)(*specs)
    except TTXLAError:
        raise
    except Exception as error:
        if (question := symbolic.undecided(error)) is not None:
            raise question from error
        raise UnsupportedOpError(str(error).split("\n")[0]) from error


def _padded(tensor: torch.Tensor | PaddedContents, shape: Sequence[int]) -> torch.Tensor:
    """Returns a contiguous tensor whose first elements are those of ``tensor``, and the others 0.

    A result of a program with the same capacities has such a tensor; otherwise it is a new one on the CPU.
    """
    contents = tensor
    if isinstance(tensor, torch.Tensor):
        contents = None if tensor.is_cpu else buffer_of(tensor).kept_for(tensor)
    if isinstance(contents, PaddedContents) and contents.padded.shape == tuple(shape):
        return contents.padded
    host = tensor.read() if isinstance(tensor, PaddedContents) else _on_host(tensor).detach()
    result = torch.zeros(tuple(shape), dtype=host.dtype, device="cpu")
    part = result
    for axis, size in enumerate(host.shape):
        part = part.narrow(axis, 0, size)
    part.copy_(host)
    return result


def _symbolic_sizes(value: Any) -> list[torch.SymInt]:
    sizes = [value] if isinstance(value, torch.SymInt) else value.shape if isinstance(value, torch.Tensor) else ()
    return [size for size in sizes if isinstance(size, torch.SymInt)]


@dataclass(frozen=True)
class _Reader:
    """Reads the value of a symbol from the inputs of a graph.

    Attributes:
        name: the symbol.
        position: position of an input.
        axis: the dimension of the input whose size it is; None where the input is the number itself.
        hint: the value in the call that was traced.
        shown: position and dimension of a tensor that has the size, for messages; None if there is none.
    """

    name: str
    position: int
    axis: int | None
    hint: int
    shown: tuple[int, int] | None = None

    def described(self, names: Sequence[str]) -> str:
        """Returns the symbol in words, given the names of the inputs."""
        if self.shown is not None:
            position, axis = self.shown
            return f"dimension {axis} of {names[position]}"
        return f"the number {names[self.position]}"

    def __call__(self, args: Sequence[Any]) -> int:
        value = args[self.position]
        return int(value if self.axis is None else value.shape[self.axis])


def _readers(names: Sequence[str], values: Sequence[Any]) -> list[_Reader]:
    """Returns readers of symbols, given the fake inputs of the graph.

    Raises:
        UnsupportedOpError: no input is, or has, the size.
    """
    found: dict[str, _Reader] = {}
    for position, value in enumerate(values):
        shape = value.shape if isinstance(value, torch.Tensor) else ()
        for axis, size in ((None, value), *enumerate(shape)):
            if isinstance(size, torch.SymInt) and size.node.expr.is_Symbol:
                name = str(size.node.expr)
                reader = found.setdefault(name, _Reader(name, position, axis, symbolic.hint(size)))
                if axis is not None and reader.shown is None:
                    found[name] = replace(reader, shown=(position, axis))
    for name in names:
        if name not in found:
            raise UnsupportedOpError(f"The size {name} of the graph is no size of an input.")
    return [found[name] for name in names]


__all__ = ["CapacityExecutor", "has_symbols"]
