"""``torch._dynamo``: the compiler of Python frames. Importing it takes 0.5 s, so ``import torch`` does not."""

from __future__ import annotations

from types import CodeType

from tt_xla.frontends.torch.private.names import names_of

with names_of("dynamo"):
    from torch._dynamo import config, convert_frame, trace_rules
    from torch._dynamo.eval_frame import skip_code
    from torch._dynamo.exc import ShortenTraceback
    from torch._dynamo.variables.builder import VariableBuilder

    compile_lock = convert_frame.compile_lock
    """Held while dynamo compiles a frame: tracers of PyTorch are for one thread at a time."""

    _never_trace = trace_rules.add


def never_trace_module(name: str) -> None:
    """Makes dynamo run functions of a module, or of a package with this name, as they are."""
    _never_trace(name)


def never_trace_code(code: CodeType) -> None:
    """Makes dynamo run one function as it is. For code without a file, such as methods that ``dataclass`` writes."""
    skip_code(code)


def treat_as_opaque(kind: type) -> None:
    """Makes dynamo break the graph where an instance of a class is used."""
    for trace_numpy in (True, False):  # dynamo has a table for each setting
        VariableBuilder._type_dispatch_impl(trace_numpy)[kind] = VariableBuilder.wrap_user_defined


__all__ = [
    "ShortenTraceback",
    "compile_lock",
    "config",
    "convert_frame",
    "never_trace_code",
    "never_trace_module",
    "treat_as_opaque",
]
