"""Exported programs in another process: ``.pt2`` files of PyTorch, and packages of this package."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import zipfile
from typing import NamedTuple

import pytest
import torch
from torch import nn

from tt_xla import aot
from tt_xla.aot.format import MANIFEST, MODULE, WEIGHTS
from tt_xla.errors import ProgramFormatError, TTXLAError, UnsupportedOpError

pytestmark = pytest.mark.filterwarnings("ignore:.*LeafSpec:FutureWarning")  # of PyTorch's own run_decompositions


@pytest.fixture(autouse=True)
def _exact_numbers(exact):
    """Computes as the CPU does."""


class Net(nn.Module):
    """A network that computes with its batch size."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layers = nn.Sequential(nn.Linear(6, 8), nn.GELU(), nn.Linear(8, 4))

    def forward(self, x):
        return self.layers(x).softmax(-1) / x.shape[0]


def exported(model, *args, batch=None, **kwargs):
    """Exports a model, of whose positional tensors the first dimensions are ``batch``."""
    shapes = None if batch is None else ({0: batch},) * len(args)
    return torch.export.export(model.eval(), args, kwargs, dynamic_shapes=shapes)


def loaded(tmp_path, program, **options):
    return aot.load(aot.package(program, tmp_path / "model.ttpkg", **options))


def run(script, *arguments):
    """Runs a script in a process of its own, and returns what it prints last, as JSON."""
    command = [sys.executable, "-c", script, *map(str, arguments)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=os.environ | {"TTXLA_NUMERICS": "exact"}
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


PT2 = """
import json, sys, torch
inputs, expected = torch.load(sys.argv[2])
model = torch.export.load(sys.argv[1]).module().to("tt")
with torch.no_grad():
    results = [model(x.to("tt")).cpu() for x in inputs]
for result, wanted in zip(results, expected, strict=True):
    torch.testing.assert_close(result, wanted)
from torch._dynamo.utils import counters
from tt_xla import stage_times
print(json.dumps({"counters": counters, "stages": [*stage_times.spent()]}))
"""

PACKAGE = """
import json, sys, torch
from tt_xla import aot
inputs, expected = torch.load(sys.argv[2])
model = aot.load(sys.argv[1])
packaged = len(model.programs)
for x, wanted in zip(inputs, expected, strict=True):
    torch.testing.assert_close(model(x), wanted)
tracers = ("torch._dynamo", "torch._functorch.aot_autograd")
modules = [name for name in (*tracers, "jax", "xdsl") if name in sys.modules]
from tt_xla import stage_times
print(json.dumps([packaged, len(model.programs), modules, [*stage_times.spent()]]))
"""


@pytest.fixture(scope="module")
def calls(tmp_path_factory):
    """An exported network with a dynamic batch, and a file of inputs and of what the network returns for them."""
    model = Net()
    program = exported(model, torch.ones(3, 6), batch=torch.export.Dim("batch", max=16))
    inputs = [torch.randn(batch, 6) for batch in (3, 5, 1)]
    file = tmp_path_factory.mktemp("calls") / "calls.pt"
    torch.save((inputs, [model(x).detach() for x in inputs]), file)
    return program, file


def test_a_pt2_file_runs_on_the_device_in_a_process_that_traces_nothing(tmp_path, calls):
    program, file = calls
    torch.export.save(program, tmp_path / "net.pt2")
    seen = run(PT2, tmp_path / "net.pt2", file)
    assert seen["counters"] == {}  # of dynamo and AOTAutograd
    assert set(seen["stages"]).isdisjoint({"dynamo", "AOTAutograd"})
    assert "compiling" in seen["stages"]


def test_a_package_runs_in_a_process_that_neither_traces_nor_compiles(tmp_path, calls):
    program, file = calls
    aot.package(program, tmp_path / "net.ttpkg", sizes=[(torch.ones(size, 6),) for size in (1, 5)])
    assert run(PACKAGE, tmp_path / "net.ttpkg", file) == [3, 3, [], ["first run"]]


def test_a_size_without_a_program_is_compiled_and_not_traced(tmp_path, calls, monkeypatch):
    program, file = calls
    monkeypatch.setenv("TTXLA_CACHE", str(tmp_path / "cache"))
    aot.package(program, tmp_path / "net.ttpkg")
    packaged, used, modules, stages = run(PACKAGE, tmp_path / "net.ttpkg", file)
    assert (packaged, used) == (1, 3)
    assert modules == ["jax", "xdsl"]
    assert stages == ["compiling", "first run"]
    assert run(PACKAGE, tmp_path / "net.ttpkg", file) == [1, 3, [], ["first run"]]  # from the cache on disk


def test_a_pt2_file_becomes_a_package(tmp_path, calls):
    program, file = calls
    torch.export.save(program, tmp_path / "net.pt2")
    model = loaded(tmp_path, torch.export.load(tmp_path / "net.pt2"))
    for x, expected in zip(*torch.load(file), strict=True):
        torch.testing.assert_close(model(x), expected)
        on_device = model(x.to("tt"))
        assert on_device.device.type == "tt"
        torch.testing.assert_close(on_device.cpu(), expected)


class Pair(NamedTuple):
    first: torch.Tensor
    second: torch.Tensor


class Nested(nn.Module):
    def forward(self, inputs, scale, *, shift=None, label="x"):
        x, (y,) = inputs["x"], inputs["rest"]
        return {"sum": [x * scale + y], "none": shift, "pair": Pair(x - y, y), "length": x.new_ones(len(label))}


def test_arguments_and_results_are_nested(tmp_path):
    model = Nested()
    inputs = {"x": torch.arange(4.0), "rest": [torch.ones(4)]}
    packaged = loaded(tmp_path, exported(model, inputs, 3, label="ab"))
    result, expected = packaged(inputs, 3, label="ab"), model(inputs, 3, label="ab")
    assert result["none"] is None
    assert list(result) == list(expected)
    assert type(result["pair"]) is tuple  # without the class
    for got, wanted in zip((*result["sum"], *result["pair"]), (*expected["sum"], *expected["pair"]), strict=True):
        assert torch.equal(got, wanted)
    with pytest.raises(ValueError, match="Argument 2 of 'model' is 4; the model was exported for 3"):
        packaged(inputs, 4, label="ab")
    with pytest.raises(ValueError, match="Argument 3 of 'model' is 'abc'"):
        packaged(inputs, 3, label="abc")
    with pytest.raises(TypeError, match=r"got 2 positional ones and \[\] by name, expected .*'label'"):
        packaged(inputs, 3)
    with pytest.raises(TypeError, match="Input 'inputs_x' is 1; expected a tensor, float32 of shape"):
        packaged({"x": 1, "rest": [torch.ones(4)]}, 3, label="ab")


class Writing(nn.Module):
    """Counts calls in a buffer, and adds to its input."""

    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros(2))
        self.weight = nn.Parameter(torch.tensor([2.0, 3.0]))

    def forward(self, x):
        self.calls.add_(1)
        x.add_(self.weight)
        return x * self.calls


