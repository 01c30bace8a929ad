"""Compares torch.compile(backend="tt") on the device with eager PyTorch on the CPU, for special inputs of op_db's ops.

Each case takes samples of the op and changes their tensors: values become NaN, infinities, zeros of both signs with
denormal numbers, or equal numbers; shapes become empty or 0-dim. The compiled op must return what eager PyTorch
returns, and must raise an error where eager PyTorch raises one.

As a program it reads pairs, "name dtype" a line, from standard input, and prints a JSON object for each.
"""

from __future__ import annotations

import fnmatch
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.opinfo.core import OpInfo

from conformance.torch_pairs import (
    DTYPES,
    UNDEFINED,
    answer_pairs,
    chosen,
    compare,
    copied,
    eager,
    full_name,
    is_random,
    moved,
    settled,
    short_text,
)

DENORMAL = 1e-40
"""A number that only float32's and bfloat16's denormal encodings hold."""

VALUES: dict[str, tuple[float | None, ...]] = {
    "nan": (math.nan, None, None, None, None),
    "infinity": (math.inf, None, -math.inf, None, None, math.inf, None),
    "zero": (0.0, -0.0, None, DENORMAL, -0.0, -DENORMAL, None),
    "ties": (1.0, 2.0, 1.0, -1.0, 2.0),
}
"""Values, by case, that repeat over a tensor's elements; None keeps an element."""

SHAPES: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "empty": lambda tensor: tensor[:0] if tensor.ndim else tensor,
    "empty last": lambda tensor: tensor[..., :0] if tensor.ndim else tensor,
    "0-dim": lambda tensor: tensor.flatten()[0] if tensor.numel() else tensor,
}
"""Changes of every tensor's shape, by case."""

CASES = (*VALUES, *SHAPES)

ANY_SIGN_OF_ZERO = (
    # sums of products start from a zero of their own, and add in any order
    *("*mm*", "*matmul*", "dot", "inner", "linalg.*", "mv", "vdot", "nn.functional.linear", "nn.functional.bilinear"),
    *("*conv*", "*norm*", "*upsample*", "*interpolate*", "grid_sampler_2d", "*grid_sample", "fft.*", "*softmax*"),
    *("addbmm", "addcmul", "addmv", "addr", "baddbmm", "einsum", "lerp", "*pool*", "sum", "std*", "var*", "*stft"),
    # zeros of both signs are equal: either is the extreme, and equals stand in any order
    *("cummax", "cummin", "fmax", "fmin", "kthvalue", "msort", "topk", "*margin*_loss", "nn.functional.softshrink"),
)
"""Patterns of ops for which neither IEEE 754 nor PyTorch's documentation says which sign a zero has."""

SORTED_OPERANDS: dict[str, int | None] = {"bucketize": 0, "searchsorted": None}
"""Ops with an operand that must be sorted: the position among the arguments after the input; None for the input."""

ANY_ELEMENTS = ("pca_lowrank", "resize_", "resize_as_", "svd_lowrank")
"""Ops whose elements are not defined, because they were never written or singular vectors have any sign.

Only shapes and dtypes are compared.
"""

CRASHES_EAGER = {
    *(("_chunk_cat", case) for case in SHAPES),
    *((op, case) for op in ("linalg.eig", "linalg.eigvals") for case in ("nan", "infinity")),
}
"""Cases that end the process in eager PyTorch, which leaves nothing to compare with."""


@dataclass
class Case:
    """The outcome of one case: ``passed``, ``failed``, or ``none`` where no sample of the op can be changed so."""

    outcome: str = "none"
    reason: str = ""
    sample: str = ""
    host: set[str] = field(default_factory=set)


def check_special(name: str, dtype: str, count: int, cases: tuple[str, ...] = CASES) -> dict[str, Any]:
    """Runs the special cases of an op in one dtype.

    Args:
        name: the op's name in op_db, with its variant.
        dtype: a key of :data:`torch_pairs.DTYPES`.
        count: samples whose values are changed; shapes are changed in the first of them.
        cases: the cases to run.

    Returns:
        ``cases``: outcome, reason and sample by case; ``host``: ops that ran on the host.
    """
    (op,) = [op for op in op_db if full_name(op) == name][:1]
    results = {case: Case() for case in cases}
    for index, sample in enumerate(_chosen_samples(op, DTYPES[dtype], count)):
        with_values = {
            case: changed
            for case in cases
            if case in VALUES and results[case].outcome != "failed" and (name, case) not in CRASHES_EAGER
            if (changed := _with_values(op, sample, VALUES[case])) is not None
        }
        _run(op, with_values, results)
        if index == 0:
            for case in cases:
                if case in SHAPES and (name, case) not in CRASHES_EAGER:
                    _run(op, {case: _with_shapes(sample, SHAPES[case])}, results)
    host = sorted(set().union(*(case.host for case in results.values())))
    texts = {
        name: {"outcome": case.outcome, "reason": case.reason, "sample": case.sample} for name, case in results.items()
    }
    return {"cases": texts, "host": host}


def _chosen_samples(op: OpInfo, dtype: torch.dtype, count: int) -> list[Any]:
    """Returns samples whose tensors are large enough to hold special values, spread over the op's samples."""
    torch.manual_seed(0)
    samples = list(itertools.islice(op.sample_inputs("cpu", dtype, requires_grad=False), 60))
    large = [sample for sample in samples if max((t.numel() for t in _tensors(sample)), default=0) >= 5] or samples
    return chosen(large, count)


