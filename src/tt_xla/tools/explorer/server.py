"""The explorer's local server: Model Explorer's own web app, our page beside it, and what both ask for.

It listens on localhost alone. Every request needs the token of the session, which the first page load turns into a
cookie, and must name this server as its host and, if it names one, as its origin. The page loads nothing from other
machines. Files are opened only by path from the command line or from our page; a script is run only if the request
says so. The browser gets the token from a file that only this user can read, because everyone sees command lines.
"""

from __future__ import annotations

import functools
import hmac
import logging
import os
import re
import secrets
import threading
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlencode

import flask
import model_explorer
import msgspec
from werkzeug.exceptions import HTTPException
from werkzeug.serving import BaseWSGIServer, make_server

from tt_xla.environment import runtime_directory
from tt_xla.errors import OptionError, TTXLAError
from tt_xla.markup import escape, page_json
from tt_xla.temporary import made_private
from tt_xla.tools.explorer import views
from tt_xla.tools.explorer.export import export as exported
from tt_xla.tools.explorer.session import Session
from tt_xla.tools.explorer.subjects import is_script
from tt_xla.tools.explorer.worker import Cancelled

HOST = "127.0.0.1"

_WEB_APP = Path(model_explorer.__file__).with_name("web_app")
_PAGE = Path(__file__).with_name("page")

_HASHED = re.compile(r"^/(static_files/|[a-z]+-[A-Z0-9]{8}\.)")
"""Files of the web app that change only with its version."""

_POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval' blob:; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self' data:; worker-src 'self' blob:; "
    "frame-ancestors 'self' http://localhost:* http://127.0.0.1:*"
)
"""Content security policy: everything comes from this server. Notebooks on this machine may embed the page."""


class Server:
    """A running server.

    Args:
        session: what it shows.
        port: port to listen on; 0 for any free one.
        origin: origin of other pages that may ask the server, with the token; empty for none.

    Raises:
        OptionError: the port is taken.
    """

    def __init__(self, session: Session, port: int = 0, *, origin: str = "") -> None:
        self.session = session
        self.origin = origin
        self.token = secrets.token_urlsafe(24)
        self._app = _application(self)
        try:
            self._server: BaseWSGIServer = make_server(HOST, port, self._app, threaded=True)
        except (OSError, SystemExit) as error:
            raise OptionError(
                f"Port {port} of {HOST} cannot be used: {error}.", hint="Give another one with --port, or 0 for any."
            ) from error
        self.port = self._server.server_port
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._redirect: Path | None = None

    @property
    def url(self) -> str:
        """Address of the page, with the token."""
        return f"http://{HOST}:{self.port}/explore?token={self.token}"

    @property
    def hosts(self) -> tuple[str, ...]:
        """The names by which requests may call this server."""
        return f"{HOST}:{self.port}", f"localhost:{self.port}"

    def start(self) -> None:
        """Starts to answer requests, in a thread."""
        logging.getLogger("werkzeug").setLevel(logging.ERROR)  # one line for each request otherwise
        self._thread.start()

    def write_redirect(self) -> str:
        """Writes a file that leads a browser to the page, and returns its address, which has no token.

        Raises:
            OSError: the file cannot be written.
        """
        path = made_private(runtime_directory()) / f"explorer-{os.getpid()}-{self.port}.html"
        path.unlink(missing_ok=True)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(
                '<!doctype html><meta charset="utf-8"><title>tt-explorer</title>'
                f'<meta http-equiv="refresh" content="0; url={escape(self.url)}">'
                f'<a href="{escape(self.url)}">Open the explorer</a>'
            )
        self._redirect = path
        return path.as_uri()

    def close(self) -> None:
        """Stops the server and the work of its session."""
        self.session.close()
        if self._redirect is not None:
            self._redirect.unlink(missing_ok=True)
        if self._thread.is_alive():
            self._server.shutdown()
        self._server.server_close()


