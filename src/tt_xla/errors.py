"""Every error that this project raises on purpose.

    TTXLAError
    ├── OptionError              an option or environment variable is unknown or has a bad value
    ├── CompileError             a module cannot become a Program
    │   ├── MalformedModuleError     text or bytecode that is not a StableHLO, TTIR or TTNN module
    │   ├── UnsupportedOpError       an op, or this use of it, has no lowering
    │   ├── InternalCompilerError    a converter has a bug: our fault, please report
    │   └── VerificationError        a pass produced IR that breaks a rule: our fault, please report
    ├── OutputError              a result cannot be written to its place
    ├── ProgramFormatError       a .ttnn file is damaged or from another version
    ├── SystemDescriptionError   no such system, or a damaged description of one
    ├── MeshError                the chips or links of the system do not suffice for a mesh
    ├── RuntimeUnavailableError  TT-NN, Ray workers or a plug-in that the user asked for cannot be started
    ├── CollectiveError          a rank called another collective than the others, or did not come
    ├── PyTorchVersionError      this version of PyTorch lacks something that a part of this package needs
    ├── EmptyRecordingError      a profile does not contain what the user asked for
    ├── ExecutionError           a Program cannot run on these arguments
    │   ├── IndexOutOfBoundsError    an index lies outside its dimension
    │   └── TrapError                an op of a Program did what option trap forbids
    │       ├── NumberTrapError          it made a NaN or an infinity, or lost too many bits
    │       └── IndexTrapError           it took an index outside its dimension
    └── ResourceExhaustedError   the chip has too little memory
        └── TraceRegionError         the trace region is too small for the trace

Each message is one paragraph: what happened, what was got, what was expected, what to do next, and where.
"""

from __future__ import annotations


class TTXLAError(Exception):
    """Base class of all errors raised on purpose.

    Args:
        message: what happened, in one sentence, with what was got and what was expected.
        hint: what to do next.
        location: the user's source line, ``file:line``, with more detail where it is known.
    """

    def __init__(self, message: str, *, hint: str = "", location: str = "") -> None:
        self.message = message
        self.hint = hint
        self.location = location
        super().__init__(message)

    def __str__(self) -> str:
        sentences = [self.message.rstrip()]
        if self.location:
            sentences.append(f"At {self.location}.")
        if self.hint:
            sentences.append(self.hint)
        return " ".join(sentences)


class OptionError(TTXLAError, ValueError):
    """An option or environment variable is unknown or has a bad value."""


class CompileError(TTXLAError):
    """A module cannot become a Program."""


class MalformedModuleError(CompileError, ValueError):
    """Text or bytecode is not a well-formed module."""


class UnsupportedOpError(CompileError, NotImplementedError):
    """An op, or this use of it, has no lowering."""


class VerificationError(CompileError):
    """A pass produced IR that breaks a rule of its dialect."""


class InternalCompilerError(CompileError):
    """A converter of the compiler failed with an unexpected error, which is the cause of this one."""


class ProgramFormatError(TTXLAError, ValueError):
    """A ``.ttnn`` file is damaged or was written by another version."""


class OutputError(TTXLAError, OSError):
    """A result cannot be written to its place."""


class SystemDescriptionError(TTXLAError, ValueError):
    """No such system is known, or its description is damaged."""


class MeshError(TTXLAError, ValueError):
    """A mesh needs more chips than the system has, or links that it lacks."""


class RuntimeUnavailableError(TTXLAError, RuntimeError):
    """TT-NN, Ray workers or a plug-in that the user asked for cannot be started."""


class CollectiveError(TTXLAError, RuntimeError):
    """A rank of a process group called another collective than the others, or did not come."""


class PyTorchVersionError(TTXLAError, ImportError):
    """This version of PyTorch lacks something that a part of this package needs."""


class EmptyRecordingError(TTXLAError, ValueError):
    """A profile does not contain what the user asked for: it has no op, no step, or no steady step."""


class ExecutionError(TTXLAError, RuntimeError):
    """A Program cannot run on its arguments."""


class IndexOutOfBoundsError(ExecutionError, IndexError):
    """An index lies outside its dimension.

    Torch raises IndexError or RuntimeError, depending on the op; this error is both.
    """


class TrapError(ExecutionError):
    """An op of a Program did what option ``trap`` forbids.

    Args:
        message, hint, location: as in :class:`TTXLAError`.
        kind: the fault: ``nan``, ``inf``, ``index`` or ``precision``.
        op: name of the op.
        element: position of the first such element in the op's result, or in its indices for ``index``.
    """

    def __init__(
        self,
        message: str,
        *,
        hint: str = "",
        location: str = "",
        kind: str = "",
        op: str = "",
        element: tuple[int, ...] = (),
    ) -> None:
        super().__init__(message, hint=hint, location=location)
        self.kind, self.op, self.element = kind, op, element


class NumberTrapError(TrapError, FloatingPointError):
    """An op made a NaN or an infinity, or lost more bits than option ``trap`` allows."""


class IndexTrapError(TrapError, IndexError):
    """An op took an index that lies outside of the dimension that it indexes."""


class ResourceExhaustedError(TTXLAError, MemoryError):
    """The chip has too little memory."""


class TraceRegionError(ResourceExhaustedError):
    """The trace region is too small for the trace."""
