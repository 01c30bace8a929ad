"""JAX on platform ``tt``: ``plugin`` registers it, ``pjrt`` is what jaxlib calls."""