def _tensors(sample: Any) -> list[torch.Tensor]:
    leaves = torch.utils._pytree.tree_leaves((sample.input, sample.args, sample.kwargs))
    return [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]


def _with_values(op: OpInfo, sample: Any, values: tuple[float | None, ...]) -> Any | None:
    """Returns the sample with values written into its float tensors; None where it has no such tensor.

    Each tensor starts at another value of the cycle, so that operands bring different values together.
    """
    numbers = itertools.count()

    def change(tensor: torch.Tensor) -> torch.Tensor:
        if not tensor.is_floating_point() or tensor.layout is not torch.strided or not tensor.numel():
            return tensor
        result = tensor.detach().clone(memory_format=torch.contiguous_format)
        flat, start = result.view(-1), 2 * next(numbers)
        for position in range(flat.numel()):
            value = values[(position + start) % len(values)]
            if value is not None:
                flat[position] = value
        return result

    changed = _mapped(sample, change)
    if op.name in SORTED_OPERANDS:
        _sort_operand(changed, SORTED_OPERANDS[op.name])
    return changed if next(numbers) else None


def _sort_operand(sample: Any, position: int | None) -> None:
    """Sorts the input, or the argument at a position, along its last dimension."""
    if position is None:
        sample.input = sample.input.sort(-1).values
    else:
        args = list(sample.args)
        args[position] = args[position].sort(-1).values
        sample.args = tuple(args)


def _with_shapes(sample: Any, change: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    return _mapped(sample, lambda tensor: change(tensor) if tensor.layout is torch.strided else tensor)


def _mapped(sample: Any, change: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    result = type(sample)(sample.input)
    result.input, result.args, result.kwargs = torch.utils._pytree.tree_map_only(
        torch.Tensor, change, (sample.input, sample.args, sample.kwargs)
    )
    return result


def _run(op: OpInfo, samples: dict[str, Any], results: dict[str, Case]) -> None:
    """Runs samples of the same shapes, by case, through one compiled function."""
    from tt_xla.frontends.torch import backend, host_ops

    torch._dynamo.reset()
    backend.clear_programs()
    compiled = torch.compile(lambda *args, **kwargs: op.op(*args, **kwargs), backend="tt", dynamic=False)
    for case, sample in samples.items():
        host_ops.reset()
        outcome = results[case]
        expected = _outcome(lambda sample=sample: eager(op, sample))
        got = _outcome(lambda sample=sample: _on_device(compiled, op, sample))
        try:
            compare_outcomes(op, sample, got, expected)
        except AssertionError as error:
            outcome.outcome, outcome.reason, outcome.sample = "failed", str(error), short_text(sample)
        else:
            outcome.outcome = "passed"
        outcome.host |= set(host_ops.counts())


def _outcome(call: Callable[[], Any]) -> Any:
    """Returns what a call returns, or the error that it raises."""
    try:
        with torch.no_grad():
            return call()
    except Exception as error:
        return error


def _on_device(compiled: Callable[..., Any], op: OpInfo, sample: Any) -> Any:
    args, kwargs = moved(copied(sample.args)), moved(copied(sample.kwargs))
    if op.name == "tensor_split":  # PyTorch reads the positions of the split on the host for every device
        args = sample.args
    torch.manual_seed(0)
    result = compiled(moved(copied(sample.input)), *args, **kwargs)
    return torch.utils._pytree.tree_map_only(torch.Tensor, lambda tensor: tensor.cpu(), result)


_INTERNAL_ERRORS = (AssertionError, AttributeError, KeyError, ZeroDivisionError)
"""Errors that point at a fault of the compiler, where eager PyTorch does not raise the same type."""


def compare_outcomes(op: OpInfo, sample: Any, got: Any, expected: Any) -> None:
    if isinstance(expected, Exception):
        same_type = isinstance(got, type(expected))
        told = isinstance(got, Exception) and (same_type or not isinstance(got, _INTERNAL_ERRORS))
        text = f"{type(expected).__name__}: {_first_line(expected)}"
        assert told, f"no error where eager raises {text}; got {_described(got)}"
        return
    assert not isinstance(got, Exception), f"{_described(got)}"
    if op.name in ANY_ELEMENTS:
        for one, other in zip(*map(torch.utils._pytree.tree_leaves, (got, expected)), strict=True):
            assert (one.shape, one.dtype) == (other.shape, other.dtype)
        return
    got, expected = settled(op, sample, got), settled(op, sample, expected)
    compare(op, got, expected)
    free = any(fnmatch.fnmatch(op.name, pattern) for pattern in ANY_SIGN_OF_ZERO)
    if free or op.name in UNDEFINED or is_random(op):
        return
    for one, other in zip(*map(torch.utils._pytree.tree_leaves, (got, expected)), strict=True):
        if isinstance(other, torch.Tensor) and other.is_floating_point():
            zero = (one == 0) & (other == 0)
            wrong = zero & (one.signbit() != other.signbit())
            assert not wrong.any(), f"sign of zero differs in {int(wrong.sum())} of {wrong.numel()} elements"


def _first_line(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), "")[:200]


def _described(value: Any) -> str:
    if isinstance(value, Exception):
        return f"{type(value).__name__}: {_first_line(value)}"
    return str(torch.utils._pytree.tree_map_only(torch.Tensor, lambda t: f"{t.dtype}{list(t.shape)}", value))[:200]


if __name__ == "__main__":
    answer_pairs(check_special)
