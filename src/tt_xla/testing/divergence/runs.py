"""Runs a StableHLO module on the emulated card, and in float32 with XLA on the CPU."""

from __future__ import annotations

import pickle
import zipfile
from collections.abc import Callable, Container, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from tt_xla import host
from tt_xla.compiler import compile_module, parse_module
from tt_xla.compiler.rewriting import Changes
from tt_xla.compiler.stablehlo.untrusted import checked
from tt_xla.environment import selected_system
from tt_xla.errors import MalformedModuleError
from tt_xla.ir.element_types import ElementType
from tt_xla.ir.program import Program
from tt_xla.options import CompileOptions
from tt_xla.runtime import get_device
from tt_xla.runtime.mesh.executable import MeshExecutable
from tt_xla.target import load_target
from tt_xla.testing.comparison import ComparisonConfig, ComparisonResult, compare
from tt_xla.testing.divergence.modules import widened

Array = Any
Compiled = Callable[[Sequence[Array]], list[Array]]
"""A compiled module: takes its arguments and returns its results."""


def on_card(
    module: Any,
    inputs: Sequence[Array],
    options: CompileOptions,
    *,
    without: Container[str] = (),
    changes: Changes | None = None,
) -> list[Array]:
    """Compiles a module for the emulated card and runs it once.

    Args:
        module: the module.
        inputs: arrays of the declared shapes, of any type.
        options: compile options.
        without: compiler stages to skip.
        changes: limits the changes that optional stages make, and records them.

    Returns:
        The results; 16-bit floats are returned as float32.
    """
    return for_card(module, options, without=without, changes=changes)(inputs)


def for_card(
    module: Any, options: CompileOptions, *, without: Container[str] = (), changes: Changes | None = None
) -> Compiled:
    """Compiles a module for the emulated card; see :func:`on_card`."""
    program = compile_module(module, options, load_target(selected_system()), without=without, changes=changes)
    return load(program)


def load(program: Program) -> Compiled:
    """Loads a program for the emulated card that it was compiled for. Arguments and results are whole on a mesh."""
    executable = get_device(program.target).load(program)

    def run(inputs: Sequence[Array]) -> list[Array]:
        tensors = tensors_of(inputs, program)
        if isinstance(executable, MeshExecutable):
            results = executable.run_whole(tensors)
        else:
            results = executable.run(tensors, [None] * len(tensors))
        return [to_array(result) for result in results]

    return run


def on_cpu(module: Any, inputs: Sequence[Array]) -> list[Array]:
    """Returns the results of a module on the CPU. It computes in its own types, except for float32 in place of 16
    bits."""
    return for_cpu(module)(inputs)


def for_cpu(module: Any) -> Compiled:
    """Compiles a module for the CPU; see :func:`on_cpu`."""
    wide = widened(module)
    main = wide.body.operations[0]
    if "arg_attrs" in main.attributes:
        del main.attributes["arg_attrs"]  # XLA does not know the dialects of these attributes
    types = [argument.type for argument in main.body.blocks[0].arguments]
    dtypes = [ElementType(str(type_.element_type)).numpy_dtype() for type_ in types]
    program = host.load(wide.operation.get_asm())

    def run(inputs: Sequence[Array]) -> list[Array]:
        return program([np.asarray(array).astype(dtype) for array, dtype in zip(inputs, dtypes, strict=True)])

    return run


def rounded(array: Array, type_: Any) -> Array:
    """Rounds an array to a 16-bit float type, and returns it as float32; arrays of other types are unchanged.

    Args:
        array: the array.
        type_: the MLIR tensor type.
    """
    element = str(type_.element_type)
    if element not in ("bf16", "f16"):
        return array
    return np.asarray(array).astype(ElementType(element).numpy_dtype()).astype(np.float32)


def random_inputs(types: Sequence[Any]) -> list[Array]:
    """Returns arguments of MLIR tensor types, from :func:`random_array` with seed 0."""
    generator = np.random.default_rng(0)
    arrays = [random_array(generator, *each) for each in declared(types)]
    return [rounded(array, type_) for array, type_ in zip(arrays, types, strict=True)]


def random_array(generator: np.random.Generator, shape: Sequence[int], element: ElementType) -> Array:
    """Returns a random array for an argument: normally distributed floats, integers from 0 to 7, or booleans."""
    dtype = element.numpy_dtype()
    if element is ElementType.I1:
        return generator.integers(0, 2, shape).astype(bool)
    if dtype.kind in "iu":
        return generator.integers(0, 8, shape).astype(dtype)
    return generator.standard_normal(shape).astype(np.float32)


Declared = Sequence[tuple[Sequence[int], ElementType]]
"""Shape and element type of each argument of a module."""


