"""Memory of the device: what tensors and programs take, when it is freed, and what happens when it is full."""

import gc
import resource
import sys

import pytest
import torch
import torch_xla

from tt_xla.frontends.torch import session
from tt_xla.frontends.torch.device.buffers import Buffer
from tt_xla.runtime import get_device

BFP8 = {"experimental_weight_dtype": "bfp_bf8"}


@pytest.fixture(autouse=True)
def _fresh():
    torch.compiler.reset()
    gc.collect()


def const_eval_bytes() -> int:
    return torch.tt.memory_stats()["runtime.const_eval_bytes"]


def bytes_in_use() -> int:
    gc.collect()
    return torch.tt.memory_allocated()


@pytest.fixture
def full(monkeypatch):
    """Pretends that other tensors take all of the DRAM except ``left`` bytes."""

    def fill(left: int) -> None:
        monkeypatch.setattr(session.current.memory[0], "allocated", get_device().target.dram_usable_bytes - left)

    yield fill
    monkeypatch.undo()


def network() -> torch.nn.Module:
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 64))


def test_deleting_a_compiled_model_frees_its_weights_and_what_was_made_of_them():
    before, kept_before = bytes_in_use(), const_eval_bytes()
    model = network().bfloat16().to("tt")
    call = torch.compile(model, backend="tt", options=BFP8)
    x = torch.ones(4, 64, dtype=torch.bfloat16).to("tt")
    with torch.no_grad():
        call(x)
        assert const_eval_bytes() > kept_before  # the program keeps block-float weights
        weights = sum(p.numel() * p.element_size() for p in model.parameters())
        assert bytes_in_use() - before == weights + x.numel() * x.element_size()  # weights count once, also after runs
    del model, call, x
    assert bytes_in_use() == before
    assert const_eval_bytes() == kept_before


def test_writing_to_a_weight_drops_what_was_made_of_it():
    kept_before = const_eval_bytes()
    model = torch.nn.Linear(64, 64).bfloat16().to("tt")
    call = torch.compile(model, backend="tt", options=BFP8)
    x = torch.ones(4, 64, dtype=torch.bfloat16).to("tt")
    with torch.no_grad():
        call(x)
        assert const_eval_bytes() > kept_before
        model.weight.copy_(torch.zeros(64, 64, dtype=torch.bfloat16))
        torch_xla.sync()
        assert const_eval_bytes() == kept_before
        assert torch.equal(call(x).cpu(), model.bias.cpu().expand(4, 64))
        model.weight.data = torch.full((64, 64), 0.5, dtype=torch.bfloat16).to("tt")
        assert torch.allclose(call(x).cpu(), model.bias.cpu() + 32, atol=0.25)


def test_a_call_that_does_not_fit_beside_tensors_raises_and_leaves_all_usable(full, monkeypatch):
    model = network().to("tt")
    call = torch.compile(model, backend="tt")
    x = torch.ones(4, 64).to("tt")
    with torch.no_grad():
        expected = call(x).cpu()
        full(1000)
        with pytest.raises(torch.OutOfMemoryError, match=r"lacks .* other tensors take .*ttnn\.\w+ to f32\["):
            call(x)
        monkeypatch.undo()
        assert torch.equal(call(x).cpu(), expected)


def test_running_out_of_memory_in_a_training_step_leaves_all_usable(full, monkeypatch):
    model = network().to("tt")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x = torch.ones(4, 64).to("tt")

    def step() -> None:
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()
        torch_xla.sync()

    step()
    other = torch.ones(3, device="tt") + 1
    torch_xla.sync()
    full(1000)
    with pytest.raises(torch.OutOfMemoryError, match=r"ttnn\.\w+ to f32\["):
        step()
    assert other.cpu().tolist() == [2.0, 2.0, 2.0]
    monkeypatch.undo()
    step()
    assert torch.isfinite(model(x).cpu()).all()


