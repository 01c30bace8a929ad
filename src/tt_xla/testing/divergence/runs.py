"""One StableHLO module on the emulated card, and in float32 by XLA on the CPU."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from tt_xla import host
from tt_xla.compiler import compile_module, parse_module
from tt_xla.compiler.rewriting import Changes
from tt_xla.compiler.stablehlo.untrusted import checked
from tt_xla.errors import MalformedModuleError
from tt_xla.ir.element_types import ElementType
from tt_xla.ir.program import Program
from tt_xla.options import CompileOptions, selected_system
from tt_xla.runtime import get_device
from tt_xla.target import load_target
from tt_xla.testing.comparison import ComparisonConfig, ComparisonResult, compare
from tt_xla.testing.divergence.modules import widened

Array = Any
Compiled = Callable[[Sequence[Array]], list[Array]]
"""Arguments to results."""


def on_card(
    module: Any,
    inputs: Sequence[Array],
    options: CompileOptions,
    *,
    without: Container[str] = (),
    changes: Changes | None = None,
) -> list[Array]:
    """Compiles a module, runs it once, and gives its results; 16-bit floats as float32.

    Args:
        inputs: arrays of the declared shapes, numbers of any type.
        without: stages of the compiler to leave out.
        changes: how much optional stages may change, and what they did.
    """
    return for_card(module, options, without=without, changes=changes)(inputs)


def for_card(
    module: Any, options: CompileOptions, *, without: Container[str] = (), changes: Changes | None = None
) -> Compiled:
    """What ``on_card`` runs, to be run often."""
    system = selected_system()
    program = compile_module(module, options, load_target(system), without=without, changes=changes)
    executable = get_device(system).load(program)

    def run(inputs: Sequence[Array]) -> list[Array]:
        tensors = tensors_of(inputs, program)
        return [to_array(result) for result in executable.run(tensors, [None] * len(tensors))]

    return run


def on_cpu(module: Any, inputs: Sequence[Array]) -> list[Array]:
    """A module in its own types but for 16-bit floats, which are float32."""
    return for_cpu(module)(inputs)


def for_cpu(module: Any) -> Compiled:
    """What ``on_cpu`` runs, to be run often."""
    wide = widened(module)
    main = wide.body.operations[0]
    if "arg_attrs" in main.attributes:
        del main.attributes["arg_attrs"]  # of dialects that XLA does not know
    types = [argument.type for argument in main.body.blocks[0].arguments]
    dtypes = [ElementType(str(type_.element_type)).numpy_dtype() for type_ in types]
    program = host.load(wide.operation.get_asm())

    def run(inputs: Sequence[Array]) -> list[Array]:
        return program([np.asarray(array).astype(dtype) for array, dtype in zip(inputs, dtypes, strict=True)])

    return run


def rounded(array: Array, type_: Any) -> Array:
    """The nearest numbers that the declared type has, as float32 where it is a 16-bit float."""
    element = str(type_.element_type)
    if element not in ("bf16", "f16"):
        return array
    return np.asarray(array).astype(ElementType(element).numpy_dtype()).astype(np.float32)


def random_inputs(types: Sequence[Any], seed: int = 0) -> list[Array]:
    """Normal numbers, integers from 0 to 7, and booleans, of the types of arguments."""
    generator = np.random.default_rng(seed)
    found: list[Array] = []
    for type_ in types:
        shape, element = tuple(type_.shape), str(type_.element_type)
        dtype = ElementType(element).numpy_dtype()
        if element == "i1":
            found.append(generator.integers(0, 2, shape).astype(bool))
        elif dtype.kind in "iu":
            found.append(generator.integers(0, 8, shape).astype(dtype))
        else:
            found.append(rounded(generator.standard_normal(shape).astype(np.float32), type_))
    return found


def load_inputs(path: Path, count: int) -> list[Array]:
    """Arguments from a ``.npz``, which has them in order, under any names.

    Raises:
        MalformedModuleError: there are fewer or more than the module takes.
    """
    with np.load(path) as file:
        found = [file[name] for name in file.files]
    if len(found) != count:
        raise MalformedModuleError(f"'{path}' has {len(found)} arrays; the module takes {count} arguments.")
    return found


def check_module(
    module: Path | str,
    inputs: Path | Sequence[Array] | None = None,
    options: Mapping[str, Any] | None = None,
    comparison_config: ComparisonConfig | None = None,
) -> ComparisonResult:
    """Runs a StableHLO module on the emulated card and in float32 on the CPU, and compares.

    Args:
        module: a file, or the text itself.
        inputs: a ``.npz`` with the arguments in order, or the arguments; random numbers when left out.
        options: compile options.

    Raises:
        AssertionError: they differ by more than the configuration allows, unless that says not to raise.
    """
    if isinstance(module, Path):
        parsed = parse_module(checked(module.read_bytes(), str(module)), str(module))
    else:
        parsed = parse_module(module)
    types = [argument.type for argument in parsed.body.operations[0].body.blocks[0].arguments]
    if inputs is None:
        arrays = random_inputs(types)
    else:
        arrays = load_inputs(inputs, len(types)) if isinstance(inputs, Path) else list(inputs)
    config = comparison_config or ComparisonConfig()
    return compare(on_card(parsed, arrays, CompileOptions.parse(dict(options or {}))), on_cpu(parsed, arrays), config)


def tensors_of(inputs: Sequence[Array], program: Program) -> list[torch.Tensor]:
    """Arguments of a program, in the types that it declares."""
    return [_tensor(array, argument.dtype) for array, argument in zip(inputs, program.arguments, strict=True)]


def _tensor(array: Array, dtype: str) -> torch.Tensor:
    if dtype == "bf16":
        return torch.from_numpy(np.array(array, dtype=np.float32)).to(torch.bfloat16)
    return torch.from_numpy(np.array(array, dtype=ElementType(dtype).numpy_dtype()))


def to_array(tensor: torch.Tensor) -> Array:
    return tensor.float().numpy() if tensor.dtype is torch.bfloat16 else tensor.numpy()
