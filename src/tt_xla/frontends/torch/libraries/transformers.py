"""``generate`` and ``Trainer`` of transformers list devices by name.

On those ``generate`` compiles each step with a static cache. Here it does so on ``tt`` too, also for states of one size
such as Mamba's, and takes a static cache by default, which needs one program for all lengths.
"""

from __future__ import annotations

import contextlib
import copy
import functools
from types import SimpleNamespace
from typing import Any

import torch

from tt_xla.frontends.torch import replicas
from tt_xla.frontends.torch.device.chips import DEVICE_TYPE
from tt_xla.frontends.torch.libraries.accelerate import is_default_device
from tt_xla.frontends.torch.libraries.torch_xla import is_asked_for, is_served


def compile_for_device(module: Any) -> None:
    """Makes ``tt`` the backend that ``generate`` compiles with for a model on the device.

    Args:
        module: ``transformers.modeling_utils``.
    """
    from transformers.generation.configuration_utils import CompileConfig

    default = module.PreTrainedModel._default_compile_config

    @functools.wraps(default)
    def default_compile_config(self: Any) -> Any:
        if self.device.type != DEVICE_TYPE:
            return default(self)
        return CompileConfig(backend=DEVICE_TYPE, mode=None)

    module.PreTrainedModel._default_compile_config = default_compile_config


def generate_on_device(module: Any) -> None:
    """Makes ``generate`` compile steps with a static cache on the device, and take a static cache by default.

    Args:
        module: ``transformers.generation.utils``.
    """
    mixin = module.GenerationMixin
    criteria, prepare = mixin._valid_auto_compile_criteria, mixin._prepare_cache_for_generation
    assisted = module.GenerationMode.ASSISTED_GENERATION

    @functools.wraps(criteria)
    def valid_auto_compile_criteria(self: Any, model_kwargs: dict[str, Any], generation_config: Any) -> bool:
        cache = model_kwargs.get("past_key_values", model_kwargs.get("cache_params"))
        if self.device.type == DEVICE_TYPE and cache is not None and cache.is_compileable:
            if type(cache) is module.DynamicCache:  # states of one size alone, which other devices do not compile with
                cache = SimpleNamespace(is_compileable=True)
                model_kwargs = {**model_kwargs, "past_key_values": cache, "cache_params": cache}
            generation_config = copy.copy(generation_config)
            generation_config.compile_config = copy.copy(
                generation_config.compile_config or self._default_compile_config()
            )
            generation_config.compile_config._compile_all_devices = True
        return criteria(self, model_kwargs, generation_config)

    @functools.wraps(prepare)
    def prepare_cache(
        self: Any, generation_config: Any, model_kwargs: Any, generation_mode: Any, *args: Any, **kwargs: Any
    ) -> Any:
        # A cache that is still empty is false.
        given = [model_kwargs.get(name) for name in ("past_key_values", "cache_params")]
        is_open = generation_config.cache_implementation is None and all(cache is None for cache in given)
        if self.device.type == DEVICE_TYPE and is_open and self._can_compile_fullgraph and generation_mode != assisted:
            generation_config.cache_implementation = "static"  # `generate` has its own copy of the configuration
        return prepare(self, generation_config, model_kwargs, generation_mode, *args, **kwargs)

    mixin._valid_auto_compile_criteria = valid_auto_compile_criteria
    mixin._prepare_cache_for_generation = prepare_cache


