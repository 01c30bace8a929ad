"""Trains a small network on the emulated card: a script to try ``tt-xla profile``, ``bench`` and ``tune`` with."""

import argparse

import torch

import tracy
import tt_torch  # noqa: F401 (registers device and backend "tt")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--epochs", type=int, default=2, help="of eight steps")
    arguments = parser.parse_args()
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.GELU(), torch.nn.Linear(128, 10)).bfloat16().to("tt")
    compiled = torch.compile(model, backend="tt")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    images = torch.randn(arguments.batch_size, 64, dtype=torch.bfloat16)
    classes = torch.randint(0, 10, (arguments.batch_size,))
    for epoch in range(arguments.epochs):
        for step in range(8 * epoch, 8 * epoch + 8):
            tracy.signpost(f"step_{step}_start")  # does nothing without a recording
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(compiled(images.to("tt")), classes.to("tt"))
            loss.backward()
            optimizer.step()
            tracy.signpost(f"step_{step}_end")
        print(f"epoch {epoch + 1}: loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
