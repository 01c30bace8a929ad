"""Settings of dynamo for frames of ``tt``. Other backends in the process keep PyTorch's."""

from __future__ import annotations

import dis
import gc
import logging

import pytest
import torch
import torch.nn.functional as F
from torch._dynamo import config

from tt_torch.backend.backend import tt_backend
from tt_xla.frontends.torch import backend, frame_settings

X = torch.arange(6.0)


def _names(function, *args) -> set[str]:
    """Calls a compiled function and returns the names in the bytecode that dynamo wrote for it."""
    codes: list[object] = []
    hook = torch._dynamo.convert_frame.register_bytecode_hook(lambda old, new: codes.append(new))
    try:
        function(*args)
    finally:
        hook.remove()
    return {str(instruction.argval) for code in codes for instruction in dis.get_instructions(code)}


def _settings() -> dict[str, object]:
    return {name: getattr(config, name) for name in dir(config) if not name.startswith("_")}


def _records_overhead(names: set[str]) -> bool:
    return any("record_pregraph" in name for name in names)


def _compilations(backend, sizes: range) -> int:
    """Returns the number of graphs that ``backend`` receives for calls with each size; sizes are static."""
    graphs = []

    def counted(graph, inputs):
        graphs.append(graph)
        return backend(graph, inputs)

    call = torch.compile(lambda x: x.sum(0) + 1, backend=counted, dynamic=False)
    for size in sizes:
        call(torch.ones(size, 2))
    return len(graphs)


@pytest.fixture(autouse=True)
def _fresh():
    torch._dynamo.reset()


def test_calls_record_nothing():
    names = _names(torch.compile(lambda x: x + 1, backend="tt"), X)
    assert not _records_overhead(names)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_other_backends_are_left_alone(backend):
    torch.compile(lambda x: x + 2, backend="tt")(X)
    names = _names(torch.compile(lambda x: x + 3, backend=backend), X)
    assert _records_overhead(names)


@pytest.mark.parametrize("backward", [False, True])
def test_settings_and_the_collector_are_as_before(backward):
    before, collects = _settings(), gc.isenabled()
    x = X.clone().requires_grad_(backward)
    result = torch.compile(lambda x: (x * 3).sum(), backend="tt")(x)
    if backward:
        result.backward()
    assert _settings() == before
    assert gc.isenabled() == collects


def test_settings_are_as_before_after_an_error():
    before = _settings()
    with pytest.raises(Exception, match="unknown"):
        torch.compile(lambda x: x * 3, backend="tt", options={"tt_nothing": True})(X)
    assert _settings() == before


def test_more_sizes_are_compiled_for_tt_and_for_no_other_backend():
    sizes = range(2, 14)
    assert _compilations(tt_backend, sizes) == len(sizes)
    torch._dynamo.reset()
    assert _compilations(lambda graph, inputs: graph.forward, sizes) == config.recompile_limit == 8


def test_a_limit_of_the_users_counts():
    with config.patch(recompile_limit=3):
        assert _compilations(tt_backend, range(2, 14)) == 3


def test_a_setting_of_the_users_stays():
    with config.patch(record_runtime_overhead=False):
        torch.compile(lambda x: x + 4, backend="tt")(X)
        assert not config.record_runtime_overhead


def test_the_environment_keeps_the_settings_of_pytorch(monkeypatch):
    monkeypatch.setenv("TTXLA_DYNAMO_DEFAULTS", "1")
    names = _names(torch.compile(lambda x: x + 7, backend="tt"), X)
    assert _records_overhead(names)
    torch._dynamo.reset()
    assert _compilations(tt_backend, range(2, 14)) == 8


def test_the_limit_of_tt_also_counts_in_backends_that_wrap_it(monkeypatch):
    monkeypatch.setattr(frame_settings, "RECOMPILE_LIMIT", 5)
    assert _compilations(tt_backend, range(2, 14)) == 5


def test_the_current_stream_can_still_be_asked_for():
    def f(x):
        return x + 5, torch.accelerator.current_stream()

    result, stream = torch.compile(f, backend="tt")(X)
    torch.compile(lambda x: x + 6, backend="tt")(X)
    torch.testing.assert_close(result, X + 5)
    assert stream == torch.accelerator.current_stream()


