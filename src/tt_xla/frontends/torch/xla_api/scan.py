"""``torch_xla.experimental.scan``: a loop over the rows of tensors, with gradients, whose body is compiled once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import torch
from functorch.compile import aot_function as _aot_function
from functorch.compile import default_partition as _default_partition
from functorch.compile import make_boxed_func as _make_boxed_func

from tt_xla.frontends.torch import session as _session
from tt_xla.frontends.torch.loops import Scan as _Loop
from tt_xla.frontends.torch.private.tracing import count_of_writes as _count_of_writes
from tt_xla.frontends.torch.trees import tree_flatten as _flatten
from tt_xla.frontends.torch.trees import tree_leaves as _leaves
from tt_xla.frontends.torch.trees import tree_map as _tree_map
from tt_xla.frontends.torch.trees import tree_unflatten as _unflatten

Carry = Any
X = Any
Y = Any


class _Passes(WeakKeyDictionary[Any, dict[Any, tuple[Any, Any, Any]]]):
    """The session's traced functions of each pure function, by partitioner and by the structure, sizes and dtypes of
    its inputs."""


def scan(
    fn: Callable[[Carry, X], tuple[Carry, Y]],
    init: Carry,
    xs: X,
    partition_fn: Callable[..., Any] = _default_partition,
    is_fn_pure: bool = False,
) -> tuple[Carry, Y]:
    """Calls a function with each row of tensors, and with what its last call gave to carry on.

    The loop runs on the device as one program, and its backward pass as another.

    Args:
        fn: takes carried tensors and a row of ``xs``, and returns carried tensors, of the same sizes and dtypes, and
            a result. Both may be nested.
        init: the carried tensors of the first call.
        xs: tensors, which may be nested, of one length.
        partition_fn: decides what the forward pass keeps for the backward pass, such as
            ``functorch.compile.min_cut_rematerialization_partition``.
        is_fn_pure: whether the function always does the same, so that it is traced once for all calls.

    Returns:
        The carried tensors of the last call, and the results of all calls, stacked.

    Raises:
        ValueError: ``fn`` cannot be called, or the tensors differ in length, or there is none.
        RuntimeError: ``fn`` writes to its inputs, some of which need gradients.
        AssertionError: ``fn`` uses tensors that are not among its arguments.
    """
    if not callable(fn):
        raise ValueError(f"scan takes a function as fn, got {fn!r}.")
    lengths = {len(leaf) for leaf in _leaves(xs)}
    if len(lengths) != 1:
        raise ValueError(f"scan takes xs of one length, got tensors of the lengths {sorted(lengths)}.")
    functions = value_and_grad_partitioned(fn, init, xs, partition_fn, is_fn_pure)
    flat, spec = _flatten((init, xs))
    shape: list[Any] = []
    results = _ScanFunction.apply(functions, spec, shape, *flat)
    return _unflatten(list(results), shape[0])


class _ScanFunction(torch.autograd.Function):
    """The two loops as one function for autograd, over flat lists of tensors."""

    @staticmethod
    def forward(ctx: Any, functions: tuple[Any, Any, Any], spec: Any, shape: list[Any], *flat: Any) -> Any:
        forward, alias_input, ctx.backward = functions
        init, xs = _unflatten(list(flat), spec)
        carry, (ys, partial) = _loop(forward, init, xs)
        activations = alias_input(partial, xs)
        ctx.save_for_backward(*activations)
        results, out = _flatten((carry, ys))
        shape.append(out)
        ctx.spec, ctx.out = spec, out
        ctx.like = [value if value is None else (value.shape, value.dtype, value.device) for value in results]
        ctx.mark_non_differentiable(*(v for v in results if v is not None and not v.is_floating_point()))
        return tuple(results)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        full = [
            gradient if gradient is not None or like is None else torch.zeros(like[0], dtype=like[1], device=like[2])
            for gradient, like in zip(gradients, ctx.like, strict=True)
        ]
        carry, ys = _unflatten(full, ctx.out)
        rows = _tree_map(_reversed, (ys, ctx.saved_tensors))
        grad_init, grad_rows = _loop(ctx.backward, carry, rows)
        grad_xs = _tree_map(_reversed, grad_rows)
        flat = _flatten((grad_init, grad_xs))[0]
        return (None, None, None, *flat)


def _reversed(rows: torch.Tensor | None) -> torch.Tensor | None:
    return None if rows is None else rows.flip(0)


def _loop(function: Any, init: Any, xs: Any) -> Any:
    """Runs a function over rows as one program, which the function keeps for the next call with such tensors."""
    flat_init, spec_init = tree_flatten_none(init)
    flat_xs, spec_xs = tree_flatten_none(xs)
    key = tuple((tuple(value.shape), value.dtype, value.device) for value in (*flat_init, *flat_xs))
    if key not in function.programs:
        shape: list[Any] = []

        def body(*values: torch.Tensor) -> Sequence[torch.Tensor]:
            carry, y = function(spec_init(values[: len(flat_init)]), spec_xs(values[len(flat_init) :]))
            results, unflatten = tree_flatten_none((carry, y))
            shape.append(unflatten)
            return results

        function.programs[key] = _Loop(body, flat_init, flat_xs), shape
    loop, shape = function.programs[key]
    results = loop(flat_init, flat_xs)
    return shape[0](results)


class _Traced:
    """A function with the programs of its loops."""

    def __init__(self, function: Callable[[Any, Any], Any]) -> None:
        self._function = function
        self.programs: dict[Any, Any] = {}

    def __call__(self, carry: Any, x: Any) -> Any:
        return self._function(carry, x)


def value_and_grad_partitioned(
    fn: Callable[[Carry, X], tuple[Carry, Y]],
    init: Carry,
    xs: X,
    partition_fn: Callable[..., Any] = _default_partition,
    is_fn_pure: bool = True,
) -> tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]:
    """Traces the function of a scan and its backward pass.

    Args:
        fn: the function, as :func:`scan` takes it.
        init: carried tensors.
        xs: tensors whose rows the function takes.
        partition_fn: decides what the forward pass keeps for the backward pass.
        is_fn_pure: whether a later call may get the same functions.

    Returns:
        ``forward(carry, x)``, which returns ``(carry, (y, partial_activations))``;
        ``alias_input(partial_activations, xs)``, which returns all activations: those that are inputs are not copied;
        ``backward(grad_carry, (grad_y, activations))``, which returns ``(grad_init, grad_x)``.
    """
    flat, spec = _flatten((init, xs))
    key = id(partition_fn), tuple((tuple(value.shape), value.dtype, value.requires_grad) for value in flat), spec
    passes = _session.current.part(_Passes)
    known = passes.get(fn, {}) if is_fn_pure else {}
    if key in known:
        return known[key]
    functions = _traced_passes(fn, init, xs, partition_fn)
    if is_fn_pure:
        passes.setdefault(fn, {})[key] = functions
    return functions


def _traced_passes(fn: Any, init: Any, xs: Any, partition_fn: Any) -> tuple[Any, Any, Any]:
    """Traces both passes of one call of a function."""
    carry, row = _tree_map(_carried, init), _tree_map(_row, xs)
    flat_carry, flat_row = _leaves(carry), _leaves(row)
    graphs: dict[str, torch.fx.GraphModule] = {}

    def keep(name: str) -> Callable[..., Any]:
        def compiler(graph: torch.fx.GraphModule, inputs: Any) -> Any:
            graphs[name] = graph
            return _make_boxed_func(graph)

        return compiler

    may_write = not any(value is not None and value.requires_grad for value in _leaves((init, xs)))

    def without_aliases(*args: Any) -> Any:
        if may_write:
            args = _tree_map(lambda value: None if value is None else value.clone(), args)
        # What is an input itself would not be in the graph.
        inputs = {id(value) for value in _leaves(args)}
        leaves, spec = _flatten(fn(*args))
        return _unflatten([leaf.clone() if leaf is not None and id(leaf) in inputs else leaf for leaf in leaves], spec)

    with torch.enable_grad():
        traced = _aot_function(
            without_aliases, fw_compiler=keep("forward"), bw_compiler=keep("backward"), partition_fn=partition_fn
        )
        out = _call(traced, carry, row)
        results, unflatten_results = tree_flatten_none(out)
        with_gradient = [value.requires_grad for value in results]
        if any(with_gradient):
            differentiable = [value for value in results if value.requires_grad]
            torch.autograd.backward(differentiable, [torch.ones_like(value) for value in differentiable])

    count = len(_leaves(out))
    positions = [index for index, value in enumerate(_leaves(out)) if value is not None]
    inputs = [*flat_carry, *flat_row]
    names = [node.name for node in graphs["forward"].graph.find_nodes(op="placeholder")]
    (output,) = graphs["forward"].graph.find_nodes(op="output")
    saved = [getattr(node, "name", None) for node in output.args[0][count:]]
    aliases = {at: names.index(name) - len(flat_carry) for at, name in enumerate(saved) if name in names}
    aliases = {at: index for at, index in aliases.items() if index >= 0}

    def forward(carry: Any, x: Any) -> Any:
        everything = graphs["forward"](*_leaves(carry), *_leaves(x))
        carry, y = unflatten_results([everything[index] for index in positions])
        kept = tuple(value for at, value in enumerate(everything[count:]) if at not in aliases)
        return carry, (y, kept)

    def alias_input(partial_activations: Sequence[Any], xs: Any) -> tuple[Any, ...]:
        rest, rows = iter(partial_activations), _leaves(xs)
        return tuple(rows[aliases[at]] if at in aliases else next(rest) for at in range(len(saved)))

    def backward(grad_carry: Any, x: Any) -> Any:
        grad_y, activations = x
        tangents = tree_flatten_none((grad_carry, grad_y))[0]
        given = [value for value, has in zip(tangents, with_gradient, strict=True) if has]
        gradients: list[Any] = [None] * len(inputs)
        if given:
            gradients = list(graphs["backward"](*activations, *given))
        for index, value in enumerate(flat_carry):  # the loop carries a gradient for each
            if gradients[index] is None:
                gradients[index] = torch.zeros_like(value)
        return _unflatten(gradients, _flatten((carry, row))[1])

    return _Traced(forward), alias_input, _Traced(backward)


def _call(traced: Callable[..., Any], carry: Any, row: Any) -> Any:
    """Traces a function.

    Raises:
        RuntimeError: it writes to its inputs.
        AssertionError: it uses other tensors than its inputs.
    """
    inputs = _leaves((carry, row))
    before = list(map(_count_of_writes, inputs))
    try:
        out = traced(carry, row)
    except AssertionError as error:
        if "FakeTensor" not in str(error):
            raise
        raise AssertionError(
            "The function of a scan uses a tensor that is not among its arguments. Pass it in init, and let the "
            f"function return it as it is. PyTorch says: {error}"
        ) from error
    if list(map(_count_of_writes, inputs)) != before:
        raise RuntimeError(
            "The function of a scan changes its arguments by an in-place operation. Let it return new tensors instead, "
            "such as carry + x for carry.add_(x)."
        )
    return out


def _carried(value: torch.Tensor) -> torch.Tensor:
    """Returns a tensor of no values like a carried one, with a gradient, which later iterations carry in any case."""
    return torch.empty_like(value, requires_grad=value.is_floating_point())


def _row(value: torch.Tensor) -> torch.Tensor:
    """Returns a tensor of no values like a row of another one."""
    return torch.empty_like(value[0], requires_grad=value.requires_grad)


def tree_flatten_none(pytree: Any) -> tuple[list[Any], Callable[[Sequence[Any]], Any]]:
    """Returns the leaves of nested data without those that are None, and a function that puts such leaves back."""
    leaves, spec = _flatten(pytree)
    present = [leaf is not None for leaf in leaves]

    def unflatten(values: Sequence[Any]) -> Any:
        rest = iter(values)
        return _unflatten([next(rest) if is_present else None for is_present in present], spec)

    return [leaf for leaf in leaves if leaf is not None], unflatten
