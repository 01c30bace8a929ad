"""Graphs that AOTAutograd traced, in PyTorch's cache: the next process neither traces nor lowers them.

PyTorch's AOTAutogradCache makes the key from dynamo's graph, its inputs and the settings of PyTorch; :func:`caching`
adds what the frontend and the compiler depend on.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch

from tt_xla import disk_cache
from tt_xla.environment import selected_system
from tt_xla.frontends import stored_programs
from tt_xla.frontends.torch import session, settings
from tt_xla.frontends.torch.device import placements
from tt_xla.frontends.torch.distributed import placement
from tt_xla.frontends.torch.executor import Executor, Loading
from tt_xla.frontends.torch.lowering import Argument, module_path, source_line
from tt_xla.frontends.torch.private import aot_cache
from tt_xla.frontends.torch.private.ops import HigherOrderOperator, is_foreign
from tt_xla.frontends.torch.torch_options import graph_options


@contextlib.contextmanager
def caching(
    graph_module: torch.fx.GraphModule,
    arguments: Sequence[Argument],
    own: Mapping[str, Any],
    options: Mapping[str, Any],
    *,
    is_marked: bool,
) -> Iterator[aot_cache.Lookup | None]:
    """Lets AOTAutograd find a graph in its cache, and store it there, within a block.

    Args:
        graph_module: dynamo's graph.
        arguments: descriptions of its inputs.
        own: compile options of this model.
        options: options of ``torch.compile``.
        is_marked: whether the graph has marks of shardings, whose meshes belong to the process.

    Yields:
        What becomes of the look into the cache. None if it is not in use: for several chips, for ops of others,
        whose code no key covers, if ``TTXLA_CACHE`` is off, or if somebody asks for the stages of a compilation.
    """
    several = is_marked or placements.in_use() or session.current.chips.acts_as_one
    targets = _targets(graph_module)
    parsed = settings.current().with_own(own)
    if several or any(map(_is_unknown, targets)) or not aot_cache.IS_SUPPORTED or not stored_programs.is_used(parsed):
        yield None
        return
    aot_cache.install(Executor)
    lines = [(source_line(node), module_path(node)) for node in graph_module.graph.nodes]
    loading = session.current.part(Loading)
    loading.graphs.clear()
    loading.options = own
    tag = disk_cache.key_of(
        [sorted(graph_options(options).items()), selected_system(), arguments, lines, placement.described()]
    )
    with aot_cache.active(tag, _own_functions(targets)) as lookup:
        yield lookup


def _targets(graph_module: torch.fx.GraphModule) -> set[Any]:
    """Returns the functions and ops that a graph and its inner graphs call."""
    modules = [module for module in graph_module.modules() if isinstance(module, torch.fx.GraphModule)]
    return {node.target for module in modules for node in module.graph.nodes if node.op == "call_function"}


def _is_unknown(target: Any) -> bool:
    """Returns whether no key covers what a function does: an op of another library, or one of PyTorch that says so."""
    return is_foreign(target) or (isinstance(target, HigherOrderOperator) and not target.cacheable())


def _own_functions(targets: set[Any]) -> set[str]:
    """Returns the qualified names of this package's functions among those of a graph; the tag covers their sources."""
    own = [target for target in targets if (getattr(target, "__module__", None) or "").startswith("tt_xla.")]
    return {f"{target.__module__}.{target.__name__}" for target in own}  # type: ignore[union-attr]


def take_loaded() -> list[Executor]:
    """Returns the graphs that the cache held for the compilation of this thread: the forward graph first."""
    loading = session.current.part(Loading)
    graphs, loading.graphs = loading.graphs, []
    return graphs


__all__ = ["caching", "take_loaded"]
