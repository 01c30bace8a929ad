"""``ttnn.model_preprocessing``: the parameters of a torch model as tensors of TT-NN, in nested dictionaries."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch

from tt_xla.ttnn_api.devices import MeshDevice
from tt_xla.ttnn_api.enums import DataType, Layout
from tt_xla.ttnn_api.errors import TTFatal
from tt_xla.ttnn_api.families import operations
from tt_xla.ttnn_api.settings import CONFIG
from tt_xla.ttnn_api.tensor import Tensor

Convert = Callable[[torch.nn.Module, str], bool]
Custom = Callable[..., Any]

_VERSION = "version.txt"


class ModuleArgs(dict[str, Any]):
    """Arguments of a module that an entry of the parameters stands for."""

    __getattr__ = dict[str, Any].__getitem__


class ParameterDict(dict[Any, Any]):
    """Parameters by name, which are attributes too."""

    __getattr__ = dict[Any, Any].__getitem__
    __delattr__ = dict[Any, Any].__delitem__

    def __repr__(self) -> str:
        return _shown(self, "")


class ParameterList(list[Any]):
    """Parameters of the modules of a list; ``index in parameters`` says whether there are so many."""

    def __contains__(self, index: object) -> bool:
        return isinstance(index, int) and index < len(self)

    def __repr__(self) -> str:
        return _shown(self, "")


def _shown(value: Any, indent: str) -> str:
    """Returns parameters as text: of tensors the types alone."""
    inner = f"{indent}  "
    if isinstance(value, (dict, list)) and not value:
        return "{}" if isinstance(value, dict) else "[]"
    if isinstance(value, dict):
        lines = ",\n".join(f"{inner}{name}: {_shown(each, inner)}" for name, each in value.items())
        return f"{{\n{lines}\n{indent}}}"
    if isinstance(value, list):
        lines = ",\n".join(f"{inner}{_shown(each, inner)}" for each in value)
        return f"[\n{lines}\n{indent}]"
    if isinstance(value, Tensor):
        return f"ttnn.Tensor(shape={value.shape}, layout={value.layout}, dtype={value.dtype})"
    if isinstance(value, torch.Tensor):
        return f"torch.Tensor(shape={value.shape}, dtype={value.dtype})"
    return repr(value)


def make_parameter_dict(dictionary: Mapping[Any, Any]) -> ParameterDict:
    """Returns nested dictionaries as nested :class:`ParameterDict` objects."""
    if isinstance(dictionary, ParameterDict):
        return dictionary
    return ParameterDict(
        {
            name: make_parameter_dict(value) if isinstance(value, dict) and not isinstance(value, ModuleArgs) else value
            for name, value in dictionary.items()
        }
    )


def _host(tensor: torch.Tensor, dtype: DataType, layout: Layout | None, mapper: Any = None) -> Tensor:
    options = {} if mapper is None else {"mesh_mapper": mapper}
    return operations()["ttnn.from_torch"](tensor.detach(), dtype=dtype, layout=layout, **options)


def preprocess_linear_weight(
    weight: torch.Tensor, *, dtype: DataType, layout: Layout = Layout.TILE, weights_mesh_mapper: Any = None
) -> Tensor:
    """Returns the transposed weight of a linear layer, [inputs, outputs], on the host."""
    return _host(weight.T.contiguous(), dtype, layout, weights_mesh_mapper)


def preprocess_linear_bias(
    bias: torch.Tensor, *, dtype: DataType, layout: Layout = Layout.TILE, weights_mesh_mapper: Any = None
) -> Tensor:
    """Returns the bias of a linear layer as a matrix of one row, on the host."""
    return _host(bias.reshape((1, -1)), dtype, layout, weights_mesh_mapper)


def preprocess_layernorm_parameter(parameter: torch.Tensor, *, dtype: DataType, layout: Layout = Layout.TILE) -> Tensor:
    """Returns the scale or shift of a layer norm as a matrix of one row, on the host."""
    return _host(parameter.reshape((1, -1)), dtype, layout)


def preprocess_embedding_weight(weight: torch.Tensor, *, dtype: DataType) -> Tensor:
    """Returns the table of an embedding in rows, on the host."""
    return _host(weight, dtype, None)


def fold_batch_norm2d_into_conv2d(conv: Any, bn: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns weight and bias of the convolution that does what a convolution and a batch norm do.

    Raises:
        RuntimeError: the batch norm has no running statistics.
    """
    if not bn.track_running_stats:
        raise RuntimeError("BatchNorm2d must have track_running_stats=True to be folded into Conv2d")
    scale = bn.weight / torch.sqrt(bn.running_var + bn.eps)
    shift = bn.bias - bn.running_mean * scale
    bias = shift if conv.bias is None else conv.bias * scale + shift
    return conv.weight * scale[:, None, None, None], bias


