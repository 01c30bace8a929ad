"""Loaders and expectations are read without running them; bad ones are reported and do not affect the others."""

import json
import subprocess
import sys

import pytest

from tt_xla.testing.models import config, discovery, requirements
from tt_xla.testing.models.config import BringupStatus, ExecutionPass, ModelTestStatus

BASE = """
class ForgeModel:
    _VARIANTS = {}

    @classmethod
    def query_available_variants(cls):
        return cls._VARIANTS
"""
LOADER = """
import importlib.util
import torch_that_is_not_there
import torch_that_is_not_there.nn.modules as layers
from torch_that_is_not_there.nn import Module, functional as F

assert importlib.util.find_spec("torch_that_is_not_there") is None
try:
    import json.that_is_not_there
except ImportError:
    pass
from ....base import ForgeModel
from enum import StrEnum

class Part(Module):
    scale = F.scale(2) * layers.SIZE

class ModelVariant(StrEnum):
    BASE = "Base_v1.0"
    LARGE = "Large"

class ModelLoader(ForgeModel):
    _VARIANTS = {ModelVariant.BASE: 1, ModelVariant.LARGE: 2}
"""
PLAIN = "class ModelLoader: pass"


@pytest.fixture(autouse=True)
def _cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TTXLA_CACHE", str(tmp_path / "cache"))


def tree(root, **sources):
    for name, text in sources.items():
        path = root / name.replace("__", "/") / "loader.py"
        path.parent.mkdir(parents=True)
        path.write_text(text)
    (root / "base.py").write_text(BASE)
    return discovery.discover(root)


def test_names_of_tests(tmp_path):
    """A package that is not installed, which only running the model needs, is no obstacle."""
    result = tree(tmp_path, llama__causal_lm__pytorch=LOADER, plain__jax=PLAIN, other__onnx=LOADER)
    assert result.problems == []
    names = [case.id for case in result.cases]
    assert len(names) == len(set(names)) == 3 * 6
    assert "llama/causal_lm/pytorch-Base_v1.0-single_device-inference" in names
    assert "plain/jax-data_parallel-training" in names


@pytest.mark.parametrize("variant", ["Base_v1.0", "Large"])
def test_phases_of_language_models(tmp_path, variant):
    """A phase's test exists if its variant does."""
    result = tree(tmp_path, llama__causal_lm__pytorch=LOADER, plain__jax=PLAIN)
    phase, strategy = "llm_prefill-seq_128-batch_1", "fsdp-dp-tensor_parallel-mesh_2x4"
    name = f"llama/causal_lm/pytorch-{variant}-{phase}-{strategy}-inference"
    case = discovery.Case("llama/causal_lm/pytorch", variant, strategy, "inference", phase)
    assert result.phase(name) == case
    assert case.id == name
    decode = "plain/jax-llm_decode-seq_1-batch_1-single_device-mesh_default-training"
    assert result.phase(decode) == discovery.Case(
        "plain/jax", None, "single_device-mesh_default", "training", "llm_decode-seq_1-batch_1"
    )
    for other in (name.replace(variant, "Huge"), name.replace("llama", "plain"), name.replace(phase, "llm")):
        assert result.phase(other) is None


COMPUTED = """
from ...base import ForgeModel
from .sizes import SIZES
class ModelLoader(ForgeModel):
    _VARIANTS = {str(n): n for n in SIZES}
"""


def test_loaders_are_imported_once(tmp_path, monkeypatch):
    """Until a file changes from which a loader imports or reads."""
    root = tmp_path / "models"
    (root / "mine/pytorch").mkdir(parents=True)
    (root / "mine/pytorch/sizes.py").write_text("SIZES = range(3)")
    (root / "mine/pytorch/loader.py").write_text(COMPUTED)
    path = root / "other/jax/loader.py"
    names = "open(__file__.replace('loader.py', 'names.txt')).read().split()"
    assert tree(root, other__jax=COMPUTED.replace("from .sizes import SIZES", f"SIZES = {names}")).unreadable == {
        "other/jax": f"FileNotFoundError: [Errno 2] No such file or directory: '{path.with_name('names.txt')}'"
    }
    path.with_name("names.txt").write_text("a b")
    assert variants(root) == {"mine/pytorch": ("0", "1", "2"), "other/jax": ("a", "b")}
    digests = [loader.digest for loader in discovery.discover(root).loaders]
    with monkeypatch.context() as patch:
        patch.setattr(subprocess, "run", lambda *_, **__: pytest.fail("a loader was imported again"))
        assert variants(root) == {"mine/pytorch": ("0", "1", "2"), "other/jax": ("a", "b")}
    path.with_name("names.txt").write_text("c")
    (root / "mine/pytorch/sizes.py").write_text("SIZES = range(1)")
    assert variants(root) == {"mine/pytorch": ("0",), "other/jax": ("c",)}
    assert not set(digests) & {loader.digest for loader in discovery.discover(root).loaders}
    (root / "base.py").write_text(BASE.replace("return cls", "return 0 and cls"))
    assert variants(root) == {"mine/pytorch": (None,), "other/jax": (None,)}


