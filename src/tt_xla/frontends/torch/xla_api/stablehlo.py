"""``torch_xla.stablehlo``: models of ``torch.export`` as StableHLO that is saved, loaded and run."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
import torch

from tt_xla.frontends.torch.exported import lower_exported as _lower_exported
from tt_xla.frontends.torch.exported import run_decompositions as _run_decompositions
from tt_xla.frontends.torch.lowering import to_numpy as _to_numpy
from tt_xla.frontends.torch.private.functions import treespec_dumps, treespec_loads
from tt_xla.frontends.torch.saved_module import saved as _saved
from tt_xla.frontends.torch.trees import tree_flatten, tree_unflatten
from tt_xla.frontends.torch.xla_api import stablehlo_runs as _runs

_NONE = "NoneType"
"""The dtype that is written for an output that is None."""


@dataclass
class StableHLOExportOptions:
    """Options of an export.

    Attributes:
        include_human_readable_text: whether the StableHLO is also kept, and saved, as text.
        override_tracing_arguments: changes nothing: an exported program has its example inputs.
        override_tracing_kwargs: changes nothing.
        save_weights: whether a saved folder has parameters and buffers.
        inline_all_constant: whether all numbers in the user's code are constants of the program. Otherwise those other
            than 0 and 1 are arguments of it, and constants of the folder.
        export_weights: whether the exported model has parameters and buffers. It cannot be called without them.
        custom_ops_allowed_in_graph: namespaces of ops that become custom calls. The model can be exported and not run.
        export_node_metadata: whether the name of each operation is what PyTorch knows of its node, as JSON, and the
            text has these names. Otherwise it is the user's module and source line.
    """

    include_human_readable_text: bool = True
    override_tracing_arguments: tuple[Any, ...] | None = None
    override_tracing_kwargs: Mapping[str, Any] | None = None
    save_weights: bool = True
    inline_all_constant: bool = True
    export_weights: bool = True
    custom_ops_allowed_in_graph: set[str] = field(default_factory=set[str])
    export_node_metadata: bool = False


class VariableType(Enum):
    """The sources of a program's arguments."""

    INPUT_ARG = "input_arg"
    PARAMETER = "parameter"
    CONSTANT = "constant"


@dataclass
class VariableSignature:
    """Shape and dtype (such as ``float32``) of an argument or result. Dimensions of ``dynamic_dims`` have size -1."""

    shape: list[int]
    dtype: str
    dynamic_dims: list[int] = field(default_factory=list[int])


@dataclass
class InputLocation:
    """The source of one argument of a program.

    Attributes:
        type_: the kind of place.
        position: position among the caller's flat inputs, or among the constants.
        name: name of a parameter or buffer.
    """

    type_: VariableType
    position: int = -1
    name: str = ""

    @classmethod
    def parameter(cls, name: str) -> InputLocation:
        return cls(VariableType.PARAMETER, name=name)

    @classmethod
    def input_arg(cls, position: int) -> InputLocation:
        return cls(VariableType.INPUT_ARG, position)

    @classmethod
    def constant(cls, position: int) -> InputLocation:
        return cls(VariableType.CONSTANT, position)


@dataclass
class StableHLOFunctionMeta:
    """How to call a program.

    Attributes:
        name: name of the model's method.
        stablehlo_version: version of StableHLO; 0.0.0 because the bytecode is not tied to one.
        input_signature: arguments of the program.
        output_signature: results of the program.
        input_locations: where each argument comes from.
        unused_inputs: inputs of the caller that the program does not take, such as numbers, with their type.
        input_pytree_spec: structure of the caller's arguments and keyword arguments, as PyTorch writes it.
        output_pytree_spec: structure of what the model returns.
    """

    name: str
    stablehlo_version: str
    input_signature: list[VariableSignature]
    output_signature: list[VariableSignature]
    input_locations: list[InputLocation]
    unused_inputs: list[tuple[InputLocation, VariableSignature]]
    input_pytree_spec: str | None = None
    output_pytree_spec: str | None = None


