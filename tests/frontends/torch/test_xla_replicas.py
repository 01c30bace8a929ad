"""Replicas of a function, one on each chip: ``xmp.spawn`` and the collectives between them."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

torch_xla = pytest.importorskip("torch_xla")

import torch_xla.core.xla_model as xm  # noqa: E402
import torch_xla.distributed.xla_multiprocessing as xmp  # noqa: E402
import torch_xla.runtime as xr  # noqa: E402
from torch_xla._internal import pjrt  # noqa: E402
from torch_xla.utils.utils import get_free_tcp_ports  # noqa: E402

from tt_xla.frontends.torch import lowering  # noqa: E402
from tt_xla.frontends.torch.device import kinds  # noqa: E402
from tt_xla.frontends.torch.device.buffers import is_computed  # noqa: E402

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


def draws(seed):
    torch.manual_seed(seed)
    layer = torch.nn.Linear(2, 2)
    torch.nn.init.normal_(layer.bias)
    drawn = [layer.weight.detach(), layer.bias.detach()]
    for _ in range(50):
        drawn += [
            torch.rand(2),
            torch.empty(2).normal_(),
            torch.nn.functional.dropout(torch.ones(4)),
            torch.randperm(4),
        ]
        drawn += [torch.randperm(4), torch.rand(2, device="tt").cpu()]
    state = torch.get_rng_state()
    drawn += [torch.rand(1)]
    torch.set_rng_state(state)
    return [*drawn, torch.rand(1), torch.tensor(torch.initial_seed())]


def test_replicas_draw_as_processes_do():
    drawn = pjrt.run_multiprocess(lambda: draws(xr.global_ordinal()))
    torch.manual_seed(99)
    for seed in (0, CHIPS - 1):
        for got, expected in zip(drawn[seed], draws(seed), strict=True):
            assert torch.equal(got, expected)


def test_a_model_on_the_replicas_chip_is_wrapped_as_it_is():
    same = []

    def function(ordinal):
        model = torch.nn.Linear(2, 2).to(torch_xla.device())
        same.append(xmp.MpModelWrapper(model).to(torch_xla.device()) is model)

    xmp.spawn(function)
    assert same == [True] * CHIPS


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
        half = [ordinal for ordinal in range(CHIPS) if ordinal % 2 == xr.global_ordinal() % 2]
        of_half = xm.rendezvous("half", bytes([xr.global_ordinal()]), half)
        with pytest.raises(ValueError, match="does not have replica"):
            xm.rendezvous("other", b"", [CHIPS])
        return payloads, mean, xm.is_master_ordinal(), of_half == [bytes([ordinal]) for ordinal in half]

    results = pjrt.run_multiprocess(function)
    assert [results[0], results[1]] == [([bytes([i]) for i in range(CHIPS)], 4.5, i == 0, True) for i in range(2)]


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


def in_a_process_group(function):
    """Returns what a function returns in replicas that are in a process group."""

    def run():
        dist.init_process_group("xla", init_method="xla://")
        try:
            return function()
        finally:
            dist.destroy_process_group()

    return pjrt.run_multiprocess(run)


def empty(*sizes):
    return torch.zeros(*sizes, device="xla")


@pytest.mark.filterwarnings("ignore:.*deprecated:FutureWarning")  # newer PyTorch has other names beside these
def test_collectives_of_a_process_group(monkeypatch):
    monkeypatch.setenv("TTXLA_SYSTEM", "n300")

    def function():
        rank, x = dist.get_rank(), own(1, 10)
        results = {}
        for name, op in {"sum": dist.ReduceOp.SUM, "avg": dist.ReduceOp.AVG, "max": dist.ReduceOp.MAX}.items():
            results[name] = x.clone()
            dist.all_reduce(results[name], op)
        results["of the first"] = x.clone()
        dist.reduce(results["of the first"], 0)
        results["broadcast"] = x.clone()
        dist.broadcast(results["broadcast"], 1)
        gathered = [empty(2), empty(2)]
        dist.all_gather(gathered, x)
        results["gathered"] = torch.cat(gathered)
        results["into a tensor"] = empty(2, 2)
        dist.all_gather_into_tensor(results["into a tensor"], x)
        results["scattered"] = empty(1)
        dist.reduce_scatter_tensor(results["scattered"], x)
        results["from the first"] = empty(2)
        dist.scatter(results["from the first"], [x, x + 1] if rank == 0 else None, 0)
        results["dealt"] = empty(2)
        dist.all_to_all_single(results["dealt"], x)
        received = empty(2)
        (dist.send(x, 1), received.copy_(x)) if rank == 0 else dist.recv(received, 0)
        results["received"] = received
        dist.barrier()
        return {name: tensor.tolist() for name, tensor in results.items()}

    first, second = in_a_process_group(function).values()
    both = {
        **{"sum": [3, 21], "avg": [1.5, 10.5], "max": [2, 11], "broadcast": [2, 11], "gathered": [1, 10, 2, 11]},
        "into a tensor": [[1, 10], [2, 11]],
        "received": [1, 10],
    }
    own_first = {"of the first": [3, 21], "scattered": [3], "from the first": [1, 10], "dealt": [1, 2]}
    own_second = {"of the first": [2, 11], "scattered": [21], "from the first": [2, 11], "dealt": [10, 11]}
    assert (first, second) == (both | own_first, both | own_second)


def test_a_process_group_of_some_replicas():
    def function():
        groups = [dist.new_group([0, 1]), dist.new_group([2, 3, 4, 5, 6, 7])]
        x = own(0)
        dist.all_reduce(x, group=groups[0] if xr.global_ordinal() < 2 else groups[1])
        return x.item()

    assert in_a_process_group(function) == {i: 1 if i < 2 else 27 for i in range(CHIPS)}


@pytest.mark.parametrize("rows", [[[0, 1], [2, 3]], [[0, 2], [1, 3]]])
def test_process_groups_of_a_mesh(rows, monkeypatch):
    monkeypatch.setenv("TT_VISIBLE_DEVICES", "0,1,2,3")
    inferred = {"xla_pg_options": {"spmd": True}}

    def function():
        groups = [dist.new_group(row, pg_options=inferred) for row in rows]
        (group,) = [group for group, row in zip(groups, rows, strict=True) if dist.get_rank() in row]
        x = own(0)
        dist.all_reduce(x, group=group)
        with pytest.raises(ValueError, match="neither a row nor a column"):
            dist.new_group([0, 3] if dist.get_rank() in (0, 3) else [1, 2, 0], pg_options=inferred)
        return x.item()

    assert in_a_process_group(function) == {rank: sum(row) for row in rows for rank in row}


def test_a_group_exchanges_tensors_without_the_others():
    def function():
        pair = [0, 1] if xr.global_ordinal() < 2 else None
        return xm.all_gather(own(0), groups=[pair]).tolist() if pair else None

    assert pjrt.run_multiprocess(function) == {i: [0, 1] if i < 2 else None for i in range(CHIPS)}


def test_distributed_data_parallel(monkeypatch):
    monkeypatch.setenv("TTXLA_SYSTEM", "n300")
    torch.manual_seed(0)
    model, batch = torch.nn.Linear(3, 2), torch.randn(4, 3)
    wrapped = xmp.MpModelWrapper(model)

    def function():
        parallel = DistributedDataParallel(wrapped.to(torch_xla.device()))
        parallel(batch.chunk(2)[dist.get_rank()].to("xla")).square().mean().backward()
        return parallel.module.weight.grad.cpu()

    gradients = in_a_process_group(function)
    model(batch).square().mean().backward()
    for gradient in gradients.values():
        torch.testing.assert_close(gradient, model.weight.grad)


def test_no_forward_pass_of_data_parallel_goes_on_when_its_replicas_have_ended(monkeypatch):
    monkeypatch.setenv("TTXLA_SYSTEM", "n300")

    def function():  # leaves what one pass restores that began and ended while another one ran
        DistributedDataParallel._active_ddp_module = torch.nn.Linear(3, 2)

    in_a_process_group(function)
    assert DistributedDataParallel._get_active_ddp_module() is None


def test_distributed_data_parallel_in_steps_that_are_one_program(monkeypatch):
    """Before the second step it makes its buckets anew and reads them back from a broadcast."""
    monkeypatch.setenv("TTXLA_SYSTEM", "n300")
    torch.manual_seed(0)
    model, batch = torch.nn.Linear(3, 2), torch.randn(4, 3)
    wrapped = xmp.MpModelWrapper(model)

    def function():
        parallel = DistributedDataParallel(wrapped.to(torch_xla.device()))
        optimizer = torch.optim.SGD(parallel.parameters(), 0.5)

        def step(x):
            optimizer.zero_grad()
            loss = parallel(x).square().mean()
            loss.backward()
            optimizer.step()
            return loss

        compiled, own_part = torch_xla.compile(step, full_graph=True), batch.chunk(2)[dist.get_rank()].to("xla")
        losses = [compiled(own_part).item() for _ in range(3)]
        return losses, parallel.module.weight.detach().cpu()

    results = in_a_process_group(function)
    assert results[0][0] != results[1][0]
    optimizer = torch.optim.SGD(model.parameters(), 0.5)
    for _ in range(3):
        optimizer.zero_grad()
        model(batch).square().mean().backward()
        optimizer.step()
    for _, weight in results.values():
        torch.testing.assert_close(weight, model.weight.detach())


@pytest.mark.parametrize("method", ["xla://", "env://"])
def test_a_replica_on_a_single_chip_has_a_process_group_of_its_own(method, monkeypatch):
    monkeypatch.setenv("TTXLA_SYSTEM", "n150")
    monkeypatch.setenv("MASTER_ADDR", "localhost")
    monkeypatch.setenv("MASTER_PORT", str(get_free_tcp_ports()[0]))
    own_rank = {"rank": 0, "world_size": 1} if method == "env://" else {}

    def function():
        dist.init_process_group("xla", init_method=method, **own_rank)
        return dist.get_world_size()

    assert [pjrt.run_multiprocess(function) for _ in range(2)] == [{0: 1}] * 2
    assert not dist.is_initialized()


def test_a_process_group_of_one(monkeypatch):
    dist.init_process_group("xla", init_method="xla://")
    try:
        x = torch.ones(2, device="xla")
        dist.all_reduce(x)
        assert (dist.get_world_size(), x.tolist()) == (1, [1, 1])
    finally:
        dist.destroy_process_group()


def test_a_group_that_pytorch_does_not_know_sends_from_the_replica_of_a_rank():
    from torch_xla.distributed.xla_backend import ProcessGroupXla

    group = ProcessGroupXla(dist.HashStore(), 0, 1, timedelta(seconds=1))
    x = torch.ones(2, device="xla")
    group.broadcast([x], dist.BroadcastOptions()).wait()
    assert x.tolist() == [1, 1]


def test_results_are_written_to_tensors_that_get_their_shape():
    def function():
        whole = own(*range(0, 20, 10))
        outputs = [torch.zeros(3, device="xla"), torch.zeros(1, device="xla")]
        parts = xm.reduce_scatter(xm.REDUCE_SUM, [whole, whole], 1.0, 0, 2, PAIRS, outputs)
        gathered = xm.all_gather(whole, groups=PAIRS, output=torch.zeros(1, device="xla"))
        reduced = xm.all_reduce(xm.REDUCE_SUM, [whole], groups=PAIRS)
        return [*outputs, *parts, gathered, *reduced, reduced[0] is whole, outputs[0] is parts[0]]

    results = pjrt.run_multiprocess(function)
    parts = [[[1.0], [1.0]], [[21.0], [21.0]]]
    for ordinal in range(2):
        values = [value if isinstance(value, bool) else value.tolist() for value in results[ordinal]]
        assert values == [*parts[ordinal] * 2, [0, 10, 1, 11], [1, 21], True, True]


PAIRS = [[i, i + 1] for i in range(0, CHIPS, 2)]


def test_compiled_collectives_of_a_process_group(monkeypatch):
    monkeypatch.setenv("TTXLA_SYSTEM", "n300")

    def function():
        dist.init_process_group("xla", init_method="xla://")

        def collect(x):
            whole, part, exchanged = x.new_empty(4), x.new_empty(1), x.new_empty(2)
            dist.all_gather_into_tensor(whole, x)
            dist.reduce_scatter_tensor(part, x)
            dist.all_to_all_single(exchanged, x, [1, 1], [1, 1])
            return whole, part, exchanged

        return [each.tolist() for each in torch.compile(collect, backend="openxla")(own(0, 10))]

    results = pjrt.run_multiprocess(function)
    assert results == {0: [[0, 10, 1, 11], [1], [0, 1]], 1: [[0, 10, 1, 11], [21], [10, 11]]}


def test_a_compiled_collective():
    def function():
        compiled = torch.compile(lambda x: xm.all_reduce(xm.REDUCE_SUM, x + 1) * 2, backend="openxla", fullgraph=True)
        return compiled(own(0)).tolist()

    assert pjrt.run_multiprocess(function) == {i: [72] for i in range(CHIPS)}


def test_a_step_that_is_one_program_exchanges_gradients():
    def function():
        weight = torch.nn.Parameter(own(0))
        optimizer = torch.optim.SGD([weight], lr=1.0)

        def step(x):
            (weight * x).sum().backward()
            xm.optimizer_step(optimizer)
            return weight * 2

        compiled = torch_xla.compile(step, full_graph=True)
        return compiled(own(1)).tolist()

    mean = sum(range(1, CHIPS + 1)) / CHIPS
    assert pjrt.run_multiprocess(function) == {i: [2 * (i - mean)] for i in range(CHIPS)}


def test_a_replica_runs_the_ops_of_its_own_chip_and_of_what_it_reads():
    shared, seen, together = {}, [], threading.Barrier(CHIPS, timeout=60)

    def function():
        ordinal = xr.global_ordinal()
        shared[ordinal] = recorded = own(1, 2) + 1
        together.wait()
        if ordinal == 1:
            torch_xla.sync()
        together.wait()
        computed = is_computed(recorded)
        together.wait()
        if ordinal == 1:
            read = shared[2].tolist()
            seen.extend([read, is_computed(shared[2]), is_computed(shared[3])])
        together.wait()
        return computed, recorded.tolist()

    found = pjrt.run_multiprocess(function)
    assert found == {i: (i == 1, [2.0 + i, 3.0 + i]) for i in range(CHIPS)}
    assert seen == [[4.0, 5.0], True, False]


def test_a_program_is_lowered_while_no_thread_works_out_a_kind(monkeypatch):
    """PyTorch's mode of fake tensors, which both use, is for one thread at a time."""
    taken = []

    def spy(*args):
        thread = threading.Thread(target=lambda: taken.append(kinds.COMPUTING.acquire(blocking=False)))
        thread.start()
        thread.join()
        return lower(*args)

    lower = lowering.lower_to_stablehlo
    monkeypatch.setattr(lowering, "lower_to_stablehlo", spy)
    x = torch.ones(3, device="xla").mul(0.25).tan().cos()
    torch.testing.assert_close(x.cpu(), torch.full((3,), 0.25).tan().cos())
    assert taken == [False]
