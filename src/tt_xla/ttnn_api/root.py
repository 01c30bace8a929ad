"""``ttnn``: the package itself."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType as _Module
from typing import Any

from tt_xla.ttnn_api import absent as _absent
from tt_xla.ttnn_api import complex_tensors as _complex_tensors
from tt_xla.ttnn_api import configs as _configs
from tt_xla.ttnn_api import devices as _devices
from tt_xla.ttnn_api import distribution as _distribution
from tt_xla.ttnn_api import enums as _enums
from tt_xla.ttnn_api import families as _families
from tt_xla.ttnn_api import finder as _finder
from tt_xla.ttnn_api import geometry as _geometry
from tt_xla.ttnn_api import identifiers as _identifiers
from tt_xla.ttnn_api import methods as _methods
from tt_xla.ttnn_api import operation_enums as _operation_enums
from tt_xla.ttnn_api import settings as _settings
from tt_xla.ttnn_api import shapes as _shapes
from tt_xla.ttnn_api import signatures as _signatures
from tt_xla.ttnn_api import specs as _specs
from tt_xla.ttnn_api import sub_devices as _sub_devices
from tt_xla.ttnn_api import tensor as _tensor
from tt_xla.ttnn_api import topology as _topology

__version__ = _signatures.VERSION

_methods.install()
for _class in (
    *(_geometry.CoreCoord, _geometry.CoreGrid, _geometry.CoreRange, _geometry.CoreRangeSet),
    *(_geometry.MemoryConfig, _geometry.NdShardSpec, _geometry.ShardSpec),
):
    _class.__init__ = _signatures.checked(f"ttnn.{_class.__name__}", _class.__init__)
for _module in (_enums, _operation_enums, _geometry, _devices, _tensor, _complex_tensors, _configs):
    globals().update(
        {
            name: value
            for name, value in vars(_module).items()
            if not name.startswith("_") and getattr(value, "__module__", _module.__name__) == _module.__name__
        }
    )
for _module in (_shapes, _topology, _distribution, _settings, _specs, _sub_devices, _identifiers):
    globals().update({name: getattr(_module, name) for name in _module.__all__})

for _dtype in DataType:  # noqa: F821  # pyright: ignore[reportUndefinedVariable]
    globals()[_dtype.name.lower()] = _dtype
TILE_LAYOUT, ROW_MAJOR_LAYOUT = _enums.Layout.TILE, _enums.Layout.ROW_MAJOR
TILE_SIZE = _geometry.TILE_SIZE
for _member in _configs.SliceTypeEnum:
    globals()[f"Op2D{_member.name}"] = globals()[f"Conv2d{_member.name}"] = _member
DEVICE_STORAGE_TYPE = _enums.StorageType.DEVICE
types = sys.modules[__name__]
"""Module of TT-NN's enumerations and values, which ``ttnn`` itself has."""
_WITH_ENUMERATIONS = ("ttnn.transformer", "ttnn.experimental")
"""Packages that have the enumerations of their functions, as ``ttnn`` itself has them."""
_OPERATIONS = "ttnn.operations."
"""Package whose modules have TT-NN's functions under shorter names."""


def _attribute(package: str, name: str) -> Any:
    """Returns an operation or a config class.

    Raises:
        AttributeError: neither exists here; the message says whether TT-NN has the name.
    """
    full = f"{package}.{name}"
    if full in _finder.MODULES:
        return importlib.import_module(full)
    if full.startswith(_OPERATIONS):
        return _in_operations(full.removeprefix(_OPERATIONS))
    if package in _WITH_ENUMERATIONS and isinstance(globals().get(name), type):
        return globals()[name]
    operations = _families.operations()
    if full in operations:
        return operations[full]
    if package == "ttnn.distributed" and full in _signatures.lines():
        return globals().get(name) or _attribute("ttnn", name)
    if package == "ttnn.graph" and name in (values := _families.graph_values()):
        return values[name]
    if name in ("Op2DL1FullSliceConfig", "Conv2dL1FullSliceConfig"):
        return _configs.config_class("ttnn.Op2DSliceConfig")(slice_type=_configs.SliceTypeEnum.L1Full, num_slices=0)
    if full in _signatures.lines() and name.endswith("Config"):
        return _configs.config_class(full)
    known = "TT-NN has no such name"
    if full in _signatures.lines() or full in _absent.CLASSES:
        why = _absent.reason(full)
        known = f"TT-NN has it, but the emulated card does not{f': {why}' if why else ''}"
    raise AttributeError(f"module {package!r} has no attribute {name!r}: {known}.")


def _in_operations(name: str) -> Any:
    """Returns a module of ``ttnn.operations``, or what it has: ``moreh.sum`` is ``ttnn.moreh_sum``."""
    module, _, member = name.rpartition(".")
    if not module:
        return _Namespace(_OPERATIONS + name)
    if module != "moreh":
        return _attribute("ttnn", member)
    kind = f"Moreh{member.replace('Backward', '')}"
    return getattr(_operation_enums, kind, None) or _attribute("ttnn", f"moreh_{member}")


class _Namespace(_Module):
    """A package below ``ttnn`` whose operations are attributes."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        value = _attribute(self.__name__, name)
        setattr(self, name, value)
        return value


class _Alias(_Module):
    """A module of the real package whose names ``ttnn`` itself has."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(sys.modules["ttnn"], name)


def namespace(name: str) -> _Module:
    """Returns the module of a full name below ``ttnn``, whose names are found when they are asked for."""
    return (_Alias if name.removeprefix("ttnn.") in _finder.ALIASES else _Namespace)(name)


for _name in _finder.NAMESPACES:
    globals()[_name] = sys.modules[f"ttnn.{_name}"] = namespace(f"ttnn.{_name}")
    globals()[_name].__path__ = []
for _name in ("device", "core", "decorators"):
    globals()[_name] = sys.modules[f"ttnn.{_name}"] = namespace(f"ttnn.{_name}")


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    value = globals()[name] = _attribute("ttnn", name)
    return value
