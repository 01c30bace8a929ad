"""``torch_xla.stablehlo``: exported models that are saved, loaded and run, and composites that scripts mark."""

from __future__ import annotations

import json
import re

import pytest
import torch
from torch import nn

torch_xla = pytest.importorskip("torch_xla")

import torch_xla.core.xla_model as xm  # noqa: E402
import torch_xla.debug.metrics as met  # noqa: E402
from torch_xla import stablehlo  # noqa: E402
from torch_xla.experimental import xla_marker  # noqa: E402
from torch_xla.experimental.mark_pattern_utils import StableHLOCompositeBuilder  # noqa: E402
from torch_xla.experimental.stablehlo_custom_call import stablehlo_custom_call  # noqa: E402

from tt_xla.errors import UnsupportedOpError  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:.*LeafSpec:FutureWarning")  # of PyTorch's own run_decompositions


@pytest.fixture(autouse=True)
def _exact_numbers(exact):
    """Computes as the CPU does."""


class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 4)
        self.scale = nn.Parameter(torch.tensor([1.5, 2.0, -1.0, 0.25], dtype=torch.bfloat16))
        self.register_buffer("calls", torch.zeros(1))
        self.table = torch.arange(200.0).reshape(50, 4)

    def forward(self, inputs, times=1):
        self.calls.add_(1)
        x = self.linear(inputs["x"]).relu() * times
        return {"out": x + self.table[7], "same": inputs["x"], "none": None, "wide": x * self.scale}, x.t()


INPUTS = ({"x": torch.randn(5, 3, generator=torch.Generator().manual_seed(0))},)


def exported(model, *inputs, options=None, **kwargs):
    return stablehlo.exported_program_to_stablehlo(torch.export.export(model, inputs, kwargs), options)


def test_a_saved_model_returns_what_the_model_returns(tmp_path):
    model = Layers()
    program = torch.export.export(model, INPUTS, {"times": 3})
    torch_xla.save_as_stablehlo(program, tmp_path)
    expected = model(*INPUTS, times=3)
    loaded = stablehlo.StableHLOGraphModule.load(tmp_path)
    for inputs in (INPUTS, ({"x": INPUTS[0]["x"].to("xla")},)):
        got = loaded(*inputs, times=3)
        assert got[0]["none"] is None
        assert got[1].device == torch_xla.device()
        for name in ("out", "same", "wide"):
            torch.testing.assert_close(got[0][name].cpu(), expected[0][name])
        torch.testing.assert_close(got[1].cpu(), expected[1])
    assert sorted(path.name for path in (tmp_path / "data").iterdir())[:2] == ["calls", "linear.bias"]
    assert loaded.get_stablehlo_text() == (tmp_path / "functions/forward.mlir").read_text()
    assert loaded.get_stablehlo_bytecode() == (tmp_path / "functions/forward.bytecode").read_bytes()


def test_a_model_without_its_weights_says_so(tmp_path):
    options = stablehlo.StableHLOExportOptions(save_weights=False, include_human_readable_text=False)
    torch_xla.save_torch_model_as_stablehlo(nn.Linear(3, 2), (torch.ones(1, 3),), tmp_path, options)
    assert not (tmp_path / "data").exists()
    loaded = stablehlo.StableHLOGraphModule.load(tmp_path)
    assert loaded.get_stablehlo_text() is None
    with pytest.raises(KeyError, match=r"no parameter 'weight'.*save_weights"):
        loaded(torch.ones(1, 3))


def test_numbers_are_arguments_on_request(tmp_path):
    class Shifted(nn.Module):
        def forward(self, x):
            return (x - 5) * 1 + 2.5

    x = torch.arange(3.0)
    options = stablehlo.StableHLOExportOptions(inline_all_constant=False)
    model = exported(Shifted(), x, options=options)
    model.save(tmp_path)
    meta = json.loads((tmp_path / "functions/forward.meta").read_text())
    assert [location["type_"] for location in meta["input_locations"]] == ["input_arg", "constant", "constant"]
    torch.testing.assert_close(model(x).cpu(), x - 2.5)
    assert "5.0" not in model.get_stablehlo_text()
    assert "5.000000e+00" in exported(Shifted(), x).get_stablehlo_text()


