"""What torch calls as it is imported (entry point group ``torch.backends``), so that the device ``tt`` is there."""

import sys


def register() -> None:
    """Registers the device ``tt``, unless torch is being imported by the very module that registers it afterwards."""
    device = sys.modules.get("tt_xla.frontends.torch.device")
    if device is None or hasattr(device, "register"):
        from tt_xla.frontends.torch.device import register as register_device

        register_device()
