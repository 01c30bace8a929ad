"""Makes packages of exported programs."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.export import ExportedProgram

from tt_xla.aot.format import FORMAT_VERSION, OWN_OPTIONS, Manifest, Package
from tt_xla.aot.model import Model
from tt_xla.aot.signature import Argument, Size, Symbol
from tt_xla.aot.structure import Structure, structure_of
from tt_xla.compiler.stablehlo.parse import portable_artifact
from tt_xla.environment import selected_system
from tt_xla.errors import OptionError, UnsupportedOpError
from tt_xla.frontends.torch import settings
from tt_xla.frontends.torch.exported import ExportedArgument, lower_exported
from tt_xla.frontends.torch.trees import tree_unflatten
from tt_xla.target import load_target


def package_of(
    exported: ExportedProgram, name: str, options: Mapping[str, Any], sizes: Sequence[Sequence[Any]]
) -> Package:
    """Returns the package of an exported program; see :func:`tt_xla.aot.package`."""
    lowered = lower_exported(exported, with_updates=True)
    if lowered.draws:
        raise UnsupportedOpError(
            "The exported program draws random numbers, and a package has none.",
            hint="Export the model in eval mode, or give it the random numbers as an input.",
        )
    chosen = settings.current().with_own(options)
    if chosen.auto_sharding:
        raise OptionError("Compile option 'auto_sharding' is set, and a package is for one chip.")
    weights = _Weights()
    state: dict[str, Any] = {**exported.state_dict, **exported.constants}
    for argument in lowered.arguments:
        weights.add(argument, None if argument.name is None else state[argument.name], exported)
    for position, constant in enumerate(lowered.constants):
        weights.add(ExportedArgument(constant, f"constant {position}"), constant, exported)
    symbols = {size.symbol for argument in weights.arguments for size in argument.symbolic_sizes}
    manifest = Manifest(
        FORMAT_VERSION,
        name,
        load_target(selected_system()).name,
        {option: value for option, value in chosen.as_dict().items() if option not in OWN_OPTIONS},
        tuple(weights.arguments),
        {
            str(symbol): Symbol(*_bounds(found))
            for symbol, found in exported.range_constraints.items()
            if str(symbol) in symbols
        },
        _structure(exported.call_spec.in_spec, None, "arguments"),
        {str(position): _plain(value, position) for position, value in lowered.numbers.items()},
        _structure(exported.call_spec.out_spec, lowered.results, "results"),
        sum(result is not None for result in lowered.results) + len(lowered.updates),
        tuple(target if isinstance(target, int) else weights.keys[target] for target in lowered.updates),
    )
    package = Package(manifest, portable_artifact(lowered.module), weights.contents)
    model = Model(package)
    args, kwargs = exported.example_inputs or ((), {})
    model.compile(*args, **kwargs)
    for each in sizes:
        model.compile(*each)
    return package


@dataclass
class _Weights:
    """Arguments of a package's programs, and the contents of those that are weights.

    Attributes:
        arguments: the arguments, in order.
        contents: contents of weights; weights that share their memory are there once.
        keys: names in ``contents`` by the weights' own names.
    """

    arguments: list[Argument] = field(default_factory=lambda: [])
    contents: dict[str, torch.Tensor] = field(default_factory=lambda: {})
    keys: dict[str, str] = field(default_factory=lambda: {})
    _known: dict[Any, str] = field(default_factory=lambda: {})

    def add(self, argument: ExportedArgument, value: torch.Tensor | None, exported: ExportedProgram) -> None:
        """Adds an argument and its contents, None for an input."""
        dtype = str(argument.value.dtype).removeprefix("torch.")
        name = argument.name
        if value is None or name is None:
            shape = tuple(_size(size) for size in argument.value.shape)
            name = [*exported.graph_signature.user_inputs][argument.position]
            self.arguments.append(Argument(str(name), dtype, shape, position=argument.position))
            return
        host = value.detach().to("cpu").resolve_conj().resolve_neg()
        memory = (host.untyped_storage().data_ptr(), host.storage_offset(), host.shape, host.stride(), host.dtype)
        key = self._known.setdefault(memory, name) if value.is_cpu else name
        if key not in self.contents:
            self.contents[key] = host.contiguous().clone()
        self.keys[name] = key
        self.arguments.append(Argument(name, dtype, tuple(host.shape), weight=key))


def _size(size: int | torch.SymInt) -> int | Size:
    """Returns a size of an input.

    Raises:
        UnsupportedOpError: it is no linear function of one symbol.
    """
    if isinstance(size, int):
        return size
    expression: Any = size.node.expr
    if expression.is_Integer:
        return int(expression)
    symbols = sorted(expression.free_symbols, key=str)
    times = expression.coeff(symbols[0])
    plus = expression - times * symbols[0]
    if len(symbols) > 1 or not (times.is_Integer and plus.is_Integer):
        raise UnsupportedOpError(
            f"An input of the exported program has the size {expression}; a package knows a symbol, and a multiple of "
            "one symbol plus a number.",
            hint="Give dimensions that depend on each other as such in dynamic_shapes of torch.export.export.",
        )
    return Size(str(symbols[0]), int(times), int(plus))


def _bounds(found: Any) -> tuple[int, int | None]:
    """Returns the bounds of a symbol. PyTorch's lower bound is 2 where it means any size, and its modules accept 1."""
    low = int(found.lower) if found.lower.is_Integer else 0
    return (low if low > 2 else 1), (int(found.upper) if found.upper.is_Integer else None)


def _structure(spec: Any, leaves: Sequence[Any] | None, what: str) -> Structure:
    """Returns the structure of arguments or results.

    Args:
        spec: PyTorch's structure.
        leaves: the leaves, of which those that are None are left out; None for a structure that has them all.
        what: what the values are, for the error.

    Raises:
        UnsupportedOpError: there is another class than tuple, list and dict.
    """
    numbers = itertools.count()
    chosen = range(spec.num_leaves) if leaves is None else [None if x is None else next(numbers) for x in leaves]
    try:
        return structure_of(tree_unflatten(chosen, spec))
    except TypeError as error:
        raise UnsupportedOpError(
            f"The {what} of the exported program have {error}; a package has tensors in tuples, lists and dicts, and "
            "numbers, texts and None.",
            hint="Export a module that takes and returns these.",
        ) from error


def _plain(value: Any, position: int) -> bool | int | float | str | None:
    """Returns an argument that is no tensor.

    Raises:
        UnsupportedOpError: it is neither a number, nor a text, nor None.
    """
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise UnsupportedOpError(
        f"Argument {position} of the exported program is {value!r}; a package has tensors, numbers, texts and None.",
        hint="Export a module that makes it itself.",
    )


__all__ = ["package_of"]