def test_other_requirements_are_another_loader(tmp_path):
    """A record of a test belongs to the packages with which it ran."""
    tree(tmp_path, mine__pytorch=COMPUTED.replace("from .sizes import SIZES", "SIZES = range(1)"))

    def digest():
        (loader,) = discovery.discover(tmp_path).loaders
        return loader.digest

    digests = [digest()]
    for name, _ in requirements.FILES:
        for text in ("einops==0.8.1", "einops==0.8.0"):
            (tmp_path / "mine/pytorch" / name).write_text(text)
            digests.append(digest())
    assert len(set(digests)) == len(digests)


def variants(root):
    return {loader.folder: loader.variants for loader in discovery.discover(root).loaders}


def test_bad_loaders_are_told(tmp_path):
    """A loader that ends its process, or never returns, does not end the discovery."""
    result = tree(
        tmp_path,
        a__pytorch=PLAIN,
        b__pytorch="class ModelLoader(",
        c__pytorch="x = 1",
        d__pytorch="class ModelLoader:\n  _VARIANTS = make()",
        e__pytorch="\0",
        f__pytorch="import sys; sys.exit(7)",
        g__pytorch="import os; print('bye', flush=True); os._exit(7)",
        h__pytorch="import ctypes; ctypes.string_at(0)",
        i__pytorch="import json.no_such_module",
        i__jax="from ..nowhere import ModelLoader",
        j__pytorch=PLAIN,
    )
    assert [loader.folder for loader in result.loaders] == ["a/pytorch", "j/pytorch"]
    reasons = {folder.removesuffix("/pytorch"): reason for folder, reason in result.unreadable.items()}
    assert "SyntaxError" in reasons["b"]
    assert reasons["c"] == "ValueError: the file has no class ModelLoader"
    assert reasons["d"] == "NameError: name 'make' is not defined"
    assert "null bytes" in reasons["e"]
    assert reasons["f"] == "SystemExit: 7"
    assert reasons["g"] == "the import ended the process: exit status 7"
    assert reasons["h"].startswith("the import ended the process: SIGSEGV")
    assert reasons["i/jax"] == "ModuleNotFoundError: No module named 'third_party.tt_forge_models.i.nowhere'"
    assert reasons["i"] == "ModuleNotFoundError: No module named 'json.no_such_module'"
    assert result.problems[0].startswith(f"Cannot import path: {tmp_path / 'b/pytorch/loader.py'}: SyntaxError")


def test_a_loader_that_never_returns(tmp_path):
    text = f"import signal; signal.alarm(1); signal.pause()\n{PLAIN}"
    result = tree(tmp_path, a__pytorch=text, b__pytorch=PLAIN)
    assert result.unreadable == {"a/pytorch": "the import takes more than 300 s"}
    assert [loader.folder for loader in result.loaders] == ["b/pytorch"]


def test_discovery_imports_no_framework(tmp_path):
    tree(tmp_path, llama__pytorch=LOADER.replace("....base", "...base"))
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


def test_a_duplicate_key_hides_nothing_else(tmp_path):
    text = "test_config:\n  a:\n    status: unspecified\n  a:\n    status: x\n  b:\n    status: y\n"
    parsed = expectations(tmp_path, a=text)
    assert parsed.problems[0].endswith(".yaml:4: duplicate key 'a'; the first one, in line 2, counts.")
    assert len(parsed.problems) == 2
    assert "'status' of 'b' got 'y': no such ModelTestStatus. Allowed: EXPECTED_PASSING" in parsed.problems[1]
    assert set(parsed.entries) == {"a", "b"}


def test_duplicates_across_files(tmp_path):
    parsed = expectations(tmp_path, a=ENTRIES, b=ENTRIES)
    assert len(parsed.problems) == 2
    assert "duplicate test 'llama/pytorch-Large-single_device-inference'; the first entry" in parsed.problems[0]
    assert "test_config_b.yaml:3: " in parsed.problems[0]


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
from enum import StrEnum
from types import SimpleNamespace
from ...base import ForgeModel

class Size(StrEnum):
    SMALL = "2b_it"
    LARGE = "27b"

class ModelLoader(ForgeModel):
    _VARIANTS = {Size.SMALL: 1, Size.LARGE: 2, "plain": 3}

    @classmethod
    def get_model_info(cls, variant=None):
        return {0}
"""


@pytest.mark.parametrize(
    ("info", "groups"),
    [
        ("SimpleNamespace(group='red')", "red red red"),
        ("SimpleNamespace()", "  "),
        ("SimpleNamespace(group='red' if variant == Size.LARGE else 'priority')", "priority red priority"),
        ("SimpleNamespace(group='red' if '27' in variant.value else 'priority')", "priority red "),
    ],
)
def test_groups_of_variants(tmp_path, info, groups):
    result = tree(tmp_path, m__pytorch=GROUPED.replace("{0}", info))
    assert result.problems == []
    (loader,) = result.loaders
    assert [loader.group(variant) for variant in ("2b_it", "27b", "plain")] == groups.split(" ")
