"""``torch_xla.distributed.zero_redundancy_optimizer``: optimizers whose states replicas share."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
import torch_xla.core.xla_model as _xm
import torch_xla.runtime as _runtime


class ZeroRedundancyOptimizer(torch.optim.Optimizer):
    """Steps, in each replica, a part of each parameter, so that replicas share the optimizer's states.

    A step adds up the replicas' gradients, each of which gets its part of the mean, steps the parts, and gathers the
    parameters. A part is a run of the first dimension.

    Args:
        params: parameters, or groups of them.
        optimizer_class: class of the optimizer of the parts.
        optimizer_dtype: dtype of the parts; by default that of the first parameter.
        grad_clipping: whether gradients are scaled down to the norm ``max_norm``.
        max_norm: the largest norm of all gradients together; by default 1.
        pin_layout: changes nothing.
        sharding_groups: groups of replicas that share parameters with each other; None for one of all.
        grad_norm_groups: groups of replicas whose gradients count for the norm; by default those that share.
        lazy_init: whether the parts are made by :meth:`init_zero`, which a script calls before the first step.
        save_master_weights: whether the state has the parts, which may be more precise than the parameters.
        options: arguments of the real class about buckets and hooks change nothing; others are those of
            ``optimizer_class``.
    """

    def __init__(
        self,
        params: Iterable[Any],
        optimizer_class: type[torch.optim.Optimizer],
        optimizer_dtype: torch.dtype | None = None,
        grad_clipping: bool = True,
        max_norm: float | None = None,
        pin_layout: bool = True,
        sharding_groups: list[list[int]] | None = None,
        grad_norm_groups: list[list[int]] | None = None,
        lazy_init: bool = False,
        save_master_weights: bool = False,
        **options: Any,
    ) -> None:
        defaults = {name: value for name, value in options.items() if name not in _IGNORED}
        super().__init__(params, defaults)
        self.optimizer_class = optimizer_class
        self.optimizer_dtype = optimizer_dtype or next(self._parameters()).dtype
        self.grad_clipping, self.max_norm = grad_clipping, 1.0 if max_norm is None else max_norm
        self.sharding_groups = sharding_groups
        self.grad_norm_groups = grad_norm_groups or sharding_groups
        self.save_master_weights = save_master_weights
        self.grad_norm: torch.Tensor | None = None
        """Norm of the gradients of the last step, before they were scaled; None without clipping."""
        self.inited = False
        if not lazy_init:
            self.init_zero()

    def _parameters(self) -> Iterator[torch.Tensor]:
        return (parameter for group in self.param_groups for parameter in group["params"])

    def init_zero(self) -> None:
        """Makes the parts and their optimizer."""
        own = _runtime.global_ordinal()
        group = next((each for each in self.sharding_groups or () if own in each), [*range(_runtime.world_size())])
        self.local_rank, self.local_world_size = group.index(own), len(group)
        groups = []
        for described in self.param_groups:
            shards = [self._shard(parameter.detach()) for parameter in described["params"]]
            for shard, parameter in zip(shards, described["params"], strict=True):
                shard.requires_grad = parameter.requires_grad
            groups.append({**described, "params": shards})
        self.base_optimizer = self.optimizer_class(groups, **self.defaults)
        self._copy_settings(self.base_optimizer.param_groups, self.param_groups)
        self.inited = True

    def _padded(self, tensor: torch.Tensor) -> torch.Tensor:
        """Appends zeros so that the first dimension splits into equal parts; a tensor without dimensions gets one."""
        tensor = tensor.reshape(1) if not tensor.dim() else tensor
        missing = -tensor.shape[0] % self.local_world_size
        return torch.nn.functional.pad(tensor, [0, 0] * (tensor.dim() - 1) + [0, missing]) if missing else tensor

    def _shard(self, tensor: torch.Tensor) -> torch.Tensor:
        return self._padded(tensor).chunk(self.local_world_size)[self.local_rank].to(self.optimizer_dtype).clone()

    def _pairs(self) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """Yields each parameter and its part."""
        for own, base in zip(self.param_groups, self.base_optimizer.param_groups, strict=True):
            yield from zip(own["params"], base["params"], strict=True)

    @staticmethod
    def _copy_settings(source: list[dict[str, Any]], target: list[dict[str, Any]]) -> None:
        for given, taken in zip(source, target, strict=True):
            taken.update({name: value for name, value in given.items() if name != "params"})

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None, **kwargs: Any) -> Any:  # type: ignore[override]
        """Makes a step.

        Args:
            closure: computes the loss again.
            kwargs: further arguments of the step of ``optimizer_class``.

        Returns:
            The loss of the closure, or None.

        Raises:
            RuntimeError: there are no parts yet.
        """
        if not self.inited:
            raise RuntimeError("The optimizer was made with lazy_init=True. Call init_zero() before the first step.")
        loss = None if closure is None else torch.enable_grad()(closure)()
        self._copy_settings(self.param_groups, self.base_optimizer.param_groups)
        stepped = [(parameter, shard) for parameter, shard in self._pairs() if parameter.grad is not None]
        for parameter, shard in stepped:
            count, groups = self.local_world_size, self.sharding_groups
            grad = self._padded(parameter.grad)  # type: ignore[arg-type]
            part = _xm.reduce_scatter(_xm.REDUCE_SUM, grad, 1.0 / count, 0, count, groups)
            shard.grad = part.to(self.optimizer_dtype)
        if self.grad_clipping:
            self._clip([shard for _, shard in stepped])
        self.base_optimizer.step(**kwargs)
        self.base_optimizer.zero_grad(set_to_none=True)
        self._update(stepped)
        self._copy_settings(self.base_optimizer.param_groups, self.param_groups)
        return loss

    def _clip(self, shards: list[torch.Tensor]) -> None:
        """Scales the gradients of parts so that the norm of all together is at most the largest one."""
        gradients = [shard.grad for shard in shards if shard.grad is not None]
        if not gradients:
            return
        squares = torch.stack([gradient.float().square().sum() for gradient in gradients]).sum()
        self.grad_norm = _xm.all_reduce(_xm.REDUCE_SUM, squares, groups=self.grad_norm_groups).sqrt()
        scale = (self.max_norm / (self.grad_norm + 1e-6)).clamp(max=1.0)
        for gradient in gradients:
            gradient.mul_(scale)

    def _update(self, pairs: Iterable[tuple[torch.Tensor, torch.Tensor]]) -> None:
        """Gathers the parts of parameters."""
        for parameter, shard in pairs:
            whole = _xm.all_gather(shard.detach().to(parameter.dtype), 0, self.sharding_groups)
            parameter.copy_(whole[: parameter.shape[0]] if parameter.dim() else whole[0])

    def state_dict(self) -> dict[str, Any]:
        """Returns the state of this replica: its part of the states, shapes of parameters, and parts if asked for."""
        state = super().state_dict()
        state["base_state"] = self.base_optimizer.state_dict()["state"]
        state["shape_info"] = {number: parameter.shape for number, parameter in enumerate(self._parameters())}
        if self.save_master_weights:
            state["sharded_master_weights"] = {
                number: shard.detach() for number, (_, shard) in enumerate(self._pairs())
            }
        return state

    @torch.no_grad()
    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restores the state of this replica, and parameters where the state has parts.

        Args:
            state_dict: what :meth:`state_dict` returned in this replica.
        """
        state = copy.deepcopy(state_dict)
        base_state, parts = state.pop("base_state"), state.pop("sharded_master_weights", None)
        state.pop("shape_info", None)
        super().load_state_dict(state)
        self.init_zero()
        self.base_optimizer.load_state_dict({**self.base_optimizer.state_dict(), "state": base_state})
        if parts is not None:
            for number, (_, shard) in enumerate(self._pairs()):
                shard.copy_(parts[number])
            self._update(self._pairs())


_IGNORED = ("bucket_cap_mb_all_gather", "bucket_cap_mb_reduce_scatter", "use_grad_acc_hook", "higher_cc_precision")
"""Arguments of the real class that change nothing here."""
