"""The languages that source is generated in: how each writes calls, statements and functions."""

from __future__ import annotations

from tt_xla.codegen.languages.base import Gives, Language
from tt_xla.codegen.languages.cpp import Cpp
from tt_xla.codegen.languages.python import Python

__all__ = ["LANGUAGES", "Gives", "Language"]

LANGUAGES: dict[str, Language] = {"py": Python(), "cpp": Cpp()}
