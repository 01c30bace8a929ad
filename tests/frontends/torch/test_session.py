"""A session owns what the front end remembers, so that a test can begin without a past."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
import torch_xla
import torch_xla.debug.metrics as met
import torch_xla.runtime as xr

from tt_xla.frontends.torch import host_ops, session, settings
from tt_xla.frontends.torch.backend import compiled_programs
from tt_xla.frontends.torch.device import buffer_of, kinds, programs, recording
from tt_xla.frontends.torch.program_cache import current as opened_cache
from tt_xla.frontends.torch.program_cache import open_cache
from tt_xla.locks import Lock


@pytest.fixture(autouse=True)
def _own_session():
    """Each test here has a session, in which others are made."""
    with session.fresh():
        yield
    torch.compiler.reset()


def _counter(name):
    return met.counter_value(name) or 0


def _chain(x):
    return ((x * 2 + 1).relu() - 0.5).sum()


def test_a_new_session_knows_nothing_of_the_one_before(tmp_path):
    x = torch.arange(64.0, device="tt")
    assert float(_chain(x)) == float(_chain(torch.arange(64.0)))
    torch.linalg.qr(torch.eye(4, device="tt"))
    settings.set_compile_options({"optimization_level": 2})
    open_cache(str(tmp_path))
    torch.compile(_chain, backend="tt")(x)
    waits = x + 1
    outer = session.current
    assert met.counter_names() != []
    assert host_ops.counts() != {}
    assert torch.tt.memory_allocated() > 0
    assert compiled_programs() != []

    with session.fresh() as new:
        assert session.current is new
        assert met.counter_names() == []
        assert met.metric_names() == []
        assert host_ops.counts() == {}
        assert torch.tt.memory_allocated() == torch.tt.max_memory_allocated() == 0
        assert compiled_programs() == []
        assert settings.current().options == {}
        assert opened_cache() is None
        torch_xla.sync()
        assert met.counter_names() == ["MarkStep"]

    assert session.current is outer
    assert buffer_of(waits).pending
    assert settings.current().options == {"optimization_level": 2}
    assert opened_cache().folder == tmp_path
    torch_xla.sync()
    assert not buffer_of(waits).pending


def test_programs_compile_again_in_a_new_session():
    def compilations():
        before = _counter("UncachedCompile")
        float(_chain(torch.arange(32.0, device="tt")))
        return _counter("UncachedCompile") - before

    assert [compilations(), compilations()] == [1, 0]
    with session.fresh():
        assert [compilations(), compilations()] == [1, 0]
    assert compilations() == 0


def test_a_compiled_graph_compiles_again_in_a_new_session():
    compiled, x = torch.compile(_chain, backend="tt"), torch.arange(16.0).to("tt")
    expected = float(compiled(x))
    (program,) = compiled_programs()
    with session.fresh():
        assert float(compiled(x)) == expected
        (again,) = compiled_programs()
    assert again is not program
    assert float(compiled(x)) == expected
    assert compiled_programs() == [program]


def test_tensors_of_an_earlier_session_keep_working():
    computed = torch.arange(8.0, device="tt")
    torch_xla.sync()
    waits = computed * 3
    with session.fresh():
        assert (waits + computed).tolist() == [4.0 * n for n in range(8)]
        assert waits.tolist() == [3.0 * n for n in range(8)]
        computed.add_(1)
        torch_xla.sync()
        assert not buffer_of(computed).pending
        later = computed * 2
    assert computed.tolist() == [n + 1.0 for n in range(8)]
    assert later.tolist() == [2.0 * n + 2 for n in range(8)]


def test_kinds_of_two_sessions_are_not_mistaken_for_each_other():
    """A trace is known by the numbers of its kinds, also one that begins with ops of an earlier session."""
    x = torch.arange(8.0, device="tt")
    waits = [(x * 3).sqrt() for _ in range(2)]
    with session.fresh():
        torch.testing.assert_close((x.exp() + 1).cpu(), torch.arange(8.0).exp() + 1)
        for old in waits:
            assert torch.equal(old.cpu(), (torch.arange(8.0) * 3).sqrt())


def test_memory_stays_on_the_account_of_its_own_session():
    x = torch.ones(256, 256, device="tt")
    torch_xla.sync()
    before = torch.tt.memory_allocated()
    with session.fresh():
        y = torch.ones(128, 128, device="tt")
        torch_xla.sync()
        assert torch.tt.memory_allocated() == y.nbytes
        del x
        assert torch.tt.memory_allocated() == y.nbytes
        assert _counter("DestroyXlaTensor") == 0
    assert torch.tt.memory_allocated() == before - 256 * 256 * 4
    del y
    assert torch.tt.memory_allocated() == before - 256 * 256 * 4


def test_generators_of_chips_are_new(monkeypatch):
    monkeypatch.setenv("TTXLA_SYSTEM", "n300")
    torch.manual_seed(3)
    first = torch.rand(4, device="tt:1").tolist()
    assert torch.rand(4, device="tt:1").tolist() != first
    with session.fresh():
        torch.manual_seed(3)
        assert torch.rand(4, device="tt:1").tolist() == first
        torch.manual_seed(4)
    torch.manual_seed(3)
    assert torch.rand(4, device="tt:1").tolist() == first


def test_chips_are_devices_again(monkeypatch):
    monkeypatch.setenv("TTXLA_SYSTEM", "n300")
    xr.use_spmd()
    assert torch.tt.device_count() == 1
    with session.fresh():
        assert not xr.is_spmd()
        assert torch.tt.device_count() == 2
    assert xr.is_spmd()
    assert torch.tt.device_count() == 1


def test_a_thread_has_its_own_switches_in_each_session():
    session.current.mode.may_run = False
    seen = []
    with session.fresh():
        seen.append(session.current.mode.may_run)
    threading.Thread(target=lambda: seen.append(session.current.mode.may_run)).start()
    seen.append(session.current.mode.may_run)
    session.current.mode.may_run = True
    assert seen[0] is True
    assert sorted(seen[1:]) == [False, True]


def test_a_new_session_begins_with_the_first_chip(monkeypatch):
    monkeypatch.setenv("TTXLA_SYSTEM", "n300")
    torch.tt.set_device(1)
    try:
        with pytest.raises(RuntimeError, match=r"tt:1 is selected: call torch\.tt\.set_device\(0\)"):
            session.fresh().__enter__()
    finally:
        torch.tt.set_device(0)


def test_a_part_is_made_once():
    class Part:
        pass

    made = [session.current.part(Part) for _ in range(2)]
    assert made[0] is made[1]
    with session.fresh():
        assert session.current.part(Part) is not made[0]


class Watched(Lock):
    """A lock that notes which others its thread holds when it takes it."""

    held = threading.local()

    def __init__(self, name, pairs):
        super().__init__()
        self.name, self.pairs = name, pairs

    def __enter__(self):
        super().__enter__()
        names = vars(self.held).setdefault("names", [])
        if self.name not in names:
            self.pairs.update((other, self.name) for other in names)
        names.append(self.name)

    def __exit__(self, *error):
        self.held.names.pop()
        super().__exit__(*error)


def test_threads_take_locks_in_one_order(monkeypatch):
    monkeypatch.setenv("TTXLA_SYSTEM", "n300")
    order, pairs = ["drawing", "running", "computing", "claiming", "restoring"], set()
    for name in order:
        if name != "computing":
            monkeypatch.setattr(session.current, name, Watched(name, pairs))
    for module in (kinds, programs, recording):
        monkeypatch.setattr(module, "COMPUTING", Watched("computing", pairs))

    def work(chip):
        device = f"tt:{chip}"
        model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Dropout(0.5), torch.nn.Linear(4, 4)).to(device)
        optimizer = torch.optim.Adam(model.parameters())
        for size in (2, 3):
            x = torch.randn(size, 4, device=device)
            x[:, 1:3].mul_(torch.rand(size, 2, device=device))
            model(x).sum().backward()
            optimizer.step()
            torch.poisson(x.abs()).sum().item()
            torch.linalg.qr(x)

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(work, (0, 1)))
    assert {("drawing", "computing"), ("running", "computing"), ("running", "claiming")} <= pairs
    assert [pair for pair in pairs if order.index(pair[0]) > order.index(pair[1])] == []
