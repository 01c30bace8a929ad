"""Functions of PyTorch with gradients, compiled and outside of a graph, judged by PyTorch on the CPU."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from tests.fuzz.cases import Difference, NotDrawnError
from tests.fuzz.kinds.aten import OPTIONS
from tests.fuzz.torch_programs import tensors
from tests.fuzz.torch_programs.control import IN_PYTHON, operators
from tests.fuzz.torch_programs.functions import Function, draw_function
from tests.fuzz.torch_programs.noise import DEFAULT, EXACT, Judge
from tests.fuzz.torch_programs.statements import STATEMENTS


@dataclass
class Graph:
    """A drawn function and how it runs.

    Attributes:
        function: the function.
        eager: whether it runs outside of a graph.
        checks: keys of :data:`OPTIONS`.
    """

    function: Function
    eager: bool
    checks: list[str]

    @property
    def text(self) -> str:
        way = "outside of a graph" if self.eager else "compiled"
        return f"{self.function.text}\n# {way}, {', '.join(self.checks)}"

    def check(self) -> Iterator[Difference]:
        function, inputs = self.function.compiled(operators()), list(self.function.inputs.values())
        grads = [tensor.requires_grad for tensor in inputs]
        run = WithGradients(self.function.compiled(IN_PYTHON), grads)
        try:
            judge = Judge(run, [tensor.detach() for tensor in inputs], strided=True)
            sharing = run.sharing
        except (RuntimeError, NotImplementedError) as error:
            raise NotDrawnError(f"PyTorch refuses the function: {error}") from error
        if not judge.fits():
            raise NotDrawnError("integers that 32 bits do not hold")
        for name in self.checks:
            options = OPTIONS[name]
            size = EXACT if options["numerics"] == "exact" else DEFAULT
            got, shared = self._run(function, grads, inputs, options)
            yield from judge.differences(name, got, size)
            if shared != sharing:
                yield Difference(name, f"memory is shared as {shared} instead of {sharing}")

    def _run(
        self, function: Callable[..., Any], grads: list[bool], inputs: list[torch.Tensor], options: Mapping[str, Any]
    ) -> tuple[list[torch.Tensor], list[int]]:
        from tt_xla.frontends.torch import settings

        if not self.eager:
            torch._dynamo.reset()
            function = torch.compile(function, backend="tt", dynamic=False, options=dict(options))
        settings.set_compile_options(options)
        try:
            moved = [tensors.on_device(tensor.detach()) for tensor in inputs]
            run = WithGradients(function, grads)
            return [result.cpu() for result in run(*moved)], run.sharing
        finally:
            settings.reset()


class WithGradients:
    """Computes the results of a function, and the gradients of its inputs.

    Cotangents depend on positions alone, so that all runs have the same ones.

    Args:
        function: the function.
        grads: whether each input has a gradient.

    Attributes:
        sharing: for each result of the last call, the position of the first input or result whose memory it shares;
            inputs come first.
    """

    sharing: list[int]

    def __init__(self, function: Callable[..., Any], grads: list[bool]) -> None:
        self._function, self._grads = function, grads

    def __call__(self, *inputs: torch.Tensor) -> list[torch.Tensor]:
        arguments = [
            tensor.detach().requires_grad_() if grad else tensor
            for tensor, grad in zip(inputs, self._grads, strict=True)
        ]
        results = list(self._function(*arguments))
        memory = [tensor.untyped_storage().data_ptr() if tensor.numel() else None for tensor in (*arguments, *results)]
        self.sharing = [memory.index(each) for each in memory[len(arguments) :]]
        wanted = [result for result in results if result.requires_grad]
        sources = [argument for argument, grad in zip(arguments, self._grads, strict=True) if grad]
        if wanted and sources:
            found = torch.autograd.grad(wanted, sources, [_cotangent(result) for result in wanted], allow_unused=True)
            results += [gradient for gradient in found if gradient is not None]
        return [result.detach().resolve_conj() for result in results]


def _cotangent(result: torch.Tensor) -> torch.Tensor:
    generator = torch.Generator().manual_seed(result.numel())
    drawn = torch.randn(result.shape, generator=generator, dtype=torch.float32)
    return drawn.to(result.dtype).to(result.device)


def draw(random: random.Random) -> Graph:
    """Draws a function of 2 to 10 statements, and how it runs."""
    function = draw_function(random, STATEMENTS, random.randint(2, 10), IN_PYTHON)
    if not function.outputs:
        raise NotDrawnError("PyTorch refused every drawn statement")
    first = random.choice(("exact at level 0", "exact at level 2"))
    others = [name for name in OPTIONS if name != first]
    controlled = any(f"{name}(" in function.source for name in IN_PYTHON)
    eager = random.random() < 0.3 and not controlled
    return Graph(function, eager, [first, random.choice(others)])


__all__ = ["Graph", "draw"]