@dataclass
class StableHLOFunc:
    """A program: how to call it, its bytecode and, if it was asked for, its text."""

    meta: StableHLOFunctionMeta
    bytecode: bytes
    text: str | None


@dataclass
class StableHLOModelBundle:
    """A model as a saved folder has it.

    Attributes:
        state_dict: parameters and buffers by name.
        additional_constants: constants that no parameter has.
        stablehlo_funcs: the programs.
    """

    state_dict: dict[str, np.ndarray]
    additional_constants: list[np.ndarray]
    stablehlo_funcs: list[StableHLOFunc]


class StableHLOGraphModule:
    """An exported model. Calling it runs its program on the device, and returns tensors of the device."""

    def __init__(self, bundle: StableHLOModelBundle) -> None:
        self._bundle = bundle
        self._functions = {function.meta.name: function for function in bundle.stablehlo_funcs}
        self._default_method = bundle.stablehlo_funcs[0].meta.name
        self._runs: dict[tuple[str, tuple[tuple[int, ...], ...] | None], _runs.Run] = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Returns what the model returns for inputs of the shapes and dtypes that it was exported with.

        Raises:
            TypeError, ValueError: the inputs have another structure, other shapes or other dtypes.
            KeyError: the model was exported or saved without its parameters.
        """
        return self.evaluate(self._default_method, args, kwargs)

    def evaluate(self, method_name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any] | None = None) -> Any:
        """Same as calling the model, for one of its methods."""
        meta = self._functions[method_name].meta
        inputs = _flat_inputs(meta, args, dict(kwargs or {}))
        users = [
            _checked(inputs[location.position], signature, location.position)
            for location, signature in zip(meta.input_locations, meta.input_signature, strict=True)
            if location.type_ is VariableType.INPUT_ARG
        ]
        tensors = iter(self._run_for(method_name, users)(users))
        results = [None if signature.dtype == _NONE else next(tensors) for signature in meta.output_signature]
        if meta.output_pytree_spec is None:
            return results
        return tree_unflatten(results, treespec_loads(meta.output_pytree_spec))

    def _run_for(self, method_name: str, users: list[torch.Tensor]) -> _runs.Run:
        """Returns the program of a method for inputs. With symbolic sizes there is one for each of their shapes."""
        function = self._functions[method_name]
        meta = function.meta
        shapes = None
        if any(signature.dynamic_dims for signature in meta.input_signature):
            given = iter(users)
            shapes = tuple(
                tuple(next(given).shape if location.type_ is VariableType.INPUT_ARG else signature.shape)
                for location, signature in zip(meta.input_locations, meta.input_signature, strict=True)
            )
        key = method_name, shapes
        if key not in self._runs:
            arguments = [self._held(location) for location in meta.input_locations]
            dtypes = [signature.dtype for signature in meta.input_signature]
            self._runs[key] = _runs.Run(function.bytecode, arguments, dtypes, shapes)
        return self._runs[key]

    def _held(self, location: InputLocation) -> np.ndarray | None:
        """Returns the value of an argument that the model itself has; None for an input of the caller."""
        if location.type_ is VariableType.PARAMETER:
            if location.name not in self._bundle.state_dict:
                raise KeyError(
                    f"The exported model has no parameter '{location.name}'. It was exported without export_weights, "
                    "or saved without save_weights: export it again with both, or give it a state_dict."
                )
            return self._bundle.state_dict[location.name]
        is_constant = location.type_ is VariableType.CONSTANT
        return self._bundle.additional_constants[location.position] if is_constant else None

    def get_stablehlo_bytecode(self, method_name: str | None = None) -> bytes:
        """Returns the program of a method as bytecode of MLIR; by default that of ``forward``."""
        return self._functions[method_name or self._default_method].bytecode

    def get_stablehlo_text(self, method_name: str | None = None) -> str | None:
        """Returns the program of a method as text; None if it was exported without."""
        return self._functions[method_name or self._default_method].text

    def save(self, directory_path: str | os.PathLike[str], options: StableHLOExportOptions | None = None) -> None:
        """Writes the model to a folder, which :meth:`load` reads, as does the real package."""
        _save(self._bundle, Path(directory_path), options or StableHLOExportOptions())

    @classmethod
    def load(cls, directory_path: str | os.PathLike[str]) -> StableHLOGraphModule:
        """Returns the model that a folder has.

        Raises:
            FileNotFoundError: there is no such folder, or it has no program.
        """
        return cls(_load(Path(directory_path)))


def exported_program_to_stablehlo(
    exported_model: torch.export.ExportedProgram, options: StableHLOExportOptions | None = None
) -> StableHLOGraphModule:
    """Returns an exported program as StableHLO that can be called.

    Random numbers are drawn once, now: each call of the model has the same.

    Args:
        exported_model: what ``torch.export.export`` returned. With ``dynamic_shapes``, the program has symbolic sizes,
            and the first call with certain sizes compiles it for them.
        options: options of the export.

    Raises:
        UnsupportedOpError: an op has no lowering to StableHLO, or none for its symbolic sizes.
    """
    options = options or StableHLOExportOptions()
    export = _lower_exported(
        exported_model,
        inline_numbers=options.inline_all_constant,
        custom_calls=options.custom_ops_allowed_in_graph,
        with_metadata=options.export_node_metadata,
    )
    constants = [_to_numpy(constant) for constant in export.constants]
    call = exported_model.call_spec
    state: dict[str, Any] = {**exported_model.state_dict, **exported_model.constants}
    locations: list[InputLocation] = []
    signatures: list[VariableSignature] = []
    for argument in export.arguments:
        locations.append(
            InputLocation.input_arg(argument.position)
            if argument.name is None
            else InputLocation.parameter(argument.name)
        )
        signatures.append(_signature(argument.value))
    for position, constant in enumerate(export.constants):
        locations.append(InputLocation.constant(position))
        signatures.append(_signature(constant))
    names = [argument.name for argument in export.arguments if argument.name is not None]
    meta = StableHLOFunctionMeta(
        "forward",
        "0.0.0",
        signatures,
        [_signature(result) for result in export.results],
        locations,
        [
            (InputLocation.input_arg(position), VariableSignature([], type(value).__name__))
            for position, value in export.numbers.items()
        ],
        *(spec and treespec_dumps(spec) for spec in (call.in_spec, call.out_spec)),
    )
    shown = {"enable_debug_info": True, "use_local_scope": True} if export.is_named else {}
    text = export.module.operation.get_asm(**shown) if options.include_human_readable_text else None
    weights = {name: _to_numpy(state[name]) for name in names} if options.export_weights else {}
    function = StableHLOFunc(meta, _saved(export.module).bytecode, text)
    return StableHLOGraphModule(StableHLOModelBundle(weights, constants, [function]))


def save_as_stablehlo(
    exported_model: torch.export.ExportedProgram,
    stablehlo_dir: str | os.PathLike[str],
    options: StableHLOExportOptions | None = None,
) -> None:
    """Writes an exported program to a folder: bytecode, text, parameters and constants as NumPy's files.

    Raises:
        UnsupportedOpError: an op has no lowering to StableHLO, or none for its symbolic sizes.
    """
    exported_program_to_stablehlo(exported_model, options).save(stablehlo_dir, options)


def save_torch_model_as_stablehlo(
    torchmodel: torch.nn.Module,
    args: tuple[Any, ...],
    path: str | os.PathLike[str],
    options: StableHLOExportOptions | None = None,
) -> None:
    """Exports a model with example inputs and writes it to a folder, as :func:`save_as_stablehlo` does."""
    save_as_stablehlo(torch.export.export(torchmodel, args), path, options)


def _signature(value: torch.Tensor | None) -> VariableSignature:
    if value is None:
        return VariableSignature([], _NONE)
    dynamic = [index for index, size in enumerate(value.shape) if isinstance(size, torch.SymInt)]
    shape = [-1 if index in dynamic else int(size) for index, size in enumerate(value.shape)]
    return VariableSignature(shape, str(value.dtype).removeprefix("torch."), dynamic)


def _flat_inputs(meta: StableHLOFunctionMeta, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """Returns the caller's inputs in the order of the export.

    Raises:
        TypeError: they have another structure than the example inputs.
    """
    if meta.input_pytree_spec is None:
        return list(args)
    expected = treespec_loads(meta.input_pytree_spec)
    _, named = tree_unflatten([None] * expected.num_leaves, expected)
    ordered = {name: kwargs[name] for name in named if name in kwargs} | kwargs
    inputs, structure = tree_flatten((args, ordered))
    if structure != expected:
        raise TypeError(f"The inputs have the structure {structure}; the model was exported with {expected}.")
    return inputs


def _checked(value: Any, signature: VariableSignature, position: int) -> torch.Tensor:
    """Returns an input as a tensor.

    Raises:
        ValueError: its shape or dtype is another one than that of the export.
    """
    tensor = torch.as_tensor(value)
    shape = [-1 if index in signature.dynamic_dims else size for index, size in enumerate(tensor.shape)]
    if VariableSignature(shape, _signature(tensor).dtype, signature.dynamic_dims) != signature:
        raise ValueError(
            f"Input {position} is {tensor.dtype} of shape {list(tensor.shape)}; the model was exported with "
            f"torch.{signature.dtype} of shape {signature.shape}. Convert it, or export the model again."
        )
    return tensor


def _save(bundle: StableHLOModelBundle, folder: Path, options: StableHLOExportOptions) -> None:
    arrays: dict[str, dict[str, np.ndarray]] = {
        "constants": {str(position): value for position, value in enumerate(bundle.additional_constants)}
    }
    if options.save_weights:
        arrays["data"] = bundle.state_dict
    for subfolder, values in arrays.items():
        (folder / subfolder).mkdir(parents=True, exist_ok=True)
        for name, value in values.items():
            with (folder / subfolder / name).open("wb") as file:
                np.save(file, value)
    functions = folder / "functions"
    functions.mkdir(parents=True, exist_ok=True)
    for function in bundle.stablehlo_funcs:
        name = function.meta.name
        text = json.dumps(dataclasses.asdict(function.meta), default=lambda kind: kind.value)
        (functions / f"{name}.meta").write_text(text)
        (functions / f"{name}.bytecode").write_bytes(function.bytecode)
        if function.text is not None:
            (functions / f"{name}.mlir").write_text(function.text)


def _load(folder: Path) -> StableHLOModelBundle:
    functions: list[StableHLOFunc] = []
    for path in sorted((folder / "functions").glob("*.meta")):
        text = path.with_suffix(".mlir")
        functions.append(
            StableHLOFunc(
                _meta(json.loads(path.read_text())),
                path.with_suffix(".bytecode").read_bytes(),
                text.read_text() if text.exists() else None,
            )
        )
    if not functions:
        raise FileNotFoundError(
            f"{folder} has no file functions/*.meta; expected a folder that save_as_stablehlo wrote."
        )
    state, constants = (
        {path.name: np.load(path, allow_pickle=False) for path in (folder / name).glob("*")}
        for name in ("data", "constants")
    )
    return StableHLOModelBundle(state, [constants[name] for name in sorted(constants, key=int)], functions)


def _meta(read: dict[str, Any]) -> StableHLOFunctionMeta:
    """Returns the description of a program that was read from JSON."""

    def location(place: dict[str, Any]) -> InputLocation:
        return InputLocation(VariableType(place["type_"]), place["position"], place["name"])

    read["input_signature"] = [VariableSignature(**each) for each in read["input_signature"]]
    read["output_signature"] = [VariableSignature(**each) for each in read["output_signature"]]
    read["input_locations"] = [location(each) for each in read["input_locations"]]
    read["unused_inputs"] = [(location(place), VariableSignature(**each)) for place, each in read["unused_inputs"]]
    return StableHLOFunctionMeta(**read)


__all__ = [
    "InputLocation",
    "StableHLOExportOptions",
    "StableHLOFunc",
    "StableHLOFunctionMeta",
    "StableHLOGraphModule",
    "StableHLOModelBundle",
    "VariableSignature",
    "VariableType",
    "_run_decompositions",
    "exported_program_to_stablehlo",
    "save_as_stablehlo",
    "save_torch_model_as_stablehlo",
]
