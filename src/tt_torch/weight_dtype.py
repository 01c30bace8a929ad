"""Element types of single weights of a model.

dynamo follows calls into this package, and not into :mod:`tt_xla.frontends`.
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
    """Says in which element type the device keeps single weights of a model.

    Args:
        config: element types (``bfp_bf4``, ``bfp_bf8``, ``bf16``) by parameter path, which may be an fnmatch pattern;
            ``default`` is for every other parameter whose path ends in ``.weight``. Or the path of a JSON file with
            such an object, or one element type for all weights.

    Returns:
        (parameter path, element type) of each parameter that has one now. A pattern that matches none is warned of.

    Raises:
        OptionError: an element type is none of the three.
        ValueError: ``config`` is none of the above.
    """
    wanted = _loaded(config)
    names = [name for name, _ in model.named_parameters()]
    default = wanted.pop("default", None)
    resolved = dict.fromkeys((name for name in names if name.endswith(".weight")), default) if default else {}
    for pattern, dtype in wanted.items():
        matched = [name for name in names if fnmatch(name, pattern)]
        resolved |= dict.fromkeys(matched, dtype)
        if not matched:
            near = difflib.get_close_matches(pattern, names, n=2)
            warnings.warn(
                f"Weight dtype override pattern '{pattern}' did not match any model parameters. "
                + (f"Near ones are {' and '.join(near)}." if near else f"They are named like '{names[0]}'."),
                stacklevel=2,
            )
    applied = [(name, dtype) for name, dtype in resolved.items() if dtype]
    for name, dtype in applied:
        path, _, parameter = name.rpartition(".")
        parametrize.register_parametrization(model.get_submodule(path), parameter, WeightDtypeParametrization(dtype))
    return applied


def remove_weight_dtype_overrides(model: torch.nn.Module) -> int:
    """Takes back what :func:`apply_weight_dtype_overrides` did, other parametrizations stay.

    Returns:
        How many parameters had an element type of their own.
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
    """A template for :func:`apply_weight_dtype_overrides`: every module's weight with ``default_dtype``.

    Args:
        model_name: what follows its last ``/`` names the JSON file.
        output_dir: where the file goes; it is not written when this is None.
    """
    checked_weight_dtype("default_dtype", default_dtype)
    named = [name for name, module in model.named_modules() if isinstance(_weight(module), torch.nn.Parameter)]
    result = {f"{name}.weight" if name else "weight": default_dtype for name in named}
    if output_dir is not None:
        folder = Path(output_dir)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{model_name.rsplit('/', 1)[-1]}.json").write_text(json.dumps(result, indent=2))
    return result


def _weight(module: torch.nn.Module) -> object:
    return getattr(module, "weight", None)


def _loaded(config: Config) -> dict[str, str]:
    found: Any
    if isinstance(config, Mapping):
        found = dict(config)
    elif str(config) in WEIGHT_DTYPES:
        found = {"default": str(config)}
    elif str(config).endswith(".json") or os.path.isfile(config):
        found = json.loads(Path(config).read_text())
    else:
        found = None
    if not isinstance(found, dict):
        raise ValueError(
            f"config must be a dict, a JSON file path, or a dtype string ('bfp_bf4'/'bfp_bf8'/'bf16'), got: {config!r}"
        )
    return {str(pattern): checked_weight_dtype(str(pattern), dtype) for pattern, dtype in found.items()}
