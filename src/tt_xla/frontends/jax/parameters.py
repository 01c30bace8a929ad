"""Says which arguments of a program are a model's parameters, so that what depends on them alone is computed once.

``mark`` is an identity that leaves a trace in the module; :mod:`tt_xla.frontends.jax.pjrt.prepare` turns the trace into
the argument's role. Variables that go into ``flax.linen.Module.apply`` are marked by themselves, and so are parameters
and statistics of ``flax.nnx`` models and arrays of ``equinox.nn`` layers. Nothing tells which arrays of a plain tree
are parameters, as an optimiser's state comes just so; there ``tt_jax.mark_parameters``, which is ``mark``, says it.
"""

from __future__ import annotations

import functools
import sys
from typing import Any

MARK = "tt.mark_argument"


@functools.cache
def _primitive() -> Any:
    from jax.extend.core import Primitive
    from jax.interpreters import ad, batching, mlir

    primitive = Primitive("tt_mark_argument")
    primitive.def_impl(lambda x, *, name: x)
    primitive.def_abstract_eval(lambda x, *, name: x)
    ad.deflinear2(primitive, lambda cotangent, x, *, name: [cotangent])
    batching.primitive_batchers[primitive] = lambda args, dims, *, name: (args[0], dims[0])
    mlir.register_lowering(primitive, lambda ctx, x, *, name: [x])
    mlir.register_lowering(primitive, _lower, platform="tt")
    return primitive


def _lower(ctx: Any, x: Any, *, name: str) -> Any:
    from jax._src.interpreters import mlir

    return mlir.custom_call(MARK, result_types=[x.type], operands=[x], backend_config=name).results


def mark(tree: Any, prefix: str = "") -> Any:
    """The same tree of arrays; where they are arguments of a compiled function, they are its parameters.

        def forward(parameters, x):
            parameters = tt_jax.mark_parameters(parameters)
            ...

    Args:
        prefix: what their names, made of the keys in the tree, start with.
    """
    import jax

    def visit(path: Any, leaf: Any) -> Any:
        if not isinstance(leaf, jax.core.Tracer):
            return leaf
        keys = [str(getattr(key, "key", getattr(key, "name", getattr(key, "idx", key)))) for key in path]
        return _primitive().bind(leaf, name=".".join([prefix, *keys] if prefix else keys))

    return jax.tree_util.tree_map_with_path(visit, tree)


def recognise_models() -> None:
    """Makes ``flax.linen``, ``flax.nnx`` and ``equinox`` mark the variables of their models, once they are imported."""
    _recognise_linen()
    _recognise_nnx()
    _recognise_equinox()


def _recognise_linen() -> None:
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
    """A model of nnx enters a transformed function as its state; ``unflatten`` makes it a model again, whatever the
    transformation. Parameters and statistics are marked there; the state of optimisers and of random numbers is not."""
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
    """A layer marks its arrays when it is called; containers come first, so names start at the outermost layer."""
    import jax

    equinox = sys.modules.get("equinox")
    layers = getattr(equinox, "nn", None)
    module = getattr(equinox, "Module", None)
    if layers is None or module is None or hasattr(layers, "marks_parameters"):
        return

    def marks(call: Any) -> Any:
        @functools.wraps(call)
        def marking(self: Any, *args: Any, **kwargs: Any) -> Any:
            traced = any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves(self))
            return call(mark(self) if traced else self, *args, **kwargs)

        return marking

    for kind in list(vars(layers).values()):
        if isinstance(kind, type) and issubclass(kind, module) and "__call__" in vars(kind):
            setattr(kind, "__call__", marks(vars(kind)["__call__"]))  # noqa: B010
    layers.marks_parameters = True
