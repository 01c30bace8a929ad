"""``torch_xla._dynamo.dynamo_bridge`` and ``torch_xla.core.dynamo_bridge``: compiles a graph module.

PyTorch's dynamo backend ``openxla`` calls it with a graph of aten ops when the graph runs for the first time.
"""

from __future__ import annotations

import functools
import warnings as _warnings
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import torch
from torch_xla._dynamo import config as _config
from torch_xla.utils.buffer_donor_context import alias_with_buffer_donor_config

from tt_xla.frontends.torch import session as _session
from tt_xla.frontends.torch.device import analysis as _analysis
from tt_xla.frontends.torch.device import metrics as _metrics
from tt_xla.frontends.torch.device.buffers import buffer_of as _buffer_of
from tt_xla.frontends.torch.device.programs import synchronize as _synchronize
from tt_xla.frontends.torch.device.signatures import signature_of as _signature_of
from tt_xla.frontends.torch.private.fake import FakeTensor as _FakeTensor
from tt_xla.frontends.torch.private.functions import without_dispatch_modes as _without_dispatch_modes
from tt_xla.frontends.torch.private.ops import OpOverload as _OpOverload
from tt_xla.frontends.torch.private.tracing import traced as _traced
from tt_xla.frontends.torch.trees import tree_flatten as _flatten
from tt_xla.frontends.torch.trees import tree_unflatten as _unflatten
from tt_xla.frontends.torch.xla_api.donor_op import take_from as _take_from
from tt_xla.frontends.torch.xla_api.donor_op import taking_donations as _taking_donations

_Values = TypeVar("_Values", list[Any], tuple[Any, ...])


class GraphInputMatcher:
    """Finds the inputs of a graph for ``torch_xla._XLAC._run_cached_graph`` among the arguments of a function.

    Functions that dynamo compiles need none, and hold no tensors.

    Attributes:
        graph_input_xla_values: for each input of the graph the tensor that is the same in each call, or None for one
            that is an argument.
        arg_idxs: for each input of the graph the position of the argument, or None.

    Args:
        tensor_id_to_arg_idx: positions of the arguments by the number of a tensor (``_xla_get_tensor_id``).
        graph_input_tensor_ids: numbers of the graph's inputs, from ``_get_tensors_xla_device_data_node``.
        graph_input_xla_values: tensors of the graph's inputs, from the same function.
        xla_args_tensor_id: numbers of all arguments.
    """

    def __init__(
        self,
        tensor_id_to_arg_idx: dict[int, int],
        graph_input_tensor_ids: list[int],
        graph_input_xla_values: list[torch.Tensor],
        xla_args_tensor_id: set[int],
    ) -> None:
        self.tensor_id_to_arg_idx = tensor_id_to_arg_idx
        self.graph_input_tensor_ids = graph_input_tensor_ids
        self.arg_idxs = [tensor_id_to_arg_idx.get(number) for number in graph_input_tensor_ids]
        self.graph_input_xla_values = [
            None if number in xla_args_tensor_id else value
            for number, value in zip(graph_input_tensor_ids, graph_input_xla_values, strict=True)
        ]

    def __call__(self, args: Sequence[torch.Tensor]) -> list[torch.Tensor | None]:
        """Returns the inputs of the graph for a call with some arguments."""
        pairs = zip(self.arg_idxs, self.graph_input_xla_values, strict=True)
        return [value if position is None else args[position] for position, value in pairs]


class NoneRemover:
    """Takes each None out of the values of a graph, and puts it back.

    Attributes:
        none_poslist: positions of what was taken out.
    """

    def __init__(self) -> None:
        self.none_poslist: list[int] = []

    def remove_nones(self, value_list: _Values) -> _Values:
        """Returns a list or a tuple without None. A list is changed in place.

        Raises:
            TypeError: the argument is neither.
        """
        self.none_poslist += [position for position, value in enumerate(value_list) if value is None]
        return _changed(value_list, [value for value in value_list if value is not None])

    def add_nones(self, value_list: _Values) -> _Values:
        """Returns a list or a tuple with None at the positions at which it was. A list is changed in place.

        Raises:
            TypeError: the argument is neither.
        """
        values = list(value_list)
        for position in self.none_poslist:
            values.insert(position, None)
        return _changed(value_list, values)


def _changed(value_list: _Values, values: list[Any]) -> _Values:
    """Returns the list with other values, or another tuple."""
    if isinstance(value_list, tuple):
        return tuple(values)
    if not isinstance(value_list, list):
        raise TypeError(f"Values of a graph are a list or a tuple, and not of type {type(value_list).__name__}.")
    value_list[:] = values
    return value_list


def extract_compiled_graph(xla_model: torch.fx.GraphModule, xla_args: Sequence[Any]) -> Callable[..., Any]:
    """Compiles a graph module for the device, without gradients.

    Args:
        xla_model: the module, with ops of PyTorch's API or of aten. It stays as it is.
        xla_args: inputs of the graph, tensors or numbers. The graph is not run with them.

    Returns:
        A function of the inputs, which writes to those that the graph writes to. It compiles the graph for each
        combination of numbers among its inputs, which are sizes that dynamo left open. A graph of the CPU's tensors
        runs on the CPU, as it is.

    Raises:
        CompileError: the graph cannot be compiled.
    """
    tensors = [arg for arg in xla_args if isinstance(arg, torch.Tensor)]
    elsewhere = [tensor for tensor in tensors if tensor.device.type != "tt"]
    for tensor in elsewhere:
        _warnings.warn(
            f"Found tensor with shape {tensor.size()} on {tensor.device}. Please move all tensors to xla device to "
            "execute on XLA device.",
            stacklevel=2,
        )
    _metrics.count(_metrics.DYNAMO_GRAPHS)
    if elsewhere and len(elsewhere) == len(tensors):
        return xla_model
    if all(isinstance(arg, torch.Tensor) for arg in xla_args):
        return _compiled(xla_model, xla_args)
    programs: dict[tuple[Any, ...], Callable[..., Any]] = {}

    def run(*args: Any) -> Any:
        numbers = tuple(None if isinstance(arg, torch.Tensor) else arg for arg in args)
        if numbers not in programs:
            programs[numbers] = _with_numbers(xla_model, args)
        return programs[numbers](*(arg for arg in args if isinstance(arg, torch.Tensor)))

    return run


