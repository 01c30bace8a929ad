"""Lightning has registries of accelerators, and still lists by name those that it gives a strategy and autocast.

Accelerator ``tt`` is registered. ``auto`` selects it where no other is there; unlisted accelerators would train on the
CPU. Accelerator ``tpu`` is Lightning's own, over torch_xla. On several chips both train by the strategy ``xla``, whose
processes are replicas here.

Lightning is one package with two names: ``lightning.fabric`` is ``lightning_fabric``, and ``lightning.pytorch`` is
``pytorch_lightning``.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
from typing import Any

import torch

from tt_xla.frontends.torch import replicas
from tt_xla.frontends.torch.device import chips
from tt_xla.frontends.torch.libraries.torch_xla import is_asked_for, is_served

_DEVICE_TYPE = chips.DEVICE_TYPE


def register_accelerator(module: Any) -> None:
    """Registers accelerator ``tt``.

    Args:
        module: ``lightning.fabric.accelerators`` or ``lightning.pytorch.accelerators``.
    """

    class TTAccelerator(module.Accelerator):
        """Accelerator for the chips of device ``tt``."""

        def setup_device(self, device: torch.device) -> None:
            torch.accelerator.set_device_index(device)

        def teardown(self) -> None:
            pass

        def get_device_stats(self, device: Any) -> dict[str, Any]:
            return {}

        @staticmethod
        def parse_devices(devices: int | str | list[int]) -> int | list[int]:
            """Returns 1, the number of all chips, or a list with the number of one chip.

            Raises:
                ValueError: ``devices`` is none of these.
            """
            chosen = [int(part) for part in devices.split(",") if part] if isinstance(devices, str) else devices
            if isinstance(devices, str) and "," not in devices:
                chosen = int(devices)
            count = chips.device_count()
            if chosen in (1, count, -1) or (isinstance(chosen, list) and chosen in [[chip] for chip in range(count)]):
                return count if chosen == -1 else chosen
            raise ValueError(
                f"devices={devices!r}: expected 'auto', 1, {count} for all chips, or a list with one of the numbers 0 "
                f"to {count - 1}. TTXLA_SYSTEM selects a system, and TT_VISIBLE_DEVICES some of its chips."
            )

        @staticmethod
        def get_parallel_devices(devices: int | list[int]) -> list[torch.device]:
            return [chips.device(chip) for chip in (range(devices) if isinstance(devices, int) else devices)]

        @staticmethod
        def auto_device_count() -> int:
            return chips.device_count()

        @staticmethod
        def is_available() -> bool:
            return True

        @staticmethod
        def name() -> str:
            return _DEVICE_TYPE

    registry = getattr(module, "ACCELERATOR_REGISTRY", None) or module.AcceleratorRegistry
    registry.register(_DEVICE_TYPE, TTAccelerator, description=TTAccelerator.__name__, override=True)


def see_chips(module: Any) -> None:
    """Makes accelerator ``tpu`` see the chips, unless the real torch_xla is installed.

    Args:
        module: ``lightning.fabric.accelerators.xla``.
    """
    if is_served():
        module._XLA_AVAILABLE = module._XLA_GREATER_EQUAL_2_1 = module._XLA_GREATER_EQUAL_2_5 = True
        module.XLAAccelerator.auto_device_count = staticmethod(chips.device_count)


def choose_strategy(module: Any) -> None:
    """Makes ``auto`` select the device, and gives accelerator ``tt`` a strategy and autocast of its own.

    Args:
        module: ``lightning.fabric.connector`` or ``lightning.pytorch.trainer.connectors.accelerator_connector``.
    """
    connector = getattr(module, "_Connector", None) or module._AcceleratorConnector
    select, strategy, precision = (
        connector._choose_auto_accelerator,
        connector._choose_strategy,
        connector._check_and_init_precision,
    )

    @staticmethod
    def choose_auto_accelerator() -> str:
        selected = select()
        is_open = selected == "cpu" or (selected == "tpu" and is_served() and not is_asked_for())
        return _DEVICE_TYPE if is_open else selected

    @functools.wraps(strategy)
    def choose(self: Any) -> Any:
        if self.accelerator.name() != _DEVICE_TYPE:
            return strategy(self)
        return "xla" if len(self._parallel_devices) > 1 else module.SingleDeviceStrategy(self._parallel_devices[0])

    @functools.wraps(precision)
    def check_and_init_precision(self: Any) -> Any:
        plugin = precision(self)
        asked_for = getattr(self, "_precision_plugin_flag", None) or getattr(self, "_precision_instance", None)
        if self.accelerator.name() == _DEVICE_TYPE and type(plugin) is module.MixedPrecision and asked_for is None:
            return module.MixedPrecision(plugin.precision, _DEVICE_TYPE)
        return plugin

    connector._choose_auto_accelerator = choose_auto_accelerator
    connector._choose_strategy, connector._check_and_init_precision = choose, check_and_init_precision


def cast(module: Any) -> None:
    """Makes the precisions ``bf16-true`` and ``16-true`` of accelerator ``tpu`` cast modules and inputs.

    Lightning sets ``XLA_USE_BF16`` for them, which torch_xla no longer reads.

    Args:
        module: ``lightning.fabric.plugins.precision.xla`` or ``lightning.pytorch.plugins.precision.xla``.
    """
    half = importlib.import_module(f"{module.__package__}.half").HalfPrecision
    precision = module.XLAPrecision

    @functools.wraps(half.forward_context)
    def forward_context(self: Any) -> Any:
        # It sets the default dtype, which all replicas have in common.
        return half.forward_context(self) if replicas.size() == 1 else contextlib.nullcontext()

    for name in ("convert_module", "convert_input", "tensor_init_context", "module_init_context"):
        setattr(precision, name, getattr(half, name))
    precision.forward_context = forward_context
    precision._desired_input_dtype = property(lambda self: self._desired_dtype)


def report_device(module: Any) -> None:
    """Makes a trainer on accelerator ``tt`` report its chips in place of GPUs and TPUs.

    Args:
        module: ``lightning.pytorch.trainer.setup``.
    """
    report = module._log_device_info

    @functools.wraps(report)
    def log_device_info(trainer: Any) -> None:
        if trainer.accelerator.name() != _DEVICE_TYPE:
            report(trainer)
        else:
            module.rank_zero_info(f"{_DEVICE_TYPE}: using {trainer.num_devices} of {chips.device_count()} chips")

    module._log_device_info = log_device_info


__all__ = ["cast", "choose_strategy", "register_accelerator", "report_device", "see_chips"]
