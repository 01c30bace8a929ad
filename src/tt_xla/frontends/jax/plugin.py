"""Registers platform ``tt`` with JAX, and holds every patch of JAX that the platform needs.

:func:`initialize` is cheap: it imports JAX's registration code and no compiler, runtime or PyTorch. JAX has no public
interface for what the patches below do; each patch is one function that says why it is needed.
:data:`JAX_PRIVATE_NAMES` lists the private names of JAX that this file uses, and a test looks each one up.
"""

from __future__ import annotations

import ctypes
import functools
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tt_xla import host
from tt_xla.frontends.jax import dlpack, host_callbacks, inspections
from tt_xla.frontends.jax.model_libraries import recognise_models
from tt_xla.frontends.jax.trust import own_compilation

NAME = "tt"
PRIORITY = 500
"""Priority of the backend; JAX's default platform is the registered one with the highest priority."""

_LAPACK_PRIMITIVES = {
    "cholesky",
    "eig",
    "eigh",
    "geqp3",
    "geqrf",
    "hessenberg",
    "householder_product",
    "lu",
    "ormqr",
    "schur",
    "svd",
    "triangular_solve",
    "tridiagonal",
    "tridiagonal_solve",
}
"""Names of JAX's primitives that JAX computes with LAPACK on the CPU."""


_LEVEL = "optimization_level"
_EFFORTS = {"UNKNOWN", "O0", "O1", "O2", "O3"}
"""Names of XLA's effort levels, which JAX 0.12 accepts as optimization levels."""


@dataclass(frozen=True)
class PrivateName:
    """A private name of JAX that this file reads or replaces.

    Attributes:
        path: module and attribute, such as ``jax._src.compiler.backend_compile``.
        added: the first version of JAX that has the name, where that is newer than the oldest supported one.
        removed: the first version of JAX without the name, or None.
    """

    path: str
    added: tuple[int, ...] = ()
    removed: tuple[int, ...] | None = None

    def exists_in(self, version: tuple[int, ...]) -> bool:
        """Returns whether JAX of this version has the name."""
        return self.added <= version and (self.removed is None or version < self.removed)


JAX_PRIVATE_NAMES = (
    PrivateName("jax._src.array.ArrayImpl.__dlpack__"),
    PrivateName("jax._src.array.ArrayImpl.__dlpack_device__"),
    PrivateName("jax._src.callback.emit_python_callback"),
    PrivateName("jax._src.compilation_cache.is_cache_used"),
    PrivateName("jax._src.compiler.backend_compile", removed=(0, 10)),
    PrivateName("jax._src.compiler.backend_compile_and_load"),
    PrivateName("jax._src.compiler.get_compile_options"),
    PrivateName("jax._src.config.enable_compilation_cache"),
    PrivateName("jax._src.debugging.debug_callback_lowering"),
    PrivateName("jax._src.debugging.debug_callback_p"),
    PrivateName("jax._src.debugging.debug_print_lowering_rule", added=(0, 8)),
    PrivateName("jax._src.debugging.debug_print_p", added=(0, 8)),
    PrivateName("jax._src.dtypes.canonicalize_value"),
    PrivateName("jax._src.interpreters.mlir._platform_specific_lowerings"),
    PrivateName("jax._src.interpreters.mlir._platforms_with_donation"),
    PrivateName("jax._src.interpreters.mlir.lower_fun"),
    PrivateName("jax._src.interpreters.mlir.register_lowering"),
    PrivateName("jax._src.lax.parallel.ragged_all_to_all_p"),
    PrivateName("jax._src.lib._profiler.register_plugin_profiler"),
    PrivateName("jax._src.lib.xla_client.encode_inspect_sharding_callback"),
    PrivateName("jax._src.lib.xla_client.load_pjrt_plugin_with_c_api"),
    PrivateName("jax._src.lib.xla_client.make_c_api_device_topology"),
    PrivateName("jax._src.lib.xla_client.pjrt_plugin_loaded"),
    PrivateName("jax._src.xla_bridge._backends"),
    PrivateName("jax._src.xla_bridge.config.jax_platforms"),
    PrivateName("jax._src.xla_bridge.make_pjrt_c_api_client"),
    PrivateName("jax._src.xla_bridge.register_backend_factory"),
)
"""Every private name of JAX that this file uses."""


