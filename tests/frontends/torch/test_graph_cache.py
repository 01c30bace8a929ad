"""The next process finds traced graphs and compiled programs in the cache on disk, and computes the same bits."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from torch._dynamo.utils import counters

from tt_xla import disk_cache
from tt_xla.frontends.torch import backend, settings
from tt_xla.frontends.torch.executor import Executor
from tt_xla.frontends.torch.extras import Constant
from tt_xla.frontends.torch.frame_cache import FrameCache
from tt_xla.frontends.torch.private import aot_cache

pytestmark = pytest.mark.skipif(not aot_cache.IS_SUPPORTED, reason="this PyTorch has no cache that we can extend")


class Work:
    """Counts what the cache spares: lowered graphs and compiled programs."""

    def __init__(self, monkeypatch):
        self.lowered = self.compiled = 0
        lower, compile_module = backend.lower_to_stablehlo, "tt_xla.compiler.pipeline.compile_module"
        import tt_xla.compiler.pipeline as pipeline

        compile_program = pipeline.compile_module

        def lower_counted(*args, **kwargs):
            self.lowered += 1
            return lower(*args, **kwargs)

        def compile_counted(*args, **kwargs):
            self.compiled += 1
            return compile_program(*args, **kwargs)

        monkeypatch.setattr(backend, "lower_to_stablehlo", lower_counted)
        monkeypatch.setattr(compile_module, compile_counted)


@pytest.fixture
def work(monkeypatch, tmp_path):
    monkeypatch.setenv("TTXLA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "torch"))
    monkeypatch.setattr(FrameCache, "key", lambda *_: None)  # dynamo traces, so that AOTAutograd looks for its graph
    _new_process()
    yield Work(monkeypatch)
    torch.compiler.reset()


def _new_process():
    """Forgets what a process keeps in memory."""
    torch.compiler.reset()
    backend.clear_programs()
    torch.compiler._cache.CacheArtifactManager.clear()
    counters.clear()


def _graphs():
    """Returns the files of the graphs in PyTorch's cache."""
    return [path for path in Path(os.environ["TORCHINDUCTOR_CACHE_DIR"], "aotautograd").rglob("*") if path.is_file()]


def _programs():
    return {kept.kind: kept.entries for kept in disk_cache.current().kept()}.get("programs", 0)


def _twice(work, run):
    """Returns the results of a function in two processes, the second of which must find everything in the cache."""
    torch.manual_seed(0)
    first = run()
    assert work.lowered
    assert _graphs()
    before = work.lowered, work.compiled
    _new_process()
    torch.manual_seed(0)
    second = run()
    assert (work.lowered, work.compiled) == before
    assert counters["aot_autograd"]["autograd_cache_hit"]
    return first, second


def _model(device="tt"):
    torch.manual_seed(1)
    layers = torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.LayerNorm(16), torch.nn.Linear(16, 4)
    return torch.nn.Sequential(*layers).to(device)


@pytest.mark.parametrize("device", ["tt", "cpu"])
def test_inference(work, device):
    x = torch.randn(3, 8, generator=torch.Generator().manual_seed(2)).to(device)

    @torch.no_grad()
    def run():
        return torch.compile(_model(device), backend="tt")(x).cpu()

    first, second = _twice(work, run)
    assert torch.equal(first, second)


def test_training(work):
    def run():
        model = _model()
        compiled = torch.compile(model, backend="tt")
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        for seed in range(3):
            x = torch.randn(3, 8, generator=torch.Generator().manual_seed(seed)).to("tt")
            compiled(x).square().sum().backward()
            optimizer.step()
            optimizer.zero_grad()
        return [parameter.detach().cpu() for parameter in model.parameters()]

    first, second = _twice(work, run)
    assert all(map(torch.equal, first, second))


def test_random_numbers_constants_checks_views_and_numbers(work):
    table = torch.arange(64.0).reshape(32, 2)
    constant = torch.arange(50)

    def function(x, indices, n):
        drawn = torch.rand_like(x) + torch.randint(0, 9, (2,)) + torch.bernoulli(torch.full((2,), 0.5))
        return torch.nn.functional.embedding(indices + 1, table), drawn, x.t(), x + constant[:2] + n, n * 2

    def run():
        compiled = torch.compile(function, backend="tt")
        results = [compiled(torch.ones(2, 2), torch.tensor([1, 2]), n) for n in (3, 4, 5)]
        with pytest.raises(IndexError, match="out of bounds"):
            compiled(torch.ones(2, 2), torch.tensor([1, 40]), 5)
        return results

    firsts, seconds = _twice(work, run)
    for first, second in zip(firsts, seconds, strict=True):
        assert first[-1] == second[-1]
        assert all(map(torch.equal, first[:-1], second[:-1]))


def test_programs_of_sizes_that_change(work):
    """The graph is traced in each process; its programs are not compiled again."""

    def run():
        compiled = torch.compile(lambda x: torch.tanh(x).sum(0), backend="tt", dynamic=True)
        return [compiled(torch.ones(n, 3)) for n in (2, 5, 7)]

    first = run()
    before = work.compiled
    _new_process()
    assert all(map(torch.equal, first, run()))
    assert before == work.compiled == 2


