"""User scripts for the profiling tests."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

TRAIN = """
import sys
import torch, torch_xla, tracy

model = torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.GELU(), torch.nn.Linear(32, 10)).to("tt")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
inputs, labels = torch.randn(16, 64).to("tt"), torch.randint(0, 10, (16,)).to("tt")
for number in range(int(sys.argv[1])):
    tracy.signpost(f"step_{number}_start")
    torch.nn.functional.cross_entropy(model(inputs), labels).backward()
    optimizer.step()
    optimizer.zero_grad()
    torch_xla.sync()
    tracy.signpost(f"step_{number}_end")
    if "crash" in sys.argv and number == 2:
        raise ValueError("no more data")
"""

INFER = """
import sys
import torch, tracy

model = torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.GELU(), torch.nn.Linear(32, 10)).eval().bfloat16()
compiled = torch.compile(model.to("tt"), backend="tt", options={"enable_trace": "trace" in sys.argv})
with torch.no_grad():
    for number in range(4):
        tracy.signpost(f"call_{number}", "of four")
        compiled(torch.randn(16, 64).bfloat16().to("tt")).cpu()
tracy.signpost("end")
"""

JAX = """
import jax, jax.numpy as jnp

@jax.jit
def step(weights, inputs):
    loss, slope = jax.value_and_grad(lambda w: jnp.mean(jnp.tanh(inputs @ w)))(weights)
    return weights - 0.1 * slope, loss

weights, inputs = jnp.ones((64, 32)), jnp.ones((16, 64))
for _ in range(40):
    weights, loss = step(weights, inputs)
    loss.block_until_ready()
raise SystemExit("ran to its end")
"""


@pytest.fixture
def script(tmp_path: Path) -> Callable[[str], str]:
    """Returns a function that writes a script and returns its path. The script runs in this process, as in its own."""
    torch.compiler.reset()  # dynamo remembers the sizes of modules of other tests

    def write(text: str) -> str:
        path = tmp_path / "script.py"
        path.write_text(textwrap.dedent(text))
        return str(path)

    return write
