"""Framework-specific parts of tests: detection of the framework, random inputs, and calls on the CPU and on ``tt``."""

from __future__ import annotations

import copy
import inspect
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from enum import Enum
from typing import Any

from tt_xla.errors import ExecutionError


class Framework(Enum):
    """The framework of a test."""

    JAX = "jax"
    TORCH = "torch"

    @classmethod
    def of(cls, *values: Any) -> Framework:
        """Returns PyTorch if a value is, contains or uses something of PyTorch, and JAX otherwise."""
        return cls.TORCH if any(_is_of_torch(value) for value in values) else cls.JAX


def _is_of_torch(value: Any) -> bool:
    if "torch" not in sys.modules:
        return False
    import torch

    if isinstance(value, Mapping):
        return any(_is_of_torch(part) for part in value.values())
    if isinstance(value, (list, tuple)):
        return any(_is_of_torch(part) for part in value)
    if isinstance(value, (torch.Tensor, torch.nn.Module)):
        return True
    module = getattr(value, "__module__", None) or ""
    return callable(value) and (module == "torch" or module.startswith(("torch.", "torch_xla.")) or _names_torch(value))


def _names_torch(function: Any) -> bool:
    """Returns whether a function uses the torch module, and not JAX, or is annotated with types of torch."""
    code = getattr(function, "__code__", None)
    if code is None:
        return False
    used_globals = {getattr(function, "__globals__", {}).get(name) for name in code.co_names if name != "__class__"}
    names = {str(getattr(value, "__name__", "")).partition(".")[0] for value in used_globals if inspect.ismodule(value)}
    annotations = [str(note) for note in getattr(function, "__annotations__", {}).values()]
    return "jax" not in names and ("torch" in names or any("torch." in note for note in annotations))


def random_tensor(
    shape: Sequence[int],
    dtype: Any = "float32",
    random_seed: int = 0,
    minval: float = 0.0,
    maxval: float = 1.0,
    framework: Framework = Framework.JAX,
) -> Any:
    """Returns uniform random numbers on the CPU.

    Args:
        shape: shape of the array.
        dtype: element type; integers and booleans are random too.
        random_seed: seed of the generator.
        minval: lower bound, included.
        maxval: upper bound, excluded.
        framework: whether to return a JAX array or a torch tensor.
    """
    return (
        _random_jax(shape, dtype, random_seed, minval, maxval)
        if framework is Framework.JAX
        else _random_torch(shape, dtype, random_seed, minval, maxval)
    )


def _random_jax(shape: Sequence[int], dtype: Any, seed: int, minval: float, maxval: float) -> Any:
    import jax
    import jax.numpy as jnp

    with on_jax_cpu():
        key, kind = jax.random.PRNGKey(seed), jnp.dtype(dtype)
        if kind == jnp.bool_:
            return jax.random.bernoulli(key, shape=tuple(shape))
        if jnp.issubdtype(kind, jnp.integer):
            low, high = int(minval), max(int(maxval), int(minval) + 1)
            return jax.random.randint(key, tuple(shape), low, high, kind)
        return jax.random.uniform(key, tuple(shape), jnp.float32, minval, maxval).astype(kind)


def _random_torch(shape: Sequence[int], dtype: Any, seed: int, minval: float, maxval: float) -> Any:
    import torch

    kind = getattr(torch, dtype) if isinstance(dtype, str) else dtype
    generator = torch.Generator().manual_seed(seed)
    if kind == torch.bool:
        return torch.rand(tuple(shape), generator=generator) < 0.5
    if not (kind.is_floating_point or kind.is_complex):
        low, high = int(minval), max(int(maxval), int(minval) + 1)
        return torch.randint(low, high, tuple(shape), dtype=kind, generator=generator)
    return (torch.rand(tuple(shape), generator=generator) * (maxval - minval) + minval).to(kind)


def random_image(image_size: int, framework: Framework = Framework.JAX) -> Any:
    """Returns random pixels: int32 in [0, 256), of shape [image_size, image_size, 3]."""
    return random_tensor((image_size, image_size, 3), "int32", 0, 0, 256, framework)


@contextmanager
def on_jax_cpu() -> Generator[Any]:
    """Makes the CPU JAX's default device inside the ``with`` block, whichever platform is the default.

    Yields:
        The CPU device.

    Raises:
        ExecutionError: JAX has no CPU backend.
    """
    import jax

    try:
        device = jax.devices("cpu")[0]
    except RuntimeError as error:
        raise ExecutionError(
            "JAX has no CPU backend, which computes the expected results.",
            hint="JAX_PLATFORMS does not list 'cpu'; set it to 'cpu,tt', or unset it.",
        ) from error
    with jax.default_device(device):
        yield device


