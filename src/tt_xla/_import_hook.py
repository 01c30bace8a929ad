"""Serves the ``torch_xla`` import names where the real package is absent (see ``tt_xla.frontends.torch.xla_api``).

Imported at the start of every interpreter of the environment, so it imports nothing.
"""

import sys

PACKAGE = "torch_xla"
IMPLEMENTATION = "tt_xla.frontends.torch.xla_api"


class TorchXlaFinder:
    """The last finder on ``sys.meta_path``: an installed ``torch_xla`` is found before it is asked.

    It answers imports and not probes: libraries such as transformers ask ``importlib.util.find_spec("torch_xla")`` and
    then take code paths for XLA devices, which a script that never imports torch_xla does not want.
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
