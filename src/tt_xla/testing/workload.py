"""The call that a test makes: a model or a function, and its arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tt_xla.testing.frameworks import Framework


@dataclass
class Workload:
    """A function or model with arguments to call it with.

    Attributes:
        framework: the framework of the call.
        executable: function to call, unless one of the next two is set.
        compiled_executable: function to call before all others.
        model: model to call, unless ``compiled_executable`` is set.
        args: positional arguments.
        kwargs: keyword arguments.
        static_argnames: names of the keyword arguments that JAX treats as constants.
    """

    framework: Framework
    executable: Callable[..., Any] | None = None
    compiled_executable: Callable[..., Any] | None = None
    model: Any = None
    args: Sequence[Any] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    static_argnames: Sequence[str] = ()

    def __post_init__(self) -> None:
        if self.executable is None and self.model is None and self.compiled_executable is None:
            raise ValueError("A Workload needs an executable or a model; it has neither.")

    @property
    def callee(self) -> Callable[..., Any]:
        """The function or model to call."""
        callee = self.compiled_executable or self.model or self.executable
        assert callee is not None
        return callee

    def execute(self) -> Any:
        """Makes the call and returns its result."""
        return self.callee(*self.args, **self.kwargs)
