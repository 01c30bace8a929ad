"""``torch_xla.distributed.fsdp.xla_fully_sharded_data_parallel``: modules whose parameters replicas share."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch_xla
import torch_xla.core.xla_model as _xm
import torch_xla.runtime as _runtime
from torch import nn
from torch_xla.distributed.fsdp.wrap import recursive_wrap as _recursive_wrap

from tt_xla.frontends.torch.trees import tree_map_only as _tree_map_only
from tt_xla.frontends.torch.xla_api.fsdp_shards import PREFIX as _PREFIX
from tt_xla.frontends.torch.xla_api.fsdp_shards import Sharing as _Sharing
from tt_xla.frontends.torch.xla_api.fsdp_shards import gathering as _gathering
from tt_xla.frontends.torch.xla_api.fsdp_shards import share as _share


class XlaFullyShardedDataParallel(nn.Module):
    """Shares the parameters of a module between the replicas of ``xmp.spawn``.

    Each replica holds an equal part of each parameter. A forward pass gathers them, a backward pass gathers them again
    and gives each part the mean of the replicas' gradients. Make the optimizer from the wrapped module, and call its
    own ``step``: gradients are reduced already.

    Args:
        module: the module; it is moved to the replica's chip.
        reshard_after_forward: whether whole parameters are freed between forward and backward pass.
        compute_dtype: dtype of inputs and whole parameters in forward and backward passes.
        buffer_dtype: dtype of buffers.
        fp32_reduce_scatter: whether gradients are added in float32.
        sharding_groups: groups of replicas that share parameters with each other; None for one of all.
        sharding_rank: number of this replica's part; by default its ordinal.
        sharding_world_size: number of parts; by default that of replicas.
        auto_wrap_policy: says which inner modules are wrapped on their own (``torch_xla.distributed.fsdp.wrap``).
        auto_wrapper_callable: wraps them; by default this class with the same arguments.
        param_init_fn: gives the parameters of a module on device ``meta`` contents; by default the methods
            ``reset_parameters``.
        options: further arguments of the real class, about the order in which XLA runs ops. They change nothing here.

    Raises:
        TypeError: the module is wrapped already.
    """

    def __init__(
        self,
        module: nn.Module,
        reshard_after_forward: bool = True,
        *,
        compute_dtype: torch.dtype | None = None,
        buffer_dtype: torch.dtype | None = None,
        fp32_reduce_scatter: bool = False,
        sharding_groups: list[list[int]] | None = None,
        sharding_rank: int | None = None,
        sharding_world_size: int | None = None,
        auto_wrap_policy: Callable[..., bool] | None = None,
        auto_wrapper_callable: Callable[..., nn.Module] | None = None,
        param_init_fn: Callable[[nn.Module], None] | None = None,
        **options: Any,
    ) -> None:
        super().__init__()
        if isinstance(module, XlaFullyShardedDataParallel):
            raise TypeError("The module is wrapped already. Wrap inner modules first, then the outer one.")
        own = {
            "reshard_after_forward": reshard_after_forward,
            "compute_dtype": compute_dtype,
            "buffer_dtype": buffer_dtype,
            "fp32_reduce_scatter": fp32_reduce_scatter,
            "sharding_groups": sharding_groups,
            "sharding_rank": sharding_rank,
            "sharding_world_size": sharding_world_size,
            "param_init_fn": param_init_fn,
        }
        if auto_wrap_policy is not None:
            wrapper = auto_wrapper_callable or XlaFullyShardedDataParallel
            _recursive_wrap(module, auto_wrap_policy, wrapper, only_wrap_children=True, **own, **options)
        _initialise(module, param_init_fn)
        module.to(torch_xla.device())
        rank = _runtime.global_ordinal() if sharding_rank is None else sharding_rank
        size = _runtime.world_size() if sharding_world_size is None else sharding_world_size
        self._sharing = _Sharing(rank, size, sharding_groups, compute_dtype, fp32_reduce_scatter)
        self._shared = _share(module, self._sharing)
        self._fsdp_wrapped_module = module
        self.reshard_after_forward, self.compute_dtype = reshard_after_forward, compute_dtype
        if buffer_dtype is not None:
            for buffer in module.buffers():
                if buffer.is_floating_point():
                    buffer.data = buffer.data.to(buffer_dtype)

    @property
    def module(self) -> nn.Module:
        """The wrapped module."""
        return self._fsdp_wrapped_module

    @property
    def rank(self) -> int:
        """Number of this replica's part."""
        return self._sharing.rank

    @property
    def world_size(self) -> int:
        """Number of parts."""
        return self._sharing.size

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        if self.compute_dtype is not None:
            args, kwargs = _tree_map_only(torch.Tensor, self._cast, (args, kwargs))
        with _gathering(self._shared, frees=self.reshard_after_forward):
            return self._fsdp_wrapped_module(*args, **kwargs)

    def _cast(self, tensor: torch.Tensor) -> torch.Tensor:
        return tensor.to(self.compute_dtype) if tensor.is_floating_point() else tensor

    @torch.no_grad()
    def clip_grad_norm_(
        self, max_norm: float, norm_type: float = 2.0, groups: list[list[int]] | None = None
    ) -> torch.Tensor:
        """Scales gradients in place so that the norm of those of all parts is at most ``max_norm``.

        Args:
            max_norm: the largest norm.
            norm_type: the norm's exponent, which may be infinite.
            groups: groups of replicas that have all parts; by default those that share parameters.

        Returns:
            The norm before, a tensor [].
        """
        gradients = [parameter.grad for parameter in self.parameters() if parameter.grad is not None]
        groups = groups or self._sharing.groups
        if not gradients:
            return torch.zeros((), device=torch_xla.device())
        if math.isinf(norm_type):
            largest = torch.stack([gradient.float().abs().max() for gradient in gradients]).max()
            norm = _xm.all_reduce(_xm.REDUCE_MAX, largest, groups=groups)
        else:
            powers = torch.stack([gradient.float().abs().pow(norm_type).sum() for gradient in gradients])
            norm = _xm.all_reduce(_xm.REDUCE_SUM, powers.sum(), groups=groups).pow(1.0 / norm_type)
        scale = (max_norm / (norm + 1e-6)).clamp(max=1.0)
        for gradient in gradients:
            gradient.mul_(scale)
        return norm

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """Context manager of steps that add gradients up. Parts get reduced gradients in each of them here."""
        yield

    def get_shard_metadata(self) -> dict[str, Any]:
        """Returns what :func:`.consolidate_sharded_state_dicts` needs beside the state dictionaries of all replicas."""
        shapes = {}
        for name, module in self.named_modules():
            for parameter, shared in vars(module).get("_fsdp_shared", {}).items():
                shapes[".".join(filter(None, [name, _PREFIX + parameter]))] = tuple(shared.shape)
        return {"shard_info": shapes, "rank": self.rank, "world_size": self.world_size}

    def __getattr__(self, name: str) -> Any:
        """Returns an attribute of the wrapped module."""
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__("_fsdp_wrapped_module"), name)

    def __getitem__(self, key: int) -> nn.Module:
        return self._fsdp_wrapped_module[key]  # type: ignore[index]  # a sequence of modules


def _initialise(module: nn.Module, param_init_fn: Callable[[nn.Module], None] | None) -> None:
    """Gives the parameters of a module on device ``meta`` contents on the replica's chip."""
    if not any(parameter.is_meta for parameter in module.parameters()):
        return
    if param_init_fn is not None:
        param_init_fn(module)
        return
    module.to_empty(device=torch_xla.device())
    for child in module.modules():
        reset = getattr(child, "reset_parameters", None)
        if callable(reset):
            reset()
