"""Traps in PyTorch programs: compiled, on tensors of the device, backward, in traces, in loops and on several chips."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
import torch_xla.distributed.spmd as xs
from torch import nn
from torch.nn import functional as F

from tt_xla.errors import IndexTrapError, NumberTrapError, OptionError, TrapError
from tt_xla.frontends.torch import compilation, settings

LAYERS, FAULTY, WIDTH = 30, 17, 32


def line_of(mark: str) -> str:
    """Returns ``file:line`` of the line of this file that ends with a comment."""
    lines = Path(__file__).read_text().splitlines()
    return f"{__file__}:{next(number for number, line in enumerate(lines, 1) if line.endswith(f'# {mark}'))}"


@pytest.fixture(autouse=True)
def _own_settings():
    torch._dynamo.reset()
    yield
    settings.reset()
    torch._dynamo.reset()


def compiled(function, trap, **options):
    return torch.compile(function, backend="tt", options={"trap": trap, **options})


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm, self.qkv, self.out = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 2 * WIDTH), nn.Linear(2 * WIDTH, WIDTH)
        self.faulty = False

    def forward(self, x, mask, faults):
        q, k, v = self.qkv(self.norm(x)).chunk(3, -1)
        scores = q @ k.transpose(-1, -2) * WIDTH**-0.5 + mask
        x = x + self.out(scores.softmax(-1) @ v)
        if self.faulty:
            x = x + torch.sqrt(x.abs() + 1 - 100 * faults[0])  # fault nan
            x = x - torch.exp(x.tanh() + 120 * faults[1])  # fault inf
            places = torch.arange(x.shape[1]) + (90 * faults[2]).long()
            x = x[:, places]  # fault index
            shifted = x + 512 * faults[3]
            x = shifted - 512 * faults[3]  # fault precision
        return x + self.down(F.gelu(self.up(self.norm(x))))


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(16, WIDTH)
        self.layers = nn.ModuleList(Block() for _ in range(LAYERS))

    def forward(self, ids, faults):
        x, length = self.table(ids), ids.shape[1]
        mask = torch.full((length, length), float("-inf"), dtype=x.dtype).triu(1)
        for layer in self.layers:
            x = layer(x, mask, faults)
        return x


def test_traps_name_op_and_line_in_a_model_of_30_layers() -> None:
    torch.manual_seed(0)
    model = Model().to(torch.bfloat16).eval()
    model.layers[FAULTY].faulty = True
    ids, trapped = torch.arange(16).reshape(2, 8), compiled(model, "all")
    with torch.no_grad():
        assert trapped(ids, torch.zeros(4)).isfinite().all()
        for position, (kind, op) in enumerate(
            [("nan", "ttnn.sqrt"), ("inf", "ttnn.exp"), ("index", "stablehlo.gather"), ("precision", "ttnn.subtract")]
        ):
            with pytest.raises(TrapError) as caught:
                trapped(ids, torch.eye(4)[position])
            error = caught.value
            assert (error.kind, error.op, error.location) == (kind, op, line_of(f"fault {kind}"))


def test_functions_are_not_fused_away() -> None:
    def f(x, y):
        z = torch.log(x * 2)  # log
        return torch.relu(z + y)

    with pytest.raises(NumberTrapError, match=r"ttnn.log made a NaN in element \[2\]") as caught:
        compiled(f, "nan")(torch.tensor([1.0, 2.0, -1.0]), torch.ones(3))
    assert caught.value.location == line_of("log")


def test_an_argument_with_a_nan_is_no_fault() -> None:
    assert compiled(lambda x: x * 2 + 1, "all")(torch.tensor([float("nan"), 1.0])).isnan().tolist() == [True, False]


def test_constants_are_checked_too() -> None:
    with pytest.raises(NumberTrapError, match="divide made a NaN"):
        compiled(lambda x: x + torch.zeros(4) / torch.zeros(4), "nan")(torch.ones(4))


def test_weight_that_a_block_float_cannot_hold_is_named() -> None:
    model = nn.Linear(32, 32).to(torch.bfloat16)
    with torch.no_grad():
        model.weight[3, 5] = 1000
        with pytest.raises(NumberTrapError, match=r"bfp_bf8 in element \[3, .*\(of weight\) in const-eval"):
            compiled(model, "precision", experimental_weight_dtype="bfp_bf8")(torch.ones(4, 32).bfloat16())


def test_backward_names_the_line_of_forward() -> None:
    def loss(w):
        root = torch.sqrt(w)  # root
        return torch.where(w > 0, root, 0).sum()

    w = torch.zeros(4, requires_grad=True)
    result = compiled(loss, "nan")(w)
    with pytest.raises(NumberTrapError, match="operands are lhs 0, rhs 0") as caught:
        result.backward()
    assert caught.value.location == line_of("root")


def test_ops_on_tensors_of_the_device() -> None:
    settings.set_compile_options({"trap": "nan"})
    x = torch.tensor([1.0, -1.0], device="tt")
    y = torch.log(x)  # on the device
    with pytest.raises(NumberTrapError, match="log made a NaN") as caught:
        (y + 1).cpu()
    assert caught.value.location == line_of("on the device")


def test_traces_and_later_runs() -> None:
    model = compiled(lambda x: torch.log(x) + 1, "nan", enable_trace=True)
    for _ in range(4):
        assert model(torch.ones(2, 2)).eq(1).all()
    with pytest.raises(TrapError, match="log made a NaN"):
        model(-torch.ones(2, 2))
    assert model(torch.ones(2, 2)).eq(1).all()


def test_loops() -> None:
    def f(x):
        return torch.while_loop(lambda x: x.sum() < 10, lambda x: (torch.sqrt(x - 1),), (x,))[0]

    with pytest.raises(TrapError, match=r"sqrt made a NaN in element .* in a loop or case"):
        compiled(f, "nan")(torch.full((2,), 3.0))


@pytest.mark.parametrize(
    "look_up",
    [
        lambda x, i: x[i],
        lambda x, i: F.embedding(i, x),
        lambda x, i: torch.gather(x, 0, i[:, None].expand(3, 4)),
        lambda x, i: torch.zeros_like(x).index_put((i,), x[:3]),
        lambda x, i: torch.zeros_like(x).index_put((i,), x[:3], accumulate=True),
        lambda x, i: torch.zeros_like(x).scatter_add(0, i[:, None].expand(3, 4), x[:3]),
        lambda x, i: torch.zeros_like(x).index_add(0, i, x[:3]),
    ],
)
def test_computed_indices(look_up) -> None:
    def f(x, shift):
        return look_up(x, (torch.argsort(x[:3, 0]) + shift.long()).cumsum(0) * 0 + shift.long())

    x = torch.rand(5, 4)
    assert compiled(f, "index")(x, torch.tensor(4.0)).shape[-1] == 4
    with pytest.raises(IndexTrapError, match="Index 5 is outside of 0 to 4"):
        compiled(f, "index")(x, torch.tensor(5.0))
    assert compiled(f, "")(x, torch.tensor(5.0)).shape[-1] == 4


def test_several_chips(monkeypatch) -> None:
    monkeypatch.setenv("TTXLA_SYSTEM", "n300")
    mesh = xs.Mesh(np.arange(2), (2,), ("batch",))

    def f(x):
        return torch.log(x) * 2

    x = torch.ones(4, 8)
    x[3, 1] = -1
    on_device = x.to("tt")
    xs.mark_sharding(on_device, mesh, ("batch", None))
    with pytest.raises(NumberTrapError, match=r"ttnn.log made a NaN in element \[1, 1\] .* on chip 1"):
        compiled(f, "nan")(on_device).cpu()


def test_programs_of_traps_of_one_kind_are_compiled_once() -> None:
    before = len(compilation.compiled_programs())
    for trap in ("nan", "inf", "nan,precision:3"):
        torch._dynamo.reset()
        compiled(lambda x: x * 7 - 3, trap)(torch.ones(3, 5))
    assert len(compilation.compiled_programs()) == before + 1


def test_value_that_names_no_trap() -> None:
    with pytest.raises(OptionError, match="takes a list of nan, inf, index, precision"):
        compiled(lambda x: x + 1, "infinite")(torch.ones(2))


def anomalous(device):
    def loss(w):
        return torch.where(w > 0, torch.sqrt(w), 0).sum()  # anomaly

    return loss, torch.zeros(4, device=device, requires_grad=True)


@pytest.mark.filterwarnings("ignore:Anomaly Detection has been enabled")
def test_anomaly_mode_on_the_device() -> None:
    loss, w = anomalous("tt")

    def fails() -> None:
        result = loss(w)
        with pytest.raises(RuntimeError, match="'SqrtBackward0' returned nan values"):
            result.backward()

    with torch.autograd.detect_anomaly(), pytest.warns(UserWarning, match="Error detected in SqrtBackward0") as warned:
        fails()
    assert any(f"line {line_of('anomaly').rpartition(':')[2]}" in str(warning.message) for warning in warned)


@pytest.mark.filterwarnings("ignore:Anomaly Detection has been enabled", "ignore:.*Error detected in Compiled")
@pytest.mark.parametrize("device", ["cpu", "tt"])
def test_anomaly_mode_of_compiled_programs(device: str) -> None:
    loss, w = anomalous(device)
    result = torch.compile(loss, backend="tt")(w)
    with torch.autograd.set_detect_anomaly(True), pytest.raises(RuntimeError, match="returned nan values"):
        result.backward()


@pytest.mark.filterwarnings("ignore:Anomaly Detection has been enabled")
def test_anomaly_mode_finds_nothing_in_a_sound_program() -> None:
    loss, _ = anomalous("tt")
    w = torch.ones(4, device="tt", requires_grad=True)
    with torch.autograd.detect_anomaly():
        torch.compile(loss, backend="tt")(w).backward()
        loss(w).backward()
    assert w.grad.cpu().eq(1).all()
