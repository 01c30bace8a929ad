"""Loaders and expectations are read without running them; bad ones are reported and do not affect the others."""

import json
import subprocess
import sys
import textwrap

import pytest

from tt_xla.testing.models import config, discovery
from tt_xla.testing.models.config import BringupStatus, ExecutionPass, ModelTestStatus

LOADER = """
import torch_that_is_not_there
from ....base import ForgeModel
from enum import StrEnum

class ModelVariant(StrEnum):
    BASE = "Base_v1.0"
    LARGE = "Large"

class ModelLoader(ForgeModel):
    _VARIANTS = {ModelVariant.BASE: 1, ModelVariant.LARGE: 2}
    def load_inputs_decode(self): ...

class ModelLoaderPrefill(ForgePrefillModel):
    _VARIANTS = {ModelVariant.BASE: ModelLoader._VARIANTS[ModelVariant.BASE]}
"""


def tree(root, **sources):
    for name, text in sources.items():
        path = root / name.replace("__", "/") / "loader.py"
        path.parent.mkdir(parents=True)
        path.write_text(text)
    return discovery.discover(root)


def test_names_of_tests(tmp_path):
    result = tree(tmp_path, llama__causal_lm__pytorch=LOADER, plain__jax="class ModelLoader: pass", other__onnx=LOADER)
    assert result.problems == []
    names = [case.id for case in result.cases]
    assert len(names) == len(set(names)) == 3 * 6
    assert "llama/causal_lm/pytorch-Base_v1.0-single_device-inference" in names
    assert "plain/jax-data_parallel-training" in names
    phases = result.llm_cases
    prefill = "llama/causal_lm/pytorch-Base_v1.0-llm_prefill-seq_128-batch_1-fsdp-dp-tensor_parallel-mesh_2x4-inference"
    assert prefill in phases
    assert prefill.replace("Base_v1.0", "Large") not in phases
    assert "llama/causal_lm/pytorch-Large-llm_decode-seq_1-batch_1-single_device-mesh_default-inference" in phases


@pytest.mark.parametrize(
    ("text", "variants"),
    [
        ("class ModelLoader:\n _VARIANTS = {'a': 1, 'b': 2}", ["a", "b"]),
        ("_V = {'a': 1}\nclass ModelLoader:\n _VARIANTS = _V", ["a"]),
        ("class E:\n A = 'a'\n B = 'b'\nclass ModelLoader:\n _VARIANTS = {v: 1 for v in E}", ["a", "b"]),
        (
            "from ...llama.pytorch.loader import ModelLoader as Base\nclass ModelLoader(Mixin, Base): pass",
            ["Base_v1.0", "Large"],
        ),
        (
            "from ...llama.pytorch.loader import ModelLoader as Base\n"
            "class ModelLoader:\n _VARIANTS = {**Base._VARIANTS, 'c': 1}",
            ["Base_v1.0", "Large", "c"],
        ),
        (
            "from ...llama.pytorch.loader import ModelVariant as V\nclass ModelLoader:\n _VARIANTS = {V.BASE: 1}",
            ["Base_v1.0"],
        ),
        ("class ModelLoader: pass", [None]),
    ],
)
def test_variants_that_are_written_down(tmp_path, text, variants):
    result = tree(tmp_path, llama__pytorch=LOADER, mine__pytorch=text)
    assert result.problems == []
    assert list(result.loaders[1].variants) == variants


def test_variants_that_are_computed(tmp_path, monkeypatch):
    """The loader is imported once, in its own process."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    text = """
class ModelLoader:
    _VARIANTS = {str(n): n for n in range(3)}
    @classmethod
    def query_available_variants(cls): return cls._VARIANTS
