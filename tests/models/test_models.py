"""Small models of transformers, random weights: bfloat16 on the emulated card against float32 on the CPU."""

from __future__ import annotations

import pytest
import torch

pytest.importorskip("transformers")

from models import FAMILIES, LOADERS
from models.document import failures, table
from models.measure import agreement, measure

pytestmark = pytest.mark.filterwarnings("default")

AT_LEVEL_2 = "clip", "detr", "gemma3", "gpt2", "mixtral", "qwen3", "segformer", "swin", "t5", "vit", "whisper"
LEVELS = dict.fromkeys(("bert", "resnet"), (0, 1, 2)) | dict.fromkeys(AT_LEVEL_2, (2,))


@pytest.fixture(autouse=True)
def _offline(monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


@pytest.mark.parametrize("name", LEVELS)
def test_agrees_with_the_cpu(name):
    """As one program, and nothing of it on the host. `make models` runs more models, at all levels."""
    found = measure(LOADERS[name], "small", LEVELS[name])
    for level in found.levels.values():
        assert level.pcc > 0.99
        assert level.graphs == 1
        assert level.host_ops == []


def test_a_static_cache_decodes_with_one_program():
    """The prompt is a program, all later tokens run another, and the tokens are those of the CPU."""
    from transformers import StaticCache

    from tt_xla.frontends.torch.backend import clear_programs, compiled_programs
    from tt_xla.ir.program import Role

    model, inputs = LOADERS["llama"].load()
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


def test_the_registry_names_each_model_once():
    assert len(LOADERS) == sum(len(loaders) for loaders in FAMILIES.values())
    assert len(LOADERS) >= 90


def test_seeds_repeat():
    first, second = LOADERS["bert"].load()[0], LOADERS["bert"].load()[0]
    assert all(torch.equal(x, y) for x, y in zip(first.parameters(), second.parameters(), strict=True))


def test_agreement_is_a_number():
    x = torch.randn(100, generator=torch.Generator().manual_seed(0))
    assert agreement([x, -x], [x, x]) == pytest.approx(-1)
    assert agreement([x], [x, x]) == 0
    assert agreement([torch.ones(4)], [2 * torch.ones(4)]) == 0


def test_table_tells_what_failed():
    level = {"pcc": 0.5, "compile_s": 1.0, "run_s": 0.1, "ops": 7, "host_ops": [], "graphs": 1, "device_us": 1.0}
    found = {
        "bert": {"parameters": 2_000_000, "cpu_pcc": 1.0, "levels": {"0": level, "2": level | {"pcc": 1.0}}},
        "vit": {"error": "ValueError: no | good"},
        "gpt2": {"parameters": 1, "cpu_pcc": 1.0, "levels": {"0": level | {"pcc": 0.991}}},
    }
    assert failures(found) == ["bert", "vit"]
    text = table(found)
    assert text.startswith("1 of 3 models")
    assert "| bert | 2.0 M | 1.0000 | 0.5000 |  | 1.0000 | 1.0 / 1.0 | 7 / 7 |  | 1 |" in text
    assert "ValueError: no   good" in text
