"""The small models of models/ on the emulated card, compared with float32 on the CPU."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

pytest.importorskip("transformers", reason="the extra torch-examples is not installed")


from models.document import failures, table, write
from tests.libraries import import_or_skip, misfit
from tt_xla.testing.models import config
from tt_xla.testing.models.config import ModelTestStatus
from tt_xla.testing.models.discovery import Case, discover
from tt_xla.testing.models.execution import run
from tt_xla.testing.models.loading import make_loader
from tt_xla.testing.models.records import Record, settled
from tt_xla.testing.models.suite import Suite

pytestmark = pytest.mark.filterwarnings("default")

ROOT = Path(__file__).parents[2] / "models"
LEVEL_2 = (
    "clip/image_text_similarity/pytorch",
    "detr/object_detection/pytorch",
    "gemma3/causal_lm/pytorch",
    "gpt2/causal_lm/jax",
    "gpt2/causal_lm/pytorch",
    "llama/causal_lm/jax",
    "mixtral/causal_lm/pytorch",
    "mnist/image_classification/jax",
    "qwen3/causal_lm/pytorch",
    "segformer/semantic_segmentation/pytorch",
    "swin/image_classification/pytorch",
    "t5/conditional_generation/pytorch",
    "vit/image_classification/pytorch",
    "whisper/speech_recognition/pytorch",
)
OF_NNX = ("gpt2/causal_lm/jax",)
"""Models among these that are written in ``flax.nnx``."""
AT_EACH_LEVEL = ("bert/masked_lm/pytorch", "resnet/image_classification/pytorch")
CASES = [(name, level) for name in AT_EACH_LEVEL for level in (0, 1, 2)] + [(name, 2) for name in LEVEL_2]
FOR_EACH_CHANGE = {("bert/masked_lm/pytorch", 2)}


@pytest.fixture(scope="module")
def expectations():
    return config.read(config.config_files([ROOT.parent / "tests/runner/test_config"]))


@pytest.fixture(autouse=True)
def _offline(monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


@pytest.mark.parametrize(
    ("name", "level"),
    [pytest.param(*case, marks=() if case in FOR_EACH_CHANGE else pytest.mark.nightly) for case in CASES],
)
def test_agrees_with_the_cpu(name, level, expectations):
    """Agrees with float32 as one program without host ops. `make models` runs all models."""
    if name in OF_NNX:
        import_or_skip("flax.nnx")
    case = Case(name, "small", "single_device", "inference")
    expectation = replace(expectations.of(case.id), optimization_level=level, golden_f32=True)
    record = run(ROOT, case, expectation, lambda stage: None)
    assert record.outcome == "passed", record.error
    assert record.pcc > 0.99
    assert record.graphs == 1
    assert record.host_ops == []


@pytest.mark.nightly
@pytest.mark.parametrize("name", AT_EACH_LEVEL)
def test_training_is_as_its_entry_says(name, expectations):
    """Without dropout BERT's gradients agree; ResNet's do not, and the report has the entry's status and reason."""
    case = Case(name, "small", "single_device", "training")
    expectation = expectations.of(case.id)
    record = settled(run(ROOT, case, expectation, lambda stage: None), expectation)
    passes = expectation.status is ModelTestStatus.EXPECTED_PASSING
    assert record.outcome == ("passed" if passes else "xfailed"), record.error
    assert record.bringup_status == ("PASSED" if passes else "INCORRECT_RESULT")
    assert record.reason == expectation.reason