def declared(types: Sequence[Any]) -> Declared:
    """Returns shapes and element types of MLIR tensor types."""
    return [(tuple(type_.shape), ElementType(str(type_.element_type))) for type_ in types]


def load_inputs(path: Path, arguments: Declared) -> list[Array]:
    """Reads the arguments of a module from a ``.npz`` file, or the only one from a ``.npy`` file.

    Args:
        path: the file, with the arguments in order, under any names.
        arguments: the arguments of the module.

    Raises:
        MalformedModuleError: the file has no arrays of numbers, or others than the module takes.
        OSError: the file cannot be read.
    """
    expected = "a .npz file with the arguments in order was expected, as numpy.savez writes it"
    try:
        with path.open("rb") as file:
            loaded: Any = np.load(file)
            arrays = {name: loaded[name] for name in loaded.files} if hasattr(loaded, "files") else {"": loaded}
    except (EOFError, ValueError, zipfile.BadZipFile, pickle.UnpicklingError) as error:
        reason = "it is empty" if path.stat().st_size == 0 else " ".join(str(error).split()).rstrip(".")
        raise MalformedModuleError(f"'{path}' cannot be read as arrays: {reason}; {expected}.") from error
    if len(arrays) != len(arguments):
        raise MalformedModuleError(
            f"'{path}' has {len(arrays)} arrays; the module takes {len(arguments)} arguments.",
            hint=f"It takes, in order: {', '.join(_shown(*each) for each in arguments)}.",
        )
    return [
        _checked_array(array, *argument, f"'{path}': array {number}" + (f" ('{name}')" if name else ""))
        for number, ((name, array), argument) in enumerate(zip(arrays.items(), arguments, strict=True))
    ]


def _checked_array(array: Array, shape: Sequence[int], element: ElementType, name: str) -> Array:
    """Returns an array that fits an argument; bits of a type that NumPy does not know get the type of the argument.

    Raises:
        MalformedModuleError: the array has another shape, no numbers, or complex ones for a real argument.
    """
    dtype = element.numpy_dtype()
    if array.dtype.kind == "V" and array.dtype.itemsize == dtype.itemsize:
        array = array.view(dtype)
    has_numbers = array.dtype.kind in "biufc" or array.dtype == dtype
    if array.shape != tuple(shape) or not has_numbers or (array.dtype.kind == "c" and dtype.kind != "c"):
        made = f"{'x'.join(map(str, array.shape)) or 'scalar'} {array.dtype}"
        raise MalformedModuleError(f"{name} is {made}; the module takes {_shown(shape, element)} there.")
    return array


def _shown(shape: Sequence[int], element: ElementType) -> str:
    return f"{'x'.join(map(str, shape)) or 'scalar'} {element.value}"


def check_module(
    module: Path | str,
    inputs: Path | Sequence[Array] | None = None,
    options: Mapping[str, Any] | None = None,
    comparison_config: ComparisonConfig | None = None,
) -> ComparisonResult:
    """Runs a StableHLO module on the emulated card and in float32 on the CPU, and compares.

    Args:
        module: path of a file, or the text of a module.
        inputs: path of a ``.npz`` file with the arguments in order, or the arguments; None for random numbers.
        options: compile options.
        comparison_config: metrics and thresholds.

    Raises:
        AssertionError: the results differ by more than the thresholds allow, and ``assert_on_failure`` is set.
    """
    if isinstance(module, Path):
        parsed = parse_module(checked(module.read_bytes(), str(module)), str(module))
    else:
        parsed = parse_module(module)
    types = [argument.type for argument in parsed.body.operations[0].body.blocks[0].arguments]
    if inputs is None:
        arrays = random_inputs(types)
    else:
        arrays = load_inputs(inputs, declared(types)) if isinstance(inputs, Path) else list(inputs)
    config = comparison_config or ComparisonConfig()
    return compare(on_card(parsed, arrays, CompileOptions.parse(dict(options or {}))), on_cpu(parsed, arrays), config)


def tensors_of(inputs: Sequence[Array], program: Program) -> list[torch.Tensor]:
    """Returns the arguments of a program as tensors of the types that it declares."""
    return [_tensor(array, argument.dtype) for array, argument in zip(inputs, program.arguments, strict=True)]


def _tensor(array: Array, dtype: str) -> torch.Tensor:
    if dtype == "bf16":
        return torch.from_numpy(np.array(array, dtype=np.float32)).to(torch.bfloat16)
    return torch.from_numpy(np.array(array, dtype=ElementType(dtype).numpy_dtype()))


def to_array(tensor: torch.Tensor) -> Array:
    """Returns the elements of a tensor as an array; 16-bit floats as float32."""
    return tensor.float().numpy() if tensor.dtype in (torch.bfloat16, torch.float16) else tensor.numpy()