"""
    assert tree(tmp_path / "models", mine__pytorch=text).loaders[0].variants == ("0", "1", "2")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: pytest.fail("it was asked again"))
    assert discovery.discover(tmp_path / "models").loaders[0].variants == ("0", "1", "2")


def test_bad_loaders_are_told(tmp_path):
    result = tree(
        tmp_path,
        a__pytorch="class ModelLoader: pass",
        b__pytorch="class ModelLoader(",
        c__pytorch="x = 1",
        d__pytorch="class ModelLoader:\n  _VARIANTS = make()\nraise SystemExit(7)",
        e__pytorch="\0",
    )
    assert [loader.folder for loader in result.loaders] == ["a/pytorch"]
    assert len(result.problems) == 4
    assert all(problem.startswith("Cannot import path: ") for problem in result.problems)
    assert "the file has no class ModelLoader" in result.problems[1]


def test_discovery_imports_no_framework(tmp_path):
    tree(tmp_path, llama__pytorch=LOADER)
    code = "import sys, pathlib; from tt_xla.testing.models import discovery, config, collection, processes\n"
    code += "print(len(discovery.discover(pathlib.Path(sys.argv[1])).cases))\n"
    code += "print([name for name in ('torch', 'jax', 'xdsl', 'transformers') if name in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True)
    assert run.stdout.split("\n")[:2] == ["12", "[]"]


ENTRIES = """
test_config:
  llama/pytorch-Large-single_device-inference:
    status: expected_passing
    required_pcc: 0.98
    supported_archs: [n300-llmbox, p150]
    markers: [nightly]
    arch_overrides:
      n150:
        status: NOT_SUPPORTED_SKIP
        reason: too large
        bringup_status: FAILED_RUNTIME
  llama/pytorch-Base_v1.0-single_device-training:
    status: KNOWN_FAILURE_XFAIL
    execution_pass: BACKWARD
    assert_pcc: false
"""


def expectations(tmp_path, **texts):
    paths = []
    for name, text in texts.items():
        paths.append(tmp_path / f"test_config_{name}.yaml")
        paths[-1].write_text(text)
    return config.read(paths)


def test_fields(tmp_path):
    parsed = expectations(tmp_path, a=ENTRIES)
    assert parsed.problems == []
    large = parsed.of("llama/pytorch-Large-single_device-inference")
    assert (large.status, large.required_pcc) == (ModelTestStatus.EXPECTED_PASSING, 0.98)
    assert large.supported_archs == ("n300-llmbox", "p150")
    here = parsed.of("llama/pytorch-Large-single_device-inference", "n150")
    assert (here.status, here.reason, here.required_pcc) == (ModelTestStatus.NOT_SUPPORTED_SKIP, "too large", 0.98)
    assert here.bringup_status is BringupStatus.FAILED_RUNTIME
    base = parsed.of("llama/pytorch-Base_v1.0-single_device-training", "n300")
    assert base.execution_pass is ExecutionPass.BACKWARD
    comparison = base.comparison()
    assert (comparison.pcc.enabled, comparison.assert_on_failure) == (False, False)
    unlisted = parsed.of("other")
    assert (unlisted.status, unlisted.supported_archs) == (ModelTestStatus.UNSPECIFIED, ("n150", "p150"))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "test_config:\n  a:\n    status: EXPECTED_PASING",
            "Invalid ModelTestStatus: 'EXPECTED_PASING'. Did you mean EXPECTED_PASSING?",
        ),
        ("test_config:\n  a:\n    status:", "Missing 'status' field or empty value in test 'a'"),
        ("test_config:\n  a:", "expected fields of test 'a'"),
        (
            "test_config:\n  a:\n    statsu: x",
            "Unknown field 'statsu' in test 'a' in {0}/test_config_a.yaml. Did you mean 'status'?",
        ),
        ("test_config:\n  a:\n    bringup_status: DONE", "Invalid BringupStatus: 'DONE'"),
        ("test_config:\n  a:\n    optimization_level: 3", "optimization_level must be 0, 1, or 2 (got 3)"),
        ("test_config:\n  a:\n    required_pcc: high", "'required_pcc' in test 'a'"),
        ("test_config:\n  a:\n    supported_archs: [n151]", "unknown arch 'n151'"),
        ("test_config:\n  a:\n    arch_overrides: {n151: {}}", "Unknown arch 'n151' in arch_overrides"),
        (
            "test_config:\n  a:\n    status: unspecified\n  a:\n    status: unspecified",
            "duplicate key 'a'; the first one, in line 2",
        ),
        ("test_config:\n  a:\n\tstatus: unspecified", "cannot be read"),
        ("test_config: [a]", "expected a mapping of tests"),
        ("tests: {}", "at the top, got 'tests'"),
        ("- a", "at the top, got a list"),
        ("a: &a [*a]", "recursive"),
        ("{[a]: 1}", "a key is not a string"),
    ],
)
def test_bad_files(tmp_path, text, problem):
    parsed = expectations(tmp_path, a=text, b=ENTRIES)
    assert problem.format(tmp_path.name) in "\n".join(parsed.problems)
    assert len([name for name in parsed.entries if name.startswith("llama")]) == 2


def test_a_duplicate_key_hides_nothing_else(tmp_path):
    text = "test_config:\n  a:\n    status: unspecified\n  a:\n    status: x\n  b:\n    status: y\n"
    parsed = expectations(tmp_path, a=text)
    assert parsed.problems[0].endswith(".yaml:4: duplicate key 'a'; the first one, in line 2, counts.")
    assert len(parsed.problems) == 2
    assert "Invalid ModelTestStatus: 'y'" in parsed.problems[1]
    assert set(parsed.entries) == {"a", "b"}


def test_duplicates_across_files(tmp_path):
    parsed = expectations(tmp_path, a=ENTRIES, b=ENTRIES)
    assert len(parsed.problems) == 2
    assert "duplicate test 'llama/pytorch-Large-single_device-inference'; the first entry" in parsed.problems[0]
    assert "test_config_b.yaml:3: " in parsed.problems[0]


def test_placeholders(tmp_path):
    parsed = expectations(tmp_path, placeholders="PLACEHOLDER_MODELS:\n  a/b:\n    reason: soon\n  c:\n")
    assert parsed.problems == []
    assert parsed.placeholders["a/b"].bringup_status is BringupStatus.NOT_STARTED
    assert set(parsed.placeholders) == {"a/b", "c"}


def test_validation(tmp_path):
    parsed = expectations(tmp_path, a=ENTRIES)
    tests = ["llama/pytorch-Large_2-single_device-inference", "llama/pytorch-Base_v1.0-single_device-training"]
    held = config.validate(parsed, tests, [])
    assert held.unlisted == [tests[0]]
    (unknown,) = held.unknown
    assert "no test is named 'llama/pytorch-Large-single_device-inference'. Did you mean: " + tests[0] in unknown
    assert config.validate(parsed, tests, ["llama/pytorch-Large-single_device-inference"]).unknown == []


def test_records_survive_a_cut(tmp_path):
    from tt_xla.testing.models import records

    path = tmp_path / "records.jsonl"
    records.append(path, records.Record("a", "passed", pcc=0.5))
    records.append(path, records.Record("b", "failed"))
    path.write_text(path.read_text() + json.dumps({"test": "c"})[:-3])
    loaded = records.load(path)
    assert set(loaded) == {"a", "b"}
    assert loaded["a"].pcc == 0.5


GROUPED = """
class Size(StrEnum):
    SMALL = "2b_it"
    LARGE = "27b"

