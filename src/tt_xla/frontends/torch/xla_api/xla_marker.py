"""``torch_xla.experimental.xla_marker``: the op ``torch.ops.xla.mark_tensor``, which marks the ends of a composite."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from tt_xla.frontends.torch.graph.marks import check_attribute as _check_attribute
from tt_xla.frontends.torch.graph.marks import mark_tensor as _mark_tensor

_LIBRARY = torch.library.Library("xla", "FRAGMENT")
_LIBRARY.define("mark_tensor(Tensor x, str name, int pos, str id, bool is_input, Any? attr=None) -> Tensor")


@torch.library.impl(_LIBRARY, "mark_tensor", "CompositeImplicitAutograd")
def mark_tensor(x: torch.Tensor, name: str, pos: int, id: str, is_input: bool, attr: Any = None) -> torch.Tensor:
    """Returns the tensor itself, marked.

    Args:
        x: the tensor.
        name: name of the composite.
        pos: position among the inputs or the outputs of the group.
        id: identifier of the group.
        is_input: whether the tensor is an input of the group.
        attr: attributes of the composite from :func:`serialize_composite_attr`, on outputs.
    """
    attributes = "" if is_input else json.dumps(deserialize_composite_attr(attr) or {})
    return _mark_tensor(x, name, pos, id, is_input, attributes)


@torch.compiler.assume_constant_result
def serialize_composite_attr(attr: Mapping[str, Any] | None) -> tuple[tuple[str, Any], ...] | None:
    """Returns attributes of a composite as :func:`mark_tensor` takes them.

    Raises:
        TypeError: an attribute is neither a number, a bool, a string nor a list of numbers or of booleans.
    """
    if attr is None:
        return None
    for name, value in attr.items():
        _check_attribute("mark_tensor", name, value)
    return tuple(attr.items())


@torch.compiler.assume_constant_result
def deserialize_composite_attr(attr: Sequence[tuple[str, Any]] | None) -> dict[str, Any] | None:
    """Returns the attributes that :func:`serialize_composite_attr` took."""
    return None if attr is None else dict(attr)


__all__ = ["deserialize_composite_attr", "mark_tensor", "serialize_composite_attr"]