def test_a_buffer_that_the_model_writes(work):
    def run():
        model = torch.nn.BatchNorm1d(4).to("tt")
        compiled = torch.compile(model, backend="tt")
        with torch.no_grad():
            for n in range(3):
                compiled(torch.arange(8.0).reshape(2, 4).to("tt") + n)
        return model.running_mean.cpu()

    first, second = _twice(work, run)
    assert torch.equal(first, second)
    assert first.sum() > 0


def test_other_options_are_other_programs_of_one_graph(work):
    def run(**options):
        _new_process()
        return torch.compile(lambda x: torch.tanh(x) @ x, backend="tt", options=options)(torch.ones(32, 32))

    run()
    run(optimization_level=2)
    assert (len(_graphs()), _programs()) == (1, 2)
    assert (work.lowered, work.compiled) == (1, 2)
    settings.set_compile_options({"optimization_level": 1})
    run()
    assert (work.lowered, work.compiled) == (1, 3)
    run(tt_enable_composite_ops=False)
    assert work.lowered == 2


def test_the_program_is_compiled_from_the_entry_of_the_graph_if_it_is_gone(work, tmp_path):
    def run():
        return torch.compile(lambda x: torch.tanh(x) + 1, backend="tt")(torch.ones(2))

    first = run()
    for path in (tmp_path / "cache" / "programs").iterdir():
        path.unlink()
    _new_process()
    assert torch.equal(run(), first)
    assert (work.lowered, work.compiled) == (1, 2)


def _tanh():
    return torch.compile(lambda x: torch.tanh(x) + 1, backend="tt")(torch.ones(2))


def test_a_damaged_program_is_compiled_again(work, tmp_path):
    first = _tanh()
    (path,) = (tmp_path / "cache" / "programs").iterdir()
    path.write_bytes(path.read_bytes()[:-50])
    _new_process()
    assert torch.equal(_tanh(), first)
    assert (work.lowered, work.compiled, _programs()) == (1, 2, 1)


def _shortened(contents):
    return contents[:-50]


def _altered(contents):
    """Returns the contents with another number in the module, which pickle would not notice."""
    assert b"tanh" in contents
    return contents.replace(b"tanh", b"sine")


@pytest.mark.parametrize("damaged", [_shortened, _altered])
def test_a_damaged_graph_is_traced_again(work, damaged):
    first = _tanh()
    (path,) = _graphs()
    path.write_bytes(damaged(path.read_bytes()))
    _new_process()
    assert torch.equal(_tanh(), first)
    assert work.lowered == 2


def test_an_entry_of_other_code_is_not_used(work, tmp_path, monkeypatch):
    def run():
        return torch.compile(lambda x: torch.tanh(x) + 1, backend="tt")(torch.ones(2))

    first = run()

    def failed(_, state):
        raise KeyError("another form")

    with monkeypatch.context() as patch:
        patch.setattr(Executor, "__setstate__", failed)
        _new_process()
        assert torch.equal(run(), first)
    assert work.lowered == 2


def test_nothing_is_stored_when_the_cache_is_off(work, tmp_path, monkeypatch):
    monkeypatch.setenv("TTXLA_CACHE", "off")
    torch.compile(lambda x: torch.tanh(x) + 1, backend="tt")(torch.ones(2))
    assert not (tmp_path / "cache").exists()
    assert not _graphs()


def test_a_graph_whose_ops_no_key_covers_is_traced_again(work):
    def function(x):
        return torch.cond(x.sum() > 0, torch.sin, torch.cos, (x,))

    x = torch.ones(2, device="tt")
    for count in (1, 2):
        _new_process()
        assert torch.allclose(torch.compile(function, backend="tt")(x).cpu(), x.cpu().sin(), rtol=1e-2)
        assert work.lowered == count
    assert not _graphs()


def test_artifacts_take_the_entries_to_another_machine(work, tmp_path, monkeypatch):
    def run():
        return torch.compile(lambda x: torch.tanh(x) + 1, backend="tt")(torch.ones(2))

    first = run()
    artifacts, info = torch.compiler.save_cache_artifacts()
    assert info.tt_program_artifacts
    assert info.aot_autograd_artifacts
    monkeypatch.setenv("TTXLA_CACHE", str(tmp_path / "other"))
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "others"))
    _new_process()
    torch.compiler.load_cache_artifacts(artifacts)
    assert (len(_graphs()), _programs()) == (1, 1)
    assert torch.equal(run(), first)
    assert (work.lowered, work.compiled) == (1, 1)


def test_constants_survive_pickling():
    for tensor in (torch.arange(6.0).reshape(2, 3).bfloat16().t(), torch.tensor(True), torch.zeros(0, 3)):
        copy = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(Constant(tensor)))))
        assert torch.equal(copy(), tensor)
        assert copy().dtype is tensor.dtype


SCRIPT = """
import torch
from torch._dynamo.utils import counters

def function(x):
    return torch.softmax(x @ x, -1)

x = torch.arange(16.0).reshape(4, 4).to("tt") / 10
print(torch.compile(function, backend="tt")(x).tolist(), dict(counters["aot_autograd"]))
"""


@pytest.mark.nightly
def test_two_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TTXLA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "torch"))
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    os.utime(script, (0, time.time() + 600))  # functions of files that changed after the start are always traced
    first, second = (
        subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    )
    assert "autograd_cache_miss" in first
    assert "autograd_cache_hit" in second
    assert first.partition("{")[0] == second.partition("{")[0]