def _with_numbers(xla_model: torch.fx.GraphModule, args: Sequence[Any]) -> Callable[..., Any]:
    """Compiles a graph for the numbers among its inputs. Returns a function of the tensors among them."""
    structure: list[Any] = []
    tensors = [arg for arg in args if isinstance(arg, torch.Tensor)]

    def of_tensors(*inputs: torch.Tensor) -> list[torch.Tensor]:
        rest = iter(inputs)
        results = xla_model(*(next(rest) if isinstance(arg, torch.Tensor) else arg for arg in args))
        leaves, spec = _flatten(results)
        structure[:] = [[None if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves], spec]
        return [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]

    with _without_dispatch_modes():
        call = _compiled(_traced(of_tensors, tensors), tensors)
    others, spec = structure

    def run(*inputs: torch.Tensor) -> Any:
        results = iter(call(*inputs))
        return _unflatten([next(results) if leaf is None else leaf for leaf in others], spec)

    return run


def _compiled(xla_model: torch.fx.GraphModule, xla_args: Sequence[Any]) -> Callable[..., Any]:
    """Returns a graph of fixed sizes as a function of its inputs."""
    from tt_xla.frontends.torch.backend import tt
    from tt_xla.frontends.torch.private.dynamo import compile_lock

    for node in xla_model.graph.nodes:
        if isinstance(node.target, _OpOverload):
            _metrics.count(_signature_of(node.target).counter)
    graph_module, has_one_output = _with_tuple(xla_model)
    with _session.current.mode.running_because(_analysis.DYNAMO_INPUTS):
        _run_pending(xla_args, compiles=True)
    donated = _take_from(graph_module.graph)
    graph_module.recompile()
    describe = functools.cache(functools.partial(_graph_of, graph_module))
    before = _analysis.last_program()
    with _session.current.mode.running_because(_analysis.DYNAMO_COMPILATION):
        _analysis.report_compilation(describe)
    _metrics.count(_metrics.COMPILED)
    with compile_lock, _metrics.timed(_metrics.COMPILE_TIME), _without_dispatch_modes(), torch.no_grad():
        call = _taking_donations(tt(graph_module, xla_args), donated)
    _analysis.report_program(before=before)

    def run(*args: Any) -> Any:
        with _metrics.timed(_metrics.DYNAMO_INPUTS_TIME):
            if _run_pending(args):
                _metrics.count(_metrics.DYNAMO_PENDING_INPUTS)
        with _session.current.mode.running_because(_analysis.DYNAMO_RUN):
            _analysis.report_run(describe)
        with _metrics.timed(_metrics.EXECUTE_TIME), _without_dispatch_modes(), torch.no_grad():
            results = call(*args)
        with _metrics.timed(_metrics.DYNAMO_OUTPUTS_TIME):
            return results[0] if has_one_output else results

    return run


def _run_pending(args: Sequence[Any], *, compiles: bool = False) -> bool:
    """Runs recorded ops if they compute one of the arguments, and returns whether they did.

    Args:
        args: inputs of a graph.
        compiles: whether the graph is compiled for them, and not run.

    Raises:
        RuntimeError: they do, and the script says that they never do.
    """
    tensors = [arg for arg in args if isinstance(arg, torch.Tensor) and arg.device.type == "tt"]
    has_pending = any(not isinstance(tensor, _FakeTensor) and _buffer_of(tensor).pending for tensor in tensors)
    if has_pending:
        if _config.skip_input_data_check and not compiles:
            raise RuntimeError(
                "input data to dynamo graph can not be a pending ir, because the script sets "
                "torch_xla._dynamo.config.skip_input_data_check. Call torch_xla.sync() before, or leave it out."
            )
        _synchronize()
    return has_pending


def _graph_of(model: torch.fx.GraphModule) -> _analysis.Graph:
    """Returns what reports say about a graph: its inputs are tensors, and the numbers that its ops take."""
    nodes = list(model.graph.nodes)
    tensors = sum(node.op in ("placeholder", "get_attr") for node in nodes)
    numbers = sum(type(arg) in (int, float) for node in nodes for arg in node.args)
    return _analysis.Graph(str(model.graph), tensors + numbers, len(nodes[-1].args[0]))


def _with_tuple(model: torch.fx.GraphModule) -> tuple[torch.fx.GraphModule, bool]:
    """Returns a copy of a graph module that returns a tuple, as compilers expect, and whether it returned one value."""
    graph = torch.fx.Graph()
    result = graph.graph_copy(model.graph, {})
    is_one = not isinstance(result, tuple | list)
    graph.output((result,) if is_one else tuple(result))  # type: ignore[arg-type]
    return torch.fx.GraphModule(model, graph), is_one


__all__ = ["GraphInputMatcher", "NoneRemover", "alias_with_buffer_donor_config", "extract_compiled_graph"]
