"""The PyTorch front end: the device ``tt``, ``torch.compile(backend="tt")`` and the ``torch_xla`` names.

Importing this package registers ``torch.device("tt")``. JAX is imported when the first model is compiled.
"""

from tt_xla.frontends.torch.device import register
from tt_xla.frontends.torch.settings import set_compile_options

__all__ = ["register", "set_compile_options"]

register()
