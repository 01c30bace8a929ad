"""The explorer in a notebook or a Python session, behind ``tt_torch.explore`` and ``tt_jax.explore``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tt_xla.environment import selected_system
from tt_xla.errors import EmptyRecordingError
from tt_xla.tools.explorer.command import server_class
from tt_xla.tools.explorer.compiling import known
from tt_xla.tools.explorer.session import Session
from tt_xla.tools.explorer.subjects import captured

if TYPE_CHECKING:
    from tt_xla.tools.explorer.server import Server


class Exploration:
    """A running explorer. In a notebook it shows itself; elsewhere :attr:`url` is its address."""

    def __init__(self, server: Server) -> None:
        self._server = server

    @property
    def url(self) -> str:
        """Address of the page."""
        return self._server.url

    @property
    def session(self) -> Session:
        """The programs and their compilations."""
        return self._server.session

    def close(self) -> None:
        """Stops the server. It also stops when the process ends."""
        self._server.close()

    def _repr_html_(self) -> str:
        # A notebook's page is on localhost, and a cookie of the frame needs the same name.
        url = self.url.replace("127.0.0.1", "localhost")
        frame = f'<iframe src="{url}" width="100%" height="800" style="border:1px solid #ddd"></iframe>'
        return f'{frame}<p><a href="{url}" target="_blank">Open in a tab of its own</a></p>'

    def __repr__(self) -> str:
        return f"tt-explorer: {self.url}"


def explored(run: Callable[[], object], *, port: int = 0) -> Exploration:
    """Runs a function, and explores the programs that are compiled meanwhile, with the arguments of their first runs.

    Args:
        run: the function.
        port: port of the server; 0 for any free one.

    Raises:
        EmptyRecordingError: the function compiled nothing.
        RuntimeUnavailableError: Model Explorer is not installed.
    """
    kind = server_class()
    subjects = captured(run)
    if not subjects:
        raise EmptyRecordingError("Nothing was compiled.", hint="Explore a model that was not compiled before.")
    session = Session(subjects, selected_system())
    server = kind(session, port)
    server.start()
    for index, subject in enumerate(subjects):
        outcome = known(subject, session.arch)
        assert outcome is not None
        session.add(index, outcome)
    return Exploration(server)
