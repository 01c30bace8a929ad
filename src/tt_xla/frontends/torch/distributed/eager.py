"""Eager collectives of tensors on the device, as programs of one op.

So they take the chip's predicted time, and profiles, benchmarks and accounts show them as they show compiled graphs.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import msgspec
import torch

from tt_xla.environment import selected_runtime
from tt_xla.frontends.torch import settings
from tt_xla.frontends.torch.device import chips
from tt_xla.frontends.torch.distributed.placement import chips_of
from tt_xla.frontends.torch.private.dispatcher import outside_dynamo
from tt_xla.frontends.torch.private.functions import without_dispatch_modes
from tt_xla.ir.ranks import TARGET, RankCollective

_ELEMENTS = {
    torch.float32: "f32",
    torch.bfloat16: "bf16",
    torch.float16: "f16",
    torch.int32: "i32",
    torch.uint8: "ui8",
    torch.bool: "i1",
}
"""Element types of the dtypes whose values the chip holds."""

_MOST_PROGRAMS = 256
"""Programs of a group, after which it forgets them: a script with so many shapes hardly repeats one."""


class EagerPrograms:
    """The programs of a process group's eager collectives.

    Args:
        group: the process group.
    """

    def __init__(self, group: Any) -> None:
        self._group = weakref.ref(group)
        self._programs: dict[Any, Any] = {}

    def run(
        self,
        kind: str,
        tensor: torch.Tensor,
        shape: Sequence[int],
        *,
        reduction: str = "",
        root: int = 0,
        rows: int = 0,
    ) -> torch.Tensor | None:
        """Runs a collective.

        Args:
            kind: kind of a :class:`RankCollective`.
            tensor: what this rank gives.
            shape: shape of the result.
            reduction: its reduction; empty for a kind without one.
            root: number in the group of the rank that sends, for a broadcast.
            rows: rows of both tensors in the program, where it has room for more than the tensors have; else 0.

        Returns:
            The result on the CPU; None for a tensor on the CPU, and where the chip cannot hold the elements or has no
            such reduction. Then nothing has crossed.

        Raises:
            CollectiveError: another rank calls something else, or does not come.
        """
        element, current = _ELEMENTS.get(tensor.dtype), settings.current()
        taken, given = (((rows, *sizes[1:]) if rows else (*sizes,)) for sizes in (shape, tensor.shape))
        is_plain = tensor.device.type != chips.DEVICE_TYPE or element is None or 0 in given
        if is_plain or reduction in ("and", "or", "xor") or selected_runtime() != "emulated":
            return None
        chip = chips.chip_of(tensor.device)
        key = current, kind, given, taken, element, reduction, root, chip
        run = self._programs.get(key)
        if run is None:
            options = current.with_own({})
            if options.generates_source:
                return None
            group = self._group()
            assert group is not None
            call = RankCollective(kind, group.group_name, group.size(), chips_of(group), reduction, root)
            while len(self._programs) >= _MOST_PROGRAMS:
                self._programs.clear()
            run = self._programs[key] = _loaded(call, _type(given, element), _type(taken, element), chip)
        content = tensor.detach().cpu().contiguous()
        if rows:
            content = torch.cat([content, content.new_zeros(rows - len(content), *content.shape[1:])])
        with outside_dynamo(), without_dispatch_modes(), torch.no_grad():
            (result,) = run([content], [None])
        return result[: shape[0]] if rows else result


def _type(shape: Sequence[int], element: str) -> str:
    return f"tensor<{''.join(f'{size}x' for size in shape)}{element}>"


def _loaded(call: RankCollective, operand: str, result: str, chip: int) -> Any:
    """Returns the function that runs a program of one collective on a chip."""
    from tt_xla.compiler import parse_module
    from tt_xla.frontends.torch.compilation import compile_and_load

    config = msgspec.json.encode(call).decode().replace("\\", "\\5C").replace('"', "\\22")
    module = parse_module(
        f"""module @{call.kind} {{
          func.func @main(%x: {operand}) -> {result} {{
            %0 = stablehlo.custom_call @{TARGET}(%x) {{backend_config = "{config}", has_side_effect = true}}
              : ({operand}) -> {result} loc(unknown)
            return %0 : {result}
          }}
        }}"""
    )
    options = replace(settings.current().with_own({}), auto_sharding="")
    with outside_dynamo(), without_dispatch_modes():
        return compile_and_load(module, options, chip=chip).run


__all__ = ["EagerPrograms"]
