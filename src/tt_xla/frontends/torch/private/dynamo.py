"""``torch._dynamo``: the compiler of Python frames. Importing it takes 0.5 s, so ``import torch`` does not."""

from __future__ import annotations

import functools

import torch
from torch.utils.weak import TensorWeakRef

from tt_xla.frontends.torch.private.names import names_of

with names_of("dynamo"):
    from torch._dynamo import config
    from torch._dynamo.convert_frame import compile_lock
    from torch._dynamo.guards import GuardBuilder
    from torch._dynamo.trace_rules import add as never_trace
    from torch._dynamo.utils import counters
    from torch._dynamo.variables.builder import VariableBuilder


def never_trace_module(name: str) -> None:
    """Makes dynamo run functions of a module, or of a package with this name, as they are."""
    never_trace(name)


def count_aot_autograd() -> None:
    """Tells dynamo that AOTAutograd compiles a graph.

    It looks whether the count grows, and else keeps no metadata of the parts of a graph that it cuts at the buckets of
    ``DistributedDataParallel``, which their backward passes need.
    """
    counters["aot_autograd"]["total"] += 1


def treat_as_opaque(kind: type) -> None:
    """Makes dynamo break the graph where an instance of a class is used."""
    for trace_numpy in (True, False):  # dynamo has a table for each setting
        VariableBuilder._type_dispatch_impl(trace_numpy)[kind] = VariableBuilder.wrap_user_defined


def guard_as_tensor(kind: type) -> None:
    """Makes dynamo compile again for other shapes, dtypes and strides of the tensors of a class, as of plain ones.

    Without this it takes an instance of a subclass of ``DTensor`` for a wrapper, and guards what it wraps alone.
    """

    def wrap(builder: VariableBuilder, value: torch.Tensor) -> object:
        builder.install_guards(functools.partial(GuardBuilder.TENSOR_MATCH, value=TensorWeakRef(value)))
        return builder.wrap_tensor(value)

    for trace_numpy in (True, False):
        VariableBuilder._type_dispatch_impl(trace_numpy)[kind] = wrap


__all__ = [
    "compile_lock",
    "config",
    "count_aot_autograd",
    "guard_as_tensor",
    "never_trace_module",
    "treat_as_opaque",
]
