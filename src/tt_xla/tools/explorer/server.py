"""The explorer's local server: Model Explorer's own web app, our page beside it, and what both ask for.

It listens on localhost alone. Every request needs the token of the session, which the first page load turns into a
cookie, and must name this server as its host and, if it names one, as its origin. The page loads nothing from other
machines. Files are opened only by path from the command line or from our page; a script is run only if the request
says so.
"""

from __future__ import annotations

import functools
import hmac
import json
import logging
import re
import secrets
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import flask
import model_explorer
from werkzeug.exceptions import HTTPException
from werkzeug.serving import BaseWSGIServer, make_server

from tt_xla.errors import OptionError, TTXLAError
from tt_xla.tools.explorer import views
from tt_xla.tools.explorer.export import export as exported
from tt_xla.tools.explorer.session import Session
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
        runs: whether the page may run programs.
        origin: origin of other pages that may ask the server, with the token; empty for none.

    Raises:
        OptionError: the port is taken.
    """

    def __init__(self, session: Session, port: int = 0, *, runs: bool = True, origin: str = "") -> None:
        self.session = session
        self.runs = runs
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

    def close(self) -> None:
        """Stops the server and the work of its session."""
        self.session.close()
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
    for kind in (ValueError, TypeError):
        app.register_error_handler(kind, lambda error: (_json({"error": f"The request is malformed: {error}."}), 400))
    app.register_error_handler(HTTPException, lambda error: (_json({"error": error.description}), error.code))
    _add_web_app(app, server.session)
    _add_page(app, server)
    return app


def _refusal(server: Server) -> Any:
    """Returns the answer to a request from elsewhere; None for one that may go on."""
    request = flask.request
    if request.host not in server.hosts:
        return f"This server is {server.hosts[0]}.", 403
    origin = request.headers.get("Origin")
    if origin is not None and origin.removeprefix("http://") not in server.hosts and origin != server.origin:
        return "Requests from other origins are refused.", 403
    cookie = f"tt_explorer_{server.port}"
    given = request.args.get("token")
    if given is not None and request.path == "/explore" and hmac.compare_digest(given, server.token):
        answer = flask.redirect(_without_token(request))
        answer.set_cookie(cookie, server.token, httponly=True, samesite="Strict")
        return answer
    if not hmac.compare_digest(request.cookies.get(cookie, ""), server.token):
        return "Open the address that tt-xla explore printed: it has the token of this session.", 403
    return None


def _without_token(request: flask.Request) -> str:
    rest = [(key, value) for key, value in request.args.items() if key != "token"]
    return "/explore" + ("?" + "&".join(f"{key}={value}" for key, value in rest) if rest else "")


def _with_headers(origin: str, response: flask.Response) -> flask.Response:
    has_hash = _HASHED.search(flask.request.path) is not None
    response.headers["Cache-Control"] = "private, max-age=86400" if has_hash else "no-store"
    response.headers["Content-Security-Policy"] = f"{_POLICY} {origin}".strip()
    if origin:
        response.headers["Access-Control-Allow-Origin"] = origin
        response.headers["Access-Control-Allow-Credentials"] = "true"
        response.headers["Access-Control-Allow-Headers"] = "Content-Type"
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["Referrer-Policy"] = "no-referrer"
    return response


def _answer_error(error: TTXLAError) -> Any:
    return _json({"error": " ".join(str(error).split())}), 400


def _json(data: Any) -> flask.Response:
    return flask.Response(data if isinstance(data, str) else json.dumps(data), mimetype="application/json")


def _add_web_app(app: flask.Flask, session: Session) -> None:
    """Adds what Model Explorer's web app asks for: its files, graphs and overlays."""

    @app.get("/api/v1/get_extensions")
    def extensions() -> flask.Response:
        return _json(views.EXTENSIONS)

    @app.get("/api/v1/load_graphs_json")
    def graphs() -> flask.Response:
        return _json(views.graphs(session, int(flask.request.args["graph_index"])))

    @app.get("/api/v1/load_node_data")
    def node_data() -> flask.Response:
        return _json({"content": views.node_data(session, int(flask.request.args["node_data_index"]))})

    @app.get("/api/v1/check_new_version")
    def version() -> flask.Response:
        return _json(views.NO_NEWER_VERSION)

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


def _add_page(app: flask.Flask, server: Server) -> None:
    """Adds our page, and what it asks for."""
    session = server.session

    @app.get("/explore")
    def page() -> flask.Response:
        return flask.send_from_directory(_PAGE, "explore.html")

    @app.get("/explore/<name>")
    def page_file(name: str) -> flask.Response:
        return flask.send_from_directory(_PAGE, name)

    @app.get("/explore/api/state")
    def state() -> flask.Response:
        return _json(views.state(session))

    @app.get("/explore/api/stage")
    def stage() -> flask.Response:
        arguments = flask.request.args
        return _json(views.stage(session, int(arguments["version"]), arguments["stage"]))

    @app.get("/explore/api/find")
    def find() -> flask.Response:
        arguments = flask.request.args
        return _json(
            {"node": views.node_at(session, int(arguments["version"]), arguments["stage"], arguments["source"])}
        )

    @app.get("/explore/api/changes")
    def changes() -> flask.Response:
        arguments = flask.request.args
        return _json(views.changes(session, int(arguments["version"]), int(arguments["other"])))

    @app.get("/explore/api/export")
    def export() -> flask.Response:
        number = int(flask.request.args["version"])
        answer = flask.Response(exported(session, number), mimetype="text/html")
        answer.headers["Content-Disposition"] = f'attachment; filename="explorer-{number}.html"'
        return answer

    @app.get("/explore/api/node")
    def node() -> flask.Response:
        arguments = flask.request.args
        return _json(views.node(session, int(arguments["version"]), arguments["stage"], arguments["node"]))

    def started(what: str, work: Callable[..., None], *arguments: Any) -> flask.Response:
        session.start(what, work, *arguments)
        return _json({"started": what})

    @app.post("/explore/api/open")
    def open_path() -> flask.Response:
        body = flask.request.get_json()
        path = Path(str(body["path"])).expanduser()
        if path.suffix == ".py" and body.get("run") is not True:
            raise OptionError(f"'{path}' is a script; opening it runs it.", hint="Confirm that it may run.")
        return started(f"opening {path.name}", session.open, str(path))

    @app.post("/explore/api/compile")
    def compile_program() -> flask.Response:
        body = flask.request.get_json()
        options, label = dict(body["options"]), str(body.get("label", ""))
        return started("compiling", session.compile, int(body["subject"]), options, label)

    @app.post("/explore/api/overrides")
    def overrides() -> flask.Response:
        body = flask.request.get_json()
        return _json({"text": views.override_file(session, int(body["version"]), body["ops"], body["options"])})

    @app.post("/explore/api/execute")
    def execute() -> flask.Response:
        if not server.runs:
            raise OptionError("This server runs no models.", hint="Start it without --no-model-execution.")
        body = flask.request.get_json()
        number, runtime = int(body["version"]), str(body.get("runtime", "emulated"))
        return started(f"running version {number}", session.execute, number, runtime)

    @app.post("/explore/api/cancel")
    def cancel() -> flask.Response:
        session.cancel()
        return _json({})
