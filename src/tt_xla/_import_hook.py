"""Serves the import names of ``torch_xla`` and ``ttnn`` where the real packages are absent.

``tt_xla.frontends.torch.xla_api`` and ``tt_xla.ttnn_api`` serve them.

Every interpreter of the environment imports this module when it starts, so the module imports nothing else.
"""

import sys

PACKAGES = ("torch_xla", "ttnn")


class PackageFinder:
    """The last finder on ``sys.meta_path``, so an installed ``torch_xla`` or ``ttnn`` goes first.

    The finder answers imports and ignores probes: libraries such as transformers call
    ``importlib.util.find_spec("torch_xla")`` and then take code paths for XLA devices, which a script that never
    imports torch_xla does not want. ``tt_xla.codegen`` looks for the real ``ttnn`` by a probe.
    """

    @staticmethod
    def find_spec(name, path=None, target=None):
        package = name.partition(".")[0]
        if package not in PACKAGES:
            return None
        if name == package and sys._getframe(2).f_globals.get("__name__") == "importlib.util":
            return None
        if package == "torch_xla":
            from tt_xla.frontends.torch.xla_api import finder
        else:
            from tt_xla.ttnn_api import finder
        return finder.find(name)


if not any(getattr(entry, "__name__", "") == "PackageFinder" for entry in sys.meta_path):
    sys.meta_path.append(PackageFinder)
