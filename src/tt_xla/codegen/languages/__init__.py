"""The languages of generated source: each writes calls, statements and functions in its own way."""

from __future__ import annotations

from tt_xla.codegen.languages.base import Language, ResultForm
from tt_xla.codegen.languages.cpp import Cpp
from tt_xla.codegen.languages.python import Python

__all__ = ["LANGUAGES", "Language", "ResultForm"]

LANGUAGES: dict[str, Language] = {"py": Python(), "cpp": Cpp()}
"""Language by its name on the command line."""