def default_preprocessor(model: Any, name: str, ttnn_module_args: Any) -> ParameterDict:
    """Returns the parameters of a linear layer, layer norm or embedding; of other modules, nothing."""
    known: dict[str, Tensor] = {}
    if isinstance(model, torch.nn.Linear):
        known["weight"] = preprocess_linear_weight(model.weight, dtype=DataType.BFLOAT16)
        if getattr(model, "bias", None) is not None:
            known["bias"] = preprocess_linear_bias(model.bias, dtype=DataType.BFLOAT16)
    elif isinstance(model, torch.nn.LayerNorm):
        for part, value in model.named_parameters():
            known[part] = preprocess_layernorm_parameter(value, dtype=DataType.BFLOAT16)
    elif isinstance(model, torch.nn.Embedding):
        known["weight"] = preprocess_embedding_weight(model.weight, dtype=DataType.BFLOAT16)
    return make_parameter_dict(known)


_OTHER = {
    torch.uint8: DataType.UINT8,
    torch.int16: DataType.UINT16,
    torch.int32: DataType.INT32,
    torch.int64: DataType.UINT32,
}
"""Data type of parameters that are no floats; floats become bfloat16."""


def _customized(custom: Custom, model: Any, name: str, convert: Convert, module_args: Any) -> ParameterDict | None:
    """Returns the parameters that the user's preprocessor makes of a module; None if it makes none."""
    names = list(inspect.signature(custom).parameters)
    if len(names) < 2:
        raise RuntimeError("Custom preprocessor must have at least two parameters: model and name")
    extra = {"ttnn_module_args": module_args, "convert_to_ttnn": convert}
    unknown = [each for each in names[2:] if each not in extra]
    if unknown:
        raise RuntimeError(f"Unsupported parameter: {unknown[0]}")
    made = custom(model, name, **{each: extra[each] for each in names[2:]})
    return make_parameter_dict(made) if made else None


def convert_torch_model_to_ttnn_model(
    model: Any,
    *,
    convert_to_ttnn: Convert,
    custom_preprocessor: Custom | None,
    name: str,
    ttnn_module_args: Any,
) -> Any:
    """Returns the parameters of a module and of those within it.

    Args:
        model: the module.
        convert_to_ttnn: whether a module's parameters become tensors of TT-NN; else they stay torch tensors.
        custom_preprocessor: makes the parameters of the modules for which it returns some.
        name: full name of the module.
        ttnn_module_args: arguments of modules, which only custom preprocessors read.
    """

    def converted(child: Any, label: Any) -> Any:
        return convert_torch_model_to_ttnn_model(
            child,
            convert_to_ttnn=convert_to_ttnn,
            custom_preprocessor=custom_preprocessor,
            name=f"{name}.{label}" if name else str(label),
            ttnn_module_args=None if ttnn_module_args is None else ttnn_module_args.get(label),
        )

    if isinstance(model, torch.nn.ModuleList):
        return ParameterList([converted(child, index) for index, child in enumerate(model.children())])
    if custom_preprocessor is not None:
        custom = _customized(custom_preprocessor, model, name, convert_to_ttnn, ttnn_module_args)
        if custom:
            return custom
    own = dict(model.named_parameters(recurse=False))
    parameters = ParameterDict()
    if convert_to_ttnn(model, name):
        known = default_preprocessor(model, name, ttnn_module_args)
        if known:
            if len(known) != len(own) + len(list(model.children())):
                raise RuntimeError(
                    "Not all children or parameters were converted using default_preprocessor_parameters!"
                )
            return known
        parameters |= {
            part: _host(value, _OTHER.get(value.dtype, DataType.BFLOAT16), None) for part, value in own.items()
        }
    elif isinstance(model, torch.nn.Linear):
        parameters |= own | {"weight": model.weight.T.contiguous()}
    else:
        parameters |= own
    for label, child in model.named_children():
        key = int(label) if label.isdigit() else label
        made = converted(child, key)
        if made:
            parameters[key] = made
    return ParameterDict(parameters)


