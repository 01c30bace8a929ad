"""Kernels of tt-lang in models of PyTorch, which tt-xla does not run."""

from __future__ import annotations

from typing import Any, NoReturn


class TTLangError(RuntimeError):
    """A kernel of tt-lang cannot run."""


def tt_lang_operation(*args: Any, **kwargs: Any) -> NoReturn:
    """Refuses to make an op of a kernel of tt-lang.

    Raises:
        TTLangError: always.
    """
    raise TTLangError(
        "tt_torch.tt_lang_operation: kernels of tt-lang do not run here, because the emulated card has no kernels of "
        "the user's. Write the operation with PyTorch's functions, or as torch.library.custom_op with an "
        "implementation for the CPU, which runs on the host"
    )