def choose_path(module: Any) -> None:
    """Makes transformers take its path for torch_xla if accelerate does, which may have decided earlier.

    Args:
        module: ``transformers.utils.import_utils``.
    """
    is_available = module._is_package_available  # other modules have their own names for what calls it

    @functools.wraps(is_available)
    def is_package_available(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "torch_xla" and is_served() and not is_asked_for():
            return False, None
        return is_available(name, *args, **kwargs)

    module._is_package_available = is_package_available


def train_on_device(module: Any) -> None:
    """Makes ``Trainer`` use accelerate's device, and ``TrainingArguments(bf16=True)`` accept it.

    Args:
        module: ``transformers.training_args``.
    """
    arguments, is_available = module.TrainingArguments, module.is_torch_bf16_gpu_available
    listed = arguments.device.fget

    def device(self: Any) -> torch.device:
        device = listed(self)
        return self.distributed_state.device if device.type == "cpu" and self.distributed_state else device

    @functools.wraps(is_available)
    def is_bfloat16_available() -> bool:
        return is_default_device() or is_available()

    arguments.device = property(device, doc=arguments.device.__doc__)
    module.is_torch_bf16_gpu_available = is_bfloat16_available


def run_pipelines(module: Any) -> None:
    """Makes pipelines use the device where they are given no other one, or the number of a chip.

    Args:
        module: ``transformers.pipelines.base``.
    """
    pipeline = module.Pipeline
    initialize = pipeline.__init__

    @functools.wraps(initialize)
    def initialized(self: Any, model: Any, *args: Any, device: Any = None, **kwargs: Any) -> None:
        is_open = device is None and getattr(model, "hf_device_map", None) is None
        if (is_open or (isinstance(device, int) and device >= 0)) and is_default_device():
            device = torch.device(DEVICE_TYPE, device or 0)
        initialize(self, model, *args, device=device, **kwargs)

    pipeline.__init__ = initialized


def create_optimizer(module: Any) -> None:
    """Makes ``Trainer`` create the optimizer of a model that torch_xla's FSDP wraps, which it delays and then forgets.

    Args:
        module: ``transformers.trainer``.
    """
    trainer = module.Trainer
    wrap = trainer._wrap_model

    @functools.wraps(wrap)
    def wrap_model(self: Any, model: Any, training: bool = True, **kwargs: Any) -> Any:
        model = wrap(self, model, training=training, **kwargs)
        if training and self.is_fsdp_xla_enabled and self.optimizer is None:
            self.create_optimizer(model)
        return model

    trainer._wrap_model = wrap_model


def save_unwrapped(module: Any) -> None:
    """Makes ``Trainer`` save models that torch_xla's FSDP wraps in the form that ``from_pretrained`` loads.

    It expects another module between the wrapper of FSDP v1 and the model, and saves the names of FSDP v2's wrappers.

    Args:
        module: ``transformers.integrations.tpu``.
    """
    save = module.save_tpu_checkpoint

    @functools.wraps(save)
    def save_tpu_checkpoint(
        model: Any, args: Any, accelerator: Any, processing_class: Any, is_fsdp_xla_v1_enabled: bool, *rest: Any
    ) -> None:
        arguments = (args, accelerator, processing_class, is_fsdp_xla_v1_enabled, *rest)
        if is_fsdp_xla_v1_enabled:
            wrapper = SimpleNamespace(module=model.module)
            names = {"state_dict": model.state_dict, "get_shard_metadata": model.get_shard_metadata}
            save(SimpleNamespace(module=wrapper, **names), *arguments)
        elif getattr(model, "_orig_module", None) is not None:
            hook = model.module.register_state_dict_post_hook(_drop_wrappers)
            try:
                save(model.module, *arguments)
            finally:
                hook.remove()
        else:
            save(model, *arguments)

    module.save_tpu_checkpoint = save_tpu_checkpoint


def _drop_wrappers(model: Any, state_dict: dict[str, Any], prefix: str, metadata: Any) -> None:
    """Gives the entries of a state dictionary the names that they have in the model before FSDP v2 wraps its layers."""
    for name in tuple(state_dict):
        state_dict[name.replace("_orig_module.", "")] = state_dict.pop(name)


def keep_safe_globals(module: Any) -> None:
    """Keeps what checkpoints may contain allowed in replicas, which would otherwise end each other's permission.

    Args:
        module: ``transformers.trainer_pt_utils``.
    """
    allow = module.safe_globals

    @functools.wraps(allow)
    def safe_globals() -> Any:
        if replicas.size() == 1:
            return allow()
        allow().__enter__()
        return contextlib.nullcontext()

    module.safe_globals = safe_globals


__all__ = [
    "choose_path",
    "compile_for_device",
    "create_optimizer",
    "generate_on_device",
    "keep_safe_globals",
    "run_pipelines",
    "save_unwrapped",
    "train_on_device",
]
