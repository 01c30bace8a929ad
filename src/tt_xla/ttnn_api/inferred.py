"""Operations whose kernels have TT-NN's own parameters: the types of their results follow from the kernel.

The kernel of such an operation takes tensors and numbers by the names that TT-NN's function has. It is run once on
torch's meta tensors, which have shapes alone, and so says what shapes the results have.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tt_xla.ttnn_api.configs import WormholeComputeKernelConfig, compute_config
from tt_xla.ttnn_api.devices import MeshDevice
from tt_xla.ttnn_api.enums import DataType, Layout
from tt_xla.ttnn_api.errors import TTFatal
from tt_xla.ttnn_api.layouts import Type, type_of
from tt_xla.ttnn_api.operation import define
from tt_xla.ttnn_api.plan import Operand, Step

if TYPE_CHECKING:
    import torch

_PLACED = ("memory_config", "dtype", "layout", "device", "op", "are_required_outputs")
"""Parameters that say what type results have, and which; a kernel that needs one takes it as well."""


def from_kernel(
    name: str,
    *,
    outputs: Sequence[str] = (),
    each_output: str = "",
    memory: Sequence[str] = ("memory_config",),
    dtype: DataType | Sequence[DataType | None] | None = None,
    layout: Layout | Sequence[Layout | str] | None = None,
    pack: Callable[[list[Any]], Any] | None = None,
    pack_for: Callable[[dict[str, Any]], Callable[[list[Any]], Any]] | None = None,
    prepare: Callable[[dict[str, Any]], dict[str, Any]] | None = None,
    also_takes: Sequence[str] = (),
) -> None:
    """Registers an operation whose kernel has the operation's name.

    Args:
        name: full name of TT-NN's function.
        outputs: by result, the parameter with the tensor that receives it.
        each_output: the parameter with a list of tensors that receive the results after those.
        memory: by result, the parameter with its memory config; the last one serves the rest.
        dtype: data type of the results, or of each; by default that of the parameter ``dtype``, or of the first tensor.
        layout: layout of the results, or of each, also by the name of an argument; by default that of the parameter
            ``layout``, or of the first tensor.
        pack: packs the list of results for the caller, such as ``tuple``; by default the only result, or the list.
        pack_for: returns ``pack`` for a call, from its arguments by name.
        prepare: checks the arguments of a call, and returns by name those that the kernel takes in their place.
        also_takes: parameters that the kernel lacks, and that ``prepare`` or ``pack_for`` read.
    """

    def rule(**values: Any) -> Step:
        values |= prepare(values) if prepare else {}
        taken = {each: values[each] for each in _parameters(name) if values.get(each) is not None}
        operands = {each: value for each, value in taken.items() if _is_tensor(value)}
        attributes = {each: _plain(value) for each, value in taken.items() if each not in operands}
        first = _first(operands)
        shapes = _shapes(name, operands, attributes)
        results: list[Type] = []
        into: list[Operand | None] = []
        receiving: list[Operand | None] = [values.get(each) for each in outputs] + list(values.get(each_output) or ())
        receiving += [None] * len(shapes)
        for index, (shape, output) in enumerate(zip(shapes, receiving, strict=False)):
            config = values.get(memory[min(index, len(memory) - 1)]) if memory else None
            into.append(output)
            if output is not None:
                if _without_ones(output.shape) != _without_ones(shape):
                    raise TTFatal(
                        f"{name}: output tensor has shape {output.shape}, expected {list(shape)}",
                        hint="Make the tensor that receives the result with this shape.",
                    )
                results.append(output.type)
                continue
            wanted = values.get("dtype") or (dtype[index] if isinstance(dtype, Sequence) else dtype)
            made = (layout[index] if isinstance(layout, Sequence) else layout) or values.get("layout")
            made = values[made] if isinstance(made, str) else made
            if first is None:
                results.append(type_of(shape, wanted or DataType.BFLOAT16, made or Layout.TILE, config))
            else:
                results.append(first.type.with_(shape=shape, dtype=wanted, layout=made, memory=config))
        device = next((each for each in values.values() if isinstance(each, MeshDevice)), None)
        packing = pack_for(values) if pack_for else pack
        return Step(name, operands, results, attributes, device=device, into=into, returns=packing)

    rule.__doc__ = f"Computes {name.removeprefix('ttnn.')}."
    define(
        name, rule, functools.partial(_named, name, tuple(filter(None, (*outputs, each_output, *memory, *also_takes))))
    )


def _without_ones(shape: Sequence[int]) -> list[int]:
    """Returns a shape without the sizes of 1 in front."""
    first = next((place for place, size in enumerate(shape) if size != 1), len(shape))
    return list(shape)[first:]


@functools.cache
def _parameters(name: str) -> Sequence[str]:
    from tt_xla.runtime.emulator.registry import find

    parameters = list(inspect.signature(find(name).function).parameters)
    return parameters[1:]


@functools.cache
def _named(name: str, also_takes: Sequence[str]) -> Sequence[str]:
    """Returns the parameters of TT-NN's function that its rule takes."""
    from tt_xla.ttnn_api import signatures

    known = {each for overload in signatures.overloads(name) for each in overload.names}
    return tuple(each for each in dict.fromkeys((*_parameters(name), *also_takes, *_PLACED)) if each in known)


def _is_tensor(value: object) -> bool:
    return isinstance(value, Operand) or (
        isinstance(value, (list, tuple)) and bool(value) and isinstance(value[0], Operand)
    )


def _plain(value: Any) -> Any:
    """Returns a value of TT-NN as a value of an instruction."""
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    if isinstance(value, WormholeComputeKernelConfig):
        return compute_config(value)
    return value.name if hasattr(value, "name") else value


def _first(operands: dict[str, Any]) -> Operand | None:
    for operand in operands.values():
        return operand if isinstance(operand, Operand) else operand[0]
    return None


def _shapes(name: str, operands: dict[str, Any], attributes: dict[str, Any]) -> list[Sequence[int]]:
    """Returns the shapes of the results.

    Raises:
        TTFatal: the kernel refuses the shapes.
    """
    import torch

    from tt_xla.runtime.emulator.containers import CONTAINERS
    from tt_xla.runtime.emulator.registry import find

    def empty(operand: Operand) -> torch.Tensor:
        return torch.empty(tuple(operand.shape), dtype=CONTAINERS[operand.dtype.element], device="meta")

    tensors = {
        each: empty(value) if isinstance(value, Operand) else [empty(item) for item in value]
        for each, value in operands.items()
    }
    try:
        results = find(name).function(None, **tensors, **attributes)
    except (RuntimeError, IndexError, ValueError) as error:
        shapes = ", ".join(
            f"{each} {list(value.shape)}" for each, value in operands.items() if isinstance(value, Operand)
        )
        raise TTFatal(f"{name}: {error}", hint=f"The shapes are {shapes}.") from error
    return [result.shape for result in (results if isinstance(results, tuple) else (results,))]
