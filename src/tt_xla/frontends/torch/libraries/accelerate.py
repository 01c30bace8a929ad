"""accelerate lists devices and dynamo's backends by name, and has a path of its own for torch_xla.

A script that imports torch_xla before accelerate or transformers takes that path, as does ``USE_TORCH_XLA=1``. Each
replica of ``xmp.spawn`` is then one of accelerate's processes. Other scripts train on one chip.
"""

from __future__ import annotations

import functools
from typing import Any

import torch

from tt_xla.environment import variable
from tt_xla.frontends.torch import replicas
from tt_xla.frontends.torch.device.chips import DEVICE_TYPE
from tt_xla.frontends.torch.libraries.torch_xla import is_asked_for, is_served


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


def choose_path(module: Any) -> None:
    """Makes accelerate take its path for torch_xla if transformers does, which may have decided earlier.

    Args:
        module: ``accelerate.utils.imports``.
    """
    if is_served() and not is_asked_for():
        module._torch_xla_available = module._tpu_available = False


def choose_device(module: Any) -> None:
    """Makes ``tt`` the default device where accelerate finds no other, and numbers the replicas.

    Args:
        module: ``accelerate.state``.
    """
    state = module.PartialState
    default, initialize = state.default_device.fget, state.__init__

    def default_device(self: Any) -> torch.device:
        device = default(self)
        return torch.device(DEVICE_TYPE) if device.type == "cpu" else device

    @functools.wraps(initialize)
    def numbered(self: Any, *args: Any, **kwargs: Any) -> None:
        initialize(self, *args, **kwargs)
        if self.device.type == DEVICE_TYPE and self.backend == "xla":
            self.local_process_index = replicas.ordinal()  # accelerate reads LOCAL_RANK unless devices are TPUs

    state.default_device = property(default_device, doc=state.default_device.__doc__)
    state.__init__ = numbered


def is_default_device() -> bool:
    """Returns whether accelerate uses ``tt`` where its caller selects no device."""
    from accelerate import PartialState

    selected = variable("ACCELERATE_TORCH_DEVICE").partition(":")[0]
    return (selected or PartialState.default_device.fget(None).type) == DEVICE_TYPE


def name_parameters(module: Any) -> None:
    """Names the parameters of compiled models as those of the models, in the path for torch_xla.

    The path exchanges the parameters of optimizers by name, and compilation puts a prefix before the names.

    Args:
        module: ``accelerate.accelerator``.
    """
    accelerator = module.Accelerator
    named = accelerator._get_named_parameters

    @functools.wraps(named)
    def named_parameters(self: Any, *args: Any, **kwargs: Any) -> dict[str, Any]:
        return {name.replace("_orig_mod.", ""): value for name, value in named(self, *args, **kwargs).items()}

    accelerator._get_named_parameters = named_parameters


__all__ = ["choose_device", "choose_path", "is_default_device", "name_backend", "name_parameters"]
