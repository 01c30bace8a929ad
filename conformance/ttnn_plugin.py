"""A pytest plugin under which tt-metal's unit tests of operations run on the emulated card.

``pytest --noconftest -p ttnn_plugin`` replaces the fixtures of tt-metal's ``conftest.py``, and ``loguru``, which its
helpers import for their messages. ``TTNN_GOLDENS`` names the folder with an installed ``ttnn``, whose golden functions
judge results.
"""

from __future__ import annotations

import importlib
import logging
import os
import sys
import types
from pathlib import Path
from typing import Any

import goldens
import pytest
import ttnn  # before the checkout, which has a folder of this name

pytest_plugins = ["tt_xla.testing.ttnn_fixtures"]

DROPPED = (
    "is_l1_aligned",
    "use_legacy",
    "queue_id",
    "accurate_mode",
    "approx_mode",
    "use_multicore",
    "use_pack_untilize",
    "in_place_halo",
    "in_place",
)
"""Arguments that an earlier release took and the present one does not: tests of that release run without them."""

RENAMED = {"round_mode": "rounding_mode"}


def _take_arguments_of_earlier_releases() -> None:
    kind = type(ttnn.add)
    call = kind.__call__

    def tolerant(self: Any, *arguments: Any, **options: Any) -> Any:
        kept = {RENAMED.get(name, name): value for name, value in options.items() if name not in DROPPED}
        return call(self, *arguments, **kept)

    kind.__call__ = tolerant
    config = ttnn.Conv2dConfig.__mro__[1]
    make = config.__init__

    def made(self: Any, *arguments: Any, **fields: Any) -> None:
        make(self, *arguments, **{name: value for name, value in fields.items() if name not in DROPPED})

    config.__init__ = made


def _have_names_of_earlier_releases() -> None:
    """Gives ``ttnn`` the names that an earlier release had for what it has under others."""
    for side in ("Height", "Width"):
        setattr(ttnn, f"Conv2dSlice{side}", getattr(ttnn, f"Conv2dDRAMSlice{side}"))
    ttnn.GrayskullComputeKernelConfig = ttnn.WormholeComputeKernelConfig
    members = {each.name: (each, "") for each in ttnn.DataType}
    type.__setattr__(ttnn.DataType, "__entries", members)


def _return_types_of_earlier_releases() -> None:
    """Makes signed numbers of unsigned ones on the way to torch, as an earlier release did."""
    import torch

    convert, signed = ttnn.to_torch, {torch.uint32: torch.int32, torch.uint16: torch.int16}

    def converted(*arguments: Any, **options: Any) -> Any:
        made = convert(*arguments, **options)
        return made.view(signed[made.dtype]) if made.dtype in signed else made

    ttnn.to_torch = converted
    ttnn.Tensor.to_torch = converted


def _activation(name: Any) -> Any:
    """Returns torch's function of an activation's name, as an earlier release's helper did; None for none."""
    import torch

    name = getattr(name, "op_type", name)
    name = getattr(name, "name", name or "").lower()
    return getattr(torch.nn.functional, name, None) or getattr(torch, name, None) if name else None


class _Native(types.ModuleType):
    """Stands in for ``ttnn._ttnn``, whose names are those of ``ttnn`` as well."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in ("reports", "operations", "tensor", "device", "deprecated", "multi_device", "activation"):
            return self
        return getattr(ttnn, name)

    @staticmethod
    def get_buffer_pages(device: Any) -> list[Any]:
        """Returns an item for each buffer of a device."""
        return [*device.memory.dram.owners, *device.memory.l1.owners]


def pytest_configure(config: pytest.Config) -> None:
    sys.path.insert(0, str(config.rootpath))
    convolution: Any = importlib.import_module("ttnn.operations.conv2d")
    convolution.get_torch_act_func_from_string = _activation
    helpers = types.ModuleType("tt_lib")
    helpers.__path__ = [str(config.rootpath / "ttnn" / "tt_lib")]  # without its __init__.py, which needs native code
    sys.modules.setdefault("tt_lib", helpers)
    loguru = types.ModuleType("loguru")
    loguru.logger = logging.getLogger("loguru")
    sys.modules.setdefault("loguru", loguru)
    _take_arguments_of_earlier_releases()
    _have_names_of_earlier_releases()
    _return_types_of_earlier_releases()
    native: Any = _Native("ttnn._ttnn")
    ttnn._ttnn = native
    for name in (
        "",
        ".operations",
        ".operations.activations",
        ".tensor",
        ".device",
        ".deprecated",
        ".operations.experimental",
    ):
        sys.modules[f"ttnn._ttnn{name}"] = native
    sys.modules.setdefault("ttnn.device", ttnn)
    if folder := os.environ.get("TTNN_GOLDENS"):
        for name, function in goldens.load(Path(folder)).items():
            ttnn.attach_golden_function(_operation(name), function)
    for name in ("requires_fast_runtime_mode_off", "slow", "post_commit", "models_performance_bare_metal"):
        config.addinivalue_line("markers", name)


def _operation(name: str) -> Any:
    """Returns the operation of a full name, or the name where ours lacks it."""
    value: Any = ttnn
    for part in name.split(".")[1:]:
        value = getattr(value, part, None)
    return name if value is None else value


@pytest.fixture(autouse=True)
def seeded(reset_seeds: None) -> None:
    """Gives each test its seeds."""


def pytest_make_parametrize_id(config: pytest.Config, val: object, argname: str) -> str | None:
    """Names dtypes and layouts as TT-NN does, so that a test's name is the same with the real package."""
    return f"{argname}={val}" if type(val).__module__.partition(".")[0] in ("ttnn", "tt_xla") else None
