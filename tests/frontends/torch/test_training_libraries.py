"""Libraries that train models use the device by their own entry points, save, load and go on.

Each case runs a script of the folder ``training`` in a process of its own, because libraries choose devices and paths
when they are imported. The scripts print the losses of a run, and those after loading what it saved halfway.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

SCRIPTS = Path(__file__).with_name("training")
LIBRARIES = {
    "accelerate_loop": ["accelerate"],
    "diffusers_unet": ["diffusers", "accelerate"],
    "keras_fit": ["keras"],
    "lightning_fit": ["lightning"],
    "timm_loop": ["timm"],
    "trainer": ["transformers", "accelerate"],
    "trl_sft": ["trl", "datasets"],
}
"""Libraries that each script imports."""

ON_TWO = {"TTXLA_SYSTEM": "n300"}
THROUGH_XLA = {"USE_TORCH_XLA": "1"}
KERAS_ON_TORCH, KERAS_ON_JAX = {"KERAS_BACKEND": "torch"}, {"KERAS_BACKEND": "jax"}


@dataclasses.dataclass(frozen=True)
class Case:
    """A run of a script.

    Attributes:
        script: its name.
        argument: its first argument; the second one is a folder.
        environment: variables that are set for it.
        reference: argument of the run on the CPU that has its losses.
        on_cpu: variables that are set for that run.
        processes: number of replicas or ranks that the library trains in.
        device: the device that the library names.
        torchrun: whether torchrun starts ranks.
    """

    script: str
    argument: str = "auto"
    environment: tuple[tuple[str, str], ...] = ()
    reference: str = "cpu"
    on_cpu: tuple[tuple[str, str], ...] = ()
    processes: int = 1
    device: str = "tt:0"
    torchrun: bool = False


def case(name: str, script: str, argument: str = "auto", environment: dict[str, str] | None = None, **options: Any):
    marks = () if name in ("accelerate", "trainer") else pytest.mark.nightly
    options |= {"environment": tuple((environment or {}).items()), "on_cpu": tuple(options.get("on_cpu", {}).items())}
    return pytest.param(Case(script, argument, **options), id=name, marks=marks)


def fit(**options: object) -> str:
    return json.dumps(options)


ON_CPU = {"reference": fit(accelerator="cpu")}
JAX_ON_CPU = KERAS_ON_JAX | {"JAX_PLATFORMS": "cpu"}
CASES = [
    case("accelerate", "accelerate_loop", device="tt"),
    case("accelerate-xla", "accelerate_loop", environment=THROUGH_XLA),
    case("accelerate-replicas", "accelerate_loop", "replicas", {**THROUGH_XLA, **ON_TWO}, processes=2),
    case("accelerate-ranks", "accelerate_loop", environment=ON_TWO, processes=2, torchrun=True),
    case("trainer", "trainer", device="tt"),
    case("trainer-ranks", "trainer", environment=ON_TWO, processes=2, torchrun=True),
    case("trainer-xla", "trainer", environment=THROUGH_XLA),
    case("trainer-replicas", "trainer", "replicas", ON_TWO, processes=2),
    case("trainer-fsdp-v2", "trainer", "fsdp2", ON_TWO),
    case("diffusers", "diffusers_unet", device="tt"),
    case("diffusers-xla", "diffusers_unet", environment=THROUGH_XLA),
    case("timm", "timm_loop", "tt"),
    case("timm-xla", "timm_loop", "xla"),
    case("lightning-auto", "lightning_fit", fit(accelerator="auto"), **ON_CPU),
    case("lightning-tt", "lightning_fit", fit(accelerator="tt", devices=1), **ON_CPU),
    case("lightning-tpu", "lightning_fit", fit(accelerator="tpu"), **ON_CPU),
    case("lightning-replicas", "lightning_fit", fit(accelerator="tt"), ON_TWO, **ON_CPU, processes=2),
    case("lightning-tpu-replicas", "lightning_fit", fit(accelerator="tpu"), ON_TWO, **ON_CPU, processes=2),
    case("keras", "keras_fit", environment=KERAS_ON_TORCH, on_cpu=KERAS_ON_TORCH | {"KERAS_TORCH_DEVICE": "cpu"}),
    case("keras-jax", "keras_fit", environment=KERAS_ON_JAX, on_cpu=JAX_ON_CPU, device="tt"),
    case(
        "keras-jax-chips",
        "keras_fit",
        "replicas",
        KERAS_ON_JAX | ON_TWO,
        on_cpu=JAX_ON_CPU,
        device="tt",
        processes=2,
    ),
    case("trl", "trl_sft", device="tt"),
    case("trl-xla", "trl_sft", environment=THROUGH_XLA),
]


def run(script: str, argument: str, environment: dict[str, str], ranks: int = 0) -> dict[str, object]:
    inherited = {
        name: value for name, value in os.environ.items() if not name.startswith(("ACCELERATE_", "KERAS_", "JAX_"))
    }
    with tempfile.TemporaryDirectory() as folder:
        launcher = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}"] if ranks else []
        result = subprocess.run(
            [sys.executable, "-W", "ignore", *launcher, str(SCRIPTS / f"{script}.py"), argument, folder],
            env={**inherited, "HF_HUB_OFFLINE": "1", **environment},
            capture_output=True,
            text=True,
        )
    assert result.returncode == 0, result.stderr[-3000:]
    return json.loads(result.stdout.splitlines()[-1])


@functools.cache
def run_on_cpu(script: str, argument: str, environment: tuple[tuple[str, str], ...]) -> dict[str, object]:
    return run(script, argument, dict(environment))


@pytest.mark.parametrize("case", CASES)
def test_a_library_trains_saves_and_goes_on_with_the_losses_of_the_cpu(case):
    missing = [name for name in LIBRARIES[case.script] if importlib.util.find_spec(name) is None]
    if missing:
        pytest.skip(f"{', '.join(missing)} is not installed")
    expected = run_on_cpu(case.script, case.reference, case.on_cpu)
    ranks = case.processes if case.torchrun else 0
    trained = run(case.script, case.argument, dict(case.environment), ranks)

    assert (expected["device"], trained["device"]) == ("cpu", case.device)
    assert trained["processes"] == case.processes
    assert trained["losses"] == pytest.approx(expected["losses"], rel=2e-2, abs=5e-3)
    assert trained["resumed"] == pytest.approx(trained["losses"][-len(trained["resumed"]) :], rel=1e-4)
    assert trained.get("difference", 0.0) == 0.0
    assert trained.get("unchanged", 0) == 0
