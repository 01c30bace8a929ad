"""Compares modules and optimizers on the device ``tt`` with the CPU, for samples of PyTorch's module_db and optim_db.

A module runs in evaluation mode without gradients, and in training mode with gradients of its inputs and parameters. An
optimizer updates the weights of a small network, which all its configurations train for a few steps. Each runs
eagerly and under ``torch.compile(backend="tt")``. Outputs, gradients, buffers, weights and the optimizer's state are
compared. Where an optimizer makes rounding errors larger, its losses and weights may differ from the CPU's if they are
about as near to those in float64, as PyTorch judges its own compilers.

As a program it reads pairs, "name case" a line, from standard input, and prints a JSON object for each.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from typing import Any

import torch
from torch.testing._internal.common_modules import ModuleInfo, module_db
from torch.testing._internal.common_optimizers import OptimizerInfo, optim_db

from conformance.torch_pairs import (
    TOLERANCES,
    answer_pairs,
    assert_close,
    chosen,
    copied,
    counted,
    moved,
)

EAGER_INFERENCE, COMPILED_INFERENCE = "eager inference", "compiled inference"
EAGER_TRAINING, COMPILED_TRAINING = "eager training", "compiled training"
COMPILED_STEP = "compiled step"
"""The optimizer's ``step`` is compiled alone, between an eager backward pass and the next."""
MODULE_CASES = (EAGER_INFERENCE, COMPILED_INFERENCE, EAGER_TRAINING, COMPILED_TRAINING)
OPTIMIZER_CASES = (EAGER_TRAINING, COMPILED_TRAINING, COMPILED_STEP)
DTYPE = torch.float32
"""The only one of the databases' dtypes that the chip has."""
STEPS = 3
"""Number of steps that an optimizer takes."""

INFOS: dict[str, ModuleInfo | OptimizerInfo] = {
    **{info.name: info for info in module_db},
    **{f"optim.{info.name}": info for info in optim_db},
}


def pairs() -> list[tuple[str, str]]:
    """Returns every module and optimizer with each of its cases."""
    cases = {name: MODULE_CASES if isinstance(info, ModuleInfo) else OPTIMIZER_CASES for name, info in INFOS.items()}
    return [(name, case) for name in sorted(cases) for case in cases[name]]


def families() -> dict[str, str]:
    """Returns the table's row for each module and optimizer, by name."""
    return {name: "module_db" if isinstance(info, ModuleInfo) else "optim_db" for name, info in INFOS.items()}


def check_pair(name: str, case: str, count: int) -> dict[str, Any]:
    """Runs samples of a module, or configurations of an optimizer, in a case.

    Returns:
        The same as :func:`torch_pairs.check_pair`; the outcome is ``none`` if no sample runs on the CPU.
    """
    from tt_xla.frontends.torch import host_ops

    info = INFOS[name]
    runs = (_module_runs if isinstance(info, ModuleInfo) else _optimizer_runs)(info, case, count)
    host_ops.reset()
    answer = _judged(runs, case in (EAGER_INFERENCE, EAGER_TRAINING))
    return {**answer, "host": sorted(host_ops.counts())}


Run = tuple[str, Callable[[str], Any], Callable[[str], Any] | None]
"""Description of a sample, a function that runs it on a device, and for an optimizer one that does so in float64."""


def _judged(runs: list[Run], eager: bool) -> dict[str, Any]:
    """Returns outcome, reason and number of samples; the first that differs from the CPU's result ends the case."""
    from tt_xla.frontends.torch import backend

    ran = 0
    for description, run, run_in_float64 in runs:
        try:
            expected = _seeded(run, "cpu")
        except (RuntimeError, ValueError):
            continue  # the CPU refuses the sample, so there is no result to compare with
        ran += 1
        torch._dynamo.reset()
        backend.clear_programs()
        try:
            with counted() as calls:
                got = _seeded(run, "tt")
            if not (eager or calls or _returns_input(got)):
                raise AssertionError("nothing was compiled")
            try:
                assert_close(got, expected)
            except AssertionError:
                if run_in_float64 is None or not _are_as_near(got, expected, _seeded(run_in_float64, "cpu")):
                    raise
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            return {"outcome": "failed", "reason": reason, "samples": ran, "sample": description}
    return {"outcome": "passed" if ran else "none", "reason": "", "samples": ran}


def _are_as_near(got: Any, expected: Any, exact: Any) -> bool:
    """Returns whether losses and weights are about as near to those in float64 as the CPU's are."""
    rtol, _ = TOLERANCES[DTYPE]
    return all(
        torch._dynamo.utils.same(theirs, ours, in_float64, tol=rtol)
        for theirs, ours, in_float64 in zip(expected[:2], got[:2], exact[:2], strict=True)
    )


def _seeded(run: Callable[[str], Any], device: str) -> Any:
    torch.manual_seed(0)
    return torch.utils._pytree.tree_map_only(torch.Tensor, lambda tensor: tensor.detach().cpu(), run(device))


def _module_runs(info: ModuleInfo, case: str, count: int) -> list[Run]:
    """Returns the runs of a module's samples."""
    training = case in (EAGER_TRAINING, COMPILED_TRAINING)
    torch.manual_seed(0)
    samples = info.module_inputs_func(info, device="cpu", dtype=DTYPE, requires_grad=training, training=training)
    samples = [sample for sample in samples if sample.forward_input is not None]

    def run(sample: Any, device: str) -> Any:
        module = _built(info, sample, training).to(device)
        args, kwargs = _on_device((sample.forward_input.args, sample.forward_input.kwargs), device)
        compiled = device != "cpu" and case in (COMPILED_INFERENCE, COMPILED_TRAINING)
        call = torch.compile(module, backend="tt", dynamic=False) if compiled else module
        with torch.set_grad_enabled(training):
            results = call(*args, **kwargs)
        gradients = _gradients(results, [args, kwargs], module) if training else []
        return results, gradients, dict(module.named_buffers()), [args, kwargs]

    return [
        (_described(sample), lambda device, sample=sample: run(sample, device), None)
        for sample in chosen(samples, count)
    ]