def _application(server: Server) -> flask.Flask:
    app = flask.Flask("tt_explorer", static_folder=None)
    app.config["MAX_CONTENT_LENGTH"] = 1 << 20
    app.before_request(lambda: _refusal(server))
    app.after_request(functools.partial(_with_headers, server.origin))
    app.register_error_handler(TTXLAError, _answer_error)
    app.register_error_handler(KeyError, lambda error: (_json({"error": f"There is no {error}."}), 404))
    app.register_error_handler(IndexError, lambda error: (_json({"error": "There is no such version."}), 404))
    app.register_error_handler(Cancelled, lambda error: (_json({"error": "The work was cancelled."}), 409))
    for kind in (ValueError, TypeError, msgspec.MsgspecError):
        app.register_error_handler(kind, lambda error: (_json({"error": f"The request is malformed: {error}."}), 400))
    app.register_error_handler(HTTPException, lambda error: (_json({"error": error.description}), error.code))
    app.register_error_handler(Exception, _answer_fault)
    _add_files(app)
    _add_data(app, server.session)
    _add_work(app, server.session)
    return app


def _refusal(server: Server) -> Any:
    """Returns the answer to a request from elsewhere; None for one that may go on."""
    request = flask.request
    if request.host not in server.hosts:
        return f"This server is {server.hosts[0]}.", 403
    origin = request.headers.get("Origin")
    if origin is not None and origin.removeprefix("http://") not in server.hosts and origin != server.origin:
        return "Requests from other origins are refused.", 403
    if origin is not None and request.method == "OPTIONS":  # a browser's question, which has neither cookie nor token
        return "", 204
    cookie = f"tt_explorer_{server.port}"
    given = request.args.get("token")
    if given is not None and request.path == "/explore" and hmac.compare_digest(given.encode(), server.token.encode()):
        rest = urlencode([(key, value) for key, value in request.args.items() if key != "token"])
        answer = flask.redirect(f"/explore?{rest}".rstrip("?"))
        # Links of other pages, such as those of a report, have the cookie too; they change nothing.
        answer.set_cookie(cookie, server.token, httponly=True, samesite="Lax")
        return answer
    given = request.headers.get("Authorization", "").removeprefix("Bearer ") or request.cookies.get(cookie, "")
    if not hmac.compare_digest(given.encode(), server.token.encode()):
        return "Open the address that tt-xla explore printed: it has the token of this session.", 403
    return None


def _with_headers(origin: str, response: flask.Response) -> flask.Response:
    has_hash = _HASHED.search(flask.request.path) is not None
    response.headers["Cache-Control"] = "private, max-age=86400" if has_hash else "no-store"
    response.headers["Content-Security-Policy"] = f"{_POLICY} {origin}".strip()
    if origin:
        response.headers["Access-Control-Allow-Origin"] = origin
        response.headers["Access-Control-Allow-Credentials"] = "true"
        response.headers["Access-Control-Allow-Headers"] = "Authorization, Content-Type"
        response.headers["Access-Control-Allow-Methods"] = "GET, POST"
        response.headers["Access-Control-Allow-Private-Network"] = "true"
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["Referrer-Policy"] = "no-referrer"
    return response


def _answer_error(error: TTXLAError) -> Any:
    return _json({"error": " ".join(str(error).split())}), 400


def _answer_fault(error: Exception) -> Any:
    traceback.print_exception(error)
    return _json({"error": f"{type(error).__name__}: {error}. This is a fault of tt-xla; please report it."}), 500


def _json(data: Any) -> flask.Response:
    return flask.Response(page_json(data), mimetype="application/json")


class _Open(msgspec.Struct):
    path: str = ""
    example: str = ""
    run: bool = False


class _Compile(msgspec.Struct):
    subject: int
    options: dict[str, Any]
    label: str = ""


class _Overrides(msgspec.Struct):
    version: int
    ops: dict[str, dict[str, Any]]
    options: dict[str, Any]


class _Execute(msgspec.Struct):
    version: int
    runtime: str = "emulated"


_Body = TypeVar("_Body", bound=msgspec.Struct)


