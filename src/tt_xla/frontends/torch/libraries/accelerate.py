"""accelerate keeps an enumeration of dynamo's backends and refuses all others."""

from __future__ import annotations

from typing import Any

from tt_xla.frontends.torch.device.chips import DEVICE_TYPE


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


__all__ = ["name_backend"]