def test_a_copy_to_the_device_that_does_not_fit_raises(full, monkeypatch):
    host = torch.ones(1024)
    full(1000)
    with pytest.raises(torch.OutOfMemoryError, match="Tried to allocate 4096 bytes"):
        host.to("tt")
    monkeypatch.undo()
    assert torch.equal(host.to("tt").cpu(), host)


@pytest.mark.parametrize("is_inference", [True, False])
def test_weights_of_a_module_that_moved_to_the_device_are_constants_of_its_first_program(is_inference):
    from tt_xla.frontends.torch.device import metrics

    torch_xla.set_custom_compile_options(BFP8)
    try:
        kept_before, first = const_eval_bytes(), session.current.counters[metrics.COMPILED]
        model = torch.nn.Linear(64, 64).bfloat16().to("tt")
        with torch.set_grad_enabled(not is_inference):
            for seed in (1, 2, 3):
                model(torch.full((4, 64), float(seed), dtype=torch.bfloat16).to("tt")).cpu()
                if seed == 1:
                    assert (const_eval_bytes() > kept_before) == is_inference
        assert session.current.counters[metrics.COMPILED] - first == (1 if is_inference else 2)
    finally:
        torch_xla.set_custom_compile_options({})


def test_outside_compile_what_depends_on_weights_alone_is_kept_until_they_change_or_end():
    from tt_xla.frontends.torch.device import metrics

    torch_xla.set_custom_compile_options(BFP8)
    try:
        before, kept_before = bytes_in_use(), const_eval_bytes()
        others = set(get_device().live_executables())  # executables of earlier tests, and those that JAX keeps
        torch.manual_seed(0)
        model = torch.nn.Linear(64, 64, device="tt", dtype=torch.bfloat16)  # not moved, so not known to be constants
        torch_xla.sync()

        def compiled() -> int:
            return session.current.counters[metrics.COMPILED]

        def run(model: torch.nn.Module, seed: int) -> torch.Tensor:
            x = torch.full((4, 64), float(seed), dtype=torch.bfloat16)
            with torch.no_grad():
                return model(x.to("tt")).cpu()

        first = compiled()
        run(model, 1)
        assert const_eval_bytes() == kept_before
        run(model, 2)
        assert compiled() - first == 2
        assert const_eval_bytes() > kept_before
        for seed in (1, 2, 3):
            run(model, seed)
        assert compiled() - first == 2
        new = set(get_device().live_executables()) - others
        (executable,) = [e for e in new if e.counters.runs == 4 and e.counters.const_evals]
        evals = executable.counters.const_evals
        with torch.no_grad():
            model.weight.copy_(torch.zeros(64, 64, dtype=torch.bfloat16))
        assert torch.equal(run(model, 1), model.bias.cpu().detach().expand(4, 64))
        assert executable.counters.const_evals > evals
        del model, executable, new
        assert bytes_in_use() == before
        assert const_eval_bytes() == kept_before
    finally:
        torch_xla.set_custom_compile_options({})


def test_a_buffer_that_could_not_be_made_ends_without_a_further_error(monkeypatch):
    further = []
    monkeypatch.setattr(sys, "unraisablehook", further.append)
    with pytest.raises(TypeError):
        Buffer(unknown=1)
    gc.collect()
    assert not further


def test_a_large_empty_tensor_takes_no_memory_until_it_is_written():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    tensor = torch.empty(1 << 28, device="tt")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1 << 18
    assert tensor[:: 1 << 20].cpu().abs().sum() == 0
    del tensor
    part = torch.empty(1 << 10, 1 << 10, 2, dtype=torch.bfloat16, device="tt")
    part[3] = 2
    assert part.cpu().sum() == 1 << 12


def test_a_large_empty_tensor_that_does_not_fit_raises():
    with pytest.raises(torch.OutOfMemoryError):
        torch.empty(1 << 40, device="tt")
