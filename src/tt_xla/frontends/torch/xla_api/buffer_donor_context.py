"""``torch_xla.utils.buffer_donor_context``: lets programs take donated tensors wherever recorded ops run."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch_xla


@contextlib.contextmanager
def alias_with_buffer_donor_config(should_alias: bool = True) -> Iterator[bool]:
    """Context manager in which each run of recorded ops takes donated tensors, beside ``torch_xla.sync``.

    Args:
        should_alias: False for ``torch_xla.sync`` alone.

    Returns:
        What held before.
    """
    before = torch_xla._XLAC._xla_get_enable_alias_with_buffer_donor_config()
    torch_xla._XLAC._xla_set_enable_alias_with_buffer_donor_config(should_alias)
    try:
        yield before
    finally:
        torch_xla._XLAC._xla_set_enable_alias_with_buffer_donor_config(before)
