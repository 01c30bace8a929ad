"""Follows the performance guide: bfloat16, bfloat8_b weights, level 2, a trace, warm-up, then timed runs.

Wall-clock times are those of the emulation on this machine. The predicted device time is that of the chip.
"""

import os

os.environ.setdefault("TT_RUNTIME_TRACE_REGION_SIZE", "10000000")

import argparse
import os
import statistics
import time

import torch
import torch_xla
import torch_xla.core.xla_model as xm
import torch_xla.runtime as xr
from network import DigitsNetwork

from tt_xla.frontends.torch.backend import compiled_programs


def run(model: torch.nn.Module, device: torch.device, batch: torch.Tensor, count: int) -> list[float]:
    """Returns the seconds of each run, including the transfers to the device and back."""
    seconds = []
    with torch.no_grad():
        for _ in range(count):
            start = time.perf_counter()
            model(batch.to(device)).to("cpu")
            seconds.append(time.perf_counter() - start)
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch", type=int, default=64, help="images in a batch (default 64)")
    parser.add_argument("--runs", type=int, default=128, help="timed runs (default 128)")
    parser.add_argument("--runtime", choices=["emulated", "ttnn", "ttnn-mock"], help="default: $TTXLA_RUNTIME")
    arguments = parser.parse_args()
    if arguments.runtime:
        os.environ["TTXLA_RUNTIME"] = arguments.runtime

    xr.set_device_type("TT")
    torch_xla.set_custom_compile_options(
        {"optimization_level": 2, "enable_trace": "true", "enable_bfp8_conversion": "true"}
    )
    model = DigitsNetwork().eval().to(dtype=torch.bfloat16)
    model.compile(backend="tt")
    device = xm.xla_device()
    model = model.to(device)

    batch = torch.randn((arguments.batch, 1, 28, 28), dtype=torch.bfloat16)
    warm_up = run(model, device, batch, 3)
    seconds = run(model, device, batch, arguments.runs)
    median = statistics.median(seconds)
    program = compiled_programs()[-1]
    print(f"Warm-up: {', '.join(f'{second * 1e3:.1f} ms' for second in warm_up)} (compile, capture the trace, replay)")
    speed = arguments.batch / median
    print(f"Emulation: {median * 1e3:.2f} ms a batch (median of {arguments.runs} runs), {speed:.0f} images/s")
    print(
        f"Predicted on {program.target}: {program.predicted_device_us:.0f} us a batch on the device, "
        f"{arguments.batch / program.predicted_device_us * 1e6:.0f} images/s"
    )


if __name__ == "__main__":
    main()
