"""Modules of ``torch_xla`` beside the main ones: helpers of scripts, optimizers, wrapping and collectives."""

from __future__ import annotations

import logging
import types

import pytest
import torch
from torch import nn

torch_xla = pytest.importorskip("torch_xla")

import torch_xla.core.xla_model as xm  # noqa: E402
import torch_xla.utils.utils as xu  # noqa: E402

from tt_xla.frontends.torch import session, settings  # noqa: E402


@pytest.fixture(autouse=True)
def _exact_numbers(exact):
    """Computes as the CPU does."""


def test_synthetic_data():
    samples = xu.SampleGenerator(data="batch", sample_count=2)
    assert [len(samples), [*samples], [*samples]] == [2, ["batch"] * 2, ["batch"] * 2]
    generator = xu.FnDataGenerator(lambda x: x * 2, 3, torch.ones, dims=[2], count=2)
    batches = list(generator)
    assert [len(generator), len(batches), *batches[0][0].shape] == [2, 2, 3, 2]
    assert batches[0][1].sum() == 12


class Held:
    def __init__(self, tensor):
        self.tensor = tensor


class Wrapped(xu.DataWrapper):
    def __init__(self, tensors):
        self.tensors = tensors

    def get_tensors(self):
        return self.tensors

    def from_tensors(self, tensors):
        return Wrapped(tensors)


def test_nested_data_is_rewritten():
    one = torch.ones(1)
    data = {"a": [one, (one, 3)], "b": Held(one), "c": Wrapped([one]), "d": {4}}
    new = xu.for_each_instance_rewrite(data, lambda value: isinstance(value, torch.Tensor), lambda value: value + 1)
    assert new["a"][0] is new["a"][1][0] is new["b"].tensor is new["c"].tensors[0]
    assert (new["a"][0].item(), new["a"][1][1], new["d"], data["b"].tensor.item()) == (2, 3, {4}, 1)
    seen = []
    xu.for_each_instance(data, lambda value: isinstance(value, torch.Tensor), seen.append)
    assert len(seen) == 1
    assert xu.flatten_nested_tuple((1, [2, (3,)])) == (1, 2, 3)
    assert xu.shape([[1, 2], [3, 4], [5, 6]]) == [3, 2]
    with pytest.raises(ValueError, match="no common shape"):
        xu.shape([[1], [1, 2]])


def test_variables_of_scripts(monkeypatch):
    monkeypatch.setenv("MY_COUNT", "3")
    assert xu.getenv_as("MY_COUNT", int, 1) == 3
    assert xu.getenv_as("MY_COUNT", bool) is True
    assert xu.getenv_as("MY_OTHER", float, 0.5) == 0.5
    assert [xu.check_env_flag("MY_COUNT"), xu.check_env_flag("MY_OTHER")] == [True, False]


def test_work_and_timings(capsys):
    assert xu.parallel_work(2, lambda a, b: a + b, [1, 2], [3, 4]) == [4, 6]
    assert xu.timed(lambda: 5, msg="took ", printfn=print) == 5
    assert capsys.readouterr().out.startswith("took ")
    assert len({*xu.get_free_tcp_ports(3)}) == 3


def test_tensors_are_saved_in_files_of_their_own(tmp_path):
    from torch_xla.utils import serialization

    path = str(tmp_path / "model.pt")
    serialization.save({"w": torch.arange(3.0, device="xla"), "epoch": 2}, path)
    assert [file.name for file in (tmp_path / "model.pt.tensors").iterdir()] == ["tensor_0.pt"]
    loaded = serialization.load(path)
    assert (loaded["w"].device.type, loaded["w"].tolist(), loaded["epoch"]) == ("cpu", [0, 1, 2], 2)


def test_views_of_the_same_memory_are_found():
    x = torch.ones(4, device="xla")
    xm.check_view_sharing({"x": x, "y": torch.ones(4, device="xla"), "again": x})
    with pytest.raises(RuntimeError, match="shares its memory"):
        xm.check_view_sharing([x, x[:2]])
    tied = torch_xla._XLAC._xla_get_tensor_id
    assert tied(x) == tied(x[:2]) != tied(torch.ones(4, device="xla"))


