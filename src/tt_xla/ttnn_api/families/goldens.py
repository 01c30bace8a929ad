"""Golden functions: what an operation computes, as a function of torch tensors.

An operation without a golden function of a user's own has one that executes it in float32, by the rules of IEEE 754.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tt_xla.ttnn_api.devices import MeshDevice, scratch_device
from tt_xla.ttnn_api.enums import DataType, Layout
from tt_xla.ttnn_api.errors import TTFatal
from tt_xla.ttnn_api.operation import GOLDENS, OPERATIONS, Operation, operation, unrefused
from tt_xla.ttnn_api.tensor import Tensor

if TYPE_CHECKING:
    import torch

_ALIASES = {"ttnn.mul": "ttnn.multiply", "ttnn.sub": "ttnn.subtract", "ttnn.div": "ttnn.divide"}
"""Operations that are one in TT-NN."""


def _name(of: object) -> str:
    name = of.__name__ if isinstance(of, Operation) else str(getattr(of, "__name__", of))
    return _ALIASES.get(name, name)


@operation("ttnn.attach_golden_function", composite=True)
def attach_golden_function(
    operation: object,
    golden_function: Callable[..., Any],
    preprocess_golden_function_inputs: Callable[..., Any] | None,
    postprocess_golden_function_outputs: Callable[..., Any] | None,
    output_tensor_kwarg_names: Sequence[str],
) -> None:
    """Gives an operation a golden function."""
    GOLDENS[_name(operation)] = golden_function


@operation("ttnn.get_golden_function", composite=True)
def get_golden_function(operation: object) -> Callable[..., Any]:
    """Returns the golden function of an operation: the attached one, or the operation itself in float32.

    Raises:
        RuntimeError: ``operation`` is no operation.
    """
    name = _name(operation)
    if name in GOLDENS:
        return GOLDENS[name]
    if name not in OPERATIONS:
        raise RuntimeError(f"{name} does not have a golden function. Attach one with ttnn.attach_golden_function.")
    return functools.partial(_in_float32, OPERATIONS[name])


@operation("ttnn.get_fallback_function", composite=True)
def get_fallback_function(operation: Operation) -> Callable[..., Any]:
    """Returns a function of tensors of TT-NN that computes an operation by its golden function, else the operation."""
    golden = GOLDENS.get(_name(operation))
    if golden is None:
        return operation

    def fallback(*arguments: Any, **keywords: Any) -> Any:
        from tt_xla.ttnn_api.conversion import to_torch

        tensors = [each for each in (*arguments, *keywords.values()) if isinstance(each, Tensor)]

        def host(value: Any) -> Any:
            return to_torch(value) if isinstance(value, Tensor) else value

        result = golden(*map(host, arguments), **{name: host(value) for name, value in keywords.items()})
        return _mapped(result, lambda tensor: _like(tensor, tensors[0]) if tensors else tensor)

    return fallback


def _like(result: torch.Tensor, tensor: Tensor) -> Tensor:
    """Returns a torch tensor with the data type, layout and device of a tensor."""
    from tt_xla.ttnn_api.conversion import tensor_of

    device = tensor.device()
    made = tensor_of(result, None, tensor.dtype, tensor.layout)
    return made if device is None else OPERATIONS["ttnn.to_device"](made, device, tensor.memory_config())


def _in_float32(operation: Operation, *arguments: Any, **keywords: Any) -> Any:
    """Executes an operation on torch tensors in float32."""
    from tt_xla.ttnn_api.conversion import to_torch
    from tt_xla.ttnn_api.engine import exact_numerics

    keywords = {
        name: value
        for name, value in keywords.items()
        if name not in ("memory_config", "device") and not (isinstance(value, DataType) and value.element.is_float)
    }
    failure: TTFatal | None = None
    with exact_numerics(), unrefused():
        for layout in (Layout.TILE, Layout.ROW_MAJOR):
            device = scratch_device()
            on_device = functools.partial(_mapped, change=functools.partial(_on_device, device, layout))
            try:
                options = {name: on_device(value) for name, value in keywords.items()}
                result = operation(*map(on_device, arguments), **options)
            except TTFatal as error:
                failure = failure or error
                continue
            return _mapped(result, to_torch)
    assert failure is not None
    raise failure


def _on_device(device: MeshDevice, layout: Layout, tensor: torch.Tensor) -> Tensor:
    from tt_xla.ttnn_api.conversion import tensor_of

    dtype = DataType.FLOAT32 if tensor.is_floating_point() else DataType.UINT32 if layout is Layout.ROW_MAJOR else None
    made = tensor_of(tensor, None, dtype or DataType.INT32, layout)
    return OPERATIONS["ttnn.to_device"](made, device, None)


def _mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    """Returns a value with its tensors changed."""
    if isinstance(value, (list, tuple)):
        return [_mapped(each, change) for each in value]
    return change(value) if isinstance(value, Tensor) or type(value).__module__ == "torch" else value
