"""accelerate lists devices and dynamo's backends by name, and has a path of its own for torch_xla.

A script that imports torch_xla before accelerate or transformers takes that path, as does ``USE_TORCH_XLA=1``. Each
replica of ``xmp.spawn`` is then one of accelerate's processes. Other scripts train on one chip, and under torchrun or
``accelerate launch`` each of their processes has one.
"""

from __future__ import annotations

import functools
from typing import Any

import torch

from tt_xla.environment import launched_process, variable
from tt_xla.frontends.torch import replicas
from tt_xla.frontends.torch.device.chips import DEVICE_TYPE, chip_count
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
    """Makes ``tt`` the default device where accelerate finds no other, also of ranks, and numbers the replicas.

    Args:
        module: ``accelerate.state``.
    """
    state = module.PartialState
    default, initialize = state.default_device.fget, state.__init__
    prepare, set_device = state._prepare_backend, state.set_device

    def default_device(self: Any) -> torch.device:
        device = default(self)
        return torch.device(DEVICE_TYPE) if device.type == "cpu" else device

    @functools.wraps(initialize)
    def numbered(self: Any, *args: Any, **kwargs: Any) -> None:
        initialize(self, *args, **kwargs)
        if self.backend == "xla":
            self.local_process_index = replicas.ordinal()  # accelerate reads LOCAL_RANK unless devices are TPUs
        elif replicas.size() > 1:
            raise RuntimeError(
                f"accelerate runs in {replicas.size()} replicas and was imported before torch_xla, so it would train "
                "each by itself. Import torch_xla first, or set USE_TORCH_XLA=1."
            )

    @functools.wraps(prepare)
    def prepare_backend(self: Any, cpu: bool = False, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        backend, kind = prepare(self, cpu, *args, **kwargs)
        own = launched_process()
        if kind != module.DistributedType.NO or cpu or own is None or not is_default_device():
            return backend, kind
        # Kinds have names of devices. This one's path asks torch.distributed alone, and leaves torch.xpu out.
        return DEVICE_TYPE, module.DistributedType.MULTI_XPU

    @functools.wraps(set_device)
    def set_chip(self: Any) -> None:
        if self.device is None and self.backend == DEVICE_TYPE:
            self.device = torch.device(DEVICE_TYPE, self.local_process_index % torch.tt.device_count())
            torch.tt.set_device(self.device)
        set_device(self)

    state._prepare_backend, state.set_device = prepare_backend, set_chip
    state.default_device = property(default_device, doc=state.default_device.__doc__)
    state.__init__ = numbered


def count_memory(module: Any) -> None:
    """Makes ``device_map="auto"`` place models on the chips where accelerate finds no other device.

    Args:
        module: ``accelerate.utils.modeling``.
    """
    count = module.get_max_memory

    @functools.wraps(count)
    def get_max_memory(max_memory: Any = None) -> Any:
        if not is_default_device():
            return count(max_memory)
        chips = range(chip_count())
        if max_memory is None:
            return {chip: torch.accelerator.get_memory_info(chip)[0] for chip in chips} | count()
        limits = {chip: max_memory[chip] for chip in chips if chip in max_memory}
        others = {key: limit for key, limit in max_memory.items() if key not in limits}
        numbers = {
            chip: module.convert_file_size_to_int(limit) if isinstance(limit, str) else limit
            for chip, limit in limits.items()
        }
        return numbers | count(others)

    module.get_max_memory = get_max_memory


def launch_replicas(module: Any) -> None:
    """Makes ``notebook_launcher`` start replicas, on all chips, where it would start processes.

    Args:
        module: ``accelerate.launchers``.
    """
    launch = module.notebook_launcher

    @functools.wraps(launch)
    def notebook_launcher(
        function: Any, args: Any = (), num_processes: int | None = None, mixed_precision: str = "no", **kwargs: Any
    ) -> None:
        if num_processes == 1 or not is_default_device():
            return launch(function, args, num_processes, mixed_precision, **kwargs)
        if num_processes not in (None, chip_count()):
            raise ValueError(
                f"notebook_launcher(num_processes={num_processes}): the number is 1, or that of the chips, which is "
                f"{chip_count()}. TTXLA_SYSTEM selects a system, and TT_VISIBLE_DEVICES some of its chips."
            )
        variables = {"accelerate_mixed_precision": mixed_precision} if mixed_precision != "no" else {}
        with module.patch_environment(**variables):
            replicas.run(lambda: function(*args), None)

    module.notebook_launcher = notebook_launcher


def is_default_device() -> bool:
    """Returns whether libraries use ``tt`` where their caller selects no device."""
    selected = variable("ACCELERATE_TORCH_DEVICE").partition(":")[0]
    others = (torch.cuda, torch.xpu, torch.backends.mps)
    return selected == DEVICE_TYPE or not (selected or any(other.is_available() for other in others))


def prepare_models(module: Any) -> None:
    """Gives the replicas of a model equal parameters, and those of a compiled model the names that the model has.

    Accelerate relies on equal seeds in its path for torch_xla, which replicas need not have. It also exchanges the
    parameters of optimizers by name there, and compilation puts a prefix before the names.

    Args:
        module: ``accelerate.accelerator``.
    """
    accelerator = module.Accelerator
    prepare, named = accelerator.prepare_model, accelerator._get_named_parameters

    @functools.wraps(prepare)
    def prepare_model(self: Any, model: Any, *args: Any, **kwargs: Any) -> Any:
        model = prepare(self, model, *args, **kwargs)
        if replicas.size() > 1:
            module.xm.broadcast_master_param(model)
        return model

    @functools.wraps(named)
    def named_parameters(self: Any, *args: Any, **kwargs: Any) -> dict[str, Any]:
        return {name.replace("_orig_mod.", ""): value for name, value in named(self, *args, **kwargs).items()}

    accelerator.prepare_model, accelerator._get_named_parameters = prepare_model, named_parameters


__all__ = [
    "choose_device",
    "choose_path",
    "count_memory",
    "is_default_device",
    "launch_replicas",
    "name_backend",
    "prepare_models",
]