def test_inputs_in_another_memory_order():
    class Pooled(nn.Module):
        def forward(self, x):
            return nn.functional.avg_pool2d(x, 2)

    x = torch.randn(1, 2, 4, 4).to(memory_format=torch.channels_last)
    model = exported(Pooled(), x)
    assert "tensor<1x2x4x4xf32>" in model.get_stablehlo_text().splitlines()[1]
    torch.testing.assert_close(model(x.contiguous()).cpu(), Pooled()(x).contiguous())


def test_conversions_and_modes_within_a_model():
    class Converting(nn.Module):
        def forward(self, x):
            with torch.no_grad():
                y = x.to(torch.float64).sum(0)
            with torch.autocast("cpu", dtype=torch.bfloat16):
                z = x @ x.t()
            return y.to(x.dtype) + z.float()

    x = torch.arange(9.0).reshape(3, 3)
    torch.testing.assert_close(exported(Converting(), x)(x).cpu(), Converting()(x))


def test_random_numbers_are_drawn_at_export():
    model = exported(nn.Dropout(), torch.ones(100))
    first, second = model(torch.ones(100)), model(torch.ones(100))
    assert torch.equal(first, second)
    assert first.cpu().unique().tolist() == [0, 2]


@pytest.mark.parametrize(
    ("inputs", "error", "message"),
    [
        ((torch.ones(2, 3),), ValueError, r"Input 0 is torch.float32 of shape \[2, 3\].*exported with .*\[1, 3\]"),
        ((torch.ones(1, 3, dtype=torch.float64),), ValueError, "torch.float64"),
        ((torch.ones(1, 3), 1), TypeError, "structure"),
    ],
)
def test_other_inputs_are_refused(inputs, error, message):
    model = exported(nn.Linear(3, 2), torch.ones(1, 3))
    with pytest.raises(error, match=message):
        model(*inputs)


def test_keyword_arguments_come_in_any_order():
    class Named(nn.Module):
        def forward(self, *, x, y):
            return x - y

    model = exported(Named(), x=torch.ones(2), y=torch.zeros(2))
    assert model(y=torch.ones(2) * 3, x=torch.ones(2)).tolist() == [-2, -2]


