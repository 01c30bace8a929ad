"""Marks the parameters of a model in a jitted function, so that computations on parameters alone run once.

:func:`mark` is an identity that leaves a custom call in the module; :func:`tt_xla.compiler.compile_module` turns the
custom call into the role of the argument. :mod:`tt_xla.frontends.jax.model_libraries` calls it for models of Flax and
Equinox. JAX does not tell the parameters in a plain tree of arrays from other arrays, such as an optimizer's state, so
users mark them with ``tt_jax.mark_parameters``, which is :func:`mark`.
"""

from __future__ import annotations

import functools
from typing import Any

from tt_xla.frontends.jax.custom_calls import custom_call
from tt_xla.ir.program import ARGUMENT_MARK

PLATFORM = "tt"


@functools.cache
def _primitive() -> Any:
    """Returns the JAX primitive of a mark: an identity under every transformation.

    Its lowering rule is common to all platforms. A rule for ``tt`` alone could not be registered before JAX has
    initialised its backends, which is usually after the first model is traced.
    """
    from jax.extend.core import Primitive
    from jax.interpreters import ad, batching, mlir

    primitive = Primitive("tt_mark_argument")
    primitive.def_impl(lambda x, *, name: x)
    primitive.def_abstract_eval(lambda x, *, name: x)
    ad.deflinear2(primitive, lambda cotangent, x, *, name: [cotangent])
    batching.defvectorized(primitive)
    mlir.register_lowering(primitive, _lower)
    return primitive


def _lower(ctx: Any, x: Any, *, name: str) -> list[Any]:
    """Lowers a mark to a custom call for platform ``tt``, and to ``x`` for all others."""
    if tuple(ctx.module_context.platforms) != (PLATFORM,):
        return [x]
    return custom_call(ARGUMENT_MARK, [x.type], [x], backend_config=name)


def mark(tree: Any, prefix: str = "") -> Any:
    """Marks arrays as parameters of the function that is being traced.

        def forward(parameters, x):
            parameters = tt_jax.mark_parameters(parameters)
            ...

    Args:
        tree: a tree of arrays. Arrays that are not being traced are returned unchanged.
        prefix: start of the parameters' names; the rest are the keys in the tree, joined by dots.

    Returns:
        The same tree.
    """
    import jax

    def visit(path: Any, leaf: Any) -> Any:
        if not isinstance(leaf, jax.core.Tracer):
            return leaf
        keys = [str(getattr(key, "key", getattr(key, "name", getattr(key, "idx", key)))) for key in path]
        return _primitive().bind(leaf, name=".".join([prefix, *keys] if prefix else keys))

    return jax.tree_util.tree_map_with_path(visit, tree)
