"""Compares torch.compile(backend="tt") on the device with eager PyTorch on the CPU, for samples of PyTorch's op_db.

As a program it reads pairs, "name dtype" a line, from standard input, and prints a JSON object for each.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.opinfo.core import BinaryUfuncInfo, OpInfo, ReductionOpInfo, UnaryUfuncInfo

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "int64": torch.int64, "bool": torch.bool}
UNDEFINED = {"empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided"}
"""Ops that leave the elements of their results undefined; only shapes and dtypes are compared."""
MOVED_ALONE = {"empty_strided", "equal", "item", "narrow", "resize_", "resize_as_", "tensor_split"}
"""Ops that break the graph and compute nothing on the device: they read a tensor or change its metadata. ``equal``
compares sizes before it computes."""
TOLERANCES = {torch.float32: (2e-5, 2e-5), torch.bfloat16: (1.6e-2, 1e-2)}
"""Relative and absolute tolerance by the result's dtype. ``torch.testing`` has 1.3e-6 and 1e-5 for float32, too little
for sums in another order than that of PyTorch's CPU kernels."""


def full_name(op: OpInfo) -> str:
    """Returns an op's name with its variant, such as ``linalg.matrix_rank.hermitian``."""
    return f"{op.name}.{op.variant_test_name}" if op.variant_test_name else op.name


def family(op: OpInfo) -> str:
    """Returns the table's row for an op: its namespace, or its kind where it has none."""
    if "." in op.name and not op.name.startswith("torch.ops."):
        return op.name.rpartition(".")[0]
    kinds = {UnaryUfuncInfo: "unary", BinaryUfuncInfo: "binary", ReductionOpInfo: "reductions"}
    return next((name for kind, name in kinds.items() if isinstance(op, kind)), "tensors")


def families() -> dict[str, str]:
    """Returns the table's row for each op, by name."""
    return {full_name(op): family(op) for op in op_db}


def pairs() -> list[tuple[str, str]]:
    """Returns every op with each of its dtypes that the CPU supports, sorted by name."""
    supported = {
        (full_name(op), name) for op in op_db for name, dtype in DTYPES.items() if op.supports_dtype(dtype, "cpu")
    }
    return sorted(supported)


def samples_of(op: OpInfo, dtype: torch.dtype, count: int) -> list[Any]:
    """Returns ``count`` samples from the first to the last at equal distances; all of them when ``count`` is 0."""
    torch.manual_seed(0)
    return chosen(list(op.sample_inputs("cpu", dtype, requires_grad=False)), count)