def test_checkpoints_restore_random_numbers():
    from torch_xla.distributed.fsdp import checkpoint_module
    from torch_xla.utils.checkpoint import checkpoint

    torch.manual_seed(0)
    layer, x = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5)).to("xla"), torch.ones(8, 4, device="xla")
    x.requires_grad_()
    gradients = []
    for run in (layer, lambda x: checkpoint(layer, x), lambda x: checkpoint(layer, x, use_reentrant=False)):
        xm.set_rng_state(3)
        run(x).square().sum().backward()
        gradients.append(x.grad.cpu())
        x.grad = None
    checkpoint_module(layer)
    xm.set_rng_state(3)
    layer(x).square().sum().backward()
    for gradient in (*gradients[1:], x.grad.cpu()):
        torch.testing.assert_close(gradient, gradients[0])


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW"])
def test_optimizers_skip_steps_that_overflowed(name):
    from torch_xla.amp import syncfree

    weight = torch.ones(2, device="xla", requires_grad=True)
    optimizer = getattr(syncfree, name)([weight], lr=0.5)
    weight.grad = torch.ones(2, device="xla")
    optimizer.step(found_inf=torch.tensor(1.0, device="xla"))
    assert weight.tolist() == [1, 1]
    optimizer.step(found_inf=torch.tensor(0.0, device="xla"))
    assert weight[0].item() == pytest.approx(0.5, abs=0.01)
    optimizer.step()
    assert weight[0].item() < 0.4
    with pytest.raises(ValueError, match=r"has shape \[2\]"):
        optimizer.step(found_inf=torch.ones(2))


def test_the_precision_of_products_is_a_compile_option(caplog):
    from torch_xla import backends

    assert backends.get_mat_mul_precision() == "default"
    with caplog.at_level(logging.WARNING):
        backends.set_mat_mul_precision("highest")
    assert "multiple times" in caplog.text
    assert settings.current().with_own({}).math_fidelity == "hifi4"
    assert settings.current().with_own({}).numerics == "exact"
    assert backends.get_mat_mul_precision() == "highest"
    with pytest.raises(ValueError, match="expected one of default, high, highest"):
        backends.set_mat_mul_precision("low")


REPORT = """Metric: InboundData
  TotalSamples: 10
  Accumulator: 1.50MB
  Rate: 16.8665 / second
  Percentiles: 1%=393.00KB; 50%=1.54MB; 99%=1GB
Metric: CompileTime
  TotalSamples: 2
  Accumulator: 01m29s615ms500us
  Percentiles: 1%=5ms; 99%=2.5us
Counter: aten::sort
  Value: 3
"""


def test_reports_of_metrics_are_read_and_compared():
    import torch_xla.debug.metrics as met
    import torch_xla.debug.metrics_compare_utils as mcu

    numbers = mcu.parse_metrics_report(REPORT)
    assert numbers["InboundData__Accumulator_mb"] == 1.5
    assert numbers["InboundData__Percentile_99_mb"] == 1000
    assert numbers["CompileTime__Accumulator_sec"] == pytest.approx(89.6155)
    assert numbers["CompileTime__Percentile_99_sec"] == pytest.approx(2.5e-6)
    assert (numbers["CompileTime__TotalSamples"], numbers["aten::sort__Value"]) == (2, 3)
    earlier = mcu.get_data_points_from_metrics_reports([REPORT, REPORT.split("Counter")[0]])
    assert earlier["aten::sort__Value"] == [3, None]
    assert mcu.compare_metrics(earlier, REPORT) == ""
    assert "aten::sort__Value failed" in mcu.compare_metrics(earlier, REPORT.replace("Value: 3", "Value: 4"))
    new = REPORT.replace("aten::sort", "aten::unique")
    assert "Found new aten counter: aten::unique__Value: 3" in mcu.compare_metrics(earlier, new)
    with pytest.raises(ValueError, match="'7parsecs' has a unit that is none of"):
        mcu.parse_metrics_report(REPORT.replace("1.50MB", "7parsecs"))
    (torch.ones(2, device="xla") + 1).tolist()
    assert mcu.parse_metrics_report(met.metrics_report())["ExecuteTime__Accumulator_sec"] > 0


