"""Serves the ``torch_xla`` import names where the real package is absent (see ``tt_xla.frontends.torch.xla_api``).

Every interpreter of the environment imports this module when it starts, so the module imports nothing else.
"""

import sys

PACKAGE = "torch_xla"
IMPLEMENTATION = "tt_xla.frontends.torch.xla_api"


class TorchXlaFinder:
    """The last finder on ``sys.meta_path``, so an installed ``torch_xla`` goes first.

    The finder answers imports and ignores probes: libraries such as transformers call
    ``importlib.util.find_spec("torch_xla")`` and then take code paths for XLA devices, which a script that never
    imports torch_xla does not want.
    """

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name != PACKAGE and not name.startswith(PACKAGE + "."):
            return None
        if name == PACKAGE and sys._getframe(2).f_globals.get("__name__") == "importlib.util":
            return None
        from tt_xla.frontends.torch.xla_api import finder

        return finder.find(name)


if not any(getattr(entry, "__name__", "") == "TorchXlaFinder" for entry in sys.meta_path):
    sys.meta_path.append(TorchXlaFinder)
