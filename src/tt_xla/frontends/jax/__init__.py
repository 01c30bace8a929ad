"""JAX on platform ``tt``: ``plugin`` registers it with JAX, and ``pjrt`` implements the C API that jaxlib calls."""
