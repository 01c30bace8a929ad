"""Frames that dynamo traced, in the cache on disk: the next process neither traces a function nor makes its graph.

An entry is what :mod:`.private.frames` describes and the graph, compiled up to StableHLO. It is used only if every fact
that a guard of dynamo relied on holds in this process (:mod:`.fingerprints`), and if PyTorch's functions, settings and
the files that dynamo read are those that they were.
"""

from __future__ import annotations

import inspect
import itertools
import marshal
import pickle
import sys
from collections.abc import Callable, Mapping
from types import CodeType
from typing import Any

import torch

from tt_xla import disk_cache
from tt_xla.environment import keeps_dynamo_defaults, selected_system
from tt_xla.errors import OptionError
from tt_xla.frontends import stored_programs
from tt_xla.frontends.torch import replicas, session, settings
from tt_xla.frontends.torch.device import placements
from tt_xla.frontends.torch.executor import Executor, Loading
from tt_xla.frontends.torch.fingerprints import NoFingerprintError, code_digest, replaced_functions
from tt_xla.frontends.torch.private import frames
from tt_xla.frontends.torch.private.dynamo_patches import Installed
from tt_xla.frontends.torch.torch_options import compile_options, graph_options, mode_options
from tt_xla.frontends.torch.unwrapped import unwrapped
from tt_xla.log import logger

KIND = "frames"
"""Kind of the entries."""

_CANDIDATES = 64
"""Number of entries of one function that are looked at."""


class FrameCache:
    """Finds and stores frames for :mod:`.private.dynamo_patches`."""

    def key(self, code: CodeType, own: Mapping[str, Any]) -> str | None:
        """Returns the key of a function that dynamo is about to trace; None if it is not stored.

        Args:
            code: the function's code.
            own: mode and options of ``torch.compile``.
        """
        return None if _cache(own) is None else _key(code, own)

    def loaded(self, key: str, own: Mapping[str, Any], frame: Installed) -> Any:
        """Returns dynamo's code of a frame; None if no entry fits.

        Args:
            key: the frame's key.
            own: mode and options of ``torch.compile``, with which the graph is compiled.
            frame: the frame.
        """
        session.current.part(Loading).options = _compile_options(own)
        cache = disk_cache.current()
        entries = () if cache is None else cache.candidates(KIND, key)
        for contents in itertools.islice(entries, _CANDIDATES):
            try:
                described, bytecode, graph = pickle.loads(contents)
                traced = pickle.loads(described)
            except Exception as error:  # of classes that are gone, or whatever their code raises
                logger().info("A traced frame of the cache is not used: %s", error)
                continue
            if reason := frames.difference(traced, frame):
                logger().info("A trace of %s in the cache is for something else: %s", frame.code.co_qualname, reason)
                continue
            made = self._installed(traced, bytecode, frame, graph)
            if made is not None:
                return made
        return None

    def _installed(self, traced: frames.TracedFrame, bytecode: bytes, frame: Installed, graph: bytes) -> Any:
        """Installs a frame with its graph; returns None if either fails, and dynamo traces the function."""

        def load() -> Any:
            executor: Executor = pickle.loads(graph)
            executor.post_compile((), None, {})
            return unwrapped(executor, executor.updated or ())

        try:
            return frames.install(traced, bytecode, frame, load)
        except Exception as error:  # as above, or of the compiler, which reports it with the user's line once traced
            logger().info("A graph of the cache is not used: %s", error)
            return None
        finally:
            session.current.part(Loading).graphs.clear()

    def unguarded(self, output: Any) -> Any:
        """Returns what a trace holds without a guard, while its graph is compiled; None if it cannot be stored.

        Args:
            output: dynamo's ``OutputGraph``.
        """
        return _made(lambda: frames.unguarded(output), _name(output))

    def described(self, output: Any, unguarded: Any) -> bytes | None:
        """Returns a description of a trace whose guards are made; None if it cannot be stored.

        Args:
            output: dynamo's ``OutputGraph``.
            unguarded: what :meth:`unguarded` returned for it.
        """
        return _made(
            lambda: frames.without_numbers(pickle.dumps(frames.traced_frame(output, unguarded))), _name(output)
        )

    def store(self, key: str, described: bytes, bytecode: CodeType, executor: Executor) -> None:
        """Stores what dynamo made of a frame.

        Args:
            key: the frame's key.
            described: what :meth:`described` returned.
            bytecode: the frame's new bytecode.
            executor: the graph, which dynamo calls without wrappers.
        """
        cache = disk_cache.current()
        parts = _made(
            lambda: (frames.without_numbers(marshal.dumps(bytecode)), pickle.dumps(executor)), bytecode.co_qualname
        )
        if cache is not None and parts is not None:
            cache.add(KIND, key, pickle.dumps((described, *parts)))


def _made(make: Callable[[], Any], name: str) -> Any:
    """Returns a part of an entry; None, which the log says, if another process could not tell whether it holds."""
    try:
        return make()
    except Exception as error:  # NoFingerprintError, or whatever the code of the user's objects raises
        reason = error if isinstance(error, NoFingerprintError) else repr(error)
        logger().info("%s is traced again in the next process: %s", name, reason)
        return None


def _name(output: Any) -> str:
    """Returns the name of the function that dynamo traces."""
    return output.tracing_context.traced_code[0].co_qualname


def _cache(own: Mapping[str, Any]) -> disk_cache.DiskCache | None:
    """Returns the cache on disk; None if frames are not stored."""
    if (
        placements.in_use()
        or session.current.chips.acts_as_one
        or replicas.size() > 1
        or (torch.distributed.is_available() and torch.distributed.is_initialized())
    ):
        return None
    try:
        parsed = settings.current().with_own(_compile_options(own))
    except (OptionError, ValueError):  # the backend reports it
        return None
    return disk_cache.current() if stored_programs.is_used(parsed) else None


def _compile_options(own: Mapping[str, Any]) -> dict[str, Any]:
    return mode_options(own["mode"]) if own.get("mode") else compile_options(own.get("options") or {})


def _key(code: CodeType, own: Mapping[str, Any]) -> str:
    options = sorted(graph_options(own.get("options") or {}).items())
    process = (selected_system(), keeps_dynamo_defaults(), sys.flags.optimize)
    where = (code.co_filename, code.co_qualname, code.co_firstlineno, code_digest(code))
    return disk_cache.key_of([where, options, process, frames.settings_digest(), replaced_functions(_namespaces())])


def _namespaces() -> dict[str, Mapping[str, Any]]:
    """Returns the callables that dynamo calls by name without a guard: functions and modules' methods of PyTorch."""
    spaces: dict[str, Mapping[str, Any]] = {
        "torch": vars(torch),
        "Tensor": vars(torch.Tensor),
        "functional": vars(torch.nn.functional),
        "Module": vars(torch.nn.Module),
    }
    for name, value in vars(torch.nn).items():
        if inspect.isclass(value):
            spaces[name] = vars(value)
    return spaces


FRAMES = FrameCache()

__all__ = ["FRAMES", "KIND", "FrameCache"]
