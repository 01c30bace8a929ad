"""Every error this project raises on purpose.

    TTXLAError
    ├── OptionError              an option or environment variable is unknown or has a bad value
    ├── CompileError             a module cannot become a Program
    │   ├── MalformedModuleError     text or bytecode that is not a StableHLO, TTIR or TTNN module
    │   ├── UnsupportedOpError       an op, or this use of it, has no lowering
    │   ├── InternalCompilerError    a converter has a bug: our fault, please report
    │   └── VerificationError        a pass produced IR that breaks a rule: our fault, please report
    ├── OutputError              what was made cannot be written where it should go
    ├── ProgramFormatError       a .ttnn file is damaged or from another version
    ├── SystemDescriptionError   no such system, or a damaged description of one
    ├── RuntimeUnavailableError  TT-NN is asked for and cannot be started
    ├── EmptyRecordingError      a profile has nothing of what is asked for
    ├── ExecutionError           a Program cannot run on these arguments
    │   └── IndexOutOfBoundsError    a position is none of the dimension that it points into
    └── ResourceExhaustedError   memory of the chip does not suffice
        └── TraceRegionError         the trace region does not hold the trace

Each message is one paragraph: what happened, what was got, what was expected, what to do next, and where.
"""

from __future__ import annotations


class TTXLAError(Exception):
    """The root of all errors raised on purpose.

    Args:
        message: what happened, in one sentence, with what was got and what was expected.
        hint: what to do next.
        location: the user's source line, ``file:line`` and more where it is known.
    """

    def __init__(self, message: str, *, hint: str = "", location: str = "") -> None:
        self.message = message
        self.hint = hint
        self.location = location
        super().__init__(message)

    def __str__(self) -> str:
        parts = [self.message.rstrip()]
        if self.location:
            parts.append(f"At {self.location}.")
        if self.hint:
            parts.append(self.hint)
        return " ".join(parts)


class OptionError(TTXLAError, ValueError):
    """An option or environment variable is unknown or has a bad value."""


class CompileError(TTXLAError):
    """A module cannot become a Program."""


class MalformedModuleError(CompileError, ValueError):
    """Text or bytecode that is not a well-formed module."""


class UnsupportedOpError(CompileError, NotImplementedError):
    """An op, or this use of it, has no lowering."""


class VerificationError(CompileError):
    """A pass produced IR that breaks a rule of its dialect."""


class InternalCompilerError(CompileError):
    """A converter of the compiler failed with an error that it does not expect; the cause is that error."""


class ProgramFormatError(TTXLAError, ValueError):
    """A ``.ttnn`` file is damaged or was written by another version."""


class OutputError(TTXLAError, OSError):
    """What was made cannot be written where it should go."""


class SystemDescriptionError(TTXLAError, ValueError):
    """No such system is known, or its description is damaged."""


class RuntimeUnavailableError(TTXLAError, RuntimeError):
    """TT-NN is asked for, and no interpreter that has it can be started."""


class EmptyRecordingError(TTXLAError, ValueError):
    """A profile has nothing of what is asked for: no op, no step, none that is steady."""


class ExecutionError(TTXLAError, RuntimeError):
    """A Program cannot run on the arguments it was given."""


class IndexOutOfBoundsError(ExecutionError, IndexError):
    """A position that was given to an op is none of the dimension that it points into.

    Torch raises IndexError or RuntimeError, by op; this is both.
    """


class ResourceExhaustedError(TTXLAError, MemoryError):
    """The memory of the chip does not suffice."""


class TraceRegionError(ResourceExhaustedError):
    """The trace region does not hold the trace."""
