"""Trainer of transformers, accelerate and ``generate`` use the device as people call them."""

import contextlib
import os
import subprocess
import sys
from dataclasses import dataclass, field

import pytest
import torch

from tt_xla.frontends.torch import settings
from tt_xla.frontends.torch.backend import compiled_programs

transformers = pytest.importorskip("transformers")

STEPS = 7


def tiny_llama() -> torch.nn.Module:
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=64,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=1,
        pad_token_id=0,
        eos_token_id=None,
    )
    return transformers.LlamaForCausalLM(config)


@dataclass
class Steps:
    """The loss of each step of a training, and the number of programs after it."""

    losses: list[float] = field(default_factory=list)
    programs: list[int] = field(default_factory=list)


def trained(folder: object, model: torch.nn.Module, **options: object) -> Steps:
    generator = torch.Generator().manual_seed(1)
    data = [{"input_ids": ids, "labels": ids} for ids in torch.randint(1, 64, (40, 16), generator=generator)]
    arguments = transformers.TrainingArguments(
        output_dir=str(folder),
        per_device_train_batch_size=2,
        max_steps=STEPS,
        logging_steps=1,
        learning_rate=1e-2,
        report_to=[],
        save_strategy="no",
        disable_tqdm=True,
        **options,
    )
    steps = Steps()

    class Recorder(transformers.TrainerCallback):
        def on_step_end(self, *args: object, **kwargs: object) -> None:
            steps.programs.append(len(compiled_programs()))

        def on_log(self, *args: object, logs: dict[str, str], **kwargs: object) -> None:
            if "loss" in logs:
                steps.losses.append(float(logs["loss"]))

    transformers.Trainer(model, arguments, train_dataset=data, callbacks=[Recorder()]).train()
    return steps


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "options",
    [
        {"torch_compile": True, "torch_compile_backend": "tt"},
        {"torch_compile": True, "torch_compile_backend": "tt", "bf16": True, "activation_checkpointing": True},
        {"gradient_accumulation_steps": 2},
    ],
    ids=["compiled", "compiled-bf16-checkpointing", "recorded-accumulation"],
)
def test_trainer_has_the_losses_of_the_cpu_and_settles_on_its_programs(tmp_path, options):
    pytest.importorskip("accelerate")
    common = {name: value for name, value in options.items() if not name.startswith("torch_compile")}
    expected = trained(tmp_path, tiny_llama(), use_cpu=True, **common)

    torch.compiler.reset()
    steps = trained(tmp_path, tiny_llama(), **options)

    assert steps.losses == pytest.approx(expected.losses, abs=5e-3)
    assert len(set(steps.losses)) == STEPS
    assert steps.programs[-1] == steps.programs[4]


PATH = "import accelerate; print(accelerate.PartialState().distributed_type.value, accelerate.PartialState().device)"


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("lines", "variables", "expected"),
    [
        (f"{PATH}; import torch_xla, transformers; print(transformers.is_torch_xla_available())", {}, "NO tt False"),
        (
            f"import torch_xla; {PATH}; import transformers; print(transformers.is_torch_xla_available())",
            {},
            "XLA tt:0 True",
        ),
        (f"import torch_xla; {PATH}", {"USE_TORCH_XLA": "0"}, "NO tt"),
        (PATH, {"USE_TORCH_XLA": "1"}, "XLA tt:0"),
        (PATH, {"ACCELERATE_TORCH_DEVICE": "cpu"}, "NO cpu"),
        ("import accelerate; print(accelerate.PartialState(cpu=True).device)", {}, "cpu"),
    ],
)
def test_accelerate_and_transformers_choose_device_and_path_together(lines, variables, expected):
    pytest.importorskip("accelerate")
    code = f"import tt_xla._import_hook; {lines}"
    result = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **variables},
    )
    assert result.stdout.split() == expected.split()


def test_accelerate_places_models_on_the_chips():
    accelerate = pytest.importorskip("accelerate")
    memory = accelerate.utils.get_max_memory()
    assert memory[0] == torch.accelerator.get_memory_info(0)[0]
    limits = accelerate.utils.get_max_memory({"cpu": 10**9, 0: "200KB"})
    assert list(limits.items()) == [(0, 200_000), ("cpu", 10**9)]

    torch.manual_seed(0)
    model, x = torch.nn.Sequential(*[torch.nn.Linear(128, 128) for _ in range(4)]), torch.randn(2, 128)
    expected = model(x)
    placed = accelerate.infer_auto_device_map(model, max_memory=limits)
    assert list(placed.values()) == [0, 0, "cpu", "cpu"]
    dispatched = accelerate.dispatch_model(model, placed)
    assert [str(layer.weight.device) for layer in dispatched] == ["tt:0", "tt:0", "meta", "meta"]
    torch.testing.assert_close(dispatched(x).cpu(), expected, rtol=2e-2, atol=2e-2)


