"""``import ttnn``: when it is ours, and what it costs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tt_xla.ttnn_api import signatures
from tt_xla.ttnn_api.families import operations


def run(code: str, **environment: str) -> str:
    """Returns what a fresh interpreter prints."""
    done = subprocess.run(
        [sys.executable, "-c", f"import tt_xla._import_hook\n{code}"],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_import_is_light() -> None:
    code = "import sys, ttnn; ttnn.bfloat16, ttnn.add, ttnn.transformer.concatenate_heads, ttnn.Conv2dConfig; "
    code += "print(sorted({'torch', 'numpy', 'jax', 'xdsl', 'tt_xla.cost'} & set(sys.modules)))"
    assert run(code) == "[]"


def test_probes_do_not_find_it() -> None:
    """``tt_xla.codegen`` looks for the real package by a probe."""
    assert run("import importlib.util; print(importlib.util.find_spec('ttnn'))") == "None"


def test_an_installed_ttnn_wins(tmp_path: Path) -> None:
    (tmp_path / "ttnn.py").write_text("real = True\n")
    assert run(f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import ttnn; print(ttnn.real)") == "True"


def test_it_can_be_turned_off() -> None:
    code = "try:\n import ttnn\nexcept ModuleNotFoundError as error:\n print(error)"
    assert run(code, TTXLA_TTNN="off") == "No module named 'ttnn'"


def test_names_say_whether_tt_nn_has_them() -> None:
    ttnn = pytest.importorskip("ttnn")
    with pytest.raises(AttributeError, match="TT-NN has it, but the emulated card does not"):
        ttnn.generic_op  # noqa: B018
    with pytest.raises(AttributeError, match="does not: a mesh lies in one process"):
        ttnn.create_socket_pair  # noqa: B018
    with pytest.raises(AttributeError, match="TT-NN has no such name"):
        ttnn.no_such_name  # noqa: B018
    with pytest.raises(ModuleNotFoundError, match="part of its API"):
        __import__("ttnn.no_such_module")
    with pytest.raises(AttributeError, match="does not: PyTorch draws and exports models"):
        ttnn.tracer  # noqa: B018
    with pytest.raises(ModuleNotFoundError, match=r"ttnn.tracer is not available: PyTorch draws and exports models"):
        __import__("ttnn.tracer")


def test_rules_take_what_tt_nn_takes() -> None:
    """A rule names parameters that the table of TT-NN's signatures has for one of the rule's functions."""
    taken: dict[Any, set[str]] = {}
    named: dict[Any, set[str]] = {}
    for name, operation in operations().items():
        overloads, rule = signatures.overloads(name), operation.rule.__code__
        assert overloads, name
        taken.setdefault(rule, set()).update(*(each.names for each in overloads))
        named.setdefault(rule, set()).update(operation.named)
    assert not {rule.co_qualname: rest for rule in taken if (rest := named[rule] - taken[rule])}


def test_absent_names_are_tt_nns() -> None:
    """A reason stands for names that TT-NN has and ours lacks."""
    from fnmatch import fnmatchcase

    from tt_xla.ttnn_api import absent

    for pattern in absent.REASONS:
        names = [name for name in signatures.lines() if fnmatchcase(name, pattern)]
        assert [name for name in names if name not in operations()], pattern
