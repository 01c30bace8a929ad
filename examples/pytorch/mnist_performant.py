"""Runs a small network for MNIST's digits with everything that docs/performance.md recommends.

Level 2, a trace, block-float weights, bfloat16 and three runs of warm-up. It prints the time of each run and the
throughput, which are those of the emulation on this machine. A card needs no change of this program.
"""

import os

os.environ["TT_RUNTIME_TRACE_REGION_SIZE"] = "10000000"  # bytes; read when torch_xla is imported

import time

import torch
import torch_xla
import torch_xla.core.xla_model as xm
import torch_xla.runtime as xr
from torch import nn
from torch.nn import functional

BATCH = 64
RUNS = 128
WARM_UP_RUNS = 3


class MNISTCNNDropoutModel(nn.Module):
    """Classifies images of 28 x 28 pixels, with convolutions, pooling, dropout and a log-softmax."""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.ModuleList([nn.Conv2d(1, 32, 3), nn.Conv2d(32, 64, 3)])
        self.hidden = nn.Linear(64 * 12 * 12, 128)
        self.scores = nn.Linear(128, 10)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Returns logarithms of probabilities, (batch, 10), of images (batch, 1, 28, 28)."""
        x = images
        for convolution in self.features:
            x = functional.relu(convolution(x))
        x = functional.dropout(functional.max_pool2d(x, 2), 0.25, self.training)
        x = functional.relu(self.hidden(torch.flatten(x, 1)))
        return functional.log_softmax(self.scores(functional.dropout(x, 0.5, self.training)), dim=1)


def mnist_performant() -> None:
    """Compiles the model with every option for performance, warms it up and times it."""
    torch_xla.set_custom_compile_options(
        {
            "optimization_level": 2,
            "enable_trace": "true",
            "enable_bfp8_conversion": "true",  # needs a model in bfloat16
        }
    )
    model = MNISTCNNDropoutModel().eval().to(dtype=torch.bfloat16)
    model.compile(backend="tt")
    device = xm.xla_device()
    model = model.to(device)
    run_inference(model, device, generate_input(BATCH, torch.bfloat16), WARM_UP_RUNS, verbose=False)
    run_inference(model, device, generate_input(BATCH, torch.bfloat16), RUNS)


def run_inference(
    model: nn.Module, device: torch.device, images: torch.Tensor, loop_count: int, verbose: bool = True
) -> list[float]:
    """Returns the seconds of each of ``loop_count`` runs, with the transfers to and from the device."""
    durations = []
    with torch.no_grad():
        for _ in range(loop_count):
            start = time.perf_counter()
            model(images.to(device)).to("cpu")
            durations.append(time.perf_counter() - start)
    if verbose:
        for index, seconds in enumerate(durations):
            print(f"Iteration {index} took:\t{seconds * 1e3} ms")
        print(f"Average throughput: {round(len(images) * loop_count / sum(durations))} samples/second")
    return durations


def generate_input(batch_size: int, dtype: torch.dtype) -> torch.Tensor:
    """Returns random images, (batch_size, 1, 28, 28)."""
    return torch.randn((batch_size, 1, 28, 28), dtype=dtype)


if __name__ == "__main__":
    xr.set_device_type("TT")
    mnist_performant()
