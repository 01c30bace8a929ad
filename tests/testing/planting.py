"""Plants a fault in the compiler or in a kernel: a Python file that changes a module's source when it is imported.

``tt-xla reduce --import FILE`` runs such a file in the process in which it tries programs.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

_FILE = '''"""Changes {module} when it is imported."""

import importlib.abc
import importlib.util
import sys

MODULE, OLD, NEW = {module!r}, {old!r}, {new!r}


class Planter(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    def find_spec(self, name, path=None, target=None):
        if name != MODULE:
            return None
        sys.meta_path.remove(self)
        try:
            self.origin = importlib.util.find_spec(name).origin
        finally:
            sys.meta_path.insert(0, self)
        return importlib.util.spec_from_loader(name, self, origin=self.origin)

    def get_source(self, name):
        with open(self.origin) as file:
            source = file.read()
        assert source.count(OLD) == 1, f"{{MODULE}} no longer has this text once: {{OLD}}"
        return source.replace(OLD, NEW)


sys.meta_path.insert(0, Planter())
'''


def plant(folder: Path, module: str, old: str, new: str) -> Path:
    """Writes the file that plants a fault.

    Args:
        folder: folder of the file.
        module: name of the module.
        old: text that the module has once.
        new: the text in its place.

    Returns:
        The file.
    """
    spec = find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    assert Path(spec.origin).read_text().count(old) == 1, f"{module} no longer has this text once: {old}"
    path = folder / f"plant_{module.rpartition('.')[2]}.py"
    path.write_text(_FILE.format(module=module, old=old, new=new))
    return path
