"""``torch_xla.core.functions``: collectives between replicas that have gradients, and batch norm over all replicas."""

from __future__ import annotations

from typing import Any

import torch
import torch_xla.core.xla_model as _xm
import torch_xla.runtime as _runtime


class AllReduce(torch.autograd.Function):
    """Reduces tensors of all replicas."""

    @staticmethod
    def forward(ctx: Any, input: torch.Tensor, reduce_type: str, scale: float, groups: Any) -> torch.Tensor:
        output = _xm.all_reduce(reduce_type, input, scale=scale, groups=groups)
        ctx.reduce_type, ctx.scale = reduce_type, scale
        ctx.save_for_backward(input, output)
        return output

    @staticmethod
    def backward(ctx: Any, grad_output: torch.Tensor) -> Any:  # type: ignore[override]
        input, output = ctx.saved_tensors
        grad = grad_output * ctx.scale
        if ctx.reduce_type == _xm.REDUCE_MUL:
            grad = grad * torch.where(input != 0, output / input, 0)
        elif ctx.reduce_type in (_xm.REDUCE_MIN, _xm.REDUCE_MAX):
            grad = torch.where(input == output, grad, 0)
        elif ctx.reduce_type != _xm.REDUCE_SUM:
            raise RuntimeError(f"The reduction {ctx.reduce_type!r} has no gradient; sum, mul, min and max have.")
        return grad, None, None, None


def all_reduce(reduce_type: str, value: torch.Tensor, scale: float = 1.0, groups: Any = None) -> torch.Tensor:
    """Same as ``xm.all_reduce`` of one tensor, with the gradient of the replica's own tensor."""
    return AllReduce.apply(value, reduce_type, scale, groups)


class AllGather(torch.autograd.Function):
    """Joins tensors of all replicas."""

    @staticmethod
    def forward(ctx: Any, input: torch.Tensor, dim: int) -> torch.Tensor:
        ctx.dim, ctx.size = dim, input.shape[dim]
        return _xm.all_gather(input, dim=dim)

    @staticmethod
    def backward(ctx: Any, grad_output: torch.Tensor) -> Any:  # type: ignore[override]
        return grad_output.narrow(ctx.dim, _runtime.global_ordinal() * ctx.size, ctx.size), None


def all_gather(value: torch.Tensor, dim: int = 0) -> torch.Tensor:
    """Same as ``xm.all_gather`` of all replicas, with the gradient of the replica's own part."""
    return AllGather.apply(value, dim)


def distributed_mm(w: torch.Tensor, x: torch.Tensor, split: int = 1) -> torch.Tensor:
    """Multiplies a weight, whose columns the replicas share, by the replica's own inputs.

    Args:
        w: this replica's columns of the weight [rows, columns / replicas].
        x: this replica's inputs [columns, batch].
        split: number of parts of the batch that are multiplied one after another, to save memory.

    Returns:
        Tensor [rows, batch].

    Raises:
        ValueError: the sizes do not fit.
    """
    size, ordinal, columns = _runtime.world_size(), _runtime.global_ordinal(), w.shape[1]
    if x.shape[0] != columns * size or x.shape[1] % split:
        raise ValueError(
            f"distributed_mm over {size} replicas: a weight of shape {[*w.shape]} takes inputs of {columns * size} "
            f"rows and of a multiple of {split} columns; these have shape {[*x.shape]}."
        )
    results = []
    for part in x.chunk(split, dim=1):
        own_rows = all_gather(part, dim=1).narrow(0, ordinal * columns, columns)
        product = all_reduce(_xm.REDUCE_SUM, w @ own_rows)
        results.append(product.narrow(1, ordinal * part.shape[1], part.shape[1]))
    return torch.cat(results, dim=1)


class AllReduceSumLayer(torch.autograd.Function):
    """Adds tensors of all replicas, and their gradients."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return _xm.all_reduce(_xm.REDUCE_SUM, x)

    @staticmethod
    def backward(ctx: Any, grad_output: torch.Tensor) -> Any:  # type: ignore[override]
        return _xm.all_reduce(_xm.REDUCE_SUM, grad_output)


class SyncBatchNorm(torch.nn.Module):
    """Batch norm with the mean and variance of the batches of all replicas, for inputs [batch, features, ...].

    Args:
        num_features: number of features.
        eps: number added to the variance.
        momentum: weight of a batch in the running statistics.
    """

    running_mean: torch.Tensor
    running_var: torch.Tensor

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float = 0.1) -> None:
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.weight = torch.nn.Parameter(torch.ones(num_features))
        self.bias = torch.nn.Parameter(torch.zeros(num_features))
        self.register_buffer("running_mean", torch.zeros(num_features))
        self.register_buffer("running_var", torch.ones(num_features))

    def forward(self, batch: torch.Tensor) -> torch.Tensor:
        others = [dim for dim in range(batch.dim()) if dim != 1]
        shape = [1, self.num_features, *[1] * (batch.dim() - 2)]
        if self.training:
            moments = torch.stack([batch.mean(others), batch.square().mean(others)])
            mean, square = (AllReduceSumLayer.apply(moments) / _runtime.world_size()).unbind()
            variance = square - mean.square()
            with torch.no_grad():
                self.running_mean.lerp_(mean, self.momentum)
                self.running_var.lerp_(variance, self.momentum)
        else:
            mean, variance = self.running_mean, self.running_var
        scale = self.weight * torch.rsqrt(variance + self.eps)
        return (batch - mean.reshape(shape)) * scale.reshape(shape) + self.bias.reshape(shape)

    def extra_repr(self) -> str:
        return f"{self.num_features}, eps={self.eps}"
