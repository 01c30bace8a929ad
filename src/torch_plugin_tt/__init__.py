"""Upstream's package that connects torch_xla with the plugin. Importing it registers ``tt`` with PyTorch."""

from __future__ import annotations

from torch_xla.experimental.plugins import DevicePlugin

import tt_torch as _registers_the_backend  # noqa: F401  device "tt" and torch.compile(backend="tt")
from pjrt_plugin_tt import get_library_path, setup_tt_metal_home, setup_tt_pjrt_plugin_dir

__all__ = ["TTPlugin"]


class TTPlugin(DevicePlugin):
    """The plugin as torch_xla's entry point group ``torch_xla.plugins`` takes it."""

    def __init__(self) -> None:
        super().__init__()
        setup_tt_pjrt_plugin_dir()
        setup_tt_metal_home()

    def library_path(self) -> str:
        """Returns the path of the plugin's library.

        Raises:
            FileNotFoundError: The C part of the plugin was not built.
        """
        return str(get_library_path())
