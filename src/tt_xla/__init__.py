"""TT-XLA in Python: PyTorch and JAX programs compiled for Tenstorrent chips.

Importing this package imports neither torch, JAX nor xDSL; each is imported by the part that needs it.

PYTEST_DONT_REWRITE: the import hook loads this module when Python starts. The package has a pytest plugin, so pytest
would warn that it is too late to rewrite the module's assertions.
"""

__version__ = "0.1.0"
