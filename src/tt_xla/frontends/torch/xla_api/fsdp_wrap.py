"""``torch_xla.distributed.fsdp.wrap``: which modules are wrapped on their own, and the wrapping."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any

from torch import nn

Policy = Callable[..., bool]
"""Takes a module, whether the question is about its children (``recurse``) or about itself, and the number of its
parameters that no child wraps (``unwrapped_params``)."""


def always_wrap_policy(*args: Any, **kwargs: Any) -> bool:
    """Wraps every module."""
    return True


def transformer_auto_wrap_policy(
    module: nn.Module, recurse: bool, unwrapped_params: int, transformer_layer_cls: Iterable[type[nn.Module]]
) -> bool:
    """Wraps the layers of some classes.

    Args:
        module: the module.
        recurse: whether the question is about its children.
        unwrapped_params: number of its parameters that no child wraps.
        transformer_layer_cls: the classes.
    """
    return recurse or isinstance(module, tuple(transformer_layer_cls))


def size_based_auto_wrap_policy(
    module: nn.Module,
    recurse: bool,
    unwrapped_params: int,
    min_num_params: int = 100_000_000,
    force_leaf_modules: Iterable[type[nn.Module]] | None = None,
    exclude_wrap_modules: Iterable[type[nn.Module]] | None = None,
) -> bool:
    """Wraps modules with many parameters.

    Args:
        module: the module.
        recurse: whether the question is about its children.
        unwrapped_params: number of its parameters that no child wraps.
        min_num_params: number from which a module is wrapped.
        force_leaf_modules: classes of modules whose children are not wrapped; by default attention.
        exclude_wrap_modules: classes of modules that are not wrapped; by default lists and dictionaries of modules.
    """
    leaves = _LEAVES if force_leaf_modules is None else force_leaf_modules
    excluded = _CONTAINERS if exclude_wrap_modules is None else exclude_wrap_modules
    return unwrapped_params >= min_num_params and not isinstance(module, tuple(leaves if recurse else excluded))


_LEAVES: set[type[nn.Module]] = {nn.MultiheadAttention}
_CONTAINERS: set[type[nn.Module]] = {nn.ModuleList, nn.ModuleDict}
size_based_auto_wrap_policy.FORCE_LEAF_MODULES = _LEAVES  # type: ignore[attr-defined]
size_based_auto_wrap_policy.EXCLUDE_WRAP_MODULES = _CONTAINERS  # type: ignore[attr-defined]


def recursive_wrap(
    module: nn.Module,
    auto_wrap_policy: Policy,
    wrapper_cls: Callable[..., nn.Module],
    ignored_modules: Collection[nn.Module] = (),
    ignored_params: Collection[nn.Parameter] = (),
    only_wrap_children: bool = False,
    **kwargs: Any,
) -> tuple[nn.Module, int]:
    """Wraps a module and its children, the inner ones first, as a policy says.

    Args:
        module: the module.
        auto_wrap_policy: the policy.
        wrapper_cls: wraps a module.
        ignored_modules: modules that stay as they are.
        ignored_params: parameters that do not count.
        only_wrap_children: whether the module itself stays.
        kwargs: further arguments of ``wrapper_cls``; the attribute ``_wrap_overrides`` of a module has others for it.

    Returns:
        The module or its wrapper, and the number of parameters in wrappers.

    Raises:
        ValueError: a child is wrapped already.
    """
    if isinstance(wrapper_cls, type):
        wrapped = [name for name, child in module.named_modules() if isinstance(child, wrapper_cls)]
        if wrapped:
            raise ValueError(f"The modules {wrapped} are wrapped already. A policy wraps modules that are not.")
    ignored = set(map(id, ignored_params))
    count = sum(parameter.numel() for parameter in module.parameters() if id(parameter) not in ignored)
    if not auto_wrap_policy(module=module, recurse=True, unwrapped_params=count):
        return module, 0
    inner = 0
    for name, child in list(module.named_children()):
        if child not in ignored_modules:
            replaced, wrapped_count = recursive_wrap(
                child, auto_wrap_policy, wrapper_cls, ignored_modules, ignored_params, **kwargs
            )
            setattr(module, name, replaced)
            inner += wrapped_count
    if only_wrap_children or not auto_wrap_policy(module=module, recurse=False, unwrapped_params=count - inner):
        return module, inner
    return wrapper_cls(module, **(kwargs | getattr(module, "_wrap_overrides", {}))), count
