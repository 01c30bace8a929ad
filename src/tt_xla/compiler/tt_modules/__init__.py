"""Modules of TTIR and TTNN text as programs: the entry function, its calls, arguments and element types."""

from tt_xla.compiler.tt_modules.programs import TTProgram, program_of

__all__ = ["TTProgram", "program_of"]
