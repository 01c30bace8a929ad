"""``torch_xla._dynamo.dynamo_bridge`` and ``torch_xla.core.dynamo_bridge``: compiles a graph module.

PyTorch's dynamo backend ``openxla`` calls it with a graph of aten ops when the graph runs for the first time.
"""

from __future__ import annotations

import functools
import warnings as _warnings
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch_xla.utils.buffer_donor_context import alias_with_buffer_donor_config

from tt_xla.frontends.torch.device import analysis as _analysis
from tt_xla.frontends.torch.device import metrics as _metrics
from tt_xla.frontends.torch.device.buffers import buffer_of as _buffer_of
from tt_xla.frontends.torch.device.mode import MODE as _MODE
from tt_xla.frontends.torch.device.programs import synchronize as _synchronize
from tt_xla.frontends.torch.device.signatures import signature_of as _signature_of
from tt_xla.frontends.torch.private.fake import FakeTensor as _FakeTensor
from tt_xla.frontends.torch.private.functions import without_dispatch_modes as _without_dispatch_modes
from tt_xla.frontends.torch.private.ops import OpOverload as _OpOverload
from tt_xla.frontends.torch.xla_api.donor_op import take_from as _take_from
from tt_xla.frontends.torch.xla_api.donor_op import taking_donations as _taking_donations


class GraphInputMatcher:
    """Placeholder for the real class, which holds tensors of a compiled graph.

    Scripts look for its instances to free these tensors. There are no instances here: compiled graphs hold no tensors.
    """


def extract_compiled_graph(xla_model: torch.fx.GraphModule, xla_args: Sequence[Any]) -> Callable[..., Any]:
    """Compiles a graph module for the device, without gradients.

    Args:
        xla_model: the module, with ops of PyTorch's API or of aten. It stays as it is.
        xla_args: inputs of the graph. The graph is not run with them.

    Returns:
        A function of the inputs, which writes to those that the graph writes to.

    Raises:
        CompileError: the graph cannot be compiled.
    """
    from tt_xla.frontends.torch.backend import tt
    from tt_xla.frontends.torch.private.dynamo import compile_lock

    for arg in xla_args:
        if isinstance(arg, torch.Tensor) and arg.device.type != "tt":
            _warnings.warn(
                f"Found tensor with shape {arg.size()} on {arg.device}. Please move all tensors to xla device to "
                "execute on XLA device: the program of the device takes a copy of it in each call.",
                stacklevel=2,
            )
    _metrics.count(_metrics.DYNAMO_GRAPHS)
    for node in xla_model.graph.nodes:
        if isinstance(node.target, _OpOverload):
            _metrics.count(_signature_of(node.target).counter)
    graph_module, has_one_output = _with_tuple(xla_model)
    with _MODE.running_because(_analysis.DYNAMO_INPUTS):
        _run_pending(xla_args)
    donated = _take_from(graph_module.graph)
    graph_module.recompile()
    describe = functools.cache(functools.partial(_graph_of, graph_module))
    before = _analysis.last_program()
    with _MODE.running_because(_analysis.DYNAMO_COMPILATION):
        _analysis.report_compilation(describe)
    _metrics.count(_metrics.COMPILED)
    with compile_lock, _metrics.timed(_metrics.COMPILE_TIME), _without_dispatch_modes(), torch.no_grad():
        call = _taking_donations(tt(graph_module, xla_args), donated)
    _analysis.report_program(before=before)

    def run(*args: Any) -> Any:
        with _metrics.timed(_metrics.DYNAMO_INPUTS_TIME):
            if _run_pending(args):
                _metrics.count(_metrics.DYNAMO_PENDING_INPUTS)
        with _MODE.running_because(_analysis.DYNAMO_RUN):
            _analysis.report_run(describe)
        with _metrics.timed(_metrics.EXECUTE_TIME), torch.no_grad():
            results = call(*args)
        with _metrics.timed(_metrics.DYNAMO_OUTPUTS_TIME):
            return results[0] if has_one_output else results

    return run


def _run_pending(args: Sequence[Any]) -> bool:
    """Runs recorded ops if they compute one of the arguments, and returns whether they did."""
    tensors = [arg for arg in args if isinstance(arg, torch.Tensor) and arg.device.type == "tt"]
    has_pending = any(not isinstance(tensor, _FakeTensor) and _buffer_of(tensor).pending for tensor in tensors)
    if has_pending:
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


__all__ = ["GraphInputMatcher", "alias_with_buffer_donor_config", "extract_compiled_graph"]