@pytest.mark.parametrize("device", ["cpu", "tt"])
def test_buffers_and_inputs_that_the_model_writes_to_have_new_contents(tmp_path, device):
    model = Writing()
    packaged = loaded(tmp_path, exported(model, torch.ones(2)))
    with torch.no_grad():
        for _ in range(3):
            x, expected = torch.ones(2, device=device), torch.ones(2)
            torch.testing.assert_close(packaged(x).cpu(), model(expected))
            torch.testing.assert_close(x.cpu(), expected)
    torch.testing.assert_close(packaged.state["calls"], model.calls)
    assert packaged.state["calls"].tolist() == [3, 3]


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(64, 8, dtype=torch.bfloat16)
        self.head = nn.Linear(8, 64, bias=False, dtype=torch.bfloat16)
        self.head.weight = self.embedding.weight
        self.table = torch.arange(512.0).reshape(64, 8)  # large enough for an argument of the program

    def forward(self, ids):
        return self.head(self.embedding(ids) + self.table[ids].to(torch.bfloat16))


def test_weights_that_share_memory_are_there_once(tmp_path):
    model, ids = Tied(), torch.tensor([1, 5, 63])
    packaged = loaded(tmp_path, exported(model, ids), options={"optimization_level": 2})
    torch.testing.assert_close(packaged(ids), model(ids), rtol=0.02, atol=0.02)
    assert sum(weight.nbytes for weight in packaged.package.weights.values()) == 64 * 8 * (2 + 4)
    assert {"embedding.weight", "head.weight"} <= set(packaged.state)
    (program,) = packaged.programs.values()
    assert program.options["optimization_level"] == 2


