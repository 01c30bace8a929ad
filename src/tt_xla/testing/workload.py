"""What a test runs: a model or a function, and its arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tt_xla.testing.frameworks import Framework


@dataclass
class Workload:
    """A call that has not been made yet.

    Attributes:
        compiled_executable: is called first of all, where there is one; then ``model``; then ``executable``.
        static_argnames: keyword arguments that JAX takes as constants.
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
            raise ValueError("A Workload has neither an executable nor a model: give it one of them.")

    @property
    def callee(self) -> Callable[..., Any]:
        found = self.compiled_executable or self.model or self.executable
        assert found is not None
        return found

    def execute(self) -> Any:
        return self.callee(*self.args, **self.kwargs)
