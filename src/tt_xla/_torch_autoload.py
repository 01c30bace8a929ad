"""The entry point that torch calls while it is imported (group ``torch.backends``): it registers the device ``tt``."""

import sys


def register() -> None:
    """Registers the device ``tt``, unless the module that registers it is importing torch right now."""
    device = sys.modules.get("tt_xla.frontends.torch.device")
    if device is None or hasattr(device, "register"):
        from tt_xla.frontends.torch.device import register as register_device

        register_device()
