"""Serves upstream's test helpers as ``infra`` and ``tests.infra``: their names are those of :mod:`tt_xla.testing`.

Upstream spreads them over modules such as ``infra.testers.compiler_config``. Each of these modules has all names here,
so that an import finds its name in whichever module upstream keeps it.
"""

from __future__ import annotations

import difflib
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from tt_xla import testing

MODULES = (
    "infra",
    "infra.evaluators",
    "infra.evaluators.evaluation_config",
    "infra.testers",
    "infra.testers.compiler_config",
    "infra.testers.single_chip",
    "infra.testers.single_chip.graph",
    "infra.testers.single_chip.graph.graph_tester",
    "infra.testers.single_chip.model",
    "infra.testers.single_chip.model.jax_model_tester",
    "infra.testers.single_chip.model.model_tester",
    "infra.testers.single_chip.model.torch_model_tester",
    "infra.testers.single_chip.op",
    "infra.testers.single_chip.op.op_tester",
    "infra.utilities",
    "infra.utilities.jax_multichip_utils",
    "infra.utilities.torch_multichip_utils",
    "infra.utilities.types",
    "infra.workloads",
)
"""Upstream's modules whose names are served."""

ANY_TYPE = ("Device", "Model", "PyTree", "Tensor")
"""Upstream's names of types in annotations, which admit the types of either framework."""


class _NamesLoader(Loader):
    """Loads a module whose attributes are the names of :mod:`tt_xla.testing`."""

    def create_module(self, spec: ModuleSpec) -> None:
        """Leaves the creation of the module to Python."""

    def exec_module(self, module: ModuleType) -> None:
        def find_name(name: str) -> Any:
            if name in ANY_TYPE:
                return Any
            if name in testing.__all__:
                return getattr(testing, name)
            near = difflib.get_close_matches(name, testing.__all__, 1)
            hint = f" Did you mean {near[0]}?" if near else " See docs/testing.md for the names that it has."
            raise AttributeError(f"module {module.__name__!r} of tt_xla.testing has no {name!r}.{hint}", name=name)

        module.__doc__ = f"Upstream's {module.__name__}, served by tt_xla.testing."
        module.__all__ = testing.__all__
        module.__getattr__ = find_name


def find(name: str) -> ModuleSpec:
    """Returns the import spec of a module of upstream's test helpers.

    Args:
        name: full name of the module, such as ``infra.evaluators`` or ``tests.infra.evaluators``.

    Raises:
        ModuleNotFoundError: upstream's helpers have no such module, or it has no counterpart here.
    """
    if name.removeprefix("tests.") not in MODULES:
        raise ModuleNotFoundError(
            f"No module named {name!r}: tt_xla.testing serves the names of upstream's test helpers as "
            f"{', '.join(MODULES[:3])} and so on, and has no counterpart of this one.",
            name=name,
        )
    return ModuleSpec(name, _NamesLoader(), is_package=True)
