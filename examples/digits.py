"""Trains a small network on handwritten digits on the CPU and classifies a held-out fifth on the emulated card.

The table compares float32 on the CPU with bfloat16, and with bfloat16 and bfloat8_b weights, at levels 0 and 2. Images
per second are wall-clock figures of the emulation; device time is predicted.
"""

import argparse
import copy
import os
import time

import torch
import torch_xla
import torch_xla.core.xla_model as xm
import torch_xla.runtime as xr
from network import DigitsNetwork
from rich.box import SIMPLE
from rich.console import Console
from rich.progress import track
from rich.table import Table
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

from tt_xla.frontends.torch.backend import compiled_programs
from tt_xla.testing import pcc


def load_digits() -> tuple[TensorDataset, TensorDataset]:
    """Loads scikit-learn's 1797 digits, resized from 8 x 8 to 28 x 28, and splits off one fifth for testing."""
    from sklearn.datasets import load_digits as load
    from sklearn.model_selection import train_test_split

    images, labels = load(return_X_y=True)
    small = torch.tensor(images, dtype=torch.float32).reshape(-1, 1, 8, 8) / 16
    large = functional.interpolate(small, size=(28, 28), mode="bilinear", align_corners=False)
    train, test = train_test_split(torch.arange(len(labels)), test_size=0.2, random_state=1, stratify=labels)
    labels = torch.tensor(labels)
    return TensorDataset(large[train], labels[train]), TensorDataset(large[test], labels[test])


def train(model: torch.nn.Module, data: TensorDataset, epochs: int) -> None:
    batches = DataLoader(data, batch_size=32, shuffle=True)
    optimizer = torch.optim.AdamW(model.parameters(), weight_decay=0.05)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, total_steps=epochs * len(batches))
    model.train()
    for _ in track(range(epochs), description="Training on the CPU", transient=True):
        for images, labels in batches:
            images = images.roll(torch.randint(-2, 3, (2,)).tolist(), dims=(2, 3))
            optimizer.zero_grad()
            functional.nll_loss(model(images), labels).backward()
            optimizer.step()
            schedule.step()
    model.eval()


def classify(
    model: torch.nn.Module, images: torch.Tensor, batch: int, device: torch.device
) -> tuple[torch.Tensor, float]:
    """Returns the log probabilities of all images, [N, 10], and images per second after a warm-up."""
    batches = [images[start : start + batch] for start in range(0, len(images) - batch + 1, batch)]
    with torch.no_grad():
        for _ in range(3):
            model(batches[0].to(device)).to("cpu")
        start = time.perf_counter()
        outputs = [model(part.to(device)).to("cpu") for part in batches]
        seconds = time.perf_counter() - start
        rest = images[len(batches) * batch :]
        if len(rest):
            padded = torch.cat([rest, rest.new_zeros(batch - len(rest), *rest.shape[1:])])
            outputs.append(model(padded.to(device)).to("cpu")[: len(rest)])
    return torch.cat(outputs).float(), len(batches) * batch / seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=12, help="passes over the training images (default 12)")
    parser.add_argument("--images", type=int, help="images to classify (default: all that were held out)")
    parser.add_argument("--batch", type=int, default=64, help="images in a batch (default 64)")
    parser.add_argument("--bf16", action="store_true", help="leave out bfloat8_b, which simulators do not compute")
    parser.add_argument("--runtime", choices=["emulated", "ttnn", "ttnn-mock"], help="default: $TTXLA_RUNTIME")
    arguments = parser.parse_args()
    if arguments.runtime:
        os.environ["TTXLA_RUNTIME"] = arguments.runtime

    torch.manual_seed(0)
    xr.set_device_type("TT")
    device = xm.xla_device()
    training, testing = load_digits()
    images, labels = (tensor[: arguments.images] for tensor in testing.tensors)
    batch = min(arguments.batch, len(images))
    model = DigitsNetwork()
    train(model, training, arguments.epochs)

    expected, speed = classify(model, images, batch, torch.device("cpu"))
    table = Table(
        title=f"{len(labels)} held-out digits in batches of {batch}",
        caption="images/s: wall clock of the emulation; chip us: predicted device time per batch",
        box=SIMPLE,
        padding=0,
    )
    for heading in ("run", "level", "accuracy", "PCC", "images/s", "chip us", "DRAM MB", "L1 kB"):
        table.add_column(heading, justify="left" if heading == "run" else "right", no_wrap=True)
    accuracy = (expected.argmax(1) == labels).float().mean()
    table.add_row("CPU f32", "", f"{accuracy:.2%}", "1.00000", f"{speed:,.0f}", "", "", "")
    formats = {"bf16": {}} if arguments.bf16 else {"bf16": {}, "bf16 + bfp8": {"enable_bfp8_conversion": True}}
    for name, options in formats.items():
        for level in (0, 2):
            torch_xla.set_custom_compile_options({"optimization_level": level, **options})
            compiled = copy.deepcopy(model).to(torch.bfloat16)
            compiled.compile(backend="tt")
            outputs, speed = classify(compiled.to(device), images.to(torch.bfloat16), batch, device)
            accuracy = (outputs.argmax(1) == labels).float().mean()
            program = compiled_programs()[-1]
            table.add_row(
                f"{program.target} {name}",
                str(level),
                f"{accuracy:.2%}",
                f"{pcc(outputs, expected, rtol=0, atol=0):.5f}",
                f"{speed:,.0f}",
                f"{program.predicted_device_us:,.0f}",
                f"{program.memory.dram_peak_bytes / 1e6:.1f}",
                f"{program.memory.l1_peak_bytes_per_core / 1e3:.0f}",
            )
    Console().print(table)


if __name__ == "__main__":
    main()
