"""``torch_xla.experimental.assume_pure``: functions that are traced once for inputs of the same kind."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from functorch.compile import aot_function as _aot_function
from functorch.compile import make_boxed_func as _make_boxed_func
from torch_xla._dynamo.dynamo_bridge import extract_compiled_graph as _compiled
from torch_xla.core.xla_builder import Computations as _Computations
from torch_xla.core.xla_model import fork_rng as _fork_rng

from tt_xla.frontends.torch import session as _session
from tt_xla.frontends.torch.private.fake import FakeTensor as _FakeTensor
from tt_xla.frontends.torch.private.tracing import traced as _traced
from tt_xla.frontends.torch.trees import tree_flatten as _flatten
from tt_xla.frontends.torch.trees import tree_unflatten as _unflatten


class _ByName(dict[str, Callable[..., Any]]):
    """The session's functions that :func:`assume_pure_torch` compiled, by the name of the decorated one."""


def assume_pure(fn: Callable[..., Any], *, add_rng_seed_argument: bool = False) -> Callable[..., Any]:
    """Decorates a function so that its Python code runs once for inputs of the same kind.

    Each kind of inputs is one program, with another one for its backward pass. Inputs are of one kind if their
    structure, the sizes, dtypes and devices of tensors and which of them need gradients, and all other values agree.

    Args:
        fn: a function that does nothing beside computing its result of its arguments, whose tensors may be nested.
        add_rng_seed_argument: whether the function takes a keyword argument ``rng_seed``, an integer from which its
            random numbers come. Otherwise each call draws others.

    Returns:
        The function. Its calls raise an AssertionError if they lack ``rng_seed``.
    """
    programs: dict[Any, Any] = {}

    @functools.wraps(fn)
    def pure(*args: Any, **kwargs: Any) -> Any:
        leaves, spec = _flatten((args, kwargs))
        if any(isinstance(leaf, _FakeTensor) for leaf in leaves):
            return fn(*args, **kwargs)  # within a function that is being traced
        tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
        key = spec, torch.is_grad_enabled(), *map(_kind, leaves)
        if key not in programs:
            programs[key] = _program(fn, leaves, spec)
        program, shape = programs[key]
        return _unflatten(list(program(*tensors)), shape)

    if not add_rng_seed_argument:
        return pure

    @functools.wraps(fn)
    def seeded(*args: Any, rng_seed: int | torch.Tensor | None = None, **kwargs: Any) -> Any:
        if rng_seed is None:
            raise AssertionError(f"{fn} was given add_rng_seed_argument=True, so its calls need rng_seed=, an integer.")
        with _fork_rng(), torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(rng_seed))
            return pure(*args, **kwargs)

    return seeded


def _kind(leaf: Any) -> Any:
    """Returns what the trace of a function depends on in one of its arguments."""
    if not isinstance(leaf, torch.Tensor):
        return type(leaf), leaf
    return tuple(leaf.shape), leaf.dtype, leaf.device, leaf.requires_grad


def _program(fn: Callable[..., Any], leaves: list[Any], spec: Any) -> tuple[Callable[..., Any], Any]:
    """Returns a function of the tensors among a function's arguments, and the structure of its results."""
    shape: list[Any] = []

    def of_tensors(*tensors: torch.Tensor) -> list[Any]:
        rest = iter(tensors)
        args, kwargs = _unflatten([next(rest) if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves], spec)
        results, out = _flatten(fn(*args, **kwargs))
        shape.append(out)
        return results

    graph = _traced(of_tensors, [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)], before_autograd=True)
    name = getattr(fn, "__qualname__", type(fn).__name__)
    return _aot_function(graph, fw_compiler=functools.partial(_compiler, name)), shape[0]


def _compiler(name: str, gm: torch.fx.GraphModule, example_inputs: Any) -> Any:
    call = _compiled(gm, example_inputs)
    _session.current.part(_Computations)[call] = name
    return _make_boxed_func(call)


class PureModule(torch.nn.Module):
    """A module whose code runs once for inputs of the same kind, as :func:`assume_pure` says.

    Args:
        module: the module, which writes to none of its buffers.
    """

    def __init__(self, module: torch.nn.Module) -> None:
        super().__init__()
        self._module = module
        self._pure_forward = assume_pure(functools.partial(_call_with, module))

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the module."""
        return self._pure_forward(
            dict(self._module.named_parameters()), dict(self._module.named_buffers()), args, kwargs
        )


def _call_with(module: torch.nn.Module, parameters: Any, buffers: Any, args: Any, kwargs: Any) -> Any:
    return torch.func.functional_call(module, (parameters, buffers), args, kwargs)


def assume_pure_torch(func: Callable[..., Any], use_cache: bool = False) -> Callable[..., Any]:
    """Same as :func:`assume_pure` for functions without gradients.

    Args:
        func: the function.
        use_cache: whether all functions of this name are the first one.

    Raises:
        AssertionError: gradients are enabled.
    """
    if torch.is_grad_enabled():
        raise AssertionError(
            "assume_pure_torch computes no gradients: use it under torch.no_grad(), or use assume_pure."
        )
    if not use_cache:
        return assume_pure(func)

    @functools.wraps(func)
    def first_of_its_name(*args: Any, **kwargs: Any) -> Any:
        return _session.current.part(_ByName).setdefault(func.__name__, assume_pure(func))(*args, **kwargs)

    return first_of_its_name
