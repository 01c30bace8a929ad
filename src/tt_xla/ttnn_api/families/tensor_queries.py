"""Functions that say what a tensor, a data type or the card is like."""

from __future__ import annotations

from typing import Any

from tt_xla.ttnn_api.enums import DataType, StorageType
from tt_xla.ttnn_api.geometry import TILE_SIZE, Tile
from tt_xla.ttnn_api.operation import operation
from tt_xla.ttnn_api.tensor import Tensor


@operation("ttnn.is_tensor_storage_on_device", composite=True)
def is_tensor_storage_on_device(tensor: Tensor) -> bool:
    """Returns whether a tensor lies on a device."""
    return tensor.storage_type() is StorageType.DEVICE


@operation("ttnn.has_storage_type_of", composite=True)
def has_storage_type_of(tensor: Tensor, storage_type: StorageType) -> bool:
    """Returns whether a tensor lies where ``storage_type`` says."""
    return tensor.storage_type() is storage_type


@operation("ttnn.has_tile_padding", composite=True)
def has_tile_padding(tensor: Tensor, dim: int | None) -> bool:
    """Returns whether tiles have padding, in one dimension or in any."""
    pairs = list(zip(tensor.shape, tensor.padded_shape, strict=True))
    return any(size != full for size, full in (pairs if dim is None else [pairs[dim]]))


@operation("ttnn.element_size", composite=True)
def element_size(dtype: DataType) -> int:
    """Returns the bytes of an element."""
    return dtype.element.element_bytes


@operation("ttnn.tile_size", composite=True)
def tile_size(dtype: DataType) -> int:
    """Returns the bytes of a tile of 32 by 32 elements."""
    return Tile((TILE_SIZE, TILE_SIZE)).get_tile_size(dtype)


@operation("ttnn.ttnn_dtype_to_torch_dtype", composite=True)
def ttnn_dtype_to_torch_dtype(dtype: DataType) -> Any:
    """Returns the torch dtype that ``ttnn.to_torch`` gives elements of a data type."""
    from tt_xla.ttnn_api.conversion import torch_dtype

    return torch_dtype(dtype)


@operation("ttnn.pearson_correlation_coefficient", composite=True)
def pearson_correlation_coefficient(expected: Any, actual: Any) -> float:
    """Returns Pearson's correlation of two tensors; 1 if they are equal."""
    import torch

    from tt_xla.ttnn_api.conversion import to_torch

    left, right = (
        (to_torch(each) if isinstance(each, Tensor) else each).flatten().to(torch.float64)
        for each in (expected, actual)
    )
    if torch.equal(left, right):
        return 1.0
    return float(torch.corrcoef(torch.stack([left, right]))[0, 1])


@operation("ttnn.get_arch_name", composite=True)
def get_arch_name() -> str:
    """Returns the generation of the emulated chips."""
    from tt_xla import environment
    from tt_xla.target import load_target

    return load_target(environment.selected_system()).arch
