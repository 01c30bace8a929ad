"""Builds a wheel with upstream's distribution name: ``cd python_package; python setup.py bdist_wheel``.

``python_package/dist/pjrt_plugin_tt*.whl`` has the same files, commands and entry points as the wheel ``tt_xla*.whl``
that ``make wheel`` builds. Install one of them, not both. Every fact comes from ../pyproject.toml.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
import tomllib
from pathlib import Path

from setuptools import Extension, find_namespace_packages, setup
from setuptools.command.build_py import build_py

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
FOLDERS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
PLUGIN = "src/tt_xla/frontends/jax/pjrt"


class BuildWithHook(build_py):
    """Copies the packages, and the .pth file of the import hook beside them."""

    def run(self) -> None:
        super().run()
        for source, target in FOLDERS["force-include"].items():
            shutil.copy(source, Path(self.build_lib) / target)


def version() -> str:
    """Returns the version of tt_xla, which its package has as text."""
    text = (ROOT / "src/tt_xla/__init__.py").read_text()
    return re.findall(r'^__version__ = "(.*)"$', text, re.MULTILINE)[0]


def main() -> None:
    packages = [
        name
        for folder in FOLDERS["packages"]
        for name in find_namespace_packages("src", include=[Path(folder).name, f"{Path(folder).name}.*"])
        if "__pycache__" not in name
    ]
    entry_points = {"console_scripts": PROJECT["scripts"], **PROJECT["entry-points"]}
    arguments = [] if sys.platform == "win32" else ["-std=c11", "-O2"]
    with tempfile.TemporaryDirectory() as scratch:
        setup(
            name="pjrt-plugin-tt",
            version=version(),
            description=PROJECT["description"],
            long_description=(ROOT / PROJECT["readme"]).read_text(),
            long_description_content_type="text/markdown",
            license=PROJECT["license"],
            python_requires=PROJECT["requires-python"],
            install_requires=PROJECT["dependencies"],
            extras_require={name: needs for name, needs in PROJECT["optional-dependencies"].items() if name != "dev"},
            entry_points={
                group: [f"{name} = {target}" for name, target in points.items()]
                for group, points in entry_points.items()
            },
            classifiers=PROJECT["classifiers"],
            project_urls=PROJECT["urls"],
            package_dir={"": "src"},
            packages=packages,
            package_data={"": ["*.c", "*.hpp", "*.txt"]},
            ext_modules=[
                Extension(
                    "tt_xla.frontends.jax.pjrt._trampoline",
                    [f"{PLUGIN}/trampoline.c"],
                    py_limited_api=True,
                    extra_compile_args=arguments,
                    optional=True,
                )
            ],
            cmdclass={"build_py": BuildWithHook},
            options={
                "bdist_wheel": {"py_limited_api": "cp311", "dist_dir": str(HERE / "dist")},
                "build": {"build_base": scratch},
                "egg_info": {"egg_base": scratch},
            },
        )


if __name__ == "__main__":
    os.chdir(ROOT)
    main()
