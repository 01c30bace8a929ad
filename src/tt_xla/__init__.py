"""TT-XLA in Python: PyTorch and JAX programs compiled for Tenstorrent chips.

Importing this package imports neither torch, JAX nor xDSL; each is imported by the part that needs it.

PYTEST_DONT_REWRITE: the import hook loads this module when Python starts, and pytest, for which the package has a
plugin, would warn that it comes too late to rewrite assertions.
"""

__version__ = "0.1.0"
