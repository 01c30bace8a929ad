"""Operations: TT-NN's functions, each with a rule that says which op of the TTNN dialect it is."""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from types import CodeType
from typing import Any

from tt_xla.errors import ExecutionError, TTXLAError
from tt_xla.registry import Registry
from tt_xla.spmd.collectives import BETWEEN_CHIPS
from tt_xla.ttnn_api import refusals, signatures
from tt_xla.ttnn_api.complex_tensors import ComplexTensor
from tt_xla.ttnn_api.devices import MeshDevice
from tt_xla.ttnn_api.errors import IncompatibleArguments, TTFatal
from tt_xla.ttnn_api.geometry import Tile
from tt_xla.ttnn_api.graph_capture import CAPTURES
from tt_xla.ttnn_api.plan import Calls, Operand, Step
from tt_xla.ttnn_api.received import receive
from tt_xla.ttnn_api.settings import POST_HOOKS, PRE_HOOKS
from tt_xla.ttnn_api.shapes import Shape
from tt_xla.ttnn_api.tensor import Tensor

Rule = Callable[..., Any]
"""Takes the parameters that it names; those of TT-NN's other overloads are None."""

_SPEED_ONLY = {
    *("program_config", "sub_core_grids", "sub_device_id", "core_grid", "queue_id", "cq_id"),
    *("use_multicore", "output_tile", "config_tensor_in_dram", "deallocate_input"),
    *("reallocate_halo_output", "applied_shard_scheme", "fast_and_approximate_mode", "disable_compensated_sum"),
    *("skip_padding_fill", "reshape_tile_mode", "numeric_stable", "enable_secondary_dm", "compute_kernel_config"),
    *("num_links", "topology", "pad_value", "keep_l1_aligned", "use_low_perf", "worker_l1_size", "num_command_queues"),
    "blocking",
    *("subdevice_id", "multi_device_global_semaphore", "barrier_semaphore", "barrier_semaphores", "mesh_device"),
    *("rs_global_semaphores", "ag_global_semaphores", "chunks_per_sync", "num_workers_per_link"),
    *("num_buffers_per_channel", "use_l1_small_for_semaphores", "intermediate_memory_config", "use_noc1_only"),
    *("use_optimal_ccl_for_llama", "use_broadcast", "intermediate_tensor", "intermediate_memory_config_rs"),
    *("all_gather_core_grid_offset", "ccl_core_grid_offset", "use_column_major_ccl", "input_mux_cores"),
    *("compute_with_storage_grid_size", "k_chunk_size", "enable_kv_block_cache", "reallocate_output"),
}
"""Parameters that change how a card computes a result, and that an operation may leave out."""

_CONDITIONS_OF_PARTS = "_bw"
"""End of the names of composite operations that TT-NN refuses where it refuses one of the calls that they make."""

Names = Sequence[str] | Callable[[], Sequence[str]]

_calls: list[Any] = []
"""Operations that are being executed while somebody watches, the user's call first."""


_nested = False
"""Whether an operation calls others: TT-NN's conditions are those of the user's call."""

_HOST_PLANS: dict[Any, Any] = {}
"""Plans of calls on the host."""


class TensorNumbers(tuple[int, ...]):
    """The numbers of a tensor, for a function that plans its calls with them."""


