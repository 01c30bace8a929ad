"""Says which arguments of a program are a model's parameters, so that what depends on them alone is computed once.

``mark`` is an identity that leaves a trace in the module; :mod:`tt_xla.frontends.jax.pjrt.prepare` turns the trace into
the argument's role. Variables that go into ``flax.linen.Module.apply`` are marked by themselves.
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


def recognise_flax() -> None:
    """Makes ``flax.linen`` mark the variables of its models, once it is imported."""
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
