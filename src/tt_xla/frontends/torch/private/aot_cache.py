"""``torch._functorch``'s AOTAutogradCache: what AOTAutograd traced, kept across processes.

PyTorch keys and serialises the entries: the compiled forward and backward graphs, which must be ``OutputCode``, and the
wrappers around them. The functions that are replaced here say where entries of ``tt`` are stored, and that compiled
graphs are stored within the entry instead of in inductor's own cache. They leave out of the key what describes
inductor, whose import takes a second. Entries of other backends stay as they are.
"""

from __future__ import annotations

import contextlib
import functools
import pickle
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

import torch
from torch.compiler import config as compiler_config

from tt_xla.frontends.torch.private.names import names_of
from tt_xla.log import logger

with names_of("aot_cache"):
    from torch._functorch import config
    from torch._functorch._aot_autograd.autograd_cache import AOTAutogradCache, AOTAutogradCacheDetails
    from torch._inductor import config as inductor_config
    from torch._inductor.output_code import OutputCode

REPLACED = (
    (AOTAutogradCache, "make_entry"),
    (AOTAutogradCache, "_write_to_local_cache"),
    (AOTAutogradCache, "iterate_over_candidates"),
    (AOTAutogradCacheDetails, "_init_fx_graph_hash_details"),
)
"""Owner and name of each attribute that :func:`install` replaces."""

IS_SUPPORTED = all(hasattr(owner, name) for owner, name in REPLACED) and hasattr(config, "bundled_autograd_cache")
"""Whether this version of PyTorch has the functions that :func:`install` replaces; if not, no graph is kept."""


class Store(Protocol):
    """A store of the entries of ``tt``."""

    def candidates(self, key: str) -> Iterator[bytes]:
        """Yields the entries of a key."""
        ...

    def add(self, key: str, contents: bytes) -> None:
        """Stores an entry."""
        ...


class Lookup:
    """One compilation's look into a store.

    Attributes:
        has_key: whether AOTAutograd has made a key. It makes none for a graph that calls functions whose code the key
            would not cover, such as those under ``torch.compiler.allow_in_graph``.
    """

    def __init__(self) -> None:
        self.has_key = False


class _Active(threading.local):
    store: Store | None = None
    tag: str = ""
    lookup: Lookup | None = None


_ACTIVE = _Active()


@functools.cache
def install(kind: type[OutputCode], store_of: Callable[[], Store | None]) -> None:
    """Makes AOTAutogradCache keep entries of ``tt`` in a store of their own.

    Args:
        kind: class of the compiled graphs of ``tt``.
        store_of: returns the store; None if entries are dropped.
    """
    make_entry = AOTAutogradCache.make_entry
    write = AOTAutogradCache._write_to_local_cache
    iterate = AOTAutogradCache.iterate_over_candidates.__func__  # type: ignore[attr-defined]

    @functools.wraps(make_entry)
    def make_bundled_entry(compiled_fw_func: Any, *args: Any, **kwargs: Any) -> Any:
        inner = compiled_fw_func
        while hasattr(inner, "__wrapped__"):
            inner = inner.__wrapped__
        is_ours = isinstance(inner, kind)
        with config.patch(bundled_autograd_cache=True) if is_ours else contextlib.nullcontext():
            return make_entry(compiled_fw_func, *args, **kwargs)

    @functools.wraps(write)
    def write_entry(key: str, content: bytes) -> None:
        if not _names(content, kind):
            write(key, content)
        elif (store := store_of()) is not None:
            store.add(key, content)

    @functools.wraps(iterate)
    def iterate_over_entries(cls: Any, local: bool, remote_cache: Any, key: str) -> Iterator[Any]:
        if _ACTIVE.store is None:
            yield from iterate(cls, local, remote_cache, key)
            return
        if _ACTIVE.lookup is not None:
            _ACTIVE.lookup.has_key = True
        for content in _ACTIVE.store.candidates(key):
            try:
                entry = pickle.loads(content)
            except Exception as error:  # of classes that are gone, or whatever their code raises
                logger().info("A traced graph of the cache is not used: %s", error)
                continue
            yield entry, content, True

    init_details = AOTAutogradCacheDetails._init_fx_graph_hash_details

    @functools.wraps(init_details)
    def init_own_details(self: Any, gm: Any, example_inputs: Any, fx_config: Any) -> None:
        if _ACTIVE.store is None:
            init_details(self, gm, example_inputs, fx_config)
            return
        self.gm, self.example_inputs, self.tt_tag = gm, example_inputs, _ACTIVE.tag
        self.torch_version = torch.__version__, torch.version.git_version
        self.state = torch.get_default_dtype(), torch.get_default_device(), compiler_config.cache_key_tag

    AOTAutogradCacheDetails._init_fx_graph_hash_details = init_own_details  # type: ignore[method-assign]
    AOTAutogradCache.make_entry = staticmethod(make_bundled_entry)  # type: ignore[method-assign]
    AOTAutogradCache._write_to_local_cache = staticmethod(write_entry)  # type: ignore[method-assign]
    AOTAutogradCache.iterate_over_candidates = classmethod(iterate_over_entries)  # type: ignore[method-assign]


def _names(content: bytes, kind: type) -> bool:
    """Returns whether pickled contents name a class."""
    return kind.__module__.encode() in content


@contextlib.contextmanager
def active(store: Store, tag: str, functions: Iterable[str]) -> Iterator[Lookup]:
    """Makes AOTAutograd look for a graph in a store, and key it with a tag, within a block.

    Args:
        store: the store.
        tag: text that tells what the entry depends on besides what PyTorch knows.
        functions: qualified names of functions in the graph, other than PyTorch's, whose behaviour the tag covers.

    Yields:
        What became of the look.
    """
    known = inductor_config.unsafe_marked_cacheable_functions | dict.fromkeys(sorted(functions), tag)
    lookup = Lookup()
    outer = _ACTIVE.store, _ACTIVE.tag, _ACTIVE.lookup
    _ACTIVE.store, _ACTIVE.tag, _ACTIVE.lookup = store, tag, lookup
    try:
        with (
            config.patch(enable_autograd_cache=True, force_autograd_cache=True),
            inductor_config.patch(unsafe_marked_cacheable_functions=known),
        ):
            yield lookup
    finally:
        _ACTIVE.store, _ACTIVE.tag, _ACTIVE.lookup = outer


__all__ = ["IS_SUPPORTED", "OutputCode", "Store", "active", "install"]
