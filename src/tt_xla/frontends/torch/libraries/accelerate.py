"""accelerate keeps an enumeration of dynamo's backends and refuses others, and has a path of its own for torch_xla."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from tt_xla.frontends.torch.device.chips import DEVICE_TYPE
from tt_xla.frontends.torch.xla_api import finder


def name_backend(module: Any) -> None:
    """Adds ``tt`` to the backends, so ``TrainingArguments(torch_compile_backend="tt")`` is accepted.

    Args:
        module: ``accelerate.utils.dataclasses``.
    """
    backends, name = module.DynamoBackend, DEVICE_TYPE.upper()
    if name in backends.__members__:
        return
    member = str.__new__(backends, name)
    member._name_ = member._value_ = name
    backends._member_names_.append(name)
    backends._member_map_[name] = backends._value2member_map_[name] = member


def leave_torch_xla(module: Any) -> None:
    """Keeps accelerate from its path for XLA devices, also in scripts that import our ``torch_xla``.

    The path exchanges the parameters of the optimizer by their names, which compilation changes (``KeyError``), and is
    for processes that each have one chip.

    Args:
        module: ``accelerate.utils.imports``.
    """
    package = sys.modules.get("torch_xla")
    if package is not None and Path(package.__file__ or "").parent == Path(finder.__file__).parent:
        module._torch_xla_available = module._tpu_available = False


__all__ = ["leave_torch_xla", "name_backend"]