def chosen(samples: list[Any], count: int) -> list[Any]:
    """Returns ``count`` of the samples, from the first to the last at equal distances; all when ``count`` is 0."""
    if not count or len(samples) <= count:
        return samples
    return [samples[i * (len(samples) - 1) // max(count - 1, 1)] for i in range(count)]


def check_pair(name: str, dtype: str, count: int) -> dict[str, Any]:
    """Runs a pair's samples.

    Returns:
        ``outcome``: ``passed``, ``failed``, or ``none`` where eager PyTorch accepts no sample; ``reason`` of the
        failure; the number of ``samples`` run; ``host``: names of the ops that ran on the host.
    """
    from tt_xla.frontends.torch import host_ops

    (op,) = [op for op in op_db if full_name(op) == name][:1]
    ran, host = 0, set[str]()
    compared = "shapes" if op.name in UNDEFINED or is_random(op) else "values"
    for sample in samples_of(op, DTYPES[dtype], count):
        host_ops.reset()
        try:
            expected = eager(op, sample)
        except Exception:
            continue  # eager PyTorch refuses the sample, so there is no result to compare with
        ran += 1
        try:
            compare(op, *(settled(op, sample, result) for result in (_compiled(op, sample), expected)))
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            return {
                "outcome": "failed",
                "reason": reason,
                "samples": ran,
                "host": sorted(host),
                "sample": short_text(sample),
            }
        host |= set(host_ops.counts())
    outcome = "passed" if ran else "none"
    return {"outcome": outcome, "reason": "", "samples": ran, "host": sorted(host), "compared": compared}


def eager(op: OpInfo, sample: Any) -> Any:
    torch.manual_seed(0)
    args, kwargs = copied(sample.args), copied(sample.kwargs)
    if op.name in ("sort", "argsort"):  # an unstable sort may put equal elements in any order; ours is stable
        args, kwargs = (), {**dict(zip(("dim", "descending"), args, strict=False)), "stable": True, **kwargs}
    return op.op(copied(sample.input), *args, **kwargs)


def _compiled(op: OpInfo, sample: Any) -> Any:
    from tt_xla.frontends.torch import backend, host_ops

    torch._dynamo.reset()
    backend.clear_programs()

    def function(tensor: Any, args: Any, kwargs: Any) -> Any:
        return op.op(tensor, *args, **kwargs)

    arguments = [moved(copied(value)) for value in (sample.input, sample.args, sample.kwargs)]
    if op.name == "tensor_split":  # PyTorch reads the positions of the split on the host for every device
        arguments[1] = sample.args
    torch.manual_seed(0)
    with counted() as calls, torch.no_grad():
        result = torch.compile(function, backend="tt", dynamic=False)(*arguments)
        result = torch.utils._pytree.tree_map_only(torch.Tensor, lambda tensor: tensor.cpu(), result)
    visible = calls or host_ops.counts() or op.name in MOVED_ALONE or is_random(op)
    if not visible and not _unchanged(result, sample.input):
        raise AssertionError("nothing was compiled, and nothing is reported to have run on the host")
    return result


def is_random(op: OpInfo) -> bool:
    """Returns whether an op draws random numbers, which PyTorch's generator on the host does in compiled graphs too."""
    packet = getattr(torch.ops.aten, op.name, None)
    names = packet.overloads() if packet is not None else []
    return any(torch.Tag.nondeterministic_seeded in getattr(packet, name).tags for name in names)


def _unchanged(result: Any, input: Any) -> bool:
    """Returns whether an op returned its input, as dropout does outside of training."""
    same = isinstance(result, torch.Tensor) and isinstance(input, torch.Tensor) and result.dtype is input.dtype
    return same and torch.equal(result, input)


@contextlib.contextmanager
def counted() -> Iterator[list[str]]:
    """Collects the class name of each compiled graph that is called and of each program that runs, whoever owns it."""
    from tt_xla.frontends.torch import backend
    from tt_xla.frontends.torch.stages import StagedExecutor
    from tt_xla.runtime.executable import Executable

    calls: list[str] = []

    def counting(original: Any) -> Any:
        def called(self: Any, *args: Any) -> Any:
            calls.append(type(self).__name__)
            return original(self, *args)

        return called

    with contextlib.ExitStack() as stack:
        for kind, method in ((backend.Executor, "__call__"), (StagedExecutor, "__call__"), (Executable, "run")):
            stack.enter_context(mock.patch.object(kind, method, counting(getattr(kind, method))))
        yield calls


def copied(value: Any) -> Any:
    return torch.utils._pytree.tree_map_only(torch.Tensor, lambda tensor: tensor.detach().clone(), value)


def moved(value: Any) -> Any:
    """Moves tensors to the device ``tt``, and replaces devices in arguments by it."""
    device = torch.device("tt")

    def move(leaf: Any) -> Any:
        if isinstance(leaf, torch.Tensor):
            return leaf.to(device)
        return device if isinstance(leaf, torch.device) or leaf == "cpu" else leaf

    return torch.utils._pytree.tree_map(move, value)


def settled(op: OpInfo, sample: Any, result: Any) -> Any:
    """Replaces positions by the elements at them for ops that may choose any of several equal elements."""
    if op.name not in ("kthvalue", "topk") or not sample.input.ndim:
        return result
    values, positions = result
    dim = sample.args[1] if len(sample.args) > 1 else sample.kwargs.get("dim", -1)
    full = positions if positions.ndim == sample.input.ndim else positions.unsqueeze(dim)
    return values, positions.shape, sample.input.gather(dim, full)


def compare(op: OpInfo, got: Any, expected: Any) -> None:
    assert_close(got, expected, shapes_only=op.name in UNDEFINED or is_random(op))


def assert_close(got: Any, expected: Any, *, shapes_only: bool = False) -> None:
    """Asserts that two trees of results agree: shapes and dtypes, and values within :data:`TOLERANCES`."""
    got, expected = torch.utils._pytree.tree_leaves(got), torch.utils._pytree.tree_leaves(expected)
    assert len(got) == len(expected), f"{len(got)} results instead of {len(expected)}"
    for one, other in zip(got, expected, strict=True):
        if not isinstance(other, torch.Tensor):
            assert type(one) is type(other), f"{one!r} instead of {other!r}"
            if other is not None:
                torch.testing.assert_close(one, other, equal_nan=True)
        elif shapes_only:
            assert (one.shape, one.dtype) == (other.shape, other.dtype)
        else:
            rtol, atol = TOLERANCES.get(other.dtype, (None, None))
            torch.testing.assert_close(one, other, rtol=rtol, atol=atol, equal_nan=True, check_stride=False)


def short_text(sample: Any) -> str:
    def short(value: Any) -> Any:
        return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"

    parts = torch.utils._pytree.tree_map_only(torch.Tensor, short, (sample.input, *sample.args, sample.kwargs))
    return str(parts)[:300]


def quiet() -> None:
    """Silences PyTorch's warnings and the log line for each op that runs on the host."""
    warnings.simplefilter("ignore")
    os.environ["TTXLA_LOGGER_LEVEL"] = "ERROR"
    logging.getLogger("torch").setLevel(logging.ERROR)
    torch._dynamo.config.fail_on_recompile_limit_hit = True
    torch.set_num_threads(1)


def answer_pairs(check: Callable[[str, str, int], dict[str, Any]]) -> None:
    """Reads pairs from standard input, and prints a JSON object with the answer of ``check`` for each.

    Args:
        check: takes both parts of a pair and the number of samples, which is the program's argument.
    """
    quiet()
    count, shown = int(sys.argv[1]), os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # standard output carries answers only, so what ops print goes to standard error
    for line in sys.stdin:
        name, dtype = line.rstrip("\n").split(" ", 1)
        print(json.dumps({"op": name, "dtype": dtype, **check(name, dtype, count)}), file=shown, flush=True)


if __name__ == "__main__":
    answer_pairs(check_pair)
