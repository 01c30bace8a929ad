"""The record of calls that ``ttnn.graph`` captures: functions, tensors, and the memory that they take and free.

Nodes have the form of TT-NN's. A function is a function of ``ttnn``, and its duration is the predicted device time.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tt_xla.ttnn_api.memory import Buffer

Node = dict[str, Any]


class RunMode(enum.Enum):
    """Whether captured calls are executed. The emulated card executes them in both modes."""

    NORMAL = 0
    NO_DISPATCH = 1


CAPTURES: list[Capture] = []
"""Captures that have begun and not ended; the last one began last."""


@dataclass
class _Call:
    """A function that has started and not ended."""

    node: Node
    device: Any
    before_us: float


@dataclass
class Capture:
    """Nodes of calls, in the order in which they happen."""

    nodes: list[Node] = field(default_factory=lambda: [])
    _open: list[_Call] = field(default_factory=lambda: [])
    _tensors: dict[int, Node] = field(default_factory=lambda: {})
    """Last node of each tensor, by its number."""
    _buffers: dict[int, Node] = field(default_factory=lambda: {})

    def __post_init__(self) -> None:
        self._add("capture_start", {})

    def _add(self, kind: str, params: Mapping[str, Any], **fields: Any) -> Node:
        level = len(self._open) + (kind != "capture_start")
        node: Node = {"counter": len(self.nodes), "node_type": kind, "params": {**params}, "connections": []}
        node |= {"arguments": [], "input_tensors": [], "stacking_level": level, **fields}
        parent = self._open[-1].node if self._open else self.nodes[0] if self.nodes else None
        if parent is not None and kind != "tensor":
            parent["connections"].append(node["counter"])
        self.nodes.append(node)
        return node

    def start(self, name: str, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> None:
        """Adds the start of a function, and its tensors that are new to the capture."""
        tensors = [*_tensors_in([*arguments, *keywords.values()])]
        inputs = [self._tensor(tensor) for tensor in tensors]
        shown = [*map(_shown, arguments), *(f"{key}={_shown(value)}" for key, value in keywords.items())]
        node = self._add(
            "function_start",
            {"name": name, "inputs": str(len(arguments) + len(keywords))},
            arguments=shown,
            input_tensors=[each["counter"] for each in inputs],
        )
        for each in inputs:
            each["connections"].append(node["counter"])
        device = next((tensor.device() for tensor in tensors if tensor.device() is not None), None)
        self._open.append(_Call(node, device, device.predicted_us if device is not None else 0.0))

    def end(self, output: Any) -> None:
        """Adds the end of the function that started last, and its results."""
        call = self._open.pop()
        results = [*_tensors_in([output])]
        device = call.device or next((each.device() for each in results if each.device() is not None), None)
        spent = 0.0 if device is None else device.predicted_us - call.before_us
        node = self._add("function_end", {"name": call.node["params"]["name"]}, duration_ns=round(spent * 1000))
        for tensor in results:
            node["connections"].append(self._tensor(tensor, again=True)["counter"])

    def _tensor(self, tensor: Any, *, again: bool = False) -> Node:
        number = tensor.tensor_id
        if number not in self._tensors or again:
            params: dict[str, Any] = {"tensor_id": number, "shape": str(tensor.shape)}
            if tensor.is_allocated():
                on_device = tensor.device() is not None
                params |= {"dtype": f"DataType::{tensor.dtype.name}", "layout": f"Layout::{tensor.layout.name}"}
                params |= {"storage_type": "DEVICE" if on_device else "HOST"}
                params |= {"size": tensor.buffer_num_pages() * tensor.buffer_page_size()}
                if on_device:
                    memory = tensor.memory_config()
                    params |= {"address": tensor.buffer_address(), "memory_config": str(memory)}
                    params |= {"type": memory.buffer_type.name, "buffer_type": memory.buffer_type.value}
            self._tensors[number] = self._add("tensor", params)
        return self._tensors[number]

    def allocated(self, buffer: Buffer, kind: str, size: int, per_bank: int) -> None:
        """Adds a buffer and its allocation."""
        params = {"type": kind, "size": size}
        self._buffers[buffer.number] = self._add("buffer", params)
        self._add("buffer_allocate", params | {"address": buffer.address, "max_size_per_bank": per_bank})

    def freed(self, buffer: Buffer) -> None:
        """Adds that the memory of a buffer that was allocated during the capture is free."""
        node = self._buffers.pop(buffer.number, None)
        if node is not None:
            self._add("buffer_deallocate", node["params"])

    def finish(self) -> list[Node]:
        """Adds the end of the capture and returns all nodes."""
        self._open.clear()
        self._add("capture_end", {})
        return self.nodes


def _tensors_in(values: Any) -> Iterator[Any]:
    """Yields the tensors among values, lists and tuples."""
    for value in values:
        if hasattr(value, "tensor_id"):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _tensors_in(value)


def _shown(value: Any) -> str:
    return f"Tensor({value.tensor_id})" if hasattr(value, "tensor_id") else str(value)
