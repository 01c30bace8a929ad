"""Upstream's package of its native plugin. The plugin here is Python and one C file, which calls it."""

from __future__ import annotations

from pathlib import Path

from tt_xla.environment import plugin_folder, variable

__all__ = [
    "get_library_path",
    "normalize_tt_visible_devices",
    "register_shutdown_hook",
    "setup_tt_metal_home",
    "setup_tt_pjrt_plugin_dir",
]


def get_library_path() -> Path:
    """Returns the library whose function ``GetPjrtApi`` gives the plugin's table to a program in this Python process.

    Raises:
        FileNotFoundError: The C part of the plugin was not built.
    """
    folder = Path(__file__).resolve().parents[1] / "tt_xla/frontends/jax/pjrt"
    for library in sorted((*folder.glob("_trampoline*.so"), *folder.glob("_trampoline*.pyd"))):
        return library
    raise FileNotFoundError(
        f"{folder} has no library _trampoline: the C part of the plugin was not built. Install a C compiler and "
        "python3-dev, then reinstall tt-xla."
    )


def setup_tt_pjrt_plugin_dir() -> None:
    """Sets ``TT_PJRT_PLUGIN_DIR`` to this package's folder, unless it is set.

    Raises:
        FileNotFoundError: The variable is set, and there is no such folder.
    """
    _check_folder("TT_PJRT_PLUGIN_DIR", plugin_folder(str(Path(__file__).resolve().parent)))


def setup_tt_metal_home() -> None:
    """Checks ``TT_METAL_RUNTIME_ROOT``. This package has no tt-metal of its own, so the variable may be unset.

    Raises:
        FileNotFoundError: The variable is set, and there is no such folder.
    """
    if folder := variable("TT_METAL_RUNTIME_ROOT"):
        _check_folder("TT_METAL_RUNTIME_ROOT", folder)


def normalize_tt_visible_devices() -> None:
    """Leaves ``TT_VISIBLE_DEVICES`` as it is: numbers count the chips of the system here."""


def register_shutdown_hook() -> None:
    """Does nothing: the plugin registers its own work at exit when it is loaded."""


def _check_folder(name: str, folder: str) -> None:
    if not Path(folder).is_dir():
        raise FileNotFoundError(f"{name} is {folder!r}, which is no folder. Correct the variable, or unset it.")
