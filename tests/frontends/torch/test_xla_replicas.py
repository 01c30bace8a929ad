"""Replicas of a function, one on each chip: ``xmp.spawn`` and the collectives between them."""

from __future__ import annotations

import pytest
import torch

torch_xla = pytest.importorskip("torch_xla")

import torch_xla.core.xla_model as xm  # noqa: E402
import torch_xla.distributed.xla_multiprocessing as xmp  # noqa: E402
import torch_xla.runtime as xr  # noqa: E402
from torch_xla._internal import pjrt  # noqa: E402

CHIPS = 8


@pytest.fixture(autouse=True)
def _llmbox(monkeypatch, exact):
    monkeypatch.setenv("TTXLA_SYSTEM", "n300-llmbox")


def own(*values):
    return torch.tensor([value + xr.global_ordinal() for value in values], dtype=torch.float32, device="xla")


def test_each_replica_has_a_chip():
    seen = []

    def function(ordinal, word):
        ones = torch.ones(1, device="xla")
        seen.append((ordinal, word, xr.global_ordinal(), xr.world_size(), str(torch_xla.device()), str(ones.device)))

    xmp.spawn(function, ("hello",))
    assert sorted(seen) == [(i, "hello", i, CHIPS, f"tt:{i}", f"tt:{i}") for i in range(CHIPS)]
    assert (xr.global_ordinal(), xr.world_size(), str(torch_xla.device())) == (0, 1, "tt:0")
    seen.clear()
    torch_xla.launch(function, ("alone",), debug_single_process=True)
    assert seen == [(0, "alone", 0, 1, "tt:0", "tt:0")]
    with pytest.raises(ValueError, match="nprocs is 1, or None for all chips"):
        xmp.spawn(function, nprocs=2)


COLLECTIVES = {
    "sum": (lambda: xm.all_reduce(xm.REDUCE_SUM, own(0, 10), scale=0.5), lambda i: [14, 54]),
    "maximum": (lambda: xm.all_reduce(xm.REDUCE_MAX, own(0, 10)), lambda i: [7, 17]),
    "of pairs": (
        lambda: xm.all_reduce(xm.REDUCE_SUM, own(0), groups=[[i, i + 1] for i in range(0, CHIPS, 2)]),
        lambda i: [i // 2 * 4 + 1],
    ),
    "gather": (lambda: xm.all_gather(own(0)), lambda i: [*range(CHIPS)]),
    "gather of a group": (
        lambda: xm.all_gather(own(0), groups=[[0, 2, 4, 6], [1, 3, 5, 7]]),
        lambda i: [*range(i % 2, CHIPS, 2)],
    ),
    "scatter": (
        lambda: xm.reduce_scatter(xm.REDUCE_SUM, own(*range(0, 80, 10)), 1.0, 0, CHIPS),
        lambda i: [80 * i + 28],
    ),
    "all to all": (
        lambda: xm.all_to_all(own(*range(0, 80, 10)), 0, 0, CHIPS),
        lambda i: [10 * i + j for j in range(CHIPS)],
    ),
    "permute": (
        lambda: xm.collective_permute(own(1), [[i, (i + 1) % CHIPS] for i in range(CHIPS - 1)]),
        lambda i: [i if i else 0],
    ),
}


@pytest.mark.parametrize("name", COLLECTIVES)
def test_a_collective(name):
    collective, expected = COLLECTIVES[name]
    results = pjrt.run_multiprocess(lambda: collective().tolist())
    assert results == {i: expected(i) for i in range(CHIPS)}


def test_lists_of_tensors():
    def function():
        x, y = own(0), own(1)
        xm.all_reduce(xm.REDUCE_SUM, [x, y])
        gathered = xm.all_gather([own(0), own(1)])
        return [each.tolist() for each in (x, y, *gathered)]

    results = pjrt.run_multiprocess(function)
    assert results == {i: [[28], [36], [*range(8)], [*range(1, 9)]] for i in range(CHIPS)}


def test_payloads_and_data():
    def function():
        payloads = xm.rendezvous("name", bytes([xr.global_ordinal()]))
        mean = xm.mesh_reduce("loss", own(1)[0], lambda losses: sum(loss.item() for loss in losses) / len(losses))
        return payloads, mean, xm.is_master_ordinal()

    results = pjrt.run_multiprocess(function)
    assert [results[0], results[1]] == [([bytes([i]) for i in range(CHIPS)], 4.5, i == 0) for i in range(2)]


def test_gradients_are_the_mean_of_all_replicas():
    wrapped = xmp.MpModelWrapper(torch.nn.Linear(1, 1, bias=False))

    def function():
        model = wrapped.to(torch_xla.device())
        with torch.no_grad():
            model.weight.fill_(1.0)
        optimizer = torch.optim.SGD(model.parameters(), 1.0)
        model(own(0).reshape(1, 1)).sum().backward()
        xm.optimizer_step(optimizer, barrier=True)
        return model.weight.item()

    assert pjrt.run_multiprocess(function) == dict.fromkeys(range(CHIPS), 1 - 3.5)


def test_parameters_of_the_first_replica():
    def function():
        model = torch.nn.Linear(1, 1, bias=False, device="xla")
        with torch.no_grad():
            model.weight.copy_(own(5).reshape(1, 1))
        xm.broadcast_master_param(model)
        return model.weight.item()

    assert pjrt.run_multiprocess(function) == dict.fromkeys(range(CHIPS), 5)


def test_the_error_of_a_replica_ends_those_that_wait_for_it():
    def function():
        if xr.global_ordinal() == 3:
            raise KeyError("no data")
        return xm.all_gather(own(0)).tolist()

    with pytest.raises(KeyError, match="no data"):
        pjrt.run_multiprocess(function)


def test_a_replica_that_leaves_a_collective_out():
    with pytest.raises(RuntimeError, match=r"waits for all 8 replicas .* \[3\] ended before"):
        pjrt.run_multiprocess(lambda: None if xr.global_ordinal() == 3 else xm.all_gather(own(0)).tolist())


def test_a_compiled_collective():
    def function():
        compiled = torch.compile(lambda x: xm.all_reduce(xm.REDUCE_SUM, x + 1) * 2, backend="openxla", fullgraph=True)
        return compiled(own(0)).tolist()

    assert pjrt.run_multiprocess(function) == {i: [72] for i in range(CHIPS)}
