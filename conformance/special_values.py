"""Special inputs for an op of PyTorch's op_db: torch.compile(backend="tt") on the device against eager on the CPU.

Each case takes samples of the op and changes their tensors: values become NaN, infinities, zeros of both signs with
denormal numbers, or equal numbers; shapes become empty or 0-dim. The compiled op must return what eager PyTorch
returns, and must raise an error where eager PyTorch raises one.

As a program it takes pairs, "name dtype" a line, from standard input, and prints a JSON object for each.
"""

from __future__ import annotations

import itertools
import json
import math
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.opinfo.core import OpInfo
from torch_pairs import (
    DTYPES,
    UNDEFINED,
    compare,
    copied,
    eager,
    full_name,
    is_random,
    moved,
    quiet,
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

SIGN_OF_ZERO_IS_FREE: set[str] = set()
"""Ops for which IEEE 754 and PyTorch leave the sign of a zero open."""


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
            if case in VALUES and results[case].outcome != "failed"
            if (changed := _with_values(sample, VALUES[case])) is not None
        }
        _run(op, with_values, results)
        if index == 0:
            for case in cases:
                if case in SHAPES:
                    _run(op, {case: _with_shapes(sample, SHAPES[case])}, results)
    host = sorted(set().union(*(case.host for case in results.values())))
    texts = {
        name: {"outcome": case.outcome, "reason": case.reason, "sample": case.sample} for name, case in results.items()
    }
    return {"cases": texts, "host": host}


def _chosen_samples(op: OpInfo, dtype: torch.dtype, count: int) -> list[Any]:
    """Samples whose tensors are large enough to hold special values, spread over the op's samples."""
    torch.manual_seed(0)
    samples = list(itertools.islice(op.sample_inputs("cpu", dtype, requires_grad=False), 60))
    large = [sample for sample in samples if max((t.numel() for t in _tensors(sample)), default=0) >= 5] or samples
    if len(large) <= count:
        return large
    return [large[i * (len(large) - 1) // max(count - 1, 1)] for i in range(count)]


def _tensors(sample: Any) -> list[torch.Tensor]:
    leaves = torch.utils._pytree.tree_leaves((sample.input, sample.args, sample.kwargs))
    return [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]


def _with_values(sample: Any, values: tuple[float | None, ...]) -> Any | None:
    """The sample with values written into its float tensors; None where it has no such tensor.

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
    return changed if next(numbers) else None


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
            _compare_outcomes(op, sample, got, expected)
        except AssertionError as error:
            outcome.outcome, outcome.reason, outcome.sample = "failed", str(error), short_text(sample)
        else:
            outcome.outcome = "passed"
        outcome.host |= set(host_ops.counts())


def _outcome(call: Callable[[], Any]) -> Any:
    """What a call returns, or the error that it raises."""
    try:
        with torch.no_grad():
            return call()
    except Exception as error:
        return error


def _on_device(compiled: Callable[..., Any], op: OpInfo, sample: Any) -> Any:
    args, kwargs = moved(copied(sample.args)), moved(copied(sample.kwargs))
    if op.name == "tensor_split":  # where to split is read on the host, also on other devices
        args = sample.args
    torch.manual_seed(0)
    result = compiled(moved(copied(sample.input)), *args, **kwargs)
    return torch.utils._pytree.tree_map_only(torch.Tensor, lambda tensor: tensor.cpu(), result)


_INTERNAL_ERRORS = (AssertionError, AttributeError, KeyError, ZeroDivisionError)
"""Errors that point at a fault of the compiler, where eager PyTorch does not raise the same type."""


def _compare_outcomes(op: OpInfo, sample: Any, got: Any, expected: Any) -> None:
    if isinstance(expected, Exception):
        same_type = isinstance(got, type(expected))
        told = isinstance(got, Exception) and (same_type or not isinstance(got, _INTERNAL_ERRORS))
        text = f"{type(expected).__name__}: {_first_line(expected)}"
        assert told, f"no error where eager raises {text}; got {_described(got)}"
        return
    assert not isinstance(got, Exception), f"{_described(got)}"
    got, expected = settled(op, sample, got), settled(op, sample, expected)
    compare(op, got, expected)
    if op.name in UNDEFINED or is_random(op) or op.name in SIGN_OF_ZERO_IS_FREE:
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


def main() -> None:
    quiet()
    count, answers = int(sys.argv[1]), os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what ops print is no answer
    for line in sys.stdin:
        name, dtype = line.split()
        print(json.dumps({"op": name, "dtype": dtype, **check_special(name, dtype, count)}), file=answers, flush=True)


if __name__ == "__main__":
    main()