def _body(kind: type[_Body]) -> _Body:
    """Returns the data of a request.

    Raises:
        MsgspecError: it is no JSON, or lacks a field, or a field has another type.
    """
    if not flask.request.is_json:
        flask.abort(415)
    return msgspec.json.decode(flask.request.get_data(), type=kind)


def _add_files(app: flask.Flask) -> None:
    """Adds the files of Model Explorer's web app and of our page."""

    @app.get("/apistream/server_director")
    def director() -> Any:
        return "", 204

    @app.get("/")
    def index() -> flask.Response:
        text = views.ELSEWHERE.sub("", (_WEB_APP / "index.html").read_text())
        text = text.replace("</head>", views.NAMES_OF_ATTRIBUTES + "</head>")
        return flask.Response(text, mimetype="text/html")

    @app.get("/<path:name>")
    def file(name: str) -> flask.Response:
        return flask.send_from_directory(_WEB_APP, name)

    @app.get("/explore", defaults={"name": "explore.html"})
    @app.get("/explore/<name>")
    def page_file(name: str) -> flask.Response:
        return flask.send_from_directory(_PAGE, name)


def _answered(answer: Callable[[Mapping[str, str]], Any]) -> flask.Response:
    return _json(answer(flask.request.args))


def _add_data(app: flask.Flask, session: Session) -> None:
    """Adds the data that the web app and our page ask for."""
    answers: dict[str, Callable[[Mapping[str, str]], Any]] = {
        "/api/v1/get_extensions": lambda query: views.EXTENSIONS,
        "/api/v1/check_new_version": lambda query: views.NO_NEWER_VERSION,
        "/api/v1/load_graphs_json": lambda query: views.graphs(session, int(query["graph_index"])),
        "/api/v1/load_node_data": lambda query: {
            "content": page_json(views.node_data(session, int(query["node_data_index"])))
        },
        "/explore/api/state": lambda query: views.state(session),
        "/explore/api/stage": lambda query: views.stage(session, int(query["version"]), query["stage"]),
        "/explore/api/node": lambda query: views.node(session, int(query["version"]), query["stage"], query["node"]),
        "/explore/api/changes": lambda query: views.changes(session, int(query["version"]), int(query["other"])),
        "/explore/api/find": lambda query: {
            "node": views.node_at(session, int(query["version"]), query["stage"], query["source"])
        },
    }
    for path, answer in answers.items():
        app.add_url_rule(path, path, functools.partial(_answered, answer))

    @app.get("/explore/api/export")
    def export() -> flask.Response:
        number = int(flask.request.args["version"])
        answer = flask.Response(exported(session, number), mimetype="text/html")
        answer.headers["Content-Disposition"] = f'attachment; filename="explorer-{number}.html"'
        return answer


def _add_work(app: flask.Flask, session: Session) -> None:
    """Adds the work that our page may start."""

    def started(what: str, work: Callable[..., None], *arguments: Any) -> flask.Response:
        session.start(what, work, *arguments)
        return _json({"started": what})

    @app.post("/explore/api/open")
    def open_path() -> flask.Response:
        body = _body(_Open)
        path = views.EXAMPLES[body.example] if body.example else Path(body.path).expanduser()
        if is_script(path):
            session.check_runs()
            if not body.run:
                raise OptionError(f"'{path}' is a script; opening it runs it.", hint="Confirm that it may run.")
        return started(f"opening {path.name}", session.open, str(path))

    @app.post("/explore/api/compile")
    def compile_program() -> flask.Response:
        body = _body(_Compile)
        return started("compiling", session.compile, body.subject, body.options, body.label)

    @app.post("/explore/api/overrides")
    def overrides() -> flask.Response:
        body = _body(_Overrides)
        return _json({"text": views.override_file(session, body.version, body.ops, body.options)})

    @app.post("/explore/api/execute")
    def execute() -> flask.Response:
        body = _body(_Execute)
        session.check_runs()
        return started(f"running version {body.version}", session.execute, body.version, body.runtime)

    @app.post("/explore/api/cancel")
    def cancel() -> flask.Response:
        session.cancel()
        return _json({})
