"""``torch_xla._internal.tpu``: there are no TPUs. Scripts ask before they use what only TPUs have."""

from __future__ import annotations


def num_available_chips() -> int:
    """Returns 0: the number of TPUs."""
    return 0


def num_available_devices() -> int:
    """Returns 0: the number of TPUs."""
    return 0


def version() -> int:
    """Returns 0: the generation of the TPUs."""
    return 0
