"""``torch._functorch``'s AOTAutogradCache: what AOTAutograd traced, kept across processes.

PyTorch keys, stores and finds the entries: the compiled forward and backward graphs, which must be ``OutputCode``, and
the wrappers around them. They are in PyTorch's own folder (``TORCHINDUCTOR_CACHE_DIR``). The methods that are replaced
here store compiled graphs of ``tt`` within the entry instead of in inductor's own cache, and leave out of the key what
describes inductor, whose import takes a second. Entries of other backends stay as they are.
"""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch.compiler import config as compiler_config

from tt_xla.frontends.torch.private.names import names_of

with names_of("aot_cache"):
    from torch._functorch import config
    from torch._functorch._aot_autograd.autograd_cache import AOTAutogradCache, AOTAutogradCacheDetails
    from torch._inductor import config as inductor_config
    from torch._inductor.output_code import OutputCode

REPLACED = ((AOTAutogradCache, "make_entry"), (AOTAutogradCacheDetails, "_init_fx_graph_hash_details"))
"""Owner and name of each attribute that :func:`install` replaces."""

IS_SUPPORTED = all(hasattr(owner, name) for owner, name in REPLACED) and hasattr(config, "bundled_autograd_cache")
"""Whether this version of PyTorch has the functions that :func:`install` replaces; if not, no graph is kept."""


@dataclass
class Lookup:
    """One compilation's look into the cache.

    Attributes:
        has_key: whether AOTAutograd has made a key. It makes none for a graph that calls functions
            whose code the key would not cover, such as those under ``torch.compiler.allow_in_graph``.
    """

    has_key: bool = False


class _Active(threading.local):
    tag: str | None = None
    lookup: Lookup | None = None


_ACTIVE = _Active()


@functools.cache
def install(kind: type[OutputCode]) -> None:
    """Makes AOTAutogradCache store compiled graphs of a class within its entries, and key them without inductor.

    Args:
        kind: class of the compiled graphs of ``tt``.
    """
    make_entry = AOTAutogradCache.make_entry

    @functools.wraps(make_entry)
    def make_bundled_entry(compiled_fw_func: Any, *args: Any, **kwargs: Any) -> Any:
        inner = compiled_fw_func
        while hasattr(inner, "__wrapped__"):
            inner = inner.__wrapped__
        is_ours = isinstance(inner, kind)
        with config.patch(bundled_autograd_cache=True) if is_ours else contextlib.nullcontext():
            return make_entry(compiled_fw_func, *args, **kwargs)

    init_details = AOTAutogradCacheDetails._init_fx_graph_hash_details

    @functools.wraps(init_details)
    def init_own_details(self: Any, gm: Any, example_inputs: Any, fx_config: Any) -> None:
        if _ACTIVE.tag is None:
            init_details(self, gm, example_inputs, fx_config)
            return
        self.gm, self.example_inputs, self.tt_tag = gm, example_inputs, _ACTIVE.tag
        self.torch_version = torch.__version__, torch.version.git_version
        self.state = torch.get_default_dtype(), torch.get_default_device(), compiler_config.cache_key_tag
        if _ACTIVE.lookup is not None:  # AOTAutograd has accepted the graph before it asks for these
            _ACTIVE.lookup.has_key = True

    AOTAutogradCacheDetails._init_fx_graph_hash_details = init_own_details  # type: ignore[method-assign]
    AOTAutogradCache.make_entry = staticmethod(make_bundled_entry)  # type: ignore[method-assign]


@contextlib.contextmanager
def active(tag: str, functions: Iterable[str]) -> Iterator[Lookup]:
    """Makes AOTAutograd look for a graph in its cache, and key it with a tag, within a block.

    Args:
        tag: text that tells what the entry depends on besides what PyTorch knows.
        functions: qualified names of functions in the graph, other than PyTorch's, whose behaviour the tag covers.

    Yields:
        What became of the look.
    """
    known = inductor_config.unsafe_marked_cacheable_functions | dict.fromkeys(sorted(functions), tag)
    lookup = Lookup()
    outer = _ACTIVE.tag, _ACTIVE.lookup
    _ACTIVE.tag, _ACTIVE.lookup = tag, lookup
    try:
        with (
            config.patch(enable_autograd_cache=True, force_autograd_cache=True),
            inductor_config.patch(unsafe_marked_cacheable_functions=known),
        ):
            yield lookup
    finally:
        _ACTIVE.tag, _ACTIVE.lookup = outer


__all__ = ["IS_SUPPORTED", "OutputCode", "active", "install"]
