"""Training loops: schedules, accumulated gradients, batches of several sizes, and running out of memory in a step."""

from __future__ import annotations

import gc
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
import torch_xla

from tests.closeness import relative_error
from tt_xla.frontends.torch import compilation, session
from tt_xla.runtime import get_device

MODES = ["compiled", "recorded"]


@pytest.fixture(autouse=True)
def _fresh():
    """Ends what other tests left: the device remembers which operands of a program they never changed."""
    torch.compiler.reset()
    compilation.clear_programs()
    gc.collect()
    yield
    torch.compiler.reset()


@pytest.fixture
def loads(monkeypatch):
    """Collects the modules that were compiled or found among compiled programs."""
    modules: list[object] = []
    original = compilation.compile_and_load

    def compile_and_load(module, options, part=None, placements=(), chip=0):
        modules.append(module)
        return original(module, options, part)

    monkeypatch.setattr(compilation, "compile_and_load", compile_and_load)
    return modules


def network() -> torch.nn.Module:
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 3))


def batch(step: int, size: int = 6) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(step)
    return torch.randn(size, 8, generator=generator), torch.randint(3, (size,), generator=generator)


def loss_of(model: Callable[..., torch.Tensor], x: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    return F.cross_entropy(model(x), target)


def called(model: torch.nn.Module, mode: str) -> Callable[..., torch.Tensor]:
    return torch.compile(model, backend="tt") if mode == "compiled" else model


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("mode", [*MODES, "compiled step"])
def test_a_schedule_compiles_nothing(mode, loads):
    """``compiled step`` also compiles the optimizer's step, with a tensor as learning rate, as PyTorch documents."""
    losses: dict[str, list[float]] = {"tt": [], "cpu": []}
    counts = []
    for device, record in losses.items():
        model = network().to(device)
        rate = torch.tensor(0.05).to(device) if mode == "compiled step" else 0.05
        optimizer = torch.optim.AdamW(model.parameters(), rate, capturable=mode == "compiled step" and device == "tt")
        schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.05, total_steps=8, cycle_momentum=False)
        on_tt = device == "tt"
        call = called(model, mode.split()[0]) if on_tt else model
        advance = torch.compile(optimizer.step, backend="tt") if on_tt and mode == "compiled step" else optimizer.step
        for step in range(6):
            x, target = (t.to(device) for t in batch(step))
            optimizer.zero_grad()
            loss = loss_of(call, x, target)
            loss.backward()
            advance()
            schedule.step()
            torch_xla.sync()
            record.append(loss.item())
            if on_tt:
                counts.append(len(loads))
    assert counts[0] > 0
    assert counts[3] == counts[-1], counts
    torch.testing.assert_close(torch.tensor(losses["tt"]), torch.tensor(losses["cpu"]), rtol=0.02, atol=0.02)


@pytest.mark.parametrize("mode", MODES)
def test_accumulated_gradients_are_those_of_the_whole_batch(mode, loads):
    model, reference = network().to("tt"), network()
    call = called(model, mode)
    counts = []
    for cycle in range(4):
        x, target = batch(cycle, 12)
        model.zero_grad()
        for part, labels in zip(x.split(3), target.split(3), strict=True):
            (loss_of(call, part.to("tt"), labels.to("tt")) / 4).backward()
            torch_xla.sync()
        counts.append(len(loads))
        reference.zero_grad()
        loss_of(reference, x, target).backward()
        for ours, theirs in zip(model.parameters(), reference.parameters(), strict=True):
            assert relative_error(ours.grad, theirs.grad) < 2**-7  # factors have 11 significant bits
    assert counts[1] == counts[-1], counts


@pytest.mark.parametrize("mode", MODES)
def test_each_batch_size_is_compiled_once(mode, loads):
    model, theirs = network().to("tt"), network()
    call = called(model, mode)
    known: dict[int, int] = {}
    for step, size in enumerate([4, 2, 3, 4, 2, 3, 3, 4, 2]):
        before = len(loads)
        x, target = batch(step, size)
        model.zero_grad()
        loss = loss_of(call, x.to("tt"), target.to("tt"))
        loss.backward()
        torch_xla.sync()
        torch.testing.assert_close(loss.cpu(), loss_of(theirs, x, target), rtol=0.02, atol=0.02)
        known[size] = known.get(size, 0) + 1
        if known[size] == 3:  # the second run finds the constants
            assert len(loads) == before, size


@pytest.mark.sample(3)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("part", ["forward", "backward", "step"])
def test_a_step_that_runs_out_of_memory_can_be_done_again(mode, part, monkeypatch):
    losses: list[list[float]] = []
    for fails in (False, True):
        torch.compiler.reset()
        model = network().to("tt")
        call = called(model, mode)
        optimizer = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9)
        other = torch.arange(3.0, device="tt") * 2
        losses.append([])
        filled = []

        def fill(where: str, on: bool, filled=filled) -> None:
            if on and where == part:
                usable = get_device().target.dram_usable_bytes
                monkeypatch.setattr(session.current.memory[0], "allocated", usable - 64)
                filled.append(where)

        def step(number: int, on: bool, optimizer=optimizer, call=call, fill=fill) -> float:
            x, target = (t.to("tt") for t in batch(number))
            optimizer.zero_grad()
            fill("forward", on)
            loss = loss_of(call, x, target)
            torch_xla.sync()
            fill("backward", on)
            loss.backward()
            torch_xla.sync()
            fill("step", on)
            optimizer.step()
            torch_xla.sync()
            return loss.item()

        for number in range(3):
            if fails and number == 1:
                state = {name: value.cpu().clone() for name, value in model.state_dict().items()}
                moments = {k: {n: v.clone() for n, v in s.items()} for k, s in optimizer.state_dict()["state"].items()}
                torch_xla.sync()
                with pytest.raises(torch.OutOfMemoryError):
                    step(number, True)
                assert filled == [part]
                monkeypatch.undo()
                assert other.cpu().tolist() == [0.0, 2.0, 4.0]
                if part != "step":  # an interrupted optimizer step is not undone, as in PyTorch
                    assert all(torch.equal(value.cpu(), state[name]) for name, value in model.state_dict().items())
                model.load_state_dict(state)
                optimizer.load_state_dict(optimizer.state_dict() | {"state": moments})
            losses[-1].append(step(number, False))
    assert losses[0] == losses[1]
