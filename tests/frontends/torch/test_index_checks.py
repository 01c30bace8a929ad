"""Indices are checked against the size of the indexed dimension before a program runs."""

import re
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F

from tt_xla.frontends.torch import lowering, session

TABLE = torch.arange(20.0).view(5, 4)
BAD = torch.tensor([[0, 5], [1, 2]])
GOOD = BAD - 1 + torch.tensor([[1, 0], [0, 0]])

OPS: dict[str, tuple[Callable[..., torch.Tensor], torch.Tensor]] = {
    "embedding": (lambda x, i: F.embedding(i, x), BAD),
    "embedding, negative": (lambda x, i: F.embedding(i, x), BAD - 1),
    "embedding, computed": (lambda x, i: F.embedding(i[1:].clone() + 3, x), BAD),
    "index_select": (lambda x, i: x.index_select(0, i.flatten()), BAD),
    "gather": (lambda x, i: x.gather(0, i), BAD),
    "gather, negative": (lambda x, i: x.gather(0, i), -BAD),
    "index": (lambda x, i: x[i], BAD),
    "index, negative": (lambda x, i: x[i], -BAD - 1),
    "index of the second dimension": (lambda x, i: x[:, i], BAD - 1),
    "take": (lambda x, i: x.take(i), 4 * BAD),
    "scatter": (lambda x, i: x.scatter(0, i, 1.0), BAD),
    "scatter_add": (lambda x, i: x.scatter_add(0, i, torch.ones_like(i, dtype=x.dtype)), BAD),
    "index_put": (lambda x, i: x.index_put((i,), x[0]), BAD),
    "index_add": (lambda x, i: x.index_add(0, i[0], x[:2]), BAD),
    "cross_entropy": (lambda x, i: F.cross_entropy(x[:4], i.flatten()), BAD),
}


@pytest.mark.sample(12)
@pytest.mark.parametrize("device", ["cpu", "tt"])
@pytest.mark.parametrize("name", OPS)
def test_positions_out_of_bounds_are_an_error(name: str, device: str) -> None:
    function, bad = OPS[name]
    with pytest.raises((IndexError, RuntimeError)):
        function(TABLE, bad)
    compiled = torch.compile(function, backend="tt")
    with pytest.raises(
        IndexError, match=r"index -?\d+ is out of bounds for dimension \d with size \d+: aten\."
    ) as error:
        compiled(TABLE.to(device), bad.to(device))
    assert isinstance(error.value, RuntimeError), "gather and scatter of torch raise this"
    assert re.search(r"At .*test_index_checks\.py:\d+\.", str(error.value))


def test_what_is_recorded_is_checked_when_it_runs() -> None:
    table, good = TABLE.to("tt"), GOOD.to("tt")
    earlier = F.embedding(good, table)
    bad = F.embedding(BAD.to("tt"), table)
    with pytest.raises(IndexError, match="index 5 is out of bounds for dimension 0 with size 5: aten"):
        bad.cpu()
    torch.testing.assert_close(earlier.cpu(), F.embedding(GOOD, TABLE))


@pytest.mark.parametrize("device", ["cpu", "tt"])
def test_same_positions_are_looked_at_once(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the host are looked at in each call: NumPy may have changed them."""
    looked, find = [], lowering.find_index_checks

    def watched(*arguments, **options):
        checks = find(*arguments)
        for check in checks:
            check.make = lambda *inputs, make=check.make: looked.append(inputs) or make(*inputs)
        return checks

    monkeypatch.setenv("TTXLA_CACHE", "off")
    monkeypatch.setattr(lowering, "find_index_checks", watched)
    compiled = torch.compile(lambda x, i: x[i] + x[i.flatten()[0]], backend="tt")
    table, positions = TABLE.to(device), GOOD.to(device)
    compiled(table, positions)
    first = len(looked)
    compiled(table, positions)
    assert first > 0
    assert len(looked) == (first if device == "tt" else 2 * first)
    positions[0, 0] = 7
    with pytest.raises(IndexError, match="index 7 is out of bounds"):
        compiled(table, positions)
    positions[0, 0] = 1
    torch.testing.assert_close(compiled(table, positions).cpu(), (TABLE[positions.cpu()] + TABLE[1]))


def test_targets_that_are_ignored_are_in_bounds() -> None:
    scores, targets = torch.randn(4, 5), torch.tensor([0, -100, 4, 2])
    compiled = torch.compile(F.cross_entropy, backend="tt")
    torch.testing.assert_close(compiled(scores, targets), F.cross_entropy(scores, targets), rtol=0.02, atol=0.02)
    with pytest.raises(IndexError, match="index 5 is out of bounds for dimension 1 with size 5"):
        compiled(scores, torch.tensor([0, -100, 5, 2]))


def test_inference_tensors_and_empty_positions() -> None:
    compiled = torch.compile(lambda x, i: x[i], backend="tt")
    with torch.inference_mode():
        positions = GOOD + 0
        assert compiled(TABLE, positions).shape == (2, 2, 4)
        positions[0, 1] = 5
        with pytest.raises(IndexError, match="index 5"):
            compiled(TABLE, positions)
    assert compiled(TABLE, torch.empty(0, dtype=torch.int64)).shape == (0, 4)


@pytest.mark.parametrize("device", ["cpu", "tt"])
@pytest.mark.parametrize("count", [1, 40])
def test_positions_that_are_constants_of_the_graph(device: str, count: int) -> None:
    def at(position: int) -> Callable[[torch.Tensor], torch.Tensor]:
        torch.compiler.reset()  # otherwise the index is symbolic the second time
        places = [position] * count
        return torch.compile(lambda x: x[torch.tensor(places).to(x.device)], backend="tt")

    table = TABLE.to(device)
    torch.testing.assert_close(at(4)(table).cpu(), TABLE[[4] * count])
    call = at(5)
    for _ in range(2):
        with pytest.raises(IndexError, match="index 5 is out of bounds for dimension 0 with size 5"):
            call(table)


def test_eager_mode_checks_computed_positions_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session.current.mode, "eager", True)
    table = TABLE.to("tt")
    positions = (table[0, :1] * 0 + 9.5).long()
    for call in (
        lambda: table[positions],
        lambda: F.embedding(positions, table),
        lambda: table.index_select(0, positions),
    ):
        with pytest.raises(IndexError, match="index 9 is out of bounds for dimension 0 with size 5"):
            call().cpu()
