"""The traps of NaN and infinities.

An op makes a NaN where its result has one and its operands have none: at the same place for elementwise ops, and
anywhere for ops that mix elements. It makes an infinity where none of its operands has one. What an op only passes on,
as the minus infinity of a mask, is not made, and a number of the program, such as the fill value of a constant, counts
as an operand.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import torch

from tt_xla.errors import NumberTrapError
from tt_xla.runtime.emulator.context import Call
from tt_xla.runtime.traps.site import Site, first_of, number


class _Kind(NamedTuple):
    """A kind of numbers that are not finite."""

    name: str
    text: str
    test: Callable[[torch.Tensor], torch.Tensor]
    of_number: Callable[[float], bool]
    hint: str


_NAN = _Kind(
    "nan",
    "a NaN",
    torch.isnan,
    math.isnan,
    "Keep the operands within the op's domain before the op, as torch.where(x > 0, x, 1).log() does: a choice after "
    "the op leaves the NaN in the gradient.",
)
_INF = _Kind(
    "inf",
    "an infinity",
    torch.isinf,
    math.isinf,
    "Limit the operands, scale them, or keep the value in float32; if the infinity is intended, leave inf out of "
    "option trap.",
)


def with_number_check(site: Site, call: Call, *, nan: bool, inf: bool) -> Call:
    """Returns the call of an instruction that raises NumberTrapError when it makes a NaN or an infinity.

    The sum of a result is finite in almost all calls, and takes one pass over the elements; only others are looked at.

    Args:
        site: the instruction.
        call: its call.
        nan: whether it may make no NaN.
        inf: whether it may make no infinity.
    """
    if not site.float_results or not site.computes:
        return call
    numbers = list(_numbers(site.instruction.attributes))
    allowed = {kind: any(map(kind.of_number, numbers)) for kind in (_NAN, _INF)}
    kinds = [kind for kind, asked in ((_NAN, nan), (_INF, inf)) if asked and not allowed[kind]]
    indices = site.float_results if kinds else ()
    is_single = len(site.context.results) == 1

    def checked(*tensors: torch.Tensor) -> Any:
        returned = call(*tensors)
        for index in indices:
            result = returned if is_single else returned[index]
            if not math.isfinite(result.sum()):
                for kind in kinds:
                    _look_closer(site, kind, index, result, tensors)
        return returned

    return checked


def _numbers(value: Any) -> Iterator[float]:
    """Yields the floats among attributes."""
    if isinstance(value, float):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from _numbers(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _numbers(each)


def _look_closer(site: Site, kind: _Kind, index: int, result: torch.Tensor, operands: Sequence[torch.Tensor]) -> None:
    """Checks every element of a result.

    Raises:
        NumberTrapError: the op made one of the kind.
    """
    bad = kind.test(result)
    if not bad.any():
        return
    for operand in operands:
        if operand.is_floating_point():
            passed_on = kind.test(operand)
            if not site.is_elementwise and passed_on.any():
                return
            bad = bad & ~passed_on if site.is_elementwise else bad
    if not bad.any():
        return
    element, count = first_of(bad)
    text = kind.text if kind is _NAN else f"an infinity ({number(result[element].item())})"
    raise NumberTrapError(
        f"{site.op} made {text} in element {list(element)} of {site.result_text(index)}{site.where}, in {count} of "
        f"{result.numel()} elements. {site.operands_text(operands, element)}.",
        hint=kind.hint,
        location=site.location,
        kind=kind.name,
        op=site.op,
        element=element,
    )


__all__ = ["with_number_check"]
