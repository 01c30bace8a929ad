"""Element types of individual weights of a model.

The code stands here because dynamo traces calls into this package and not into :mod:`tt_xla.frontends`.
"""

from __future__ import annotations

import difflib
import json
import os
import warnings
from collections.abc import Mapping
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import torch
from torch.nn.utils import parametrize

from tt_xla.frontends.torch.weight_dtypes import checked_weight_dtype
from tt_xla.ir.program import WEIGHT_DTYPES

Config = str | os.PathLike[str] | Mapping[str, str]


class WeightDtypeParametrization(torch.nn.Module):
    """Passes a parameter through :func:`weight_dtype_override` whenever its module reads it."""

    def __init__(self, dtype_str: str) -> None:
        super().__init__()
        self.dtype_str = dtype_str

    def forward(self, weight: torch.Tensor) -> torch.Tensor:
        return torch.ops.tt.weight_dtype_override(weight, self.dtype_str)


def apply_weight_dtype_overrides(model: torch.nn.Module, config: Config) -> list[tuple[str, str]]:
    """Sets the element types in which the device stores individual weights of a model.

    A pattern that matches no parameter causes a warning.

    Args:
        model: the model.
        config: one element type (``bfp_bf4``, ``bfp_bf8``, ``bf16``) for all weights; or a mapping from parameter paths
            or fnmatch patterns to element types, where ``default`` applies to every other parameter whose path ends in
            ``.weight``; or the path of a JSON file with such a mapping.

    Returns:
        Parameter path and element type of each parameter that now has an element type of its own.

    Raises:
        OptionError: an element type is none of the three.
        ValueError: ``config`` is none of the above.
    """
    patterns = _loaded(config)
    names = [name for name, _ in model.named_parameters()]
    default = patterns.pop("default", None)
    resolved = dict.fromkeys((name for name in names if name.endswith(".weight")), default) if default else {}
    for pattern, dtype in patterns.items():
        matched = [name for name in names if fnmatch(name, pattern)]
        resolved |= dict.fromkeys(matched, dtype)
        if not matched:
            near = difflib.get_close_matches(pattern, names, n=2)
            warnings.warn(
                f"Weight dtype override pattern '{pattern}' did not match any model parameters. "
                + (f"Similar ones are {' and '.join(near)}." if near else f"Parameters are named like '{names[0]}'."),
                stacklevel=2,
            )
    applied = [(name, dtype) for name, dtype in resolved.items() if dtype]
    for name, dtype in applied:
        path, _, parameter = name.rpartition(".")
        parametrize.register_parametrization(model.get_submodule(path), parameter, WeightDtypeParametrization(dtype))
    return applied


def remove_weight_dtype_overrides(model: torch.nn.Module) -> int:
    """Undoes :func:`apply_weight_dtype_overrides`; other parametrizations stay.

    Returns:
        Number of parameters that had an element type of their own.
    """
    count = 0
    for module in list(model.modules()):
        if not parametrize.is_parametrized(module):
            continue
        parametrizations: Any = module.parametrizations
        for name, entries in list(parametrizations.items()):
            ours = [index for index, entry in enumerate(entries) if isinstance(entry, WeightDtypeParametrization)]
            count += len(ours)
            if len(ours) == len(entries):
                parametrize.remove_parametrizations(module, name)
                continue
            for index in reversed(ours):
                del entries[index]
    return count


def dump_weight_names(
    model: torch.nn.Module, model_name: str, output_dir: str | None = None, default_dtype: str = "bfp_bf8"
) -> dict[str, str]:
    """Returns a template for :func:`apply_weight_dtype_overrides`: ``default_dtype`` by the path of every weight.

    Args:
        model: the model.
        model_name: name of the JSON file, without folders before the last ``/``.
        output_dir: folder of the file; None writes no file.
        default_dtype: element type of every weight.

    Raises:
        OptionError: ``default_dtype`` is no element type of weights.
    """
    checked_weight_dtype("default_dtype", default_dtype)
    module_names = [name for name, module in model.named_modules() if isinstance(_weight(module), torch.nn.Parameter)]
    result = {f"{name}.weight" if name else "weight": default_dtype for name in module_names}
    if output_dir is not None:
        folder = Path(output_dir)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{model_name.rsplit('/', 1)[-1]}.json").write_text(json.dumps(result, indent=2))
    return result


def _weight(module: torch.nn.Module) -> object:
    return getattr(module, "weight", None)


def _loaded(config: Config) -> dict[str, str]:
    """Returns the element type of each pattern of a config."""
    overrides: Any
    if isinstance(config, Mapping):
        overrides = dict(config)
    elif str(config) in WEIGHT_DTYPES:
        overrides = {"default": str(config)}
    elif str(config).endswith(".json") or os.path.isfile(config):
        overrides = json.loads(Path(config).read_text())
    else:
        overrides = None
    if not isinstance(overrides, dict):
        raise ValueError(
            f"config must be a dict, a JSON file path, or a dtype string ('bfp_bf4'/'bfp_bf8'/'bf16'), got: {config!r}"
        )
    return {str(pattern): checked_weight_dtype(str(pattern), dtype) for pattern, dtype in overrides.items()}