def initialize() -> None:
    """Registers platform ``tt``. JAX calls this once through entry point group ``jax_plugins``."""
    import jax
    from jax._src import xla_bridge

    platforms = xla_bridge.config.jax_platforms.value
    if platforms and NAME not in platforms.split(","):
        return
    # In jaxlib 0.7.1 compiling without a client ends the process.
    topology = make_topology if jax.version.__version_info__ >= (0, 10) else None
    # `fail_quietly` keeps JAX's other backends usable where the C part of the plugin is missing. JAX reports the
    # factory's error to those who ask for 'tt'.
    xla_bridge.register_backend_factory(NAME, make_client, priority=PRIORITY, fail_quietly=True, make_topology=topology)
    for patch in (
        _allow_donation,
        _reuse_lapack_lowerings,
        _allow_persistent_cache,
        _lower_callbacks,
        _lower_ragged_exchanges,
        _remember_inspections,
        _trust_compilations_of_jax,
        _pass_on_levels,
        _export_arrays_by_dlpack,
    ):
        patch()
    recognise_models()


# Clients -------------------------------------------------------------------------------------------------------------


def make_client() -> Any:
    """Returns jaxlib's client over the plugin's ``PJRT_Api``.

    Raises:
        MissingExtensionError: the C part of the plugin is not installed.
    """
    from jax._src import xla_bridge
    from jax._src.lib import xla_client

    from tt_xla.frontends.jax.pjrt.api import api_capsule

    if not xla_client.pjrt_plugin_loaded(NAME):
        xla_client.load_pjrt_plugin_with_c_api(NAME, api_capsule())
        _show_chips_in_profiler(api_capsule())
        os.register_at_fork(after_in_child=_leak_clients)
    return xla_bridge.make_pjrt_c_api_client(NAME)


def _show_chips_in_profiler(capsule: Any) -> None:
    """Makes ``jax.profiler`` show the chips. JAX does so itself for plugins that it loads from a library."""
    from jax._src.lib import _profiler

    _profiler.register_plugin_profiler(capsule)


def make_topology(name: str = "", **options: Any) -> Any:
    """Returns the topology that ``jax.experimental.topologies.get_topology_desc(name, "tt")`` compiles for.

    No device is needed.

    Args:
        name: a system (``n150``), the path of a ``.ttsys`` file, or an empty string for the selected system.
        options: passed to jaxlib unchanged.
    """
    from jax._src.lib import xla_client

    from tt_xla.frontends.jax.pjrt.api import api_capsule

    return xla_client.make_c_api_device_topology(api_capsule(), name, **options)


def _leak_clients() -> None:
    """Leaks jaxlib's clients in a forked process: their destructors would join threads that the child does not have."""
    from jax._src import xla_bridge

    for client in filter(None, (*xla_bridge._backends.values(), host.opened_client())):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(client))


# Patches of JAX ------------------------------------------------------------------------------------------------------


def _allow_donation() -> None:
    """Adds ``tt`` to JAX's list of platforms that take donated arguments; JAX drops donations on all others."""
    from jax._src.interpreters import mlir

    mlir._platforms_with_donation.append(NAME)


def _reuse_lapack_lowerings() -> None:
    """Lowers matrix decompositions for ``tt`` as for the CPU: to LAPACK calls, which run on the host."""
    from jax._src.interpreters import mlir

    for primitive, entry in list(mlir._platform_specific_lowerings["cpu"].items()):
        if primitive.name in _LAPACK_PRIMITIVES:
            mlir._platform_specific_lowerings[NAME].setdefault(primitive, entry)


def _allow_persistent_cache() -> None:
    """Lets JAX's persistent compilation cache serve ``tt``; JAX has a fixed list of the platforms that it serves."""
    from jax._src import compilation_cache, config

    original = compilation_cache.is_cache_used

    @functools.wraps(original)
    def is_cache_used(backend: Any) -> bool:
        if backend.platform == NAME:
            return bool(config.enable_compilation_cache.value)
        return bool(original(backend))

    compilation_cache.is_cache_used = is_cache_used


def _lower_callbacks() -> None:
    """Lowers ``jax.pure_callback``, ``io_callback``, ``jax.debug.callback`` and ``jax.debug.print`` for ``tt``.

    JAX's own rules do everything except emit the call, which ``emit_python_callback`` does for a fixed list of
    platforms. The debug primitives have rules for those platforms only, so the rules are registered for ``tt`` too.
    """
    from jax._src import callback, debugging, dtypes
    from jax._src.interpreters import mlir

    original = callback.emit_python_callback

    @functools.wraps(original)
    def emit_python_callback(
        ctx: Any, function: Any, token: Any, operands: Any, operand_avals: Any, result_avals: Any, **options: Any
    ) -> Any:
        if tuple(ctx.module_context.platforms) != (NAME,):
            return original(ctx, function, token, operands, operand_avals, result_avals, **options)
        checked_function = host_callbacks.check_results(function, tuple(result_avals), dtypes.canonicalize_value)
        return host_callbacks.emit(
            ctx, checked_function, token, operands, result_avals, has_side_effect=options["has_side_effect"]
        )

    callback.emit_python_callback = emit_python_callback
    rules = {"debug_callback_p": "debug_callback_lowering", "debug_print_p": "debug_print_lowering_rule"}
    for primitive, rule in rules.items():
        if hasattr(debugging, primitive):
            mlir.register_lowering(
                getattr(debugging, primitive), getattr(debugging, rule), platform=NAME, cacheable=False
            )


