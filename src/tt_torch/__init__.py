"""Upstream's names for the torch frontend; importing this registers the dynamo backend and the device ``tt``."""

from tt_xla.frontends.torch import register

register()
