"""``torch.ops.tt.custom_call``: a call of a function that StableHLO does not define, by name."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import jax
import torch
from jax.extend.core import Primitive
from jax.interpreters import mlir
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from tt_xla.frontends.jax.custom_calls import custom_call
from tt_xla.frontends.torch.aten.registry import DTYPES, Array, Context, lower_named

_LIBRARY = torch.library.Library("tt", "FRAGMENT")
_LIBRARY.define("custom_call(Tensor[] tensors, str target, str config) -> Tensor[]")


def call(
    tensors: Sequence[torch.Tensor],
    target: str,
    shapes: Sequence[Sequence[int]],
    dtypes: Sequence[torch.dtype],
    **options: Any,
) -> list[torch.Tensor]:
    """Returns the results of a call. A program that has one of an unknown function can be exported, and not run.

    Args:
        tensors: operands.
        target: name of the function.
        shapes: shapes of the results.
        dtypes: dtypes of the results.
        options: keyword arguments of :func:`~tt_xla.frontends.jax.custom_calls.custom_call`, as JSON has them.
    """
    return torch.ops.tt.custom_call([*tensors], target, config_of(shapes, dtypes, **options))


def config_of(shapes: Sequence[Sequence[int]], dtypes: Sequence[torch.dtype], **options: Any) -> str:
    """Returns the argument ``config`` of the op."""
    results = [[[*shape], str(dtype).removeprefix("torch.")] for shape, dtype in zip(shapes, dtypes, strict=True)]
    return json.dumps({"results": results, "options": options})


@torch.library.register_fake("tt::custom_call")
def _shapes(tensors: list[torch.Tensor], target: str, config: str) -> list[torch.Tensor]:
    device = tensors[0].device if tensors else None
    return [
        torch.empty(shape, dtype=getattr(torch, dtype), device=device) for shape, dtype in json.loads(config)["results"]
    ]


_call = Primitive("tt_custom_call_by_name")
"""A custom call: its ``target``, the ``results`` as avals, and ``options`` as JSON."""
_call.multiple_results = True
_call.def_abstract_eval(lambda *operands, target, results, options: results)


def _lower(ctx: Any, *operands: Any, target: str, results: Any, options: str) -> list[Any]:
    types = [ir.RankedTensorType.get(aval.shape, mlir.dtype_to_ir_type(aval.dtype)) for aval in results]
    given: dict[str, Any] = {"backend_config": "", **json.loads(options)}
    if len(types) == 1:
        return custom_call(target, types, operands, **given)
    (together,) = custom_call(target, [ir.TupleType.get_tuple(types)], operands, **given)
    return [stablehlo.GetTupleElementOp(together, index).result for index in range(len(types))]


mlir.register_lowering(_call, _lower)


@lower_named("tt::custom_call")
def _lowered(ctx: Context, arrays: Sequence[Array], target: str, config: str) -> list[Array]:
    given = json.loads(config)
    results = tuple(jax.core.ShapedArray(shape, DTYPES[getattr(torch, dtype)]) for shape, dtype in given["results"])
    return _call.bind(*arrays, target=target, results=results, options=json.dumps(given["options"]))


def _place(where: str) -> Any:
    """Returns a rule by which a tensor may be in a memory."""
    options = {"has_side_effect": True, "frontend_attributes": {"_xla_buffer_placement": where}}

    def rule(ctx: Context, x: Array) -> Array:
        aval = jax.core.ShapedArray(x.shape, x.dtype)
        (result,) = _call.bind(x, target="annotate_device_placement", results=(aval,), options=json.dumps(options))
        return result

    return rule


lower_named("xla::place_to_host")(_place("pinned_host"))
lower_named("xla::place_to_device")(_place("device"))
