"""``ttnn.tracer``: what a traced model's graph, picture and source have."""

import pytest
import torch
import ttnn

pytestmark = pytest.mark.quick


@pytest.fixture(autouse=True)
def slow_runtime_mode():
    """Traces as a card does."""
    with ttnn.manage_config("enable_fast_runtime_mode", False):
        yield
    ttnn.tracer.disable_tracing()


class Block(torch.nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(width, width) for _ in range(2))
        self.register_buffer("shift", torch.arange(width, dtype=torch.float32))

    def forward(self, x, *, scale=None):
        kept = {}
        for layer in self.layers:
            x = torch.nn.functional.gelu(layer(x), approximate="tanh") + self.shift
            kept["last"] = x
        x[0, 1:] = scale[1:]
        return {"out": x * scale, "rows": torch.split(x, 1)}, kept


def argument(value, inputs):
    if isinstance(value, ttnn.tracer.InputTensorIndex):
        return inputs[value.index]
    return type(value)(argument(each, inputs) for each in value) if isinstance(value, (list, tuple)) else value


def evaluated(graph, known):
    """Returns the tensors that the nodes of a flat graph compute, by node."""
    import networkx

    values = dict(known)
    for node in networkx.topological_sort(graph):
        operation = graph.nodes[node]["operation"]
        edges = sorted(graph.in_edges(node, data=True), key=lambda edge: edge[2]["sink_input_index"])
        inputs = [(values[source], data["source_output_index"]) for source, _, data in edges]
        inputs = [value[index] if isinstance(value, (tuple, list)) else value for value, index in inputs]
        if node in values:
            continue
        if isinstance(operation, ttnn.tracer.TorchParameter):
            values[node] = operation.parameter
        elif isinstance(operation, ttnn.tracer.TorchTensor):
            values[node] = operation.tensor
        else:
            pairs = [(name, argument(each, inputs)) for name, each in operation.arg_name_value_pairs]
            by_position = [each for name, each in pairs if not isinstance(name, str)]
            by_name = {name: each for name, each in pairs if isinstance(name, str)}
            values[node] = operation.function(*by_position, **by_name)
    return values


def test_a_flat_graph_and_the_source_compute_what_the_model_does():
    model = Block(8).eval()
    x, scale = torch.rand(2, 8), torch.rand(8)
    with torch.no_grad(), ttnn.tracer.trace():
        result, _ = model(x, scale=scale)
    graph = ttnn.tracer.get_graph(result)
    assert [type(graph.nodes[node]["operation"]).__name__ for node in graph] == [
        *("TorchTensor", "TorchTensor", "TorchModule")
    ]
    with torch.no_grad():
        values = evaluated(ttnn.tracer.get_graph(result, flatten=True), {x.node: x, scale.node: scale})
        namespace = {}
        exec(source := ttnn.tracer.codegen(result), namespace)
        out, first, second, *_ = namespace["top_level_module"](x, scale, parameters=model)
    assert source.count("def Linear") == 1
    assert any(torch.equal(result["out"], each) for each in values.values() if isinstance(each, torch.Tensor))
    assert torch.equal(out, result["out"])
    assert torch.equal(torch.cat([first, second]), torch.cat(result["rows"]))


def test_tensors_that_modules_keep_come_out_of_them_and_those_of_outside_go_in():
    class Writes(torch.nn.Module):
        def forward(self, x, kept):
            kept.append(x + 1)
            return x

    class Reads(torch.nn.Module):
        def forward(self, x, kept):
            return x * kept[0]

    kept, x = [], torch.rand(3)
    with ttnn.tracer.trace():
        made = x * 2
        Writes()(made, kept)
        read = Reads()
        read.forward = lambda x, kept: x * kept[0] + made
        result = read(x, kept)
    namespace = {}
    exec(source := ttnn.tracer.codegen(result), namespace)
    assert torch.equal(namespace["top_level_module"](x), x * (x * 2 + 1) + x * 2), source


def test_operations_of_ttnn_are_nodes_and_run_again_from_the_source():
    with ttnn.manage_device(0) as device:
        with ttnn.tracer.trace():
            tensor = torch.arange(64 * 32).reshape(64, 32).float()
            there = ttnn.from_torch(tensor, dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device)
            summed = ttnn.add(there, there, memory_config=ttnn.L1_MEMORY_CONFIG)
            back = ttnn.to_torch(-summed)
        graph = ttnn.tracer.get_graph(back)
        names = [graph.nodes[node]["operation"].to_string() for node in sorted(graph)]
        assert names == [
            *("torch.arange", "torch.Tensor.reshape", "torch.Tensor.float"),
            *("ttnn.from_torch", "ttnn.add", "ttnn.neg", "ttnn.to_torch"),
        ]
        assert summed.graph is graph
        assert graph.nodes[summed.node]["memory_configs"] == (ttnn.L1_MEMORY_CONFIG,)
        namespace = {}
        exec(ttnn.tracer.codegen(back), namespace)
        assert torch.equal(namespace["top_level_module"](device=device), back)


def test_a_picture_has_the_calls_of_modules_as_deep_as_asked(tmp_path, project_log, monkeypatch):
    monkeypatch.setenv("PATH", "")
    with ttnn.tracer.trace():
        result, _ = Block(8)(torch.rand(2, 8), scale=torch.rand(8))
    deep, shallow = ttnn.tracer.visualize(result).source, ttnn.tracer.visualize(result, max_depth=1).source
    assert deep.count("subgraph") == 3
    assert shallow.count("subgraph") == 0
    flat = ttnn.tracer.visualize(result, show_modules=False, verbose=True).source
    assert "approximate=&#x27;tanh&#x27;" in flat
    ttnn.tracer.visualize(result, file_name=tmp_path / "model.svg")
    assert "Graphviz is not installed" in project_log.text
    assert (tmp_path / "model.gv").read_text().startswith("digraph")


def test_a_trace_that_failed_leaves_pytorch_as_it_was():
    call = torch.nn.Module.__call__
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"), ttnn.tracer.trace():
        torch.nn.Linear(3, 3)(torch.rand(2, 4))
    assert torch.nn.Module.__call__ is call
    assert not ttnn.tracer.is_tracing_enabled()
    assert not hasattr(torch.rand(3) + 1, "node")


def test_refusals():
    with ttnn.tracer.trace(), pytest.raises(ValueError, match=r"Tracing is already enabled. Traces do not nest"):
        ttnn.tracer.enable_tracing()
    with pytest.raises(ValueError, match="No traced tensor in a Tensor"):
        ttnn.tracer.get_graph(torch.ones(3))
    with ttnn.tracer.trace():
        tensor = torch.ones(3)
    with pytest.raises(ValueError, match=r"file_name ends in .svg, .png, .pdf, got 'a.txt'"):
        ttnn.tracer.visualize(tensor, file_name="a.txt")
    with pytest.raises(ValueError, match="max_depth counts levels of modules that are drawn"):
        ttnn.tracer.visualize(tensor, max_depth=0)
    with (
        ttnn.manage_config("enable_fast_runtime_mode", True),
        pytest.warns(UserWarning, match="TT-NN on a card traces only with") as warned,
        ttnn.tracer.trace(),
    ):
        pass
    assert warned[0].filename == __file__
