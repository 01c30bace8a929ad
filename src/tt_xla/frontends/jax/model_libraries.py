"""Patches of Flax and Equinox: their models mark their own parameters.

The libraries are optional and are never imported here: a library is patched once the user has imported it.
"""

from __future__ import annotations

import functools
import sys
from typing import Any

from tt_xla.frontends.jax.parameters import mark


def recognise_models() -> None:
    """Patches the model libraries that are imported by now; may be called again when more are imported.

    ``flax.linen.Module.apply`` marks its variables, ``flax.nnx`` marks parameters and statistics of its models, and
    layers of ``equinox.nn`` mark their arrays.
    """
    _recognise_linen()
    _recognise_nnx()
    _recognise_equinox()


def _recognise_linen() -> None:
    """Makes ``flax.linen.Module.apply`` mark its variables."""
    linen = sys.modules.get("flax.linen")
    module = getattr(linen, "Module", None)
    if module is None or hasattr(module.apply, "marks_parameters"):
        return
    apply = module.apply

    @functools.wraps(apply)
    def marking(self: Any, variables: Any, *args: Any, **kwargs: Any) -> Any:
        return apply(self, mark(variables), *args, **kwargs)

    marking.marks_parameters = True  # type: ignore[attr-defined]
    module.apply = marking


def _recognise_nnx() -> None:
    """Marks parameters and statistics of ``flax.nnx`` models, but not the state of optimizers and random numbers.

    A model enters a transformed function as its state, and ``unflatten`` rebuilds it there for every transformation.
    """
    graph = sys.modules.get("flax.nnx.graphlib") or sys.modules.get("flax.nnx.graph")
    unflatten = getattr(graph, "unflatten", None)
    if unflatten is None or hasattr(unflatten, "marks_parameters"):
        return

    @functools.wraps(unflatten)
    def marking(*args: Any, **kwargs: Any) -> Any:
        node = unflatten(*args, **kwargs)
        _mark_nnx(node)
        return node

    marking.marks_parameters = True  # type: ignore[attr-defined]
    graph.unflatten = marking  # type: ignore[union-attr]


def _mark_nnx(node: Any) -> None:
    """Marks the traced parameters and statistics of an nnx model in place."""
    import jax
    from flax import nnx

    for path, variable in nnx.iter_graph(node):
        if not isinstance(variable, nnx.Param | nnx.BatchStat):
            continue
        value = variable.get_value() if hasattr(variable, "get_value") else variable.value
        if not isinstance(value, jax.core.Tracer):
            continue
        marked = mark(value, ".".join(map(str, path)))
        if hasattr(variable, "set_raw_value"):
            variable.set_raw_value(marked)
        else:
            variable.raw_value = marked


def _recognise_equinox() -> None:
    """Lets each layer of ``equinox.nn`` mark its arrays when it is called.

    A container is called before the layers in it, so names start at the outermost layer.
    """
    import jax

    equinox = sys.modules.get("equinox")
    layers = getattr(equinox, "nn", None)
    module = getattr(equinox, "Module", None)
    if layers is None or module is None or hasattr(layers, "marks_parameters"):
        return

    def marking_call(call: Any) -> Any:
        @functools.wraps(call)
        def marking(self: Any, *args: Any, **kwargs: Any) -> Any:
            traced = any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves(self))
            return call(mark(self) if traced else self, *args, **kwargs)

        return marking

    for layer_class in list(vars(layers).values()):
        is_layer = isinstance(layer_class, type) and issubclass(layer_class, module)
        if is_layer and "__call__" in vars(layer_class):
            setattr(layer_class, "__call__", marking_call(vars(layer_class)["__call__"]))  # noqa: B010
    layers.marks_parameters = True
