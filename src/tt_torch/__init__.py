"""Upstream's names for the torch frontend; importing this registers the dynamo backend and the device ``tt``."""

from tt_xla.frontends.torch import register
from tt_xla.frontends.torch.codegen import codegen_cpp, codegen_py

register()

__all__ = ["codegen_cpp", "codegen_py"]