LARGE = [Size.LARGE]

class ModelLoader(ForgeModel):
    _VARIANTS = {{Size.SMALL: 1, Size.LARGE: 2, "plain": 3}}
    DEFAULT_VARIANT = Size.SMALL

    @classmethod
    def _get_model_info(cls, variant=None):
        source = cls._VARIANTS[variant].source
{0}
"""


@pytest.mark.parametrize(
    ("body", "groups"),
    [
        ("return ModelInfo(group=ModelGroup.RED)", "red red red"),
        ("return ModelInfo()", "  "),
        (
            "return ModelInfo(group=ModelGroup.RED if variant == Size.LARGE else ModelGroup.PRIORITY)",
            "priority red priority",
        ),
        (
            "group = ModelGroup.RED if variant in LARGE else ModelGroup.PRIORITY\nreturn ModelInfo(group=group)",
            "priority red priority",
        ),
        (
            "if variant == cls.DEFAULT_VARIANT:\n    group = ModelGroup.RED\nelif '27' in variant.value:\n"
            "    group = ModelGroup.PRIORITY\nelse:\n    group = ModelGroup.VULCAN\nreturn ModelInfo(group=group)",
            "red priority vulcan",
        ),
        (
            "group = ModelGroup.RED\nif any(x in variant.value for x in ['_it', 'plain']):\n"
            "    group = ModelGroup.GENERALITY\nreturn ModelInfo(group=group)",
            "generality red generality",
        ),
        ("return ModelInfo(group=ModelGroup.RED if source.large else ModelGroup.PRIORITY)", "  "),
        ("return ModelInfo(group=ModelGroup.RED if open('x') else ModelGroup.PRIORITY)", "  "),
    ],
)
def test_groups_are_read_of_each_variant(tmp_path, body, groups):
    path = tmp_path / "m" / "pytorch" / "loader.py"
    path.parent.mkdir(parents=True)
    path.write_text(GROUPED.format(textwrap.indent(body, " " * 8)))
    result = discovery.discover(tmp_path)
    assert not result.problems
    (loader,) = result.loaders
    assert [loader.group(variant) for variant in ("2b_it", "27b", "plain")] == groups.split(" ")
