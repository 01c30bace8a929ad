"""Decompositions for AOTAutograd: torch's own table for ops without a lowering rule, and ops that it lacks."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch

from tt_xla.frontends.torch.aten.registry import LOWERINGS
from tt_xla.frontends.torch.cells import CELL_KERNELS
from tt_xla.frontends.torch.drawn import DRAWN, RANDOM
from tt_xla.frontends.torch.fused_steps import STEPS
from tt_xla.frontends.torch.private.dispatcher import all_op_names
from tt_xla.frontends.torch.private.functions import decomposition_table
from tt_xla.frontends.torch.private.ops import OpOverload

aten = torch.ops.aten
Decomposition = Callable[..., Any]


def decompositions() -> dict[OpOverload, Decomposition]:
    """Returns decompositions by op. Ops with a lowering rule stay whole.

    Torch's decompositions of ops that write to their arguments are left out, because AOTAutograd replaces such ops by
    functional ones.
    """
    table = _table()
    for namespace, name, rule in _DEFINED_LATE:
        if hasattr(namespace, name):
            table[getattr(namespace, name).default] = rule
    return table


@functools.cache
def _table() -> dict[OpOverload, Decomposition]:
    """Returns the table, without ops of :data:`_DEFINED_LATE`."""
    undecomposed = RANDOM | {aten.lift.default, aten.lift_fresh.default}  # AOTAutograd handles real tensors in lifts
    added = {
        aten._scaled_dot_product_flash_attention_for_cpu_backward.default: _attention_backward,
        aten.as_strided_scatter.default: _as_strided_scatter,
        aten.nan_to_num.default: _nan_to_num,
        aten.split_copy.Tensor: _split_copy,
        **{getattr(aten, name).default: rule for name, rule in CELL_KERNELS.items()},
    }
    known = decomposition_table | _foreach_decompositions() | STEPS | DRAWN | added | _WITH_FACTOR
    excluded = {*LOWERINGS, *undecomposed}
    known = {op: rule for op, rule in known.items() if op not in excluded and not _writes(op)}
    return known | {op: _if_symbolic(rule) for op, rule in _WITH_FACTOR.items() if op in LOWERINGS}


def _attention_backward(
    grad: torch.Tensor,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    out: torch.Tensor,
    sums: torch.Tensor,
    dropout_p: float,
    is_causal: bool,
    *,
    attn_mask: torch.Tensor | None = None,
    scale: float | None = None,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Returns the gradients of attention, which PyTorch 2.14 traces as the CPU's own op.

    Args:
        sums: logarithms of the sums of each row's exponentials, [B, H, L]; torch's decomposition of the forward op has
            the weights there, [B, H, L, S].
    """
    factor = query.shape[-1] ** -0.5 if scale is None else scale
    weights = sums
    if sums.dim() == query.dim() - 1:
        scores = query @ key.mT * factor + (0 if attn_mask is None else attn_mask)
        if is_causal:
            scores = scores.masked_fill(torch.ones_like(scores, dtype=torch.bool).triu(1), -torch.inf)
        weights = torch.exp(scores - sums.unsqueeze(-1))
    of_weights = grad @ value.mT
    of_scores = weights * (of_weights - (of_weights * weights).sum(-1, keepdim=True)) * factor
    return of_scores @ key, of_scores.mT @ query, weights.mT @ grad


def _writes(op: object) -> bool:
    """Returns whether an op writes to its arguments."""
    return isinstance(op, OpOverload) and op._schema.is_mutable


def _foreach_decompositions() -> dict[OpOverload, Decomposition]:
    """Returns decompositions of ops such as ``_foreach_add.List``, with which optimizers step, into one op a tensor."""
    rules: dict[OpOverload, Decomposition] = {}
    for qualified in all_op_names():
        name, _, overload = qualified.partition(".")
        base = name.removeprefix("aten::_foreach_")
        if base == name or base.endswith("_") or overload.endswith("out"):
            continue
        op = getattr(getattr(aten, name.removeprefix("aten::")), overload or "default")
        per_tensor = _PER_TENSOR.get(base) or getattr(aten, base, None)
        if per_tensor is not None and len(op._schema.returns) == 1:
            rules[op] = functools.partial(_one_by_one, op._schema, per_tensor)
    return rules


def _scaled(value: Any, factor: Any) -> Any:
    """Returns a value times a factor; the value itself for the factor 1."""
    return value if isinstance(factor, int | float) and factor == 1 else value * factor


def _add(tensor: Any, other: Any, *, alpha: Any = 1) -> Any:
    return tensor + _scaled(other, alpha)


def _sub(tensor: Any, other: Any, *, alpha: Any = 1) -> Any:
    return tensor - _scaled(other, alpha)


def _addcmul(tensor: Any, one: Any, other: Any, value: Any = 1) -> Any:
    return tensor + _scaled(one, value) * other


def _addcdiv(tensor: Any, one: Any, other: Any, value: Any = 1) -> Any:
    return tensor + _scaled(one / other, value)


