"""Builds a wheel with upstream's distribution name: ``cd python_package; python setup.py bdist_wheel``.

``python_package/dist/pjrt_plugin_tt*.whl`` has the same files, commands and entry points as the wheel ``tt_xla*.whl``
that ``make wheel`` builds. Install one of them, not both. Metadata come from pyproject.toml, which setuptools reads
itself, and the C extension comes from hatch_build.py.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

from setuptools import Distribution, Extension, find_namespace_packages, setup
from setuptools.command.build_py import build_py

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
WHEEL = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]

sys.path.insert(0, str(ROOT))
import hatch_build  # noqa: E402


class DistributionWithUpstreamName(Distribution):
    """The project of pyproject.toml under upstream's name."""

    def parse_config_files(self, *arguments: Any, **keywords: Any) -> None:
        super().parse_config_files(*arguments, **keywords)
        self.metadata.name = "pjrt-plugin-tt"
        extras = {name: needs for name, needs in self.extras_require.items() if name != "dev"}  # dev names tt-xla
        self.extras_require = self.metadata.extras_require = extras
        self.metadata.provides_extras = dict.fromkeys(extras)


class BuildWithHook(build_py):
    """Copies the packages, and the .pth file of the import hook beside them."""

    def run(self) -> None:
        super().run()
        for source, target in WHEEL["force-include"].items():
            shutil.copy(source, Path(self.build_lib) / target)


def version() -> str:
    """Returns the version of tt_xla, which its package has as text."""
    text = (ROOT / "src/tt_xla/__init__.py").read_text()
    return re.findall(r'^__version__ = "(.*)"$', text, re.MULTILINE)[0]


def extension() -> Extension:
    """Returns the C part of the JAX plugin. Without a C compiler the wheel lacks it."""
    made = hatch_build.extension(".".join((*hatch_build.FOLDER.parts[1:], hatch_build.NAME)), hatch_build.FOLDER)
    made.optional = True
    return made


def main() -> None:
    packages = [
        name
        for folder in WHEEL["packages"]
        for name in find_namespace_packages("src", include=[Path(folder).name, f"{Path(folder).name}.*"])
        if "__pycache__" not in name
    ]
    with tempfile.TemporaryDirectory() as scratch:
        setup(
            distclass=DistributionWithUpstreamName,
            version=version(),
            package_dir={"": "src"},
            packages=packages,
            package_data={"": ["*"]},
            exclude_package_data={"": ["*.so"]},
            ext_modules=[extension()],
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