class Operation:
    """A function of TT-NN.

    Args:
        name: its full name.
        rule: returns the step of a call from its arguments, whose tensors are :class:`Operand` objects.
        composite: whether ``rule`` takes tensors and calls other operations instead.
        named: parameters that the rule takes by keyword, or a function that returns them; by default those of its
            signature.
    """

    def __init__(self, name: str, rule: Rule, *, composite: bool = False, named: Names = ()) -> None:
        self.python_fully_qualified_name = self.__name__ = name
        self.__doc__ = rule.__doc__
        self.rule, self.composite = rule, composite
        self._named = named if callable(named) else tuple(named) or parameters_of(rule)
        self.numbers: Sequence[int | str] = ()
        """Places and names of parameters that may be tensors of numbers: a call is planned with the numbers."""

    @property
    def named(self) -> Sequence[str]:
        """Parameters that the rule takes."""
        return self._named() if callable(self._named) else self._named

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        if CAPTURES or PRE_HOOKS or POST_HOOKS:
            return self._watched(arguments, keywords)
        return self._called(*arguments, **keywords)

    def _watched(self, arguments: Sequence[Any], keywords: dict[str, Any]) -> Any:
        """Executes a call, as captures record it. Hooks see the user's calls alone, not those within them."""
        hooked = not _calls
        captures = [] if self.__name__.startswith("ttnn.graph.") else [*CAPTURES]
        _calls.append(self)
        for hook in PRE_HOOKS if hooked else ():
            hook(self, arguments, keywords)
        for capture in captures:
            capture.start(self.__name__, arguments, keywords)
        output = None
        try:
            output = self._called(*arguments, **keywords)
        finally:
            for capture in captures:
                capture.end(output)
            _calls.pop()
        for hook in POST_HOOKS if hooked else ():
            hook(self, arguments, keywords, output)
        return output

    def _called(self, *arguments: Any, **keywords: Any) -> Any:
        if self.numbers:
            arguments = tuple(self._read(place, each) for place, each in enumerate(arguments))
            keywords = {name: self._read(name, each) for name, each in keywords.items()}
        if self.composite:
            if self.__name__ in OF_COMPLEX and _has_complex(arguments, keywords):
                return OF_COMPLEX[self.__name__](*arguments, **keywords)
            return self._composed(self.bound(arguments, keywords))
        tensors: list[Tensor] = []
        key: list[Any] = [self, _nested]
        for argument in arguments:
            if type(argument) is Tensor:
                tensors.append(argument)
                key.append(argument.type)
            else:
                key.append(_key(argument, tensors))
        for name, argument in keywords.items():
            key.append(name)
            key.append(_key(argument, tensors))
        device = _device_of(tensors) if tensors else None
        if device is None:
            given = (*arguments, keywords.get("device"))
            device = next((each for each in given if type(each) is MeshDevice), None)
            if device is not None and not device.is_open:
                raise TTFatal("Device is not open", hint="Create tensors on it before ttnn.close_device.")
        plans = _HOST_PLANS if device is None else device.plans
        key_ = tuple(key)
        try:
            plan = plans.get(key_)
        except TypeError as error:  # an argument that no function takes, such as an array, has no hash
            raise signatures.refused(self.__name__, arguments, keywords) from error
        if plan is None:
            if self.__name__ in OF_COMPLEX and _has_complex(arguments, keywords):
                return OF_COMPLEX[self.__name__](*arguments, **keywords)
            if device is not None and not device.misses_allowed:
                raise TTFatal(
                    f"Device operation {self.__name__}: program cache miss occurred, but cache misses are forbidden",
                    hint="Allow them with device.set_program_cache_misses_allowed(True).",
                )
            with _explained(self.__name__, tensors):
                plan = plans[key_] = self._planned(arguments, keywords, device)
        try:
            return plan.run(tensors)
        except (IndexError, ValueError, RuntimeError) as error:  # a context manager would cost each call a microsecond
            if isinstance(error, TTXLAError):
                raise
            raise _invalid(self.__name__, tensors, error) from error

    def _composed(self, values: Mapping[str, Any]) -> Any:
        """Executes an operation that calls others."""
        if _nested:
            return self.rule(**values)
        judged = self.__name__.endswith(_CONDITIONS_OF_PARTS)
        with contextlib.nullcontext() if judged else unrefused(), _explained(self.__name__, values.values()):
            return self.rule(**values)

    def _read(self, place: int | str, argument: Any) -> Any:
        """Returns the numbers of a tensor that stands in the place of numbers."""
        if place not in self.numbers or not isinstance(argument, Tensor):
            return argument
        from tt_xla.ttnn_api.conversion import to_torch

        return TensorNumbers(to_torch(argument).flatten().tolist())

    def _planned(self, arguments: Sequence[Any], keywords: Mapping[str, Any], device: MeshDevice | None) -> Any:
        """Returns the plan of a call."""
        from tt_xla.ttnn_api.engine import Plan
        from tt_xla.ttnn_api.exchange import ExchangePlan

        numbers = itertools.count()
        positional = [_stand_in(argument, numbers) for argument in arguments]
        named = {name: _stand_in(argument, numbers) for name, argument in keywords.items()}
        step: Step | Calls = self.rule(**self.bound(positional, named))
        if isinstance(step, Calls):
            return step
        _check_places(step)
        receive(step)
        try:
            if step.op in BETWEEN_CHIPS and device is not None:
                return ExchangePlan(step, device)
            return Plan(step, device)
        except ExecutionError as error:
            raise TTFatal(f"{self.__name__}: {error.message}", hint=error.hint) from error

    def bound(self, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the arguments of a call by the names of the rule's parameters.

        Raises:
            TypeError: TT-NN's function takes other arguments.
            TTFatal: the emulated card lacks what an argument asks for.
        """
        overload, values = signatures.bound(self.__name__, arguments, keywords, judges_kinds=not _nested)
        if not _nested:
            refusals.check(self.__name__, signatures.by_first_names(self.__name__, overload, values))
        self._check_emulated(overload, values)
        return {name: values.get(name) for name in self.named}

    def _check_emulated(self, overload: signatures.Overload, values: Mapping[str, Any]) -> None:
        for name, default in overload.defaults.items():
            if name in self.named or name in _SPEED_ONLY:
                continue
            value = values[name]
            if name == "tile" and value == Tile():
                continue
            if value is not default and value is not None and value != default:
                raise TTFatal(
                    f"{self.__name__}: the emulated card takes no {name}, got {value!r}",
                    hint=f"Leave {name} out.",
                )

    @property
    def golden_function(self) -> Callable[..., Any] | None:
        """The golden function that was attached to the operation; None if none was."""
        return GOLDENS.get(self.__name__)

    def __repr__(self) -> str:
        return f"<ttnn operation {self.__name__}>"


class Part(Operation):
    """A kernel that functions of TT-NN execute, and that has no function of its own.

    It takes the rule's parameters by position and by name, and TT-NN's conditions are those of the function.
    """

    def bound(self, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> dict[str, Any]:
        return dict.fromkeys(self.named) | dict(zip(self.named, arguments, strict=False)) | dict(keywords)


@contextlib.contextmanager
def _explained(name: str, arguments: Iterable[Any]) -> Generator[None]:
    """Turns an error of Python or PyTorch, for arguments that no condition refused, into one that tells what to do.

    Args:
        name: the function that was called.
        arguments: its arguments, or the tensors among them.
    """
    try:
        yield
    except _OF_PYTHON as error:
        if isinstance(error, (TTXLAError, IncompatibleArguments)):
            raise
        raise _invalid(name, arguments, error) from error


_OF_PYTHON = (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError)
"""Errors of Python and PyTorch for values that a function cannot compute with."""


def _invalid(name: str, arguments: Iterable[Any], error: Exception) -> TTFatal:
    """Returns the error for arguments that no condition refused, from an error of Python or PyTorch."""
    given = ", ".join(f"{each.shape}" for each in arguments if isinstance(each, Tensor)) or "no tensors"
    signature = " or ".join(f"{name}({parameters})" for parameters in signatures.lines().get(name, ()))
    return TTFatal(
        f"{name}: invalid arguments: {error}",
        hint=f"It was called with {given}. Compare ranks, sizes and dimensions with {signature or name}.",
    )


def _stand_in(argument: Any, numbers: Iterator[int]) -> Any:
    """Returns an argument with operands, numbered in order, in the place of tensors.

    Plans keep what this returns. A closure of the arguments that calls itself would be a reference cycle, which keeps
    the tensors of a call in the device's memory.
    """
    if isinstance(argument, Tensor):
        return Operand(next(numbers), argument.type, argument.device())
    return [_stand_in(item, numbers) for item in argument] if type(argument) in (list, tuple) else argument


def _check_places(step: Step) -> None:
    """Refuses tensors on the host beside tensors on a device. Convolutions prepare weights of the host."""
    listed = [each if isinstance(each, Sequence) else [each] for each in step.operands.values() if each is not None]
    places = {each.type.on_device for items in listed for each in items if isinstance(each, Operand)}
    if len(places) > 1 and "conv" not in step.op:
        raise TTFatal(
            "Device Operations expect device tensors as inputs", hint="Move them to the device with ttnn.to_device."
        )


@contextlib.contextmanager
def unrefused() -> Generator[None]:
    """Makes calls without TT-NN's conditions on data types, layouts and memories."""
    global _nested
    before, _nested = _nested, True
    try:
        yield
    finally:
        _nested = before


def _has_complex(arguments: Sequence[Any], keywords: Mapping[str, Any]) -> bool:
    return any(isinstance(each, ComplexTensor) for each in (*arguments, *keywords.values()))


def _key(value: Any, tensors: list[Tensor]) -> Any:
    """Returns a hashable value that is equal for arguments that are executed alike; collects tensors."""
    kind = type(value)
    if kind is Tensor:
        tensors.append(value)
        return value.type
    if kind is list or kind is tuple or kind is Shape:
        return tuple([_key(item, tensors) for item in value])
    if kind is float:
        return "float", value.hex()
    if kind.__module__ in ("numpy", "torch") and hasattr(value, "tolist"):
        return kind, str(value.dtype), str(value.tolist())
    return (bool, value) if kind is bool else value


def _device_of(tensors: Sequence[Tensor]) -> MeshDevice | None:
    """Returns the device of a call's tensors.

    Raises:
        TTFatal: they lie on several, or on one that was closed.
    """
    device = None
    for tensor in tensors:
        own = tensor.device()
        if own is None or own is device:
            continue
        if device is not None:
            raise TTFatal(
                "Operands to eltwise binary need to be on the same device!",
                hint="Move the tensors to one device with ttnn.to_device.",
            )
        if not own.is_open:
            raise TTFatal("Device is not open", hint="Use the tensor before ttnn.close_device.")
        device = own
    return device


OPERATIONS: Registry[str, Operation] = Registry("TT-NN operation")

GOLDENS: dict[str, Callable[..., Any]] = {}
"""Golden functions by the full name of their operation."""

OF_COMPLEX: Registry[str, Callable[..., Any]] = Registry("operation of complex tensors")
"""Implementations of operations for complex tensors, by the name of the operation."""


def operation(*names: str, composite: bool = False, also: Sequence[str] = ()) -> Callable[[Rule], Rule]:
    """Registers a rule for functions of TT-NN.

    Args:
        names: full names of the functions.
        composite: whether the rule takes tensors and calls other operations.
        also: parameters that the rule takes together, as ``**values``.
    """

    def register(rule: Rule) -> Rule:
        for name in names:
            define(name, rule, (*parameters_of(rule), *also), composite=composite)
        return rule

    return register


def parameters_of(rule: Rule) -> Sequence[str]:
    """Returns the parameters that a rule names."""
    code: CodeType = getattr(rule, "__wrapped__", rule).__code__
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def define(name: str, rule: Rule, named: Names = (), *, composite: bool = False) -> None:
    """Registers the rule of one function of a table."""
    OPERATIONS[name] = Operation(name, rule, composite=composite, named=named)


def forward(name: str, target: str, **renamed: str) -> None:
    """Registers a function that calls another one with the parameters that both have.

    Args:
        name: its full name.
        target: full name of the other function.
        renamed: by parameter of the function, the name that the other one has for it.
    """

    def named() -> Sequence[str]:
        both = [signatures.overloads(full) for full in (name, target)]
        own, others = ({parameter for each in overloads for parameter in each.names} for overloads in both)
        return tuple(sorted(own & others | renamed.keys()))

    def rule(**values: Any) -> Any:
        given = {renamed.get(each, each): value for each, value in values.items() if value is not None}
        return OPERATIONS[target](**given)

    rule.__doc__ = f"Calls {target}."
    define(name, rule, named, composite=True)


def delivered(result: Any, into: Tensor | None) -> Any:
    """Returns the result of a composite operation, or the tensor that it was copied into."""
    return result if into is None else OPERATIONS["ttnn.copy"](result, into)


class Functions:
    """TT-NN's functions by name, for composite operations.

    Args:
        memory: memory config of all results; None for that of each function's operands.
    """

    def __init__(self, memory: Any = None) -> None:
        self.memory = memory
        self._options = {} if memory is None else {"memory_config": memory}

    def apply(self, part: Part, *arguments: Any, **attributes: Any) -> Any:
        """Executes a kernel that has no function of its own."""
        return part(*arguments, **self._options, **attributes)

    def with_default(self, memory: Any) -> Functions:
        """Returns the functions with a memory config of results, if they have none."""
        return self if self._options else Functions(memory)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return functools.partial(OPERATIONS[f"ttnn.{name}"], **self._options)
