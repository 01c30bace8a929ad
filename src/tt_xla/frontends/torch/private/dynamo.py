"""``torch._dynamo``: the compiler of Python frames. Importing it takes 0.5 s, so ``import torch`` does not."""

from __future__ import annotations

from tt_xla.frontends.torch.private.names import names_of

with names_of("dynamo"):
    from torch._dynamo import config
    from torch._dynamo.convert_frame import compile_lock
    from torch._dynamo.trace_rules import add as never_trace
    from torch._dynamo.variables.builder import VariableBuilder


def never_trace_module(name: str) -> None:
    """Makes dynamo run functions of a module, or of a package with this name, as they are."""
    never_trace(name)


def treat_as_opaque(kind: type) -> None:
    """Makes dynamo break the graph where an instance of a class is used."""
    for trace_numpy in (True, False):  # dynamo has a table for each setting
        VariableBuilder._type_dispatch_impl(trace_numpy)[kind] = VariableBuilder.wrap_user_defined


__all__ = [
    "compile_lock",
    "config",
    "never_trace_module",
    "treat_as_opaque",
]