def _lower_ragged_exchanges() -> None:
    """Lowers ``jax.lax.ragged_all_to_all`` for ``tt`` to a gathering, as JAX's rule calls a kernel of XLA's."""
    from jax._src.interpreters import mlir
    from jax._src.lax import parallel

    def lower(ctx: Any, *operands: Any, **parameters: Any) -> Any:
        from tt_xla.frontends.jax.ragged import gathered_all_to_all

        return mlir.lower_fun(gathered_all_to_all, multiple_results=False)(ctx, *operands, **parameters)

    mlir.register_lowering(parallel.ragged_all_to_all_p, lower, platform=NAME)


def _remember_inspections() -> None:
    """Remembers the callbacks of ``jax.debug.inspect_array_sharding`` by the key that JAX writes into the program.

    The key is the address of the callback, which only XLA's partitioner may trust.
    """
    from jax._src.lib import xla_client

    original = xla_client.encode_inspect_sharding_callback

    @functools.wraps(original)
    def encode_inspect_sharding_callback(callback: Callable[[Any], None]) -> bytes:
        key: bytes = original(callback)
        inspections.remember(key, callback)
        return key

    xla_client.encode_inspect_sharding_callback = encode_inspect_sharding_callback


def _trust_compilations_of_jax() -> None:
    """Marks compilations that JAX starts from modules of this process, whose bytecode the plugin then trusts.

    Bytecode that reaches the plugin in another way is read in a separate process first
    (:mod:`tt_xla.frontends.jax.trust`).
    """
    from jax._src import compiler

    def trusting(compile_module: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(compile_module)
        def trusted(*args: Any, **kwargs: Any) -> Any:
            with own_compilation():
                return compile_module(*args, **kwargs)

        trusted.trusted_by_tt = True  # type: ignore[attr-defined]
        return trusted

    for name in ("backend_compile_and_load", "backend_compile"):
        compile_module = getattr(compiler, name, None)
        if compile_module is not None and not hasattr(compile_module, "trusted_by_tt"):
            setattr(compiler, name, trusting(compile_module))


def _pass_on_levels() -> None:
    """Passes ``compiler_options={"optimization_level": 2}`` to ``tt`` as it is.

    JAX 0.12 takes the option for an effort level of XLA, whose numbers are others, and refuses 0, 1 and 2. Names of
    effort levels, such as ``"O1"``, stay JAX's.
    """
    from jax._src import compiler

    original = compiler.get_compile_options
    if hasattr(original, "knows_tt"):
        return

    @functools.wraps(original)
    def get_compile_options(*args: Any, env_options_overrides: Any = None, backend: Any = None, **options: Any) -> Any:
        overrides, own = dict(env_options_overrides or {}), []
        level = overrides.get(_LEVEL)
        if level is not None and level not in _EFFORTS and backend is not None and backend.platform == NAME:
            own = [(_LEVEL, overrides.pop(_LEVEL))]
        made = original(*args, env_options_overrides=overrides, backend=backend, **options)
        made.env_option_overrides = [*made.env_option_overrides, *own]
        return made

    get_compile_options.knows_tt = True  # type: ignore[attr-defined]
    compiler.get_compile_options = get_compile_options


def _export_arrays_by_dlpack() -> None:
    """Lets ``np.from_dlpack``, ``torch.from_dlpack`` and others read arrays on ``tt`` as arrays of the CPU.

    A PJRT plugin cannot tell jaxlib which device type of DLPack it has, so jaxlib refuses to export its arrays.
    """
    from jax._src.array import ArrayImpl

    array_class: Any = ArrayImpl
    if hasattr(array_class.__dlpack__, "knows_tt"):
        return
    original, original_device = array_class.__dlpack__, array_class.__dlpack_device__

    @functools.wraps(original)
    def dlpack_capsule(self: Any, **options: Any) -> Any:
        if self.platform() != NAME or len(self.sharding.device_set) != 1:
            return original(self, **options)
        return dlpack.export(self, NAME, **options)

    @functools.wraps(original_device)
    def dlpack_device(self: Any) -> Any:
        return dlpack.CPU if self.platform() == NAME else original_device(self)

    dlpack_capsule.knows_tt = True  # type: ignore[attr-defined]
    array_class.__dlpack__ = dlpack_capsule
    array_class.__dlpack_device__ = dlpack_device
