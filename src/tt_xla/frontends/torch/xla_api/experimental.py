"""``torch_xla.experimental``: what is there of it lies in its modules."""
