"""Runs PyTorch models on all chips of an emulated system in three ways, and compares each with the CPU.

    TTXLA_SYSTEM=n300 python examples/several_chips.py

Data parallel: each chip has all weights of an MNIST network or a ResNet, and a part of the batch. Tensor parallel: each
chip has a part of every weight of a small Llama. FSDP: parameters and batch are split over the same chips, and a
training step exchanges both. ``several_chips_jax.py`` does the last two in JAX.
"""

import copy
import os

os.environ.setdefault("TTXLA_SYSTEM", "n300")

import numpy as np
import torch
import torch_xla.distributed.spmd as xs
import torch_xla.runtime as xr
from network import DigitsNetwork
from torch import nn
from transformers import LlamaConfig, LlamaForCausalLM, ResNetConfig, ResNetForImageClassification

from tt_xla.frontends.torch.backend import compiled_programs


def data_parallel(mesh: xs.Mesh) -> None:
    """Classifies images, then takes a training step; the gradients are summed over the chips."""
    model = DigitsNetwork().eval()  # without dropout, so that both sides compute the same
    images, labels = torch.randn(8 * mesh.size(), 1, 28, 28), torch.randint(10, (8 * mesh.size(),))
    with torch.no_grad():
        expected = model(images)
    loss, gradient = training_step(copy.deepcopy(model), images, labels)

    model, images, labels = model.to("tt"), images.to("tt"), labels.to("tt")
    xs.mark_sharding(images, mesh, (("batch", "model"), None, None, None))
    xs.mark_sharding(labels, mesh, (("batch", "model"),))
    compiled = torch.compile(model, backend="tt")
    with torch.no_grad():
        report("data parallel, inference", compiled(images), expected)
    loss_tt, gradient_tt = training_step(compiled, images, labels)
    report("data parallel, loss of a training step", loss_tt, loss)
    report("data parallel, gradient of the last layer", gradient_tt, gradient)


def data_parallel_resnet(mesh: xs.Mesh) -> None:
    """Classifies images with a small ResNet; no chip needs anything from another."""
    config = ResNetConfig(embedding_size=16, hidden_sizes=[16, 32], depths=[1, 1], layer_type="basic", num_labels=10)
    model = ResNetForImageClassification(config).eval()
    images = torch.randn(2 * mesh.size(), 3, 64, 64)
    with torch.no_grad():
        expected = model(images).logits
        model, images = model.to("tt"), images.to("tt")
        xs.mark_sharding(images, mesh, (("batch", "model"), None, None, None))
        report("data parallel ResNet", torch.compile(model, backend="tt")(images).logits, expected)


def training_step(model: nn.Module, images: torch.Tensor, labels: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns the loss and the gradient of the last layer's weights, after a step of gradient descent."""
    loss = nn.functional.nll_loss(model(images), labels)
    loss.backward()
    torch.optim.SGD(model.parameters(), lr=0.01).step()
    return loss.detach(), [parameter.grad for parameter in model.parameters()][-2]


def tensor_parallel(mesh: xs.Mesh) -> None:
    """Splits the heads and the MLPs of a Llama; each layer sums over the chips twice."""
    config = LlamaConfig(
        vocab_size=512, hidden_size=128, intermediate_size=256, num_hidden_layers=2, num_attention_heads=8
    )
    model = LlamaForCausalLM(config).eval()
    tokens = torch.randint(512, (1, 32))
    with torch.no_grad():
        expected = model(tokens, use_cache=False).logits
        model = model.to("tt")
        for layer in model.model.layers:
            attention, mlp = layer.self_attn, layer.mlp
            for linear in (attention.q_proj, attention.k_proj, attention.v_proj, mlp.gate_proj, mlp.up_proj):
                xs.mark_sharding(linear.weight, mesh, ("model", None))
            for linear in (attention.o_proj, mlp.down_proj):
                xs.mark_sharding(linear.weight, mesh, (None, "model"))
        logits = torch.compile(model, backend="tt")(tokens.to("tt"), use_cache=False).logits
        report("tensor parallel Llama", logits, expected)


def fsdp(mesh: xs.Mesh) -> None:
    """Takes a training step with parameters and batch split over the same chips."""
    model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 16), nn.LogSoftmax(dim=1))
    inputs, labels = torch.randn(16 * mesh.size(), 64), torch.randint(16, (16 * mesh.size(),))
    reference = copy.deepcopy(model)
    loss, _ = training_step(reference, inputs, labels)

    model, inputs, labels = model.to("tt"), inputs.to("tt"), labels.to("tt")
    for parameter in model.parameters():
        xs.mark_sharding(parameter, mesh, ("model", *[None] * (parameter.dim() - 1)))
    xs.mark_sharding(inputs, mesh, ("model", None))
    xs.mark_sharding(labels, mesh, ("model",))
    loss_tt, _ = training_step(torch.compile(model, backend="tt"), inputs, labels)
    report("FSDP, loss of a training step", loss_tt, loss)
    for name, parameter in (("first", 0), ("second", 2)):
        report(f"FSDP, weights of the {name} layer after it", model[parameter].weight, reference[parameter].weight)


def report(name: str, actual: torch.Tensor, expected: torch.Tensor) -> None:
    """Prints the largest difference from the CPU, relative to the largest element.

    Raises:
        AssertionError: the difference is 2 % or more.
    """
    actual, expected = actual.detach().cpu(), expected.detach()
    difference = float((actual - expected).abs().max() / expected.abs().max())
    print(f"{name}: {difference:.4%} from the CPU")
    assert difference < 0.02, f"{name} differs from the CPU by {difference:.2%}"


def main() -> None:
    torch.manual_seed(0)
    xr.use_spmd()
    chips = xr.global_runtime_device_count()
    mesh = xs.Mesh(np.arange(chips), (1, chips), ("batch", "model"))
    for run in (data_parallel, data_parallel_resnet, tensor_parallel, fsdp):
        earlier = len(compiled_programs())
        run(mesh)
        programs = compiled_programs()[earlier:]
        ops = [step.op.removeprefix("ttnn.") for program in programs for step in program.functions[0].body]
        exchanges = {op: ops.count(op) for op in ("all_reduce", "reduce_scatter", "all_gather") if op in ops}
        print(f"  {chips} chips, {len(programs)} programs, exchanges: {exchanges}")


if __name__ == "__main__":
    main()