def test_a_model_with_an_automatic_map_is_loaded_on_the_device(tmp_path):
    pytest.importorskip("accelerate")
    model = tiny_llama()
    model.save_pretrained(tmp_path)
    loaded = transformers.AutoModelForCausalLM.from_pretrained(tmp_path, device_map="auto")
    assert {str(parameter.device) for parameter in loaded.parameters()} == {"tt:0"}
    ids = torch.arange(1, 9)[None]
    torch.testing.assert_close(loaded(ids.to("tt")).logits.cpu(), model(ids).logits, rtol=2e-2, atol=2e-2)


@pytest.mark.nightly
def test_replicas_that_would_train_apart_are_an_error(monkeypatch):
    accelerate = pytest.importorskip("accelerate")
    monkeypatch.setenv("TTXLA_SYSTEM", "n300")
    state = accelerate.state.AcceleratorState
    state._reset_state(reset_partial_state=True)
    with pytest.raises(RuntimeError, match="imported before torch_xla"):
        accelerate.notebook_launcher(accelerate.PartialState)
    with pytest.raises(ValueError, match="the number is 1, or that of the chips, which is 2"):
        accelerate.notebook_launcher(accelerate.PartialState, num_processes=3)
    state._reset_state(reset_partial_state=True)


class Losses(transformers.Pipeline):
    """A pipeline without tokens."""

    def _sanitize_parameters(self, **kwargs):
        return {}, {}, {}

    def preprocess(self, inputs):
        return {"input_ids": inputs, "labels": inputs}

    def _forward(self, inputs):
        return self.model(**inputs)

    def postprocess(self, outputs):
        return outputs.loss


@pytest.mark.parametrize(
    ("options", "device"), [({}, "tt:0"), ({"device": 0}, "tt:0"), ({"device": -1}, "cpu"), ({"device": "cpu"}, "cpu")]
)
def test_a_pipeline_uses_the_device_unless_another_one_is_named(options, device):
    pipeline = Losses(model=tiny_llama(), **options)
    assert (str(pipeline.device), str(pipeline.model.device)) == (device, device)


def test_generate_compiles_steps_with_a_static_cache_for_a_model_on_the_device():
    model = tiny_llama().eval()
    prompt = torch.randint(1, 64, (2, 5), generator=torch.Generator().manual_seed(2))
    mask = torch.ones_like(prompt)
    mask[0, :2] = 0
    expected = model.generate(prompt, attention_mask=mask, max_new_tokens=6, do_sample=False)

    torch.compiler.reset()
    model.to("tt")
    tokens = model.generate(prompt.to("tt"), attention_mask=mask.to("tt"), max_new_tokens=6, do_sample=False)

    assert tokens.cpu().tolist() == expected.tolist()
    assert model.generation_config.cache_implementation is None
    assert model._last_compile_config.backend == "tt"


def test_generate_compiles_steps_of_a_model_whose_states_have_one_size():
    torch.manual_seed(0)
    sizes = {"vocab_size": 64, "hidden_size": 32, "num_hidden_layers": 1, "state_size": 4}
    config = transformers.MambaConfig(**sizes, pad_token_id=0, eos_token_id=None)
    model = transformers.MambaForCausalLM(config).eval()
    prompt = torch.randint(1, 64, (2, 3), generator=torch.Generator().manual_seed(2))
    expected = model.generate(prompt, max_new_tokens=4, do_sample=False)

    torch.compiler.reset()
    model.to("tt")
    tokens = model.generate(prompt.to("tt"), max_new_tokens=4, do_sample=False)

    assert tokens.cpu().tolist() == expected.tolist()
    assert model._last_compile_config.backend == "tt"


@pytest.mark.nightly
def test_a_padded_batch_streams_and_samples_the_tokens_of_the_cpu():
    model = tiny_llama().eval()
    generator = torch.Generator().manual_seed(4)
    batch = torch.randint(1, 64, (32, 6), generator=generator)
    mask = (torch.arange(6) >= torch.arange(32)[:, None] % 4).long()
    options = {"max_new_tokens": 5, "do_sample": True, "top_k": 8}
    torch.manual_seed(5)
    expected = model.generate(batch * mask, attention_mask=mask, **options)

    torch.compiler.reset()
    with exact_numerics():
        model.to("tt")
        torch.manual_seed(5)
        tokens = model.generate((batch * mask).to("tt"), attention_mask=mask.to("tt"), **options)
        streamer = Words()
        streamed = model.generate(batch[:1].to("tt"), max_new_tokens=4, do_sample=False, streamer=streamer)

    assert tokens.cpu().tolist() == expected.tolist()
    assert streamer.tokens == streamed.flatten().tolist()


class Words:
    """Collects the tokens that ``generate`` streams."""

    def __init__(self) -> None:
        self.tokens: list[int] = []

    def put(self, value: torch.Tensor) -> None:
        self.tokens += value.flatten().tolist()

    def end(self) -> None:
        pass


@contextlib.contextmanager
def exact_numerics():
    """Computes as IEEE 754 does, so that near ties fall as on the CPU."""
    settings.set_compile_options({"numerics": "exact"})
    try:
        yield
    finally:
        settings.set_compile_options({})