def test_other_backends_keep_the_decompositions_of_pytorch():
    """PyTorch's decomposition is wrong for a single row, and tt corrects it for itself alone."""
    scores, labels = torch.tensor([[0.1, 0.2, 0.4, 0.8]]), torch.tensor([[3, -1, 0, -1]])
    expected = F.multilabel_margin_loss(scores, labels)
    compiled = torch.compile(F.multilabel_margin_loss, backend="tt")
    torch.testing.assert_close(compiled(scores, labels), expected)
    decompose = torch._decomp.decomposition_table[torch.ops.aten.multilabel_margin_loss_forward.default]
    assert decompose(scores[0], labels[0], 0)[0].shape == (1,)
    assert decompose(scores[0].to("tt"), labels[0].to("tt"), 0)[0].shape == ()
    torch.testing.assert_close(decompose(scores.to("tt"), labels.to("tt"), 1)[0].cpu(), expected)


def test_programs_of_tt_leave_other_backends_their_own_limit():
    def function(x):
        return x.sum(0) + 1

    graphs = []

    def eager(graph, inputs):
        graphs.append(graph)
        return graph

    ours = torch.compile(function, backend="tt", dynamic=False)
    theirs = torch.compile(function, backend=eager, dynamic=False)
    for size in range(2, 14):
        ours(torch.ones(size, 2))
    for size in range(20, 32):
        theirs(torch.ones(size, 2))
    assert len(graphs) == config.recompile_limit


@pytest.mark.parametrize("kind", ["function", "lambda", "module"])
def test_the_report_of_the_last_compilation_names_the_function(kind, project_log):
    def function(x):
        return torch.relu(x) + 1

    class Model(torch.nn.Module):
        def forward(self, x):
            return torch.relu(x) + 1

    subjects = {"function": function, "lambda": lambda x: torch.relu(x) + 1, "module": Model()}
    names = {"function": "function", "lambda": "<lambda>", "module": "Model.forward"}
    with config.patch(recompile_limit=2):
        compiled = torch.compile(subjects[kind], backend="tt", dynamic=False)
        for size in (2, 3):
            compiled(torch.ones(size))
    (warning,) = [record.message for record in project_log.records if "has been compiled 2 times" in record.message]
    name, _, rest = warning.partition(" (")
    assert name.endswith(f"<locals>.{names[kind]}")
    assert rest.startswith(f"{__file__}:")


def test_the_collector_is_paused_while_dynamo_traces():
    enabled = []
    hook = torch._dynamo.convert_frame.register_bytecode_hook(lambda old, new: enabled.append(gc.isenabled()))
    try:
        torch.compile(lambda x: x.sin() + 1, backend="tt")(X)
    finally:
        hook.remove()
    assert enabled == [False]
    assert gc.isenabled()


def test_the_log_says_which_guard_made_it_compile_again(caplog):
    class Scaled(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.factor = 2.0

        def forward(self, x):
            return x * self.factor

    model = Scaled()
    compiled = torch.compile(model, backend="tt")
    with caplog.at_level(logging.INFO, "tt_xla"):
        compiled(torch.ones(2, 3))
        model.factor = 3.0
        compiled(torch.ones(2, 3))
        compiled(torch.ones(4, 3))
    first, second = [record.getMessage() for record in caplog.records if "is compiled again" in record.getMessage()]
    assert "(compilation 2)" in first
    assert "self.factor == 2.0" in first
    assert "return x * self.factor" in first
    assert "size mismatch at index 0. expected 2, actual 4" in second


def _kinds_of_sizes(graph_module) -> list[type]:
    """Returns whether the first size of each tensor among the inputs is a number or a symbol."""
    values = [node.meta["example_value"] for node in graph_module.graph.find_nodes(op="placeholder")]
    return [type(value.shape[0]) for value in values if isinstance(value, torch.Tensor)]


def test_sizes_that_change_become_symbols(monkeypatch):
    monkeypatch.setenv("TTXLA_CACHE", "off")
    kinds, describe = [], backend.describe_inputs

    def seen(graph_module, inputs):
        kinds.extend(_kinds_of_sizes(graph_module))
        return describe(graph_module, inputs)

    monkeypatch.setattr(backend, "describe_inputs", seen)
    function = torch.compile(lambda x: x.sum(0) + x.shape[0], backend="tt")
    for size in (2, 3, 4):
        assert function(torch.ones(size, 2)).tolist() == [2.0 * size] * 2
    assert kinds == [int, torch.SymInt]
