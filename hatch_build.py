"""Builds the C extension of the PJRT plugin into the wheel. Without a C compiler everything except JAX works.

TTXLA_DEBUG_BUILD=1 builds it with symbols and without optimisation, for gdb (docs/debugging.md).
"""

from __future__ import annotations

import os
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from setuptools import Extension

try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
except ModuleNotFoundError:  # python_package/setup.py takes the extension from here, and needs setuptools alone
    BuildHookInterface = object

FOLDER = Path("src/tt_xla/frontends/jax/pjrt")
NAME = "_trampoline"


class CustomBuildHook(BuildHookInterface):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel":
            return
        try:
            built = compile_extension(Path(self.root))
        except Exception as error:  # a failing compiler must not stop the installation of the rest
            self.app.display_warning(
                f"tt-xla: the C extension was not built, so JAX will not find platform 'tt'. The compiler said: {error}"
            )
            return
        build_data["pure_python"] = False
        build_data["artifacts"].append(str(built.relative_to(self.root)))
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["tag"] = f"cp311-abi3-{platform}"


def extension(name: str, folder: Path) -> Extension:
    """Returns the extension for setuptools, which compiles it from the C file in the folder."""
    from setuptools import Extension

    speed = ["-O0", "-g3"] if os.environ.get("TTXLA_DEBUG_BUILD") == "1" else ["-O2"]
    return Extension(
        name,
        [str(folder / "trampoline.c")],
        py_limited_api=True,
        extra_compile_args=[] if sys.platform == "win32" else ["-std=c11", *speed],
    )


def compile_extension(root: Path) -> Path:
    """Compiles the extension and returns its path. One binary serves Python 3.11 and all later versions."""
    from setuptools import Distribution
    from setuptools.command.build_ext import build_ext

    with tempfile.TemporaryDirectory() as scratch:
        command = build_ext(Distribution({"ext_modules": [extension(NAME, root / FOLDER)]}))
        command.build_lib = command.build_temp = scratch
        command.ensure_finalized()
        command.run()
        built = Path(command.get_outputs()[0])
        target = root / FOLDER / built.name
        target.unlink(missing_ok=True)  # another process may have loaded the old file
        target.write_bytes(built.read_bytes())
    return target
