"""Functions that move, convert and free tensors, and those that read and write them on the host."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tt_xla.ttnn_api import conditions, signatures, tensor_files
from tt_xla.ttnn_api.devices import MeshDevice
from tt_xla.ttnn_api.distribution import DEFAULTS
from tt_xla.ttnn_api.enums import DataType, Layout
from tt_xla.ttnn_api.errors import TTFatal
from tt_xla.ttnn_api.geometry import MemoryConfig
from tt_xla.ttnn_api.operation import OPERATIONS, operation
from tt_xla.ttnn_api.plan import Operand, Step
from tt_xla.ttnn_api.tensor import Contents, Tensor


@operation("ttnn.to_device")
def to_device(tensor: Operand, device: MeshDevice, memory_config: MemoryConfig | None) -> Step:
    """Copies a tensor to a device."""
    result = tensor.type.with_(on_device=True, memory=memory_config)
    return Step("ttnn.to_device", {"input": tensor}, [result], device=device)


@operation("ttnn.from_device")
def from_device(tensor: Operand) -> Step:
    """Copies a tensor to the host."""
    return Step("ttnn.from_device", {"input": tensor}, [tensor.type.with_(on_device=False)])


@operation("ttnn.to_layout")
def to_layout(tensor: Operand, layout: Layout, dtype: DataType | None, memory_config: MemoryConfig | None) -> Step:
    """Turns rows into tiles or tiles into rows. The data type stays on the host, and where there is nothing to turn.

    Block floats stay in tiles on the host, and become bfloat16 on the device.

    Raises:
        TTFatal: rows are asked for in another data type.
    """
    block = tensor.dtype.element.is_block_float
    if block and not tensor.type.on_device:
        layout = tensor.layout
    if not tensor.type.on_device or layout is tensor.layout:
        dtype = None
    if layout is not tensor.layout and layout is Layout.ROW_MAJOR:
        if dtype not in (None, tensor.dtype, DataType.BFLOAT16 if block else None):
            raise TTFatal(
                "dtype cannot be different from tensor dtype when converting to ROW_MAJOR_LAYOUT on device (allowed "
                "exception: BFLOAT8_B -> BFLOAT16, which untilize handles natively)!",
                hint="Convert the tensor with ttnn.typecast before or after.",
            )
        dtype = DataType.BFLOAT16 if block else None
    result = tensor.type.with_(layout=layout, dtype=dtype, memory=memory_config)
    return Step("ttnn.to_layout", {"input": tensor}, [result])


@operation("ttnn.to_dtype", composite=True)
def to_dtype(tensor: Tensor, dtype: DataType) -> Tensor:
    """Converts a host tensor. A block float exists in tiles only."""
    from tt_xla.ttnn_api.conversion import held

    if tensor.type.on_device:
        raise TTFatal("to_dtype: input tensor must be on host", hint="Convert it on the device with ttnn.typecast.")
    layout = Layout.TILE if dtype.element.is_block_float else tensor.layout
    shards = [held(shard, dtype) for shard in tensor.contents.shards]
    return Tensor.of(tensor.type.with_(dtype=dtype, layout=layout), Contents(shards, None), None, tensor.topology)


@operation("ttnn.typecast")
def typecast(
    input_tensor: Operand,
    dtype: DataType | None,
    output_dtype: DataType | None,
    memory_config: MemoryConfig | None,
    output_tensor: Operand | None,
) -> Step:
    """Converts each element to another data type.

    Raises:
        TTFatal: the result would be distributed in another way than the tensor.
    """
    result = input_tensor.type.with_(dtype=dtype or output_dtype, memory=memory_config)
    made = result if output_tensor is None else output_tensor.type
    if made.dtype is not result.dtype:
        raise TTFatal(
            "If both output dtype and output tensor provided dtype should match",
            hint=f"Make the tensor that receives the result with dtype={result.dtype}.",
        )
    own, other = (f"TensorMemoryLayout::{each.memory.memory_layout.name}" for each in (input_tensor.type, made))
    if own != other and input_tensor.type.on_device:
        raise TTFatal(
            f"Typecast operation requires Input and Output memory layout to match. Input layout: {own}, Output layout: "
            f"{other}",
            hint="Move the result with ttnn.to_memory_config.",
        )
    return Step("ttnn.typecast", {"input": input_tensor}, [result], into=output_tensor)


@operation("ttnn.to_memory_config")
def to_memory_config(
    tensor: Operand, memory_config: MemoryConfig, dtype: DataType | None, output_tensor: Operand | None
) -> Step:
    """Moves a tensor within the device."""
    result = tensor.type.with_(memory=memory_config, dtype=dtype)
    return Step("ttnn.to_memory_config", {"input": tensor}, [result], into=output_tensor)


@operation("ttnn.clone")
def clone(input: Operand, dtype: DataType | None, memory_config: MemoryConfig | None) -> Step:
    """Copies a tensor."""
    return Step("ttnn.assign", {"input": input}, [input.type.with_(dtype=dtype, memory=memory_config)])


@operation("ttnn.move", "ttnn.reallocate")
def move(input_tensor: Operand | None, tensor: Operand | None, memory_config: MemoryConfig | None) -> Step:
    """Moves a tensor to another address, which may be its own: its memory is free before the result takes its."""
    source = input_tensor or tensor
    assert source is not None
    result = source.type.with_(memory=memory_config)
    return Step("ttnn.assign", {"input": source}, [result], frees=source, moves=True)


@operation("ttnn.copy")
def copy(input_a: Operand, input_b: Operand) -> Step:
    """Copies the elements of a tensor into another one of the same shape and layout.

    Raises:
        TTFatal: a tensor lies on the host, or rows would be converted.
    """
    conditions.check_on_device("Device Operations expect device tensors as inputs", input_a, input_b)
    op = "ttnn.to_memory_config" if input_a.dtype is input_b.dtype else "ttnn.assign"
    if op == "ttnn.assign" and input_a.layout is input_b.layout is Layout.ROW_MAJOR:
        raise TTFatal(
            "Only tile layout supports dtype conversion",
            hint="Convert the tensor with ttnn.to_layout(tensor, ttnn.TILE_LAYOUT).",
        )
    return Step(op, {"input": input_a}, [input_a.type], into=input_b)


@operation("ttnn.copy_host_to_device_tensor")
def copy_host_to_device_tensor(host_tensor: Operand, device_tensor: Operand) -> Step:
    """Copies the elements of a host tensor into a device tensor."""
    if host_tensor.shape != device_tensor.shape or host_tensor.dtype is not device_tensor.dtype:
        raise TTFatal(
            f"Host tensor has different shape or data type: {host_tensor.shape} {host_tensor.dtype} and "
            f"{device_tensor.shape} {device_tensor.dtype}",
            hint="Make both tensors alike.",
        )
    if host_tensor.layout is not device_tensor.layout:
        raise TTFatal(
            "Host tensor has different page config", hint="Convert it with ttnn.to_layout before it is copied."
        )
    return Step("ttnn.to_device", {"input": host_tensor}, [device_tensor.type], into=device_tensor)


@operation("ttnn.deallocate", composite=True)
def deallocate(tensor: Tensor, force: bool) -> None:
    """Frees the memory of a tensor."""
    tensor.deallocate(force)


@operation("ttnn.from_torch", composite=True)
def from_torch(
    tensor: Any,
    dtype: DataType | None,
    layout: Layout | None,
    device: MeshDevice | None,
    memory_config: MemoryConfig | None,
    mesh_mapper: Any,
    spec: Any,
) -> Tensor | None:
    """Returns a torch tensor or an array as a tensor of TT-NN; None for None."""
    import torch

    from tt_xla.ttnn_api.conversion import tensor_of

    if tensor is None:
        return None
    if not (isinstance(tensor, torch.Tensor) or hasattr(tensor, "__array_interface__")):
        raise signatures.refused("ttnn.from_torch", [tensor], {})
    if spec is not None:
        dtype, layout, memory_config = spec.dtype, spec.layout, spec.memory_config
    made = tensor_of(tensor, None, dtype, layout)
    mapper = mesh_mapper or DEFAULTS.get("mesh_mapper")
    if mapper is not None:
        made = mapper.split(made)
    return made if device is None else OPERATIONS["ttnn.to_device"](made, device, memory_config)


@operation("ttnn.as_tensor", composite=True)
def as_tensor(
    tensor: Any,
    dtype: DataType | None,
    layout: Layout | None,
    device: MeshDevice | None,
    memory_config: MemoryConfig | None,
    preprocess: Any,
    mesh_mapper: Any,
    cache_file_name: str | Path | None,
) -> Tensor | None:
    """Returns a torch tensor as a tensor of TT-NN; no file is written.

    Raises:
        TTFatal: a device is given, and no memory config.
    """
    if device is not None and memory_config is None:
        raise TTFatal("memory_config must be specified when device is specified", hint="Pass ttnn.DRAM_MEMORY_CONFIG.")
    source = tensor if preprocess is None else preprocess(tensor)
    return from_torch(source, dtype, layout, device, memory_config, mesh_mapper, None)


@operation("ttnn.to_torch", composite=True)
def to_torch(tensor: object, dtype: Any, torch_rank: int | None, mesh_composer: Any, device: object) -> Any:
    """Returns a tensor of TT-NN as a torch tensor, which lies on the CPU whatever ``device`` says.

    Raises:
        TypeError: it is none of TT-NN's.
    """
    from tt_xla.ttnn_api.conversion import to_torch as converted

    if not isinstance(tensor, Tensor):
        raise signatures.refused("ttnn.to_torch", [tensor], {})
    composer = mesh_composer or DEFAULTS.get("mesh_composer")
    result = converted(tensor if composer is None else composer.join(tensor), dtype)
    while torch_rank is not None and result.ndim > torch_rank:
        if result.shape[0] != 1:
            raise RuntimeError("ttnn: Unable to squeeze to desired rank!")
        result = result.squeeze(0)
    return result


@operation("ttnn.load_tensor", composite=True)
def load_tensor(file_name: str | Path, device: MeshDevice | None) -> Tensor:
    """Reads a tensor file."""
    made = tensor_files.load(Path(file_name))
    return made if device is None else OPERATIONS["ttnn.to_device"](made, device)


@operation("ttnn.dump_tensor", composite=True)
def dump_tensor(file_name: str | Path, tensor: Tensor) -> None:
    """Writes a tensor file."""
    tensor_files.dump(Path(file_name), tensor)
