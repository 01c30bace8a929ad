"""Arguments of a program that are no inputs of its graph: large constants, and random numbers that the host draws."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from tt_xla.frontends.torch.aten.registry import shape_of
from tt_xla.frontends.torch.numbers import number
from tt_xla.frontends.torch.symbolic import hint


class Constant:
    """Returns a constant on the host. Its pickled form becomes a tensor at the first call, which no fake mode sees.

    Args:
        host: the constant, on the CPU.
    """

    def __init__(self, host: torch.Tensor) -> None:
        self._host: torch.Tensor | None = host
        self._pickled: tuple[bytes, torch.dtype, tuple[int, ...]] | None = None

    def __call__(self) -> torch.Tensor:
        if self._host is None:
            assert self._pickled is not None
            contents, dtype, shape = self._pickled
            values = torch.frombuffer(bytearray(contents), dtype=dtype) if contents else torch.empty(0, dtype=dtype)
            self._host = values.reshape(shape)
        return self._host

    def __getstate__(self) -> tuple[bytes, torch.dtype, tuple[int, ...]]:
        if self._host is None:
            assert self._pickled is not None
            return self._pickled
        host = self._host.contiguous()
        return host.flatten().view(torch.uint8).numpy().tobytes(), host.dtype, tuple(host.shape)

    def __setstate__(self, state: tuple[bytes, torch.dtype, tuple[int, ...]]) -> None:
        self._host, self._pickled = None, state


@dataclass(frozen=True)
class Sampler:
    """Draws the numbers of a random op on the CPU.

    Attributes:
        kind: name of the op without ``_like``.
        shape: shape of the result, its dimensions in the order in which they lie in memory. Its sizes may be symbols
            of JAX, which the caller replaces by numbers.
        dtype: element type of the result.
        numbers: the op's own numbers: the probability of ``bernoulli``, the bounds of ``randint``.
        dims: the place of each dimension of the result among those of ``shape``.
    """

    kind: str
    shape: tuple[int, ...]
    dtype: torch.dtype
    numbers: tuple[Any, ...] = ()
    dims: tuple[int, ...] = ()

    def __call__(self) -> torch.Tensor:
        if self.kind == "bernoulli":
            return torch.empty(self.shape, dtype=self.dtype, device="cpu").permute(self.dims).bernoulli_(*self.numbers)
        return self._drawn().permute(self.dims)

    def _drawn(self) -> torch.Tensor:
        if self.kind == "randperm":
            return torch.randperm(self.shape[0], dtype=self.dtype, device="cpu")
        draw = _DRAWS[self.kind]
        return draw(*self.numbers, self.shape, dtype=self.dtype, device="cpu")


_DRAWS: dict[str, Callable[..., torch.Tensor]] = {"rand": torch.rand, "randn": torch.randn, "randint": torch.randint}


def sampler(node: torch.fx.Node) -> Sampler:
    """Returns the function that draws the numbers of a random op, in the order of memory, as PyTorch's kernels do."""
    fake = node.meta["val"]
    kind = node.target._schema.name.removeprefix("aten::").removesuffix("_like")  # type: ignore[union-attr]
    parameters: tuple[Any, ...] = ()
    if kind == "bernoulli":
        parameters = (node.args[1],)
    elif kind == "randint":
        bounds = [bound for bound in map(number, node.args) if isinstance(bound, int)]
        parameters = (0, bounds[0]) if len(bounds) == 1 else tuple(bounds[:2])
    sizes, strides = shape_of(fake), [hint(stride) for stride in fake.stride()]
    order = sorted(range(len(sizes)), key=lambda dim: -strides[dim])
    dims = tuple(order.index(dim) for dim in range(len(sizes)))
    return Sampler(kind, tuple(sizes[dim] for dim in order), fake.dtype, parameters, dims)


__all__ = ["Constant", "Sampler", "sampler"]