def move_to_device(object: Any, device: MeshDevice) -> Any:
    """Returns parameters with their tensors of TT-NN on a device."""
    if isinstance(object, ParameterDict):
        return ParameterDict({name: move_to_device(value, device) for name, value in object.items()})
    if isinstance(object, ParameterList):
        return ParameterList([move_to_device(value, device) for value in object])
    return operations()["ttnn.to_device"](object, device) if isinstance(object, Tensor) else object


def _dump(folder: Path, parameters: Any) -> None:
    """Writes parameters, a file for each tensor."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, value in parameters.items() if isinstance(parameters, dict) else enumerate(parameters):
        if isinstance(value, (ParameterDict, ParameterList)):
            _dump(folder / str(name), value)
        elif isinstance(value, Tensor):
            operations()["ttnn.dump_tensor"](folder / f"{name}.tensorbin", value)
        else:
            torch.save(value, folder / f"{name}.pt")


def _load(folder: Path) -> Any:
    """Returns the parameters that :func:`_dump` wrote."""
    found: dict[Any, Any] = {}
    for path in sorted(folder.iterdir()):
        key = int(path.stem) if path.stem.isdigit() else path.stem
        if path.is_dir():
            found[key] = _load(path)
        elif path.suffix == ".tensorbin":
            found[key] = operations()["ttnn.load_tensor"](path)
        elif path.suffix == ".pt":
            found[key] = torch.load(path)
    if found and all(isinstance(key, int) for key in found):
        return ParameterList([found[index] for index in sorted(found)])
    return ParameterDict(found)


def preprocess_model_parameters(
    *,
    model_name: str | None = None,
    version: str | None = None,
    initialize_model: Callable[[], Any] | None = None,
    convert_to_ttnn: Convert | None = None,
    custom_preprocessor: Custom | None = None,
    device: MeshDevice | None = None,
    prefix: str = "",
) -> Any:
    """Returns the parameters of a model, on a device if one is passed.

    Args:
        model_name: name in the cache, which ``ttnn.CONFIG.enable_model_cache`` turns on.
        version: version of the model; a cached one of another version is written anew.
        initialize_model: returns the torch model, which is put in evaluation mode.
        convert_to_ttnn: whether a module's parameters become tensors of TT-NN; by default all do.
        custom_preprocessor: takes a module and its name, and returns its parameters or nothing.
        device: the device.
        prefix: start of the names of all modules.

    Raises:
        TTFatal: there is neither a function that returns the model nor a cached one.
    """
    folder = CONFIG.__dict__["model_cache_path"] / model_name.replace("/", "_") if model_name else None
    if not CONFIG.__dict__["enable_model_cache"]:
        folder = None
    stamp = version or ""
    if folder is not None and (folder / _VERSION).exists() and (folder / _VERSION).read_text() == stamp:
        parameters = _load(folder)
    else:
        if initialize_model is None:
            raise TTFatal(
                f"Cached weights for the model {model_name} (version {version!r}) don't exist",
                hint="Pass initialize_model.",
            )
        parameters = convert_torch_model_to_ttnn_model(
            initialize_model().eval(),
            convert_to_ttnn=convert_to_ttnn or (lambda _model, _name: True),
            custom_preprocessor=custom_preprocessor,
            name=prefix or "",
            ttnn_module_args=None,
        )
        if folder is not None:
            _dump(folder, parameters)
            (folder / _VERSION).write_text(stamp)
    return parameters if device is None else move_to_device(parameters, device)


def preprocess_model(
    *, run_model: Callable[..., Any] | None = None, reader_patterns_cache: Any = None, **options: Any
) -> Any:
    """Does what :func:`preprocess_model_parameters` does.

    Raises:
        TTFatal: ``run_model`` is passed: convolutions are not derived from a run.
    """
    if run_model is not None:
        raise TTFatal(
            "The emulated ttnn does not derive the arguments of convolutions from a run of the model",
            hint="Leave run_model out, and make convolutions in custom_preprocessor or with ttnn.conv2d.",
        )
    return preprocess_model_parameters(**options)
