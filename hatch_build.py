"""Builds the C part of the PJRT plugin into the package, where there is a compiler; without one all but JAX works."""

from __future__ import annotations

import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FOLDER = Path("src/tt_xla/frontends/jax/pjrt")


class CustomBuildHook(BuildHookInterface):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel":
            return
        try:
            built = compile_extension(Path(self.root))
        except Exception as error:  # whatever a compiler may do, the rest of the package installs
            self.app.display_warning(f"tt-xla: no C part, so JAX will not find the device 'tt': {error}")
            return
        build_data["pure_python"] = False
        build_data["artifacts"].append(str(built.relative_to(self.root)))
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["tag"] = f"cp311-abi3-{platform}"


def compile_extension(root: Path) -> Path:
    """The path of the extension module; its one binary serves Python 3.11 and all later versions."""
    from setuptools import Distribution, Extension
    from setuptools.command.build_ext import build_ext

    arguments = [] if sys.platform == "win32" else ["-std=c11", "-O2"]
    extension = Extension(
        "_trampoline",
        [str(root / FOLDER / "trampoline.c")],
        py_limited_api=True,
        extra_compile_args=arguments,
    )
    with tempfile.TemporaryDirectory() as scratch:
        command = build_ext(Distribution({"ext_modules": [extension]}))
        command.build_lib = command.build_temp = scratch
        command.ensure_finalized()
        command.run()
        built = Path(command.get_outputs()[0])
        target = root / FOLDER / built.name
        target.unlink(missing_ok=True)  # a process may have the old one loaded
        target.write_bytes(built.read_bytes())
    return target
