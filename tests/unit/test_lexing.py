"""The lexer produces the same tokens as xDSL's, and repeated text is parsed as it was the first time."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.utils.exceptions import ParseError
from xdsl.utils.lexer import Input
from xdsl.utils.mlir_lexer import MLIRLexer, MLIRTokenKind

from tt_xla.errors import MalformedModuleError
from tt_xla.ir.lexing import STRING, FastLexer
from tt_xla.ir.parsing import MLIRParser
from tt_xla.ir.text import parse_module

pytestmark = pytest.mark.quick

PARTS = (
    *("tensor<1x32xbf16, #ttnn_layout>", "%12", "%a:2", "#-}", "{-#", "{", "}", "->", "-", "-1.5e-3", "0x1F", "0xi32"),
    *(
        "1.",
        "12",
        "@f",
        '@"a b"',
        '"text"',
        '"a\\22b"',
        '"\\ff"',
        '"',
        "!quant.uniform",
        "^bb0",
        "...",
        ".",
        "// note\n",
    ),
    *("\n", "\t", "é", "٣", "_x$.y", "#loc1", "loc(", ":", "?", "/", "//", "*", "|", "+", "=", "\\", "\0"),
)


class XDSLLexer(MLIRLexer):
    """xDSL's lexer, except that it does not take years for a string without an end."""

    _unescaped_characters_regex = STRING


def tokens(lexer: MLIRLexer) -> list[Any]:
    tokens_read: list[Any] = []
    while not tokens_read or tokens_read[-1][0] is not MLIRTokenKind.EOF:
        try:
            token = lexer.lex()
        except ParseError as error:
            return [*tokens_read, str(error)]
        tokens_read.append((token.kind, token.span.start, token.span.end, token.text))
    return tokens_read


@given(st.lists(st.sampled_from(PARTS) | st.text(max_size=3), max_size=12))
def test_tokens_are_those_of_xdsl(pieces: list[str]) -> None:
    for text in ("".join(pieces), " ".join(pieces)):
        assert tokens(FastLexer(Input(text, "text"))) == tokens(XDSLLexer(Input(text, "text")))


@pytest.mark.parametrize(
    "text", ['"' + "a" * 100, "module {" + ' "a\\22' * 50 + "b" * 100, 'func.func @"' + "x" * 100 + "\n"]
)
def test_a_string_without_an_end_is_an_error_at_once(text: str) -> None:
    with pytest.raises(MalformedModuleError):
        parse_module(text)


MODULE = """
#dram = #ttnn.buffer_type<dram>
#layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#place = loc("model.py":3:1)
module {
  func.func @main(%a: tensor<32x32xbf16, #layout>) -> tensor<32x32xbf16, #layout> {
    %0 = "ttnn.sum"(%a) <{dim_arg = [0 : i32], keep_dim = true}> : (tensor<32x32xbf16, #layout>) -> tensor<1x32xbf16, #layout> loc(#place)
    %1 = "ttnn.sum"(%a) <{dim_arg = [0 : i32], keep_dim = true}> : (tensor<32x32xbf16, #layout>) -> tensor<1x32xbf16, #layout> loc(#place)
    return %a : tensor<32x32xbf16, #layout>
  }
}
"""  # noqa: E501


def test_ops_with_the_same_text_have_properties_of_their_own() -> None:
    first, second = (op for op in parse_module(MODULE).walk() if op.name == "ttnn.sum")
    assert first.properties == second.properties
    assert str(first.location) == str(second.location) == str(second.location)
    assert first.result_types == second.result_types
    del first.properties["keep_dim"]
    assert "keep_dim" in second.properties


def test_an_op_without_a_location_has_the_line_and_the_column_of_its_text() -> None:
    exp = '%0 = "ttir.exp"(%a) : (tensor<2xbf16>) -> tensor<2xbf16>'
    text = f"\nfunc.func @f(%a: tensor<2xbf16>) {{\n  {exp}\n func.return\n}}"
    places = {op.name: str(op.location) for op in parse_module(text).walk()}
    lines = {"func.func": "2:1", "ttir.exp": "3:3", "func.return": "4:2"}
    assert {name: places[name].partition('":')[2].rstrip(")") for name in lines} == lines


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("keep_dim = true}> : (", "keep_dim = true, keep_dim = true}> : ("),
        ("-> tensor<1x32xbf16, #layout> loc", "-> tensor<1x32xbf16, #other> loc"),
        ("loc(#place)\n    return", "loc(#nowhere)\n    return"),
        ("(tensor<32x32xbf16, #layout>) ->", "(tensor<32x32xbf16, #layout>, i32) ->"),
    ],
)
def test_an_error_shows_behind_a_text_that_was_read_before(before: str, after: str) -> None:
    place = MODULE.rindex(before)
    with pytest.raises(MalformedModuleError):
        parse_module(MODULE[:place] + after + MODULE[place + len(before) :])


@pytest.mark.parametrize("error", [NotImplementedError("semi-affine"), KeyError("no such")])
def test_errors_of_the_parser_are_errors_of_the_text(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def fail(parser: Any) -> None:
        raise error

    monkeypatch.setattr(MLIRParser, "parse_module", fail)
    with pytest.raises(MalformedModuleError, match=type(error).__name__):
        parse_module("")


def test_a_lack_of_memory_is_no_error_of_the_text(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(parser: Any) -> None:
        raise MemoryError

    monkeypatch.setattr(MLIRParser, "parse_module", fail)
    with pytest.raises(MemoryError):
        parse_module("")