def _described(sample: Any) -> str:
    return f"{sample.constructor_input.args} {sample.constructor_input.kwargs} {sample.desc}"[:300]


def _built(info: ModuleInfo, sample: Any, training: bool) -> torch.nn.Module:
    """Returns a sample's module on the CPU; a lazy one has seen the sample, so that its parameters exist."""
    made = copied(sample.constructor_input.args), copied(sample.constructor_input.kwargs)
    module = info.module_cls(*made[0], **made[1]).to(DTYPE)
    if info.is_lazy:
        with torch.no_grad():
            module(*copied(sample.forward_input.args), **copied(sample.forward_input.kwargs))
    return module.train(training)


def _on_device(value: Any, device: str) -> Any:
    """Returns copies of a sample's tensors on a device, which are leaves of the graph as the sample's are."""
    copies = copied(value) if device == "cpu" else moved(copied(value))
    for tensor, original in zip(*(torch.utils._pytree.tree_leaves(tree) for tree in (copies, value)), strict=True):
        if isinstance(original, torch.Tensor):
            tensor.requires_grad_(original.requires_grad)
    return copies


def _gradients(results: Any, inputs: Any, module: torch.nn.Module) -> list[torch.Tensor | None]:
    """Runs the backward pass from all results and returns the gradients of inputs and parameters.

    Each element of a result has a weight of its own in the loss; the gradient of a plain sum of softmax would be zero.
    """
    outputs = [leaf for leaf in torch.utils._pytree.tree_leaves(results) if isinstance(leaf, torch.Tensor)]
    outputs = [tensor for tensor in outputs if tensor.requires_grad]
    weights = [torch.linspace(0.5, 1.5, tensor.numel(), dtype=tensor.dtype).reshape(tensor.shape) for tensor in outputs]
    torch.autograd.backward(
        outputs, [weight.to(tensor.device) for weight, tensor in zip(weights, outputs, strict=True)]
    )
    leaves = [leaf for leaf in torch.utils._pytree.tree_leaves(inputs) if isinstance(leaf, torch.Tensor)]
    return [tensor.grad for tensor in (*leaves, *module.parameters())]


def _optimizer_runs(info: OptimizerInfo, case: str, count: int) -> list[Run]:
    """Returns the runs of an optimizer's configurations."""

    def run(kwargs: dict[str, Any], dtype: torch.dtype, device: str) -> Any:
        model, batch, target = _network(info, dtype, device)
        optimizer = info.optim_cls(model.parameters(), **copy.deepcopy(kwargs))

        def loss() -> torch.Tensor:
            optimizer.zero_grad()
            value = torch.nn.functional.mse_loss(model(batch), target)
            value.backward()
            return value

        def train() -> torch.Tensor:
            if info.step_requires_closure:
                return step(loss)
            value = loss()
            step()
            return value

        compile_ = torch.compile(backend="tt", dynamic=False) if device != "cpu" else lambda function: function
        step = compile_(optimizer.step) if case == COMPILED_STEP else optimizer.step
        whole = compile_(train) if case == COMPILED_TRAINING else train
        losses = [whole().detach().clone() for _ in range(STEPS)]
        return losses, list(model.parameters()), optimizer.state_dict()["state"]

    return [
        (str(kwargs), functools.partial(run, kwargs, DTYPE), functools.partial(run, kwargs, torch.float64))
        for kwargs in chosen(_configurations(info), count)
    ]


def _configurations(info: OptimizerInfo) -> list[dict[str, Any]]:
    """Returns an optimizer's arguments: PyTorch's configurations, each with another implementation in turn."""
    implementations = [{}, *({name: True} for name in info.supported_impls if name != "differentiable")]
    inputs = info.optim_inputs_func("cpu")
    return [config.kwargs | implementations[number % len(implementations)] for number, config in enumerate(inputs)]


def _network(
    info: OptimizerInfo, dtype: torch.dtype, device: str
) -> tuple[torch.nn.Module, torch.Tensor, torch.Tensor]:
    """Returns a network on a device with a batch and its targets; its weights are what the optimizer accepts."""
    if info.only_supports_sparse_grads:
        first: torch.nn.Module = torch.nn.Embedding(7, 4, sparse=True)
        model, batch = first, torch.tensor([1, 3, 3, 6])
    else:
        bias = info.name != "Muon"  # it refuses parameters that are no matrices
        layers = torch.nn.Linear(5, 4, bias=bias), torch.nn.Tanh(), torch.nn.Linear(4, 4, bias=bias)
        model, batch = torch.nn.Sequential(*layers), torch.randn(4, 5)
    batch = batch.to(dtype) if batch.is_floating_point() else batch
    return model.to(device, dtype), batch.to(device), torch.randn(4, 4).to(device, dtype)


def _returns_input(got: Any) -> bool:
    """Returns whether a run's results are all among its inputs, as those of dropout outside of training are."""
    results, *_, inputs = got
    known = [leaf for leaf in torch.utils._pytree.tree_leaves(inputs) if isinstance(leaf, torch.Tensor)]
    leaves = torch.utils._pytree.tree_leaves(results)
    return all(any(torch.equal(leaf, other) for other in known) for leaf in leaves if isinstance(leaf, torch.Tensor))


if __name__ == "__main__":
    answer_pairs(check_pair)
