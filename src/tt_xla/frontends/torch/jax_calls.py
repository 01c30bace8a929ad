"""``torch.ops.tt.call_jax``: an op whose results a function of JAX computes, traced for the shapes of its tensors.

A recorded or compiled call becomes part of the program around it. Its functions are named by their content, so that
programs in the cache on disk fit other processes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import jax
import torch
from jax.extend.core import jaxpr_as_fun
from torch import Tensor

from tt_xla.frontends.torch.aten.registry import DTYPES, Array, Context, cast, lower_named

_LIBRARY = torch.library.Library("tt", "FRAGMENT")
_LIBRARY.define("call_jax(Tensor[] tensors, str function) -> Tensor[]")

_TORCH_DTYPES = {dtype: name for name, dtype in DTYPES.items()}
_FUNCTIONS: dict[str, jax.stages.Traced] = {}
"""Functions by name."""


def register(traced: jax.stages.Traced) -> str:
    """Returns the name under which a function that JAX has traced can be called.

    Raises:
        TypeError: a result has a dtype that PyTorch lacks.
    """
    for result in traced.jaxpr.out_avals:
        torch_dtype(result.dtype)
    program = traced.lower(lowering_platforms=("cpu",)).as_text()
    name = hashlib.sha256(program.encode()).hexdigest()
    _FUNCTIONS[name] = traced
    return name


def call(tensors: Sequence[Tensor], traced: jax.stages.Traced, name: str) -> Any:
    """Returns the results of a registered function, in the structure that the function has. They have no gradients.

    Args:
        tensors: arguments of the traced function.
        traced: the function.
        name: name that :func:`register` gave it.
    """
    with torch.no_grad():
        return jax.tree.unflatten(traced.out_tree, torch.ops.tt.call_jax(list(tensors), name))


def torch_dtype(dtype: Any) -> torch.dtype:
    """Returns PyTorch's dtype for one of JAX.

    Raises:
        TypeError: PyTorch or the device lacks it.
    """
    found = _TORCH_DTYPES.get(dtype)
    if found is None:
        raise TypeError(f"A function of JAX returns dtype {dtype}; tensors of the device have {', '.join(_NAMES)}.")
    return found


_NAMES = [str(dtype) for dtype in _TORCH_DTYPES]


def abstract(tensor: Tensor) -> jax.ShapeDtypeStruct:
    """Returns shape and dtype of a tensor as JAX traces functions for them: 64 bits are 32 unless JAX has them.

    Raises:
        TypeError: JAX has no such dtype.
    """
    if tensor.dtype not in DTYPES:
        raise TypeError(f"A tensor of {tensor.dtype} is no argument for JAX; expected one of {', '.join(_NAMES)}.")
    return jax.ShapeDtypeStruct(tuple(tensor.shape), jax.dtypes.canonicalize_dtype(DTYPES[tensor.dtype]))


@torch.library.impl(_LIBRARY, "call_jax", "CPU")
def _on_host(tensors: list[Tensor], function: str) -> list[Tensor]:
    """Runs a function on the CPU, by JAX."""
    with jax.default_device(jax.devices("cpu")[0]):
        arrays = [jax.dlpack.from_dlpack(tensor.detach().contiguous()) for tensor in tensors]
        return [torch.from_dlpack(result).clone() for result in _evaluated(arrays, function)]


@torch.library.register_fake("tt::call_jax")
def _shapes(tensors: list[Tensor], function: str) -> list[Tensor]:
    results = _FUNCTIONS[function].jaxpr.out_avals
    return [tensors[0].new_empty(result.shape, dtype=torch_dtype(result.dtype)) for result in results]


@lower_named("tt::call_jax")
def _lowered(ctx: Context, arrays: Sequence[Array], function: str) -> list[Array]:
    return _evaluated(arrays, function)


def _evaluated(arrays: Sequence[Array], function: str) -> list[Array]:
    """Returns the results of a function. JAX may have narrowed the dtypes of its arguments to 32 bits."""
    jaxpr = _FUNCTIONS[function].jaxpr
    return jaxpr_as_fun(jaxpr)(*(cast(array, aval.dtype) for array, aval in zip(arrays, jaxpr.in_avals, strict=True)))
