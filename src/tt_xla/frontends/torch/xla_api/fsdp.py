"""``torch_xla.distributed.fsdp``: parameters that replicas share."""

from torch_xla.distributed.fsdp.utils import checkpoint_module

__all__ = ["checkpoint_module"]
