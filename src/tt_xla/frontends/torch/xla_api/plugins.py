"""Serves ``torch_xla.experimental.plugins``: device ``tt`` needs no plugin here, and a script may register one."""

from __future__ import annotations

from tt_xla.frontends.torch import session as _session

__all__ = ["DevicePlugin", "default", "register_plugin", "use_dynamic_plugins", "using_dynamic_plugins"]


class DevicePlugin:
    """The base class of plugins, which name a library with function ``GetPjrtApi``."""

    def library_path(self) -> str | None:
        """Returns the path of the plugin's library, or None."""
        return None

    def configure_single_process(self) -> None:
        """Called before a process uses the device; does nothing."""

    def physical_chip_count(self) -> int:
        """Returns the number of chips on this machine."""
        import torch_xla

        return torch_xla.device_count()


class _Registered:
    """The session's plugin, or None."""

    plugin: DevicePlugin | None = None


def register_plugin(name: str, device_plugin: DevicePlugin) -> None:
    """Registers a plugin by the name of its device type.

    Raises:
        ValueError: The name is not ``TT``: this torch_xla has no other device.
    """
    if name.upper() != "TT":
        raise ValueError(
            f"No device type {name!r}: this torch_xla is the part of its API that tt-xla provides, for device type "
            "'TT'. Installing the real torch_xla package replaces it."
        )
    _session.current.part(_Registered).plugin = device_plugin


def use_dynamic_plugins() -> None:
    """Does nothing: plugins are always registered dynamically here."""


def using_dynamic_plugins() -> bool:
    """Returns True."""
    return True


def default() -> DevicePlugin:
    """Returns the registered plugin, or one without a library of its own."""
    return _session.current.part(_Registered).plugin or DevicePlugin()