class Indexed(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Parameter(torch.arange(24.0).reshape(4, 6))

    def forward(self, x, ids):
        rows = torch.arange(x.shape[0])[:, None]
        return self.table[ids] @ x[rows, ids][:, :, None].expand(-1, -1, 6).transpose(1, 2)


def test_symbolic_sizes_index_and_broadcast(tmp_path):
    model, batch = Indexed(), torch.export.Dim("batch", max=8)
    x, ids = torch.randn(3, 4), torch.tensor([[0, 3], [1, 1], [2, 0]])
    packaged = loaded(tmp_path, exported(model, x, ids, batch=batch))
    for size in (3, 5):
        x, ids = torch.randn(size, 4), torch.randint(0, 4, (size, 2))
        torch.testing.assert_close(packaged(x, ids), model(x, ids))


class Joined(nn.Module):
    def forward(self, x, y):
        return torch.cat([x, y[1:]])


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        (
            ((17, 6), (18, 6)),
            r"Input 'x' .*\[17, 6\].* of shape \[s\d+, 6\], where s\d+ is 3 to 16. Dimension 0 is out",
        ),
        (((2, 6), (3, 6)), r"\[2, 6\].* is 3 to 16"),
        (((4, 6), (6, 6)), r"'y' is .*\[6, 6\].* \[s\d+\+1, 6\], where s\d+ is 4 by dimension 0 of 'x'"),
        (((4, 7), (5, 7)), r"'x' is .*\[4, 7\].* Export the model with dynamic_shapes for dimension 1"),
        (((4,), (5, 6)), r"'x' is float32 of shape \[4\]"),
    ],
)
def test_sizes_out_of_bounds_are_refused(tmp_path, shapes, message):
    batch = torch.export.Dim("batch", min=3, max=16)
    program = torch.export.export(
        Joined(), (torch.ones(4, 6), torch.ones(5, 6)), dynamic_shapes=({0: batch}, {0: batch + 1})
    )
    model = loaded(tmp_path, program)
    for size in (3, 16):
        x, y = torch.randn(size, 6), torch.randn(size + 1, 6)
        assert torch.equal(model(x, y), Joined()(x, y))
    with pytest.raises(ValueError, match=message):
        model(*map(torch.ones, shapes))


def test_another_dtype_is_refused(tmp_path):
    model = loaded(tmp_path, exported(nn.ReLU(), torch.ones(2)))
    with pytest.raises(
        ValueError, match=r"Input 'input' is float64 of shape \[2\]; .* float32 of shape \[2\]. Convert"
    ):
        model(torch.ones(2, dtype=torch.float64))


class Odd(nn.Module):
    def forward(self, x):
        return torch.Size(x.shape), x


@pytest.mark.parametrize(
    ("program", "options", "message"),
    [
        (lambda: torch.export.export(nn.Dropout(), (torch.ones(2),)), {}, "draws random numbers"),
        (lambda: exported(nn.ReLU(), torch.ones(2)), {"auto_sharding": True}, "a package is for one chip"),
        (lambda: exported(Odd(), torch.ones(2)), {}, "Output 0 of the exported program is 2; expected a tensor"),
    ],
)
def test_what_a_package_cannot_hold_is_said(tmp_path, program, options, message):
    with pytest.raises(TTXLAError, match=message):
        aot.package(program(), tmp_path / "model.ttpkg", options=options)
    assert list(tmp_path.iterdir()) == []


def test_a_class_of_results_is_refused(tmp_path):
    class Box:
        def __init__(self, x):
            self.x = x

    class Boxing(nn.Module):
        def forward(self, x):
            return Box(x)

    torch.utils._pytree.register_pytree_node(Box, lambda box: ([box.x], None), lambda leaves, _: Box(*leaves))
    with pytest.raises(UnsupportedOpError, match="results of the exported program have an object of class Box"):
        aot.package(exported(Boxing(), torch.ones(2)), tmp_path / "model.ttpkg")


def test_a_package_of_another_system_is_compiled_again(tmp_path, monkeypatch, caplog):
    path = aot.package(exported(nn.ReLU(), torch.ones(2)), tmp_path / "relu.ttpkg")
    monkeypatch.setenv("TTXLA_SYSTEM", "p150")
    with caplog.at_level(logging.WARNING, "tt_xla"):
        model = aot.load(path)
    assert "package of 'relu' was compiled for n150, and this process has p150" in caplog.text
    assert model(torch.tensor([-1.0, 2.0])).tolist() == [0, 2]
    (program,) = model.programs.values()
    assert program.target == "p150"


def rewritten(path, compression=zipfile.ZIP_STORED, **contents):
    """Writes a package anew, with other contents of some entries, or without those that are None."""
    with zipfile.ZipFile(path) as file:
        entries = {name: file.read(name) for name in file.namelist()}
    entries |= {{"manifest": MANIFEST, "module": MODULE, "weights": WEIGHTS}.get(k, k): v for k, v in contents.items()}
    with zipfile.ZipFile(path, "w", compression) as file:
        for name, data in entries.items():
            if data is not None:
                file.writestr(name, data)


@pytest.fixture
def linear(tmp_path):
    """The path of a package, and its manifest."""
    path = aot.package(exported(nn.Linear(3, 2), torch.ones(1, 3)), tmp_path / "linear.ttpkg")
    with zipfile.ZipFile(path) as file:
        return path, json.loads(file.read(MANIFEST))


