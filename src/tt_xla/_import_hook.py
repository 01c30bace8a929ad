"""Serves the import names of ``torch_xla``, ``ttnn`` and ``infra`` where the real packages are absent.

``tt_xla.frontends.torch.xla_api``, ``tt_xla.ttnn_api`` and ``tt_xla.testing.infra`` serve them. ``infra`` is upstream's
folder of test helpers, which its tests import as ``tests.infra`` too.

Every interpreter of the environment imports this module when it starts, so the module imports nothing else.
"""

import sys

PACKAGES = ("torch_xla", "ttnn", "infra")
_PROBING = ("importlib.util", "accelerate.utils.imports")
"""Modules that import or look for ``torch_xla`` only to find out whether it is there."""


class PackageFinder:
    """The last finder on ``sys.meta_path``, so an installed ``torch_xla`` or ``ttnn`` and a folder ``infra`` go first.

    The finder answers imports and ignores probes: libraries such as transformers and accelerate call
    ``importlib.util.find_spec("torch_xla")``, or import it and catch the error, and then take code paths for XLA
    devices, which a script that never imports torch_xla does not want. ``USE_TORCH_XLA=1``, the switch of these
    libraries, or ``XLA_USE_SPMD=1`` asks for those paths without an import. ``tt_xla.codegen`` looks for the real
    ``ttnn`` by a probe.
    """

    @staticmethod
    def find_spec(name, path=None, target=None):
        package = name.removeprefix("tests.").partition(".")[0]
        if package not in PACKAGES or (name.startswith("tests.") and package != "infra"):
            return None
        if name == package and _importer() in _PROBING and not _asks_for(package):
            return None
        if package == "torch_xla":
            from tt_xla.frontends.torch.xla_api import finder
        elif package == "ttnn":
            from tt_xla.ttnn_api import finder
        else:
            from tt_xla.testing import infra as finder
        return finder.find(name)


def _asks_for(package):
    """Returns whether the environment asks for ``torch_xla`` where a library only looks for it."""
    from tt_xla.environment import asks_for_torch_xla

    return package == "torch_xla" and asks_for_torch_xla()


def _importer():
    """Returns the name of the module that imports or looks for the module of the running ``find_spec``."""
    frame = sys._getframe(2)
    while frame is not None and frame.f_globals.get("__name__") == "importlib._bootstrap":
        frame = frame.f_back
    return frame.f_globals.get("__name__") if frame is not None else None


if not any(getattr(entry, "__name__", "") == "PackageFinder" for entry in sys.meta_path):
    sys.meta_path.append(PackageFinder)
