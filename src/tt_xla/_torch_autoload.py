"""The entry point that torch calls while it is imported (group ``torch.backends``): it registers the device ``tt``."""

import sys


def register() -> None:
    """Registers the device ``tt``, unless the module that registers it is importing torch right now.

    With a version of PyTorch that lacks what the device needs, one line of the log says so, and torch is imported.
    """
    device = sys.modules.get("tt_xla.frontends.torch.device")
    if device is None or hasattr(device, "register"):
        from tt_xla.errors import PyTorchVersionError
        from tt_xla.log import logger

        try:
            from tt_xla.frontends.torch.device import register as register_device

            register_device()
        except PyTorchVersionError as error:
            logger().warning("%s", error)
