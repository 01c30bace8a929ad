"""Registers platform ``tt`` with JAX. Cheap until JAX uses it: nothing but JAX's own registration is imported."""

from __future__ import annotations

import ctypes
import os
import sys
from typing import Any

from tt_xla.frontends.jax.dlpack import allow_dlpack
from tt_xla.frontends.jax.host_callbacks import allow_callbacks
from tt_xla.frontends.jax.parameters import recognise_models

NAME = "tt"
PRIORITY = 500

_LINALG = {
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


def initialize() -> None:
    """What JAX calls once, when it looks for backends (entry point group ``jax_plugins``)."""
    import jax
    from jax._src import xla_bridge
    from jax._src.interpreters import mlir

    platforms = xla_bridge.config.jax_platforms.value
    if platforms and NAME not in platforms.split(","):
        return
    from tt_xla.frontends.jax.pjrt.trust import trust_jax

    # A missing C part must not take the other backends away from the user: the factory's error is then reported when
    # someone asks for 'tt'.
    # Compiling without a client ends the process in jaxlib 0.7.1.
    topology = make_topology if jax.version.__version_info__ >= (0, 10) else None
    xla_bridge.register_backend_factory(NAME, make_client, priority=PRIORITY, fail_quietly=True, make_topology=topology)
    mlir._platforms_with_donation.append(NAME)
    _take_lowerings()
    _allow_persistent_cache()
    allow_callbacks(NAME)
    recognise_models()
    trust_jax()
    allow_dlpack(NAME)


def _take_lowerings() -> None:
    """Decompositions of matrices run on the host, by the LAPACK calls that JAX has for its CPU platform."""
    from jax._src.interpreters import mlir

    for primitive, entry in list(mlir._platform_specific_lowerings["cpu"].items()):
        if primitive.name in _LINALG:
            mlir._platform_specific_lowerings[NAME].setdefault(primitive, entry)


def _allow_persistent_cache() -> None:
    """JAX keeps a list of the platforms that its compilation cache serves."""
    from jax._src import compilation_cache, config

    for_others = compilation_cache.is_cache_used

    def is_cache_used(backend: Any) -> bool:
        if backend.platform == NAME:
            return bool(config.enable_compilation_cache.value)
        return bool(for_others(backend))

    compilation_cache.is_cache_used = is_cache_used


def make_client() -> Any:
    """jaxlib's client over our table."""
    from jax._src import xla_bridge
    from jax._src.lib import xla_client

    from tt_xla.frontends.jax.pjrt.table import api_capsule

    if not xla_client.pjrt_plugin_loaded(NAME):
        xla_client.load_pjrt_plugin_with_c_api(NAME, api_capsule())
        os.register_at_fork(after_in_child=_keep_clients)
    return xla_bridge.make_pjrt_c_api_client(NAME)


def make_topology(name: str = "", **options: Any) -> Any:
    """What ``jax.experimental.topologies.get_topology_desc(name, "tt")`` compiles for: no device is needed.

    Args:
        name: a system (``n150``), a ``.ttsys`` file, or nothing for the selected system.
    """
    from jax._src.lib import xla_client

    from tt_xla.frontends.jax.pjrt.table import api_capsule

    return xla_client.make_c_api_device_topology(api_capsule(), name, **options)


def _keep_clients() -> None:
    """In a forked process: no client of jaxlib's is freed, for its threads, which it would wait for, stayed behind."""
    from jax._src import xla_bridge

    clients = [*xla_bridge._backends.values()]
    host = sys.modules.get("tt_xla.host")
    if host is not None and host._client.cache_info().currsize:
        clients.append(host._client())
    for client in clients:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(client))
