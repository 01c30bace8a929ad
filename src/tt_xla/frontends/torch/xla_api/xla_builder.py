"""``torch_xla.core.xla_builder``: functions of JAX, and computations of single ops, on tensors of the device.

A computation is a function of JAX, which is traced when it is built. HLO text does not exist.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import jax
import torch
import torch_xla

from tt_xla.frontends.torch import jax_calls as _jax_calls
from tt_xla.frontends.torch import session as _session
from tt_xla.frontends.torch.aten.registry import DTYPES as _DTYPES
from tt_xla.frontends.torch.device.donation import placeholder as _placeholder
from tt_xla.frontends.torch.device.text import XLA_NAMES as _PT_XLA_TYPE_MAP
from tt_xla.frontends.torch.trees import tree_flatten as _flatten
from tt_xla.frontends.torch.trees import tree_unflatten as _unflatten
from tt_xla.frontends.torch.xla_api.builder_ops import XLA_TYPES as _XLA_PT_TYPE_MAP
from tt_xla.frontends.torch.xla_api.builder_ops import (
    Computation,
    Op,
    Shape,
    Type,
    create_builder,
    create_computation,
    mkparam,
    mkshape,
)

# Functions of JAX ----------------------------------------------------------------------------------------------------


class Computations(WeakKeyDictionary[Any, str]):
    """Names of functions that the session traced once and compiled: those of JAX, whose own cache decides which calls
    share one, and the forward and backward passes of ``assume_pure``."""


def _jax_to_xla_computation_cache_elements() -> int:
    return len(_session.current.part(Computations))


@dataclass(frozen=True)
class _Function:
    """A function for JAX's cache, in which functions of the same key are one.

    Attributes:
        key: the function itself, or what its caller says instead.
        call: the function.
    """

    key: Hashable
    call: Callable[..., Any] = field(compare=False)


class _Array:
    """Stands for an array among the arguments that a trace depends on."""


def call_jax(
    jax_func: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    name: str | None = None,
    override_hash: Hashable = None,
) -> Any:
    """Calls a function of JAX on tensors of the device. It becomes part of the program of the recorded ops around it.

    The function is traced once for each kind of arguments, as ``jax.jit`` does it. Tensors of 64 bits are narrowed to
    32, unless JAX is configured for 64.

    Args:
        jax_func: the function, pure and with arrays as results, which may be nested.
        args: its arguments, with tensors in place of arrays, at least one of them. Other values are static.
        kwargs: its keyword arguments.
        name: name of the program, which is not needed.
        override_hash: what stands for the function in the cache, for functions that are made anew for each call.

    Returns:
        What the function returns, with tensors in place of arrays. They have no gradients: take them by ``jax.grad``.

    Raises:
        ValueError: there is no tensor among the arguments.
        TypeError: a tensor has a dtype that JAX lacks, or a static argument has no hash.
    """
    leaves, tree = jax.tree.flatten((args, kwargs or {}))
    tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
    if not tensors:
        raise ValueError("call_jax takes at least one tensor, whose device computes the results, and got none.")
    static = tuple(_Array if isinstance(leaf, torch.Tensor) else (type(leaf), _static(leaf)) for leaf in leaves)
    function = _Function(jax_func if override_hash is None else override_hash, jax_func)
    traced = _call.trace(function, static, tree, *map(_jax_calls.abstract, tensors))
    computations = _session.current.part(Computations)
    if traced.jaxpr not in computations:
        computations[traced.jaxpr] = _jax_calls.register(traced)
    return _jax_calls.call(tensors, traced, computations[traced.jaxpr])


def _static(leaf: Any) -> Any:
    return _DTYPES.get(leaf, leaf) if isinstance(leaf, torch.dtype) else leaf


@functools.partial(jax.jit, static_argnums=(0, 1, 2))
def _call(function: _Function, static: tuple[Any, ...], tree: Any, *arrays: jax.Array) -> Any:
    rest: Iterator[jax.Array] = iter(arrays)
    args, kwargs = jax.tree.unflatten(tree, [next(rest) if leaf is _Array else leaf[1] for leaf in static])
    return function.call(*args, **kwargs)


# Computations --------------------------------------------------------------------------------------------------------


def tensor_shape(tensor: Any, device: str = "") -> Any:
    """Returns the shape of a tensor for computations; for several tensors, the list of their shapes."""
    if isinstance(tensor, list | tuple):
        return [tensor_shape(each) for each in tensor]
    return Shape.create(_PT_XLA_TYPE_MAP[tensor.dtype], tensor.shape)


def create_placeholder_tensor(shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
    """Returns a tensor of the device without bytes, on which ops can be recorded and shown, but not run."""
    return _placeholder(shape, dtype)


def xla_computation_as_func(
    computation: Computation, name: str | None = None
) -> Callable[[Sequence[torch.Tensor]], list[torch.Tensor]]:
    """Returns a function of tensors that records a computation and returns the list of its results."""
    return lambda tensors: torch_xla._XLAC._xla_user_computation(name or "xla::computation", tensors, computation)


class FlattenedInputFunc:
    """Splits the call of a function of nested arguments: into tensors before it, and back into its results after it.

    Args:
        orig_func: the function.
    """

    def __init__(self, orig_func: Callable[..., Any]) -> None:
        self.orig_func = orig_func
        self.non_tensors: tuple[Any, ...] | None = None
        self.in_spec: Any = None
        self.out_spec: Any = None

    def preprocess(self, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None) -> tuple[torch.Tensor, ...]:
        """Returns the tensors among some arguments, and keeps the others for :meth:`flat_call`."""
        leaves, self.in_spec = _flatten((args, kwargs or {}))
        self.non_tensors = tuple(_Array if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves)
        return tuple(leaf for leaf in leaves if isinstance(leaf, torch.Tensor))

    def flat_call(self, flat_input: Sequence[Any]) -> list[Any]:
        """Calls the function with what stands for the tensors, and returns the list of its results."""
        if self.non_tensors is None:
            raise AssertionError("flat_call takes what preprocess returned: call preprocess first.")
        rest = iter(flat_input)
        leaves = [next(rest) if leaf is _Array else leaf for leaf in self.non_tensors]
        args, kwargs = _unflatten(leaves, self.in_spec)
        results, self.out_spec = _flatten(self.orig_func(*args, **kwargs))
        return results

    def postprocess(self, res_flattened: Sequence[Any]) -> Any:
        """Returns results in the structure that the function gave them."""
        if self.out_spec is None:
            raise AssertionError("postprocess takes what flat_call returned: call flat_call first.")
        return _unflatten(list(res_flattened), self.out_spec)


class XlaCallable:
    """Makes a function of :class:`Op` one of tensors. It is built once for each kind of arguments.

    Args:
        xla_func: the function.
    """

    def __init__(self, xla_func: Callable[..., Any]) -> None:
        self._function = FlattenedInputFunc(xla_func)
        self._built: dict[Any, tuple[Callable[..., list[torch.Tensor]], Any]] = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Records the function, and returns its results."""
        tensors = self._function.preprocess(args, kwargs)
        kinds = tuple((tensor.shape, tensor.dtype) for tensor in tensors)
        key = kinds, self._function.non_tensors, self._function.in_spec
        if key not in self._built:
            computation = create_computation(
                "xla::computation", lambda *ops: Op.tuple(self._function.flat_call(ops)), tensor_shape(tensors)
            )
            self._built[key] = xla_computation_as_func(computation), self._function.out_spec
        call, self._function.out_spec = self._built[key]
        return self._function.postprocess(call(tensors))


__all__ = [
    "_PT_XLA_TYPE_MAP",
    "_XLA_PT_TYPE_MAP",
    "Computation",
    "FlattenedInputFunc",
    "Op",
    "Shape",
    "Type",
    "XlaCallable",
    "call_jax",
    "create_builder",
    "create_computation",
    "create_placeholder_tensor",
    "mkparam",
    "mkshape",
    "tensor_shape",
    "xla_computation_as_func",
]
