"""Every op of the dialects has valid and invalid cases, and no odd property value crashes a verifier."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

import pytest

from tt_xla.errors import MalformedModuleError
from tt_xla.ir import ttcore, ttir, ttnn
from tt_xla.ir.text import parse_module

pytestmark = pytest.mark.quick

DIALECTS = {"ttcore": ttcore.TTCore, "ttir": ttir.dialect(), "ttnn": ttnn.dialect()}
FOLDER = Path(__file__).parent / "dialects"
WITHOUT_RULES = {"ttnn.get_device"}
"""Ops without any rule to break."""


def ops_in(files: list[Path]) -> set[str]:
    text = " ".join(file.read_text() for file in files)
    return {name.replace("<", ".") for name in re.findall(r"tt(?:core|ir|nn)[.<]\w+", text)}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_op_has_a_valid_and_an_invalid_case(dialect: str) -> None:
    files = list((FOLDER / dialect).glob("*.mlir"))
    invalid = [file for file in files if file.stem.endswith("_invalid")]
    valid = [file for file in files if file not in invalid]
    assert {f"{file.stem}_invalid" for file in valid} == {file.stem for file in invalid}
    names = {op.name for op in DIALECTS[dialect].operations}
    assert names <= ops_in(valid)
    assert names - WITHOUT_RULES <= ops_in(invalid)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_attribute_has_a_case(dialect: str) -> None:
    names = {attribute.name for attribute in DIALECTS[dialect].attributes}
    assert names <= ops_in(list(FOLDER.glob("*/*.mlir")))


ODD = {
    r"array<i(32|64): [^>]*>": [
        "array<i\\1>",
        "array<i\\1: 0>",
        "array<i\\1: -1, -1, -1, -1>",
        "array<i\\1: 9, 9, 9, 9, 9>",
    ],
    r"\[\d+ : i32[^\]]*\]": ["[]", "[0 : i32, 0 : i32]", "[-1 : i32]", "[9 : i32, 9 : i32, 9 : i32]", "[1 : i64]"],
    r"#ttnn\.shape<[\dx]*>": ["#ttnn.shape<>", "#ttnn.shape<0>", "#ttnn.shape<9x9x9x9x9>"],
    r"= -?\d+ : (\w+)": ["= 0 : \\1", "= -1 : \\1", "= 99 : \\1", "= 9999999999999 : i64"],
}


def odd_texts() -> list[tuple[str, str]]:
    """Returns each valid case with one property value replaced by an odd one."""
    texts: list[tuple[str, str]] = []
    for path in sorted(FOLDER.glob("tt*/*.mlir")):
        if path.stem.endswith(("_invalid", "attributes", "layout", "module")):
            continue
        plain = re.sub(r"^ *//.*\n", "", path.read_text(), flags=re.MULTILINE)
        head, *functions = re.split(r"(?=^func\.func)", plain, flags=re.MULTILINE)
        for function, (pattern, values) in product(functions, ODD.items()):
            for match in re.finditer(pattern, function):
                for value in values:
                    odd = match.expand(value) if "\\" in value else value
                    text = function[: match.start()] + odd + function[match.end() :]
                    texts.append((f"{path.parent.name}.{path.stem}", used_aliases(head, text) + text))
    return texts


def used_aliases(aliases: str, text: str) -> str:
    """Returns only the aliases that a text uses, because parsing all of them would take most of the time."""
    used = ""
    for line in reversed(aliases.splitlines(keepends=True)):
        name = line.partition(" ")[0]
        if re.search(rf"{re.escape(name)}\b", text + used):
            used = line + used
    return used


def refusal(text: str) -> MalformedModuleError | None:
    try:
        parse_module(text)
    except MalformedModuleError as error:
        return error
    return None


@pytest.mark.parametrize("first", [0, *(pytest.param(first, marks=pytest.mark.nightly) for first in range(1, 4))])
def test_odd_property_values_are_accepted_or_named(first: int) -> None:
    texts = odd_texts()[first::4]
    assert len(texts) > 100
    errors = [error for _, text in texts if (error := refusal(text)) is not None]
    assert len(errors) > len(texts) / 2
    for error in errors:
        assert not isinstance(error.__cause__, IndexError | ZeroDivisionError | KeyError | AttributeError), error
        assert "unpack" not in str(error)
        assert "zip()" not in str(error)