def test_updates_of_training_are_printed(capsys):
    from torch_xla.test import test_utils

    class Writer:
        def __init__(self):
            self.numbers = {}

        def add_scalar(self, name, value, step):
            self.numbers[name] = value

    writer = Writer()
    test_utils.print_training_update("tt:0", 3, 0.5, 20.0, 10.0, epoch=1, summary_writer=writer)
    test_utils.print_test_update("tt:0", 99.5, epoch=1)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("| Training Device=tt:0/0 Epoch=1 Step=3 Loss=0.50000 Rate=20.00 GlobalRate=10.00 Time=")
    assert lines[1].startswith("| Test Device=tt:0/0 Epoch=1 Accuracy=99.50 Time=")
    assert writer.numbers == {"examples/sec": 20.0, "average_examples/sec": 10.0}
    assert test_utils.get_summary_writer(None) is None


def test_rates_are_smoothed(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(xm.time, "time", lambda: now[0])
    tracker = xm.RateTracker(smooth_factor=0.5)
    tracker.add(10)
    now[0] += 1
    assert tracker.rate() == 10
    tracker.add(20)
    now[0] += 1
    assert (tracker.rate(), tracker.global_rate()) == (15, 15)


def test_policies_wrap_modules():
    from torch_xla.distributed.fsdp import wrap

    class Wrapper(nn.Module):
        def __init__(self, module, scale=1):
            super().__init__()
            self.module, self.scale = module, scale

    def model():
        return nn.Sequential(nn.Linear(4, 4), nn.Sequential(nn.Linear(2, 2), nn.ReLU()))

    def layers(module, recurse, unwrapped_params):
        return wrap.transformer_auto_wrap_policy(module, recurse, unwrapped_params, {nn.Linear})

    wrapped, count = wrap.recursive_wrap(model(), layers, Wrapper, scale=3)
    assert [type(module).__name__ for module in wrapped.modules()] == [
        *("Sequential", "Wrapper", "Linear", "Sequential", "Wrapper", "Linear", "ReLU")
    ]
    assert (count, wrapped[0].scale) == (26, 3)
    with pytest.raises(ValueError, match=r"\['0', '1.0'\] are wrapped already"):
        wrap.recursive_wrap(wrapped, layers, Wrapper)

    def large(module, recurse, unwrapped_params):
        return wrap.size_based_auto_wrap_policy(module, recurse, unwrapped_params, min_num_params=10)

    wrapped, count = wrap.recursive_wrap(model(), large, Wrapper)
    assert (type(wrapped[0]), type(wrapped[1]), count) == (Wrapper, nn.Sequential, 20)


def test_deprecated_names_warn_once(caplog):
    from torch_xla.experimental import deprecation

    def new_name(x):
        return x + 1

    module = types.ModuleType("some.module")
    deprecation.register_deprecated(module, new_name)
    old = deprecation.deprecated(module, new_name, "old_name", "It goes away.")
    assert [old(1), old(2), module.new_name(3)] == [2, 3, 4]
    assert caplog.text.count("some.module.old_name is deprecated") == 1
    assert "It goes away." in caplog.text


def test_modules_without_a_meaning_say_what_to_use():
    from torch_xla.experimental import custom_kernel, unbounded_dynamism_export

    with pytest.raises(AttributeError, match="scaled_dot_product_attention runs as one op"):
        custom_kernel.ragged_paged_attention  # noqa: B018
    with pytest.raises(AttributeError, match=r"exported_program has no meaning on this device.*as they are"):
        unbounded_dynamism_export.exported_program  # noqa: B018
    with pytest.raises(ImportError, match="cannot import name"):
        exec("from torch_xla.experimental.pallas_kernels import quantized_matmul")


ATTENTIONS = {
    "plain": ({}, lambda scores, seen, bias: scores),
    "causal": ({"causal": True}, lambda scores, seen, bias: scores.where(seen, -torch.inf)),
    "biased": ({"causal": True, "ab": True}, lambda scores, seen, bias: (scores + bias).where(seen, -torch.inf)),
}


@pytest.mark.parametrize("name", ATTENTIONS)
@pytest.mark.parametrize("segments", [False, True])
def test_attention_in_the_form_of_the_kernel_for_tpus(name, segments):
    from torch_xla.experimental.custom_kernel import flash_attention

    options, scored = ATTENTIONS[name]
    q, k, v = (torch.randn(2, 2, 4, 8, requires_grad=True) for _ in range(3))
    bias, ids = torch.randn(2, 2, 4, 4), torch.tensor([[0, 0, 1, 1], [0, 1, 1, 1]])
    scores = scored(0.5 * q @ k.transpose(-1, -2), torch.ones(4, 4, dtype=torch.bool).tril(), bias)
    scores = scores.where(ids[:, None, :, None] == ids[:, None, None, :], -torch.inf) if segments else scores
    expected = scores.softmax(-1) @ v
    expected.square().sum().backward()
    on_device = [each.detach().to("xla").requires_grad_() for each in (q, k, v)]
    more = {"ab": bias.to("xla")} if "ab" in options else {}
    of_segments = {"q_segment_ids": ids.to("xla"), "kv_segment_ids": ids.to("xla")} if segments else {}
    result = flash_attention(*on_device, sm_scale=0.5, **{**options, **more, **of_segments})
    torch.testing.assert_close(result.cpu(), expected)
    result.square().sum().backward()
    for got, wanted in zip(on_device, (q, k, v), strict=True):
        torch.testing.assert_close(got.grad.cpu(), wanted.grad, rtol=1e-4, atol=1e-5)
    with pytest.raises(ValueError, match="together"):
        flash_attention(*on_device, kv_segment_ids=ids.to("xla"))


@pytest.mark.parametrize("length", [3, 6, 9])
def test_repetitions_of_a_length_that_is_known(length):
    from torch_xla.experimental.custom_kernel import repeat_with_fixed_output_size

    values, repeats = torch.tensor([5, 6, 7, 8]), torch.tensor([0, 2, 4, 0])
    result = repeat_with_fixed_output_size(values.to("xla"), repeats.to("xla"), length)
    assert result.tolist() == [6, 6, 7, 7, 7, 7, 8, 8, 8][:length]


def test_recorded_ops_as_text():
    x = torch.ones(2, 3).to("xla")
    torch_xla.sync()
    y = torch.pow(x + 5, 2)
    lines = torch_xla._XLAC._get_xla_tensors_text([y, x]).splitlines()
    constants = ["  %0 = s64[] prim::Constant(), value=5", "  %1 = s64[] prim::Constant(), value=2"]
    assert lines[:4] == ["IR {", *constants, LEAF]
    assert lines[4].startswith("  %3 = f32[2,3]{1,0} aten::add(%2, %0), location=")
    assert lines[5].startswith("  %4 = f32[2,3]{1,0} aten::pow(%3, %1), location=")
    assert lines[5].endswith("ROOT=0")
    described = torch_xla._XLAC._get_xla_tensor_debug_info(y)
    assert "XLA Shape: f32[2,3]" in described
    assert "aten::add" in described
    assert "XLAData: None" in described
    torch_xla.sync()
    described = torch_xla._XLAC._get_xla_tensor_debug_info(y)
    assert "IR: None" in described
    assert "Data Shape: f32[2,3]" in described
    assert torch_xla._XLAC._get_xla_tensor_debug_info(torch.ones(2)) == "Not a XLATensor\n"


LEAF = "  %2 = f32[2,3]{1,0} xla::device_data(), device=TT:0, ROOT=1"


def test_functions_of_the_extension_about_tensors():
    x = torch.tensor([0, 1, 2, 0], device="xla")
    assert torch_xla._XLAC._get_xla_tensor_dimension_size(torch.nonzero(x), 0).item() == 2
    assert torch_xla._XLAC._unsafe_buffer_pointer(x) == torch_xla._XLAC._unsafe_buffer_pointer(x.view(2, 2)) > 0
    other = torch.ones(2, 2, device="xla")
    torch_xla._XLAC._replace_xla_tensor(x, other.long())
    assert x.tolist() == [[1, 1], [1, 1]]


def test_saved_tensors_of_two_runs_are_compared(tmp_path):
    from torch_xla.debug import model_comparator as mc

    assert mc.save("nowhere", torch.ones(1)).item() == 1
    for run, device, error in (("cpu", "cpu", 0.0), ("tt", "xla", 0.5)):
        mc.configure(tmp_path / run)
        for step in (1, 2):
            x = torch.arange(6.0).reshape(2, 3).to(device)
            mc.save("x", x * 1, step)
            mc.save("x", x + error * x, step)
        mc.save(None, torch.ones(2 if error else 3), 2)
    mc.configure(None)
    report = mc.compare(tmp_path / "cpu", tmp_path / "tt", rtol=0.1, max_diffs=2)
    lines = report.splitlines()
    assert lines[0] == f"Changes in saved tensor {'step-1/x.1'!r}"
    assert lines[1:3] == ["  [1, 2]: 5.0 vs. 7.5\terror=2.5", "  [1, 1]: 4.0 vs. 6.0\terror=2.0"]
    assert [line for line in lines if "aborting" in line] == ["  ... aborting after 2 differences"] * 2
    assert "test_xla_names.py.l" in report
    assert "Tensors have different shape: [3] vs. [2]" in report
    assert mc.compare(tmp_path / "cpu", tmp_path / "cpu") == ""
    (tmp_path / "tt" / "step-1" / "x.0").unlink()
    assert f"Mismatch: step-1/x.0 not in {tmp_path / 'tt'}" in mc.compare(tmp_path / "cpu", tmp_path / "tt")


def test_activations_are_computed_again_with_their_side_effects():
    from torch_xla.distributed.fsdp import checkpoint_module

    class Layer(nn.Linear):
        def forward(self, x):
            y = torch.nn.functional.dropout(super().forward(x), 0.5)
            xm.add_step_closure(seen.append, args=(y.detach(),))
            return y

    seen = []
    layer = checkpoint_module(Layer(4, 4).to("xla"))
    layer(torch.randn(2, 4, device="xla", requires_grad=True)).sum().backward()
    torch_xla.sync()
    first, second = (each.cpu() for each in seen)
    torch.testing.assert_close(first, second)


def test_the_program_of_recorded_ops():
    x = torch.arange(4.0).to("xla")
    torch_xla.sync()
    y = x * 2
    text = xm.get_stablehlo([y])
    assert "stablehlo.multiply" in text
    assert xm.get_stablehlo() == text
    assert xm.get_stablehlo_bytecode([y]).startswith(b"ML\xefR")
    assert y.tolist() == [0, 2, 4, 6]


class OnAnotherDevice:
    def __dlpack_device__(self):
        return 2, 0


def test_dlpack():
    from torch_xla.utils import dlpack

    x = torch.arange(3.0, device="xla")
    assert dlpack.from_dlpack(dlpack.to_dlpack(x)).tolist() == [0, 1, 2]
    assert dlpack.from_dlpack(torch.ones(2)).device.type == "tt"
    with pytest.raises(ValueError, match="takes what is on the CPU"):
        dlpack.from_dlpack(OnAnotherDevice())


def test_sparse_gradients_are_dense():
    indices = torch.tensor([[0, 2], [2, 1]])
    gradients = {}
    for device in ("cpu", "xla"):
        torch.manual_seed(0)
        table = torch.randn(4, 3).to(device).requires_grad_()
        loss = nn.functional.embedding(indices.to(device), table, sparse=True).square().sum()
        for mode in ("sum", "mean"):
            loss = loss + nn.functional.embedding_bag(indices.to(device), table, sparse=True, mode=mode).square().sum()
        loss.backward()
        gradients[device] = table.grad
    assert gradients["xla"].layout is torch.strided
    torch.testing.assert_close(gradients["xla"].cpu(), gradients["cpu"].to_dense())
    assert torch.full((7, 3), 2.0, device="xla").sum().item() == 42


@pytest.mark.parametrize("shape", [(4,), (2, 3, 3)])
def test_classes_of_a_floating_type(shape):
    scores, classes = torch.randn(shape[0], 5, *shape[1:]), torch.randint(5, shape)
    losses, gradients = [], []
    for device, dtype in ("cpu", torch.long), ("xla", torch.float):
        leaf = scores.to(device).detach().requires_grad_()
        loss = torch.nn.functional.cross_entropy(leaf, classes.to(device, dtype))
        loss.backward()
        losses.append(loss.detach().cpu())
        gradients.append(leaf.grad.cpu())
    torch.testing.assert_close(losses[1], losses[0])
    torch.testing.assert_close(gradients[1], gradients[0])


def test_classes_of_a_floating_type_are_an_error_without_torch_xla(monkeypatch):
    monkeypatch.setattr(session.current.mode, "takes_floating_classes", False)
    with pytest.raises(RuntimeError, match=r"expected .* to be Long"):
        torch.nn.functional.cross_entropy(torch.ones(2, 3, device="tt"), torch.zeros(2, device="tt"))


def test_indices_of_an_empty_result_are_not_checked():
    x = torch.zeros(10, 0, 10, device="xla")
    assert x[:, :, torch.tensor([75], device="xla")].shape == (10, 0, 1)


def test_the_norm_of_no_gradients_is_on_the_device():
    norm = nn.utils.clip_grad_norm_(torch.ones(2, device="xla", requires_grad=True), 1.0)
    assert (norm.device.type, norm.item()) == ("tt", 0)
    assert nn.utils.clip_grad_norm_([torch.ones(2)], 1.0).device.type == "cpu"


def test_batch_norm_of_one_replica_is_pytorchs():
    from torch_xla.core import functions

    torch.manual_seed(0)
    x = torch.randn(4, 3, 5)
    own, other = functions.SyncBatchNorm(3), nn.BatchNorm1d(3)
    results = [layer(x.requires_grad_()) for layer in (own, other)]
    torch.testing.assert_close(*results)
    gradients = [torch.autograd.grad(result.square().sum() + result.sum(), x)[0] for result in results]
    torch.testing.assert_close(*gradients, rtol=1e-3, atol=1e-4)
    torch.testing.assert_close(own.eval()(x), own.running_mean.reshape(1, 3, 1) * 0 + own(x))


def test_arguments_of_the_real_package_are_taken(capsys):
    weight = torch.ones(1, device="xla", requires_grad=True)
    weight.grad = torch.ones(1, device="xla")
    xm.optimizer_step(torch.optim.SGD([weight], 0.5), groups=[[0]], pin_layout=False)
    assert weight.item() == 0.5
    xm.master_print("hello", local=True, flush=True)
    assert capsys.readouterr().out == "hello\n"
    assert xm.get_xla_supported_devices(max_devices=1) == ["tt:0"]
    x = torch.ones(2, device="xla")
    assert xm.all_gather(x, channel_id=1, use_global_device_ids=True).tolist() == [1, 1]
    assert xm.reduce_scatter(xm.REDUCE_SUM, x, 1.0, 0, 1, channel_id=1, use_global_device_ids=True).tolist() == [1, 1]
    assert xm.xla_real_devices() == xm.xla_real_devices(["xla:0"]) == ["TT:0"]
    assert xm.do_on_ordinals(lambda tensor: tensor.device.type, (x,)) == "cpu"