def jax_device() -> Any:
    """Returns the first device of platform ``tt``.

    Raises:
        ExecutionError: JAX does not have the platform.
    """
    import jax

    try:
        return jax.devices("tt")[0]
    except RuntimeError as error:
        raise ExecutionError(
            f"JAX has no platform 'tt': {error}".splitlines()[0],
            hint="Install tt-xla in this interpreter. If JAX_PLATFORMS is set, it must list 'tt'.",
        ) from error


def run_jax(
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    *,
    device: Any,
    static: Sequence[str] = (),
    options: Mapping[str, Any] | None = None,
    split: Callable[[tuple[Any, ...], dict[str, Any]], tuple[Any, Any]] | None = None,
    name: str = "",
) -> Any:
    """Compiles a function for a device, calls it there, and returns the result on the host.

    Args:
        function: the function; a new compilation is made for every call of ``run_jax``.
        args: positional arguments.
        kwargs: keyword arguments.
        device: a JAX device.
        static: names of the keyword arguments that are compile-time constants.
        options: compile options.
        split: returns positional and keyword arguments that are split over a mesh, instead of moved to the device.
        name: name of the compiled module, after ``jit_``; the function's own by default.
    """
    import jax

    def place(value: Any) -> Any:
        is_array = hasattr(value, "dtype") and hasattr(value, "shape")
        return jax.device_put(value, device) if is_array else value

    def fresh(*args: Any, **kwargs: Any) -> Any:  # a new function each time, so that jit's cache has no entry for it
        return function(*args, **kwargs)

    arrays = {name: value for name, value in kwargs.items() if name not in static}
    fresh.__name__ = name or getattr(function, "__name__", fresh.__name__)
    if split is None:
        placed_args, placed = jax.tree.map(place, (tuple(args), arrays))
    else:
        placed_args, placed = split(tuple(args), arrays)
    placed_kwargs = {**kwargs, **placed}
    jitted = jax.jit(fresh, static_argnames=tuple(static), compiler_options=dict(options or {}) or None)
    with jax.default_device(device):
        return jax.device_get(jitted(*placed_args, **placed_kwargs))


def on_tt(value: Any) -> Any:
    """Returns a copy of a torch module on ``tt``, or a tree with its tensors moved to ``tt``."""
    import torch

    from tt_xla.frontends.torch.device import register
    from tt_xla.frontends.torch.trees import tree_map

    register()
    if isinstance(value, torch.nn.Module):
        return copy.deepcopy(value).to("tt")
    return tree_map(lambda x: x.detach().to("tt") if isinstance(x, torch.Tensor) else x, value)


def compiled_on_tt(
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    options: Mapping[str, Any] | None,
    split: Callable[[Any, Sequence[Any], Mapping[str, Any]], None] | None = None,
) -> Callable[[], Any]:
    """Compiles a call with ``backend="tt"``.

    Args:
        function: function, or module on ``tt``.
        args: positional arguments; tensors are copied to ``tt``.
        kwargs: keyword arguments, treated as ``args``.
        options: compile options.
        split: called with the function or module, the positional and the keyword arguments on ``tt`` before the call;
            it splits tensors over a mesh.

    Returns:
        A function that makes the call and returns its result on ``tt``.
    """
    import torch

    torch.compiler.reset()
    placed_args, placed_kwargs = on_tt(tuple(args)), on_tt(dict(kwargs))
    if split is not None:
        split(function, placed_args, placed_kwargs)
    compiled = torch.compile(function, backend="tt", options=dict(options or {}))
    return lambda: compiled(*placed_args, **placed_kwargs)


def run_torch_on_tt(function: Callable[..., Any], *call: Any) -> Any:
    """Calls a function or module on ``tt`` without gradients, and returns the result with its tensors on the CPU.

    Args:
        function: function or module; a module is copied to ``tt``.
        call: arguments, options and split, as of :func:`compiled_on_tt`.
    """
    import torch

    from tt_xla.frontends.torch.trees import tree_map

    run = compiled_on_tt(on_tt(function) if isinstance(function, torch.nn.Module) else function, *call)
    with torch.no_grad():
        result = run()
    return tree_map(lambda x: x.cpu() if isinstance(x, torch.Tensor) else x, result)