def test_damaged_files_are_refused(linear):
    path, _ = linear
    data = path.read_bytes()
    for damaged in (b"", b"PK", data[: len(data) // 2], data[:-1], data[:100] + b"?" + data[101:], b"x" * 1000):
        path.write_bytes(damaged)
        with pytest.raises(ProgramFormatError, match=r"linear\.ttpkg'.* is no package, or its .* bytes are damaged"):
            aot.load(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 99}, "format version 99; this version of tt-xla reads 1"),
        ({"arguments": []}, "parts of the package's manifest contradict"),
        ({"outputs": {"kind": "leaf", "leaf": 4}}, "parts of the package's manifest contradict"),
        ({"updates": [7]}, "parts of the package's manifest contradict"),
        ({"options": {"speed": 1}}, "compile option that is not known.*'speed'"),
        ({"inputs": "(x)"}, "does not follow the format"),
        ({"results": 2, "outputs": {"kind": "list", "items": []}}, "contradict"),
        ({"programs": [{"shapes": [[1, 3]], "file": "../x"}]}, r"no entry '\.\./x'"),
    ],
)
def test_manifests_that_do_not_fit_are_refused(linear, change, message):
    path, manifest = linear
    rewritten(path, manifest=json.dumps(manifest | change))
    with pytest.raises(ProgramFormatError, match=message):
        aot.load(path)


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        ({"manifest": b"{"}, "manifest of the package does not follow the format"),
        ({"manifest": b"[" * 100_000}, "manifest of the package does not follow the format"),
        ({"manifest": None}, "no entry 'manifest.json'"),
        ({"weights": b"cos\nsystem\n(S'exit 1'\ntR."}, "weights of the package are not in safetensors"),
        ({"weights": None}, "no entry 'weights.safetensors'"),
        ({"programs/0.ttnn": b"?" * 100}, "not a .ttnn program"),
        ({"compression": zipfile.ZIP_DEFLATED}, "entry 'manifest.json' of the package is compressed"),
    ],
)
def test_contents_that_do_not_fit_are_refused(linear, contents, message):
    rewritten(linear[0], **contents)
    with pytest.raises(ProgramFormatError, match=message):
        aot.load(linear[0])


def test_weights_and_programs_of_another_model_are_refused(linear, tmp_path):
    path, _ = linear
    other = aot.package(exported(nn.Linear(3, 4, bias=False), torch.ones(1, 3)), tmp_path / "other.ttpkg")
    with zipfile.ZipFile(other) as file:
        weights, program = file.read(WEIGHTS), file.read("programs/0.ttnn")
    before = path.read_bytes()
    rewritten(path, weights=weights)
    with pytest.raises(
        ProgramFormatError, match=r"weight 'weight' .* is torch.float32 of shape \[4, 3\]; expected .*2, 3"
    ):
        aot.load(path)
    path.write_bytes(before)
    rewritten(path, **{"programs/0.ttnn": program})
    with pytest.raises(ProgramFormatError, match="has 2 arguments and 1 results; its manifest has 3 and 1"):
        aot.load(path)


def test_a_damaged_module_is_an_error_of_the_call_that_needs_it(tmp_path):
    program = exported(nn.ReLU(), torch.ones(3, 2), batch=torch.export.Dim("batch"))
    path = aot.package(program, tmp_path / "relu.ttpkg")
    rewritten(path, module=b"ML\xefRStableHLO" + b"\x07" * 64)
    model = aot.load(path)
    assert model(torch.ones(3, 2)).tolist() == [[1, 1]] * 3
    with pytest.raises(TTXLAError, match="'relu' is not a well-formed StableHLO module"):
        model(torch.ones(4, 2))


def test_a_program_of_another_version_is_compiled_again(linear, caplog):
    path, _ = linear
    with zipfile.ZipFile(path) as file:
        program = bytearray(file.read("programs/0.ttnn"))
    program[8] = 250
    rewritten(path, **{"programs/0.ttnn": bytes(program)})
    with caplog.at_level(logging.WARNING, "tt_xla"):
        model = aot.load(path)
    assert "has format version 250" in caplog.text
    assert model(torch.zeros(1, 3)).shape == (1, 2)


def test_traps_are_those_of_the_process(tmp_path, monkeypatch):
    class Root(nn.Module):
        def forward(self, x):
            return x.sqrt()

    path = aot.package(exported(Root(), torch.ones(2)), tmp_path / "root.ttpkg")
    assert aot.load(path)(-torch.ones(2)).isnan().all()
    monkeypatch.setenv("TTXLA_TRAP", "nan")
    with pytest.raises(FloatingPointError, match="NaN"):
        aot.load(path)(-torch.ones(2))