def test_a_static_cache_decodes_with_one_program():
    """The prompt runs one program, all later tokens run another one, and the tokens equal those of the CPU."""
    from transformers import StaticCache

    from tt_xla.frontends.torch.backend import clear_programs, compiled_programs
    from tt_xla.ir.program import Role

    loader = make_loader(ROOT, "llama/causal_lm/pytorch", "small")
    model, inputs = loader.load_model(), loader.load_inputs()
    prompt = inputs["input_ids"][:, :5]

    @torch.no_grad()
    def generate(run, device):
        cache = StaticCache(config=model.config, max_cache_len=32)
        cache.early_initialization(1, 2, 32, torch.float32, device)
        ids, positions, tokens = prompt, torch.arange(5)[None], []
        for _ in range(6):
            inputs = {"input_ids": ids.to(device), "position_ids": positions.to(device)}
            logits = run(**inputs, past_key_values=cache, use_cache=True).logits.cpu()
            ids, positions = logits[:, -1:].argmax(-1), positions[:, -1:] + 1
            tokens.append(int(ids))
        return tokens

    expected = generate(model, "cpu")
    clear_programs()
    torch.compiler.reset()
    compiled = torch.compile(model.to("tt"), backend="tt", fullgraph=True, options={"numerics": "exact"})
    assert generate(compiled, "tt") == expected
    reads_weights = [any(x.role is Role.PARAMETER for x in program.arguments) for program in compiled_programs()]
    assert reads_weights.count(True) == 2


def test_each_model_has_an_entry(expectations):
    result = discover(ROOT)
    nnx = misfit("flax.nnx")
    without_nnx = [problem for problem in result.problems if nnx is not None and nnx in problem]
    assert [problem for problem in result.problems if problem not in without_nnx] == expectations.problems == []
    assert len(result.loaders) >= 100
    assert sum(loader.folder.endswith("jax") for loader in result.loaders) + len(without_nnx) >= 8
    inference = [case for case in result.cases if (case.parallelism, case.run_mode) == ("single_device", "inference")]
    assert [case.id for case in inference if not expectations.of(case.id).listed] == []
    passing = [case for case in inference if expectations.of(case.id).status is ModelTestStatus.EXPECTED_PASSING]
    assert {case.variant for case in passing} == {"small", "trained"}
    assert Suite(result, expectations).unknown == []


def test_seeds_repeat():
    def parameters():
        return make_loader(ROOT, "bert/masked_lm/pytorch", "small").load_model().parameters()

    assert all(torch.equal(x, y) for x, y in zip(parameters(), parameters(), strict=True))


def test_loaders_take_types_and_batches():
    loader = make_loader(ROOT, "vit/image_classification/pytorch", "small")
    (pixels,) = loader.load_inputs(dtype_override=torch.bfloat16, batch_size=3).values()
    assert pixels.dtype is torch.bfloat16
    assert pixels.shape == (3, 3, 64, 64)
    assert loader.get_model_info(loader._variant).name == "pytorch_vit_small_image_classification_huggingface"


def test_sizes_differ():
    sizes = [make_loader(ROOT, "llama/causal_lm/jax", variant).sizes[variant] for variant in ("small", "full")]
    assert sizes[0]["width"] < sizes[1]["width"]


def test_table_tells_what_failed(tmp_path):
    def record(**fields):
        return Record("m", **{"outcome": "passed", "pcc": 1.0, "parameters": 2_000_000, "graphs": 1, "ops": 7} | fields)

    records_by_model = {
        "bert/masked_lm/pytorch": [record(pcc=0.5), record(level=2)],
        "vit/image_classification/pytorch": [record(outcome="failed", pcc=None, error="ValueError: no | good")],
        "gpt2/causal_lm/jax": [record(pcc=0.991)],
    }
    assert failures(records_by_model) == ["bert/masked_lm/pytorch", "vit/image_classification/pytorch"]
    text = table(records_by_model)
    assert text.startswith("1 of 3 models")
    assert "| bert | 2.0 M | 0.5000 | 1.0000 | 0.0 / 0.0 | 7 / 7 |  | 1 |" in text
    assert "ValueError: no   good" in text
    document = tmp_path / "d.md"
    document.write_text("a <!-- x -->old<!-- /x --> b")
    write(document, "x", "new")
    assert document.read_text() == "a <!-- x -->\nnew\n<!-- /x --> b"
    with pytest.raises(ValueError, match="lacks the marks"):
        write(document, "y", "new")