class Sized(nn.Module):
    """A model whose results have sizes that are sums, products and quotients of those of its inputs."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 4)

    def forward(self, x, y):
        x = torch.softmax(self.linear(x), 0)
        joined = torch.cat([x.view(-1, 2), y]).sum(1)
        return joined, x[1:], x[:-2], x.mean(0), torch.ones(x.shape[0] // 2)


def test_symbolic_sizes_stay_symbolic_and_a_call_fixes_them(tmp_path):
    model, rows = Sized(), torch.export.Dim("rows", min=4, max=64)
    sizes = ({0: rows}, {0: torch.export.Dim("more")})
    program = torch.export.export(model, (torch.rand(10, 8), torch.rand(5, 2)), dynamic_shapes=sizes)
    export = stablehlo.exported_program_to_stablehlo(program)
    text = export.get_stablehlo_text()
    assert re.search(r"tensor<\?x8xf32>.*tensor<\?x2xf32>.*->.*tensor<\?xf32>.*tensor<\?x4xf32>", text)
    assert "shape_assertion" not in text
    export.save(tmp_path)
    for saved in (export, stablehlo.StableHLOGraphModule.load(tmp_path)):
        for number, more in ((10, 5), (4, 2), (10, 5)):
            x, y = torch.rand(number, 8), torch.rand(more, 2)
            for result, expected in zip(saved(x, y), model(x, y), strict=True):
                torch.testing.assert_close(result.cpu(), expected)
    with pytest.raises(ValueError, match=r"exported with torch.float32 of shape \[-1, 8\]"):
        export(torch.rand(10, 7), torch.rand(5, 2))


def test_symbolic_sizes_leave_other_programs_alone():
    program = torch.export.export(nn.ReLU(), (torch.ones(4),), dynamic_shapes=({0: torch.export.Dim("n")},))
    assert "tensor<?xf32>" in stablehlo.exported_program_to_stablehlo(program).get_stablehlo_text()
    assert "tensor<4xf32>" in exported(nn.ReLU(), torch.ones(4)).get_stablehlo_text()


def test_what_has_no_program_is_refused(tmp_path):
    class Shifted(nn.Module):
        def forward(self, x, n):
            return x + n

    sizes = (None, torch.export.Dim.DYNAMIC)
    program = torch.export.export(Shifted(), (torch.ones(4), 3), dynamic_shapes=sizes)
    with pytest.raises(UnsupportedOpError, match="is the symbolic number"):
        stablehlo.exported_program_to_stablehlo(program)

    class Counted(nn.Module):
        def forward(self, x):
            return x + 1, 3

    with pytest.raises(UnsupportedOpError, match=r"Output 1 .* is 3; expected a tensor"):
        exported(Counted(), torch.ones(1))
    with pytest.raises(FileNotFoundError, match="save_as_stablehlo"):
        stablehlo.StableHLOGraphModule.load(tmp_path)


def test_ops_of_an_export_have_names():
    import torch_xla.experimental.xla_mlir_debuginfo  # noqa: F401

    class Named(nn.Module):
        def forward(self, x, y):
            return torch.ops.xla.write_mlir_debuginfo(x + y, "MY_SUM") * y

    export = exported(Named(), torch.ones(2), torch.ones(2))
    assert re.search(r'stablehlo.add .*loc\("MY_SUM"', export.get_stablehlo_text())
    assert export(torch.ones(2), torch.ones(2)).tolist() == [2, 2]
    options = stablehlo.StableHLOExportOptions(export_node_metadata=True)
    text = exported(nn.ReLU(), torch.ones(2), options=options).get_stablehlo_text()
    (operation,) = (line for line in text.splitlines() if "stablehlo.maximum" in line)
    assert "stack_trace" in operation
    assert "nn_module_stack" in operation
    assert torch.compile(Named(), backend="openxla")(*torch.ones(2, 2, device="xla")).tolist() == [2, 2]


def test_constants_have_the_whole_shape():
    text = exported(Calls(lambda x: (1 - x) * 3), torch.ones(2, 3)).get_stablehlo_text()
    assert text.count("stablehlo.constant") == 2
    assert "broadcast" not in text


LIBRARY = torch.library.Library("tests_of_calls", "DEF")
"""An op with shapes alone, one that takes a number, and one with a kernel for torch_xla."""
LIBRARY.define("swap(Tensor x, Tensor y) -> (Tensor, Tensor)")
LIBRARY.define("power(Tensor x, float exponent) -> Tensor")
LIBRARY.define("rows(Tensor x) -> Tensor")
LIBRARY.impl("swap", lambda x, y: (torch.empty_like(y), torch.empty_like(x)), "Meta")
LIBRARY.impl("power", lambda x, exponent: torch.empty_like(x), "Meta")
LIBRARY.impl("rows", lambda x: x.new_empty(x.shape[:1]), "Meta")
LIBRARY.impl("rows", lambda x: stablehlo_custom_call((x * 2,), "rows", [x.shape[:1]], [x.dtype], True, "two"), "XLA")
mine = torch.ops.tests_of_calls


class Calls(nn.Module):
    def __init__(self, call):
        super().__init__()
        self.call = call

    def forward(self, *inputs):
        return self.call(*inputs)


def test_ops_of_a_library_become_custom_calls():
    options = stablehlo.StableHLOExportOptions(custom_ops_allowed_in_graph={"tests_of_calls"})
    model = Calls(lambda x, y: mine.swap(x.sin(), y)[0].cos())
    export = exported(model, torch.ones(2), torch.ones(3), options=options)
    (call,) = (line for line in export.get_stablehlo_text().splitlines() if "custom_call" in line)
    assert "@tests_of_calls.swap.default" in call
    assert "(tensor<2xf32>, tensor<3xf32>) -> tuple<tensor<3xf32>, tensor<2xf32>>" in call
    with pytest.raises(UnsupportedOpError, match=r"tests_of_calls\.swap"):
        export(torch.ones(2), torch.ones(3))
    with pytest.raises(UnsupportedOpError, match="other than tensors"):
        exported(Calls(lambda x: mine.power(x, 2.0)), torch.ones(2), options=options)


def test_a_kernel_for_torch_xla_runs_in_exports_and_on_the_device():
    export = exported(Calls(mine.rows), torch.ones(2, 3))
    x = torch.ones(2, 3).to("xla")
    for text in (export.get_stablehlo_text(), xm.get_stablehlo([mine.rows(x)])):
        assert "stablehlo.multiply" in text
        (call,) = (line for line in text.splitlines() if "custom_call" in line)
        assert "@rows" in call
        assert 'backend_config = "two", has_side_effect = true} : (tensor<2x3xf32>) -> tensor<2xf32>' in call
    with pytest.raises(UnsupportedOpError, match="rows"):
        mine.rows(x).cpu()


def scaled(x, y, attributes):
    builder = StableHLOCompositeBuilder("mine.scaled", attributes)
    x, y = builder.mark_inputs(x, y)
    return builder.mark_outputs(x * y + y)


def test_recorded_ops_form_composites():
    x, y = torch.ones(4, device="xla"), torch.full((4,), 2.0, device="xla")
    torch_xla.sync()
    met.clear_all()
    for step in range(3):
        out = scaled(scaled(x + step, y, {"sizes": [0.5, 2.0]}), y, {"flags": [True, False]})
        text = xm.get_stablehlo([out])
        assert text.count('stablehlo.composite "mine.scaled"') == 2
        assert "sizes = dense<[5.000000e-01, 2.000000e+00]> : tensor<2xf32>" in text
        assert "flags = dense<[true, false]> : tensor<2xi1>" in text
        assert "decomposition = @mine.scaled.impl_0" in text
        torch_xla.sync()
        assert out.tolist() == [4.0 * (1 + step) + 6.0] * 4
    assert met.counter_value("CachedCompile") == 1  # the first step, the one whose number changed, and one as before


def test_the_text_of_recorded_ops_has_source_lines_on_request(monkeypatch):
    x = torch.ones(4, device="xla") * 2
    assert "#loc" not in xm.get_stablehlo([x])
    monkeypatch.setenv("XLA_HLO_DEBUG", "1")
    assert "test_xla_stablehlo.py" in xm.get_stablehlo([x])


def test_marks_of_torch_xlas_own_op_in_an_export():
    class Marked(nn.Module):
        def forward(self, x):
            x = torch.ops.xla.mark_tensor(x, "mine.p", 0, "g", True)
            attributes = xla_marker.serialize_composite_attr({"kind": "a", "n": 2})
            return torch.ops.xla.mark_tensor(x.sin() + 1, "mine.p", 0, "g", False, attributes)

    x = torch.arange(3.0)
    model = exported(Marked(), x)
    attributes = 'composite_attributes = {kind = "a", n = 2 : i64}, decomposition = @mine.p.impl'
    assert attributes in model.get_stablehlo_text()
    torch.testing.assert_close(model(x).cpu(), x.sin() + 1)
    with pytest.raises(TypeError, match="attribute 'bad'"):
        xla_marker.serialize_composite_attr({"bad": object()})