_WITH_FACTOR: dict[OpOverload, Decomposition] = {
    aten.add.Tensor: _add,
    aten.addcdiv.default: _addcdiv,
    aten.addcmul.default: _addcmul,
    aten.sub.Tensor: _sub,
}
"""Decompositions of ops with a factor, such as a learning rate, into products.

Torch keeps a number that changes between calls symbolic if it is an operand of a product. It compiles again for each
value of a keyword such as ``alpha``.
"""

_PER_TENSOR: dict[str, Callable[..., Any]] = {
    "add": _add,
    "addcdiv": _addcdiv,
    "addcmul": _addcmul,
    "copy": lambda target, source, non_blocking=False: source.to(target.dtype, copy=True),
    "max": lambda tensor: torch.max(tensor),
    "maximum": lambda tensor, other: (
        torch.maximum(tensor, other) if isinstance(other, torch.Tensor) else tensor.clamp_min(other)
    ),
    "minimum": lambda tensor, other: (
        torch.minimum(tensor, other) if isinstance(other, torch.Tensor) else tensor.clamp_max(other)
    ),
    "norm": lambda tensor, order=2, dtype=None: torch.linalg.vector_norm(tensor, order, dtype=dtype),
    "powsum": lambda tensor, order=2, dtype=None: tensor.to(dtype or tensor.dtype).abs().pow(order).sum(),
    "sub": _sub,
    "zero": torch.zeros_like,
}
"""Functions of one tensor for ``_foreach_`` ops whose name without the prefix is no op, or takes other arguments."""


def _split_copy(tensor: torch.Tensor, split_size: int, dim: int = 0) -> list[torch.Tensor]:
    return [part.clone() for part in tensor.split(split_size, dim)]


def _fma(one: Any, other: Any, added: Any) -> Any:
    return one * other + added


def _zeros_and_scatter(shape: list[int], indices: list[torch.Tensor], values: torch.Tensor) -> torch.Tensor:
    """Returns the gradient of a tensor that a score function of ``flex_attention`` indexes."""
    return values.new_zeros(shape).index_put(indices, values, accumulate=True)


_DEFINED_LATE: Sequence[tuple[Any, str, Decomposition]] = (
    (torch.ops.flex_lib, "zeros_and_scatter", _zeros_and_scatter),
    (torch.ops.prims, "fma", _fma),
)
"""Namespace, name and decomposition of ops that PyTorch defines when a module is imported that traces them."""


def _if_symbolic(rule: Decomposition) -> Decomposition:
    """Returns a decomposition that applies a rule if a keyword is a symbolic number, and leaves the op whole if not."""

    def decomposed(*args: Any, **kwargs: Any) -> Any:
        if any(isinstance(value, torch.SymFloat | torch.SymInt) for value in kwargs.values()):
            return rule(*args, **kwargs)
        return NotImplemented

    return decomposed


def _one_by_one(schema: torch.FunctionSchema, per_tensor: Callable[..., Any], *args: Any, **kwargs: Any) -> list[Any]:
    """Calls ``per_tensor`` once for each item of the list arguments, with the other arguments unchanged."""
    named = {argument.name: value for argument, value in zip(schema.arguments, args, strict=False)} | kwargs
    lists: dict[str, Any] = {}
    for argument in schema.arguments:
        if argument.name not in named:
            continue
        if str(argument.type).startswith("List["):
            lists[argument.name] = named.pop(argument.name)
        elif argument.name == "scalars":  # a tensor with one number for each item of the lists
            lists[argument.name] = named.pop(argument.name).unbind()
    positional = [argument.name for argument in schema.arguments if not argument.kwarg_only]
    order = [name for name in positional if name in lists or name in named]
    rest = {name: value for name, value in named.items() if name not in order}
    count = len(next(iter(lists.values())))
    return [per_tensor(*[lists[n][index] if n in lists else named[n] for n in order], **rest) for index in range(count)]


def _as_strided_scatter(
    tensor: torch.Tensor,
    source: torch.Tensor,
    size: list[int],
    stride: list[int],
    storage_offset: int | None = None,
) -> torch.Tensor:
    """Writes ``source`` to the elements of a dense tensor that ``as_strided`` with the same arguments would return."""
    positions = torch.full((), storage_offset or 0, dtype=torch.int64, device=tensor.device)
    for dimension, (length, step) in enumerate(zip(size, stride, strict=True)):
        steps = torch.arange(length, device=tensor.device) * step
        positions = positions + steps.view([-1] + [1] * (len(size) - dimension - 1))
    order = sorted(range(tensor.dim()), key=lambda axis: (-tensor.stride(axis), -tensor.size(axis)))
    memory = tensor.permute(order)
    written = memory.reshape(-1).scatter(0, positions.expand(size).reshape(-1), source.reshape(-1))
    return written.view(memory.shape).permute([order.index(axis) for axis in range(tensor.dim())])


def _nan_to_num(x: torch.Tensor, *numbers: float | None, **named: float | None) -> torch.Tensor:
    """Replaces real and imaginary parts separately; torch's own decomposition refuses complex numbers."""
    if x.is_complex():
        return torch.view_as_complex(torch.nan_to_num(torch.view_as_real(x), *numbers, **named))
    return decomposition_table[aten.nan_to_num.default](x, *numbers, **named)


__all__ = ["decompositions"]
