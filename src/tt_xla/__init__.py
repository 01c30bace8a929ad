"""TT-XLA in Python: PyTorch and JAX programs compiled for Tenstorrent chips.

Importing this package imports neither torch, JAX nor xDSL; each is imported by the part that needs it.
"""

__version__ = "0.1.0"
