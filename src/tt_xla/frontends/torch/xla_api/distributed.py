"""``torch_xla.distributed``: what is there of it lies in its modules."""
