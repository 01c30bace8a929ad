"""The explorer's server: who may ask it, which files it opens, and how its work is cancelled."""

from __future__ import annotations

import html
import json
import math
import stat
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from email.message import Message
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tt_xla.errors import OptionError
from tt_xla.tools.cli import cli
from tt_xla.tools.explorer.server import Server
from tt_xla.tools.explorer.session import Session

MODULE = """
func.func @main(%x: tensor<512x512xbf16>, %w: tensor<512x512xbf16>) -> tensor<512x512xbf16> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
    : (tensor<512x512xbf16>, tensor<512x512xbf16>) -> tensor<512x512xbf16>
  %1 = stablehlo.tanh %0 : tensor<512x512xbf16>
  return %1 : tensor<512x512xbf16>
}
"""


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    running = Server(Session([], "n150"))
    running.start()
    yield running
    running.close()


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


def ask(server: Server, path: str, body: Any = None, **headers: str) -> tuple[int, str]:
    """Returns status and text of the answer to a request with the session's cookie, unless headers say otherwise."""
    status, text, _ = answered(server, path, body, **headers)
    return status, text


def answered(
    server: Server, path: str, body: Any = None, method: str | None = None, **headers: str
) -> tuple[int, str, Message]:
    """Returns status, text and headers of an answer."""
    given = {"Cookie": f"tt_explorer_{server.port}={server.token}", "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{server.port}{path}", data, given | headers, method=method)
    try:
        with urllib.request.build_opener(_NoRedirect).open(request, timeout=60) as answer:
            return answer.status, answer.read().decode(), answer.headers
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode(), error.headers


def finished(server: Server) -> dict[str, Any]:
    """Returns the state of the session once its work has ended."""
    while True:
        state = json.loads(ask(server, "/explore/api/state")[1])
        if not state["job"]["running"]:
            return state
        time.sleep(0.05)


def test_the_token_becomes_a_cookie(server: Server):
    source = "node=main%3A1&source=a%26b%23c%25d.py"
    status, _, headers = answered(server, f"/explore?token={server.token}&{source}", Cookie="")
    assert (status, headers["Location"]) == (302, f"/explore?{source}")
    assert f"tt_explorer_{server.port}={server.token}; HttpOnly; Path=/; SameSite=Lax" in headers["Set-Cookie"]
    assert ask(server, "/explore")[0] == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Cookie": ""},
        {"Cookie": "tt_explorer=guessed"},
        {"Host": "attacker.example"},
        {"Origin": "http://attacker.example"},
        {"Origin": "null"},
    ],
    ids=["no token", "wrong token", "other host", "other origin", "no origin"],
)
@pytest.mark.parametrize("path", ["/", "/explore", "/explore/api/state", "/api/v1/load_graphs_json?graph_index=0"])
def test_requests_from_elsewhere_are_refused(server: Server, path: str, headers: dict[str, str]):
    assert ask(server, path, **headers)[0] == 403


def test_pages_load_nothing_from_other_machines(server: Server):
    for path in ("/", "/explore", "/explore/explore.js", "/explore/explore.css"):
        status, text = ask(server, path)
        assert status == 200
        assert "https://" not in text.partition("</head>")[0].replace("https://www.apache.org", "")


@pytest.mark.parametrize("path", ["/explore/../server.py", "/..%2f..%2fsetup.py", "/explore/..%2fserver.py"])
def test_files_outside_the_pages_are_not_served(server: Server, path: str):
    assert ask(server, path)[0] == 404


def test_a_script_is_run_only_if_the_request_says_so(server: Server, tmp_path: Path):
    script = tmp_path / "model.py"
    script.write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    status, answer = ask(server, "/explore/api/open", {"path": str(script)})
    assert status == 400
    assert "opening it runs it" in answer
    assert not (tmp_path / "ran").exists()
    assert ask(server, "/explore/api/open", {"path": str(script), "run": True})[0] == 200
    assert "compiled no program" in finished(server)["job"]["error"]
    assert (tmp_path / "ran").exists()


def test_a_module_is_compiled_run_and_compiled_otherwise(server: Server, tmp_path: Path):
    (tmp_path / "model.mlir").write_text(MODULE)
    assert ask(server, "/explore/api/open", {"path": str(tmp_path / "model.mlir")})[0] == 200
    version = finished(server)["versions"][-1]
    assert version["stages"] == ["stablehlo", "ttir", "ttnn"]
    number = version["number"]
    assert ask(server, "/explore/api/execute", {"version": number})[0] == 200
    ran = finished(server)["versions"][-1]
    assert ran["pcc"] > 0.999
    assert ran["reference"] == "StableHLO in float32 on the CPU"
    body = {"subject": version["subject"], "options": {"optimization_level": 2}}
    assert ask(server, "/explore/api/compile", body)[0] == 200
    faster = finished(server)["versions"][-1]
    assert faster["predicted_us"] < version["predicted_us"]
    changes = json.loads(ask(server, f"/explore/api/changes?version={faster['number']}&other={number}")[1])
    assert {change["name"].partition("@")[0] for change in changes} == {"matmul", "tanh"}
    assert all(change["before"]["place"] != change["after"]["place"] for change in changes[:1])
    tanh = json.loads(ask(server, f"/explore/api/node?version={number}&stage=stablehlo&node=main:1")[1])
    line = tanh["source"].rpartition(":")[0]
    found = json.loads(ask(server, f"/explore/api/find?version={number}&stage=stablehlo&source={line}")[1])
    assert found == {"node": "main:1"}
    stage = json.loads(ask(server, f"/explore/api/stage?version={number}&stage=ttnn")[1])
    names = [overlay["name"] for overlay in stage["overlays"]]
    assert names[0] == "predicted time (us)"
    assert names[-2:] == ["PCC of the op alone", "PCC so far"]
    for overlay in stage["overlays"]:
        index = overlay["url"].rpartition("/")[2]
        data = json.loads(json.loads(ask(server, f"/api/v1/load_node_data?node_data_index={index}")[1])["content"])
        assert data[f"main (ttnn {number})"]["results"]
    graphs = json.loads(ask(server, f"/api/v1/load_graphs_json?graph_index={stage['graphs'].rpartition('/')[2]}")[1])
    product = next(node for node in graphs["graphs"][0]["nodes"] if node["label"] == "matmul")
    node = json.loads(ask(server, f"/explore/api/node?version={number}&stage=ttnn&node={product['id']}")[1])
    assert node["linked"]["stablehlo"] == [{"id": "main:0", "label": "stablehlo.dot_general"}]
    assert "= ttnn.matmul(" in node["python"]
    assert "= ttnn::matmul(" in node["cpp"]
    assert "MathFidelity.HiFi4" in node["python"]


def test_a_runtime_that_is_missing_is_answered(server: Server, tmp_path: Path):
    number = opened(server, tmp_path / "model.mlir", MODULE)["versions"][-1]["number"]
    assert ask(server, "/explore/api/execute", {"version": number, "runtime": "silicon"})[0] == 200
    assert "No such runtime: 'silicon'" in finished(server)["job"]["error"]
    assert "No such runtime" in finished(server)["versions"][-1]["run_error"]


def test_a_failed_compilation_shows_its_error_at_the_node(server: Server, tmp_path: Path):
    (tmp_path / "large.mlir").write_text(
        "func.func @main(%x: tensor<1024x1024x1024x64xf32>) -> tensor<1024x1024x1024x64xf32> {\n"
        '  %0 = stablehlo.tanh %x : tensor<1024x1024x1024x64xf32> loc("model.py":3:1)\n'
        "  return %0 : tensor<1024x1024x1024x64xf32>\n}"
    )
    ask(server, "/explore/api/open", {"path": str(tmp_path / "large.mlir")})
    version = finished(server)["versions"][-1]
    assert "does not hold the program" in version["error"]


def test_what_does_not_exist_is_answered(server: Server):
    assert ask(server, "/explore/api/stage?version=99&stage=ttnn")[0] == 404
    assert ask(server, "/explore/api/stage?version=0&stage=hlo")[0] == 404


def test_a_server_without_execution_runs_neither_models_nor_scripts(tmp_path: Path):
    script, session = tmp_path / "model.py", Session([], "n150", runs=False)
    script.write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    running = Server(session)
    running.start()
    for path, body in (("execute", {"version": 0}), ("open", {"path": str(script), "run": True})):
        status, answer = ask(running, f"/explore/api/{path}", body)
        assert status == 400
        assert "runs neither models nor scripts" in answer
    for work in (lambda: session.open(str(script)), lambda: session.execute(0)):
        with pytest.raises(OptionError, match="runs neither"):
            work()
    assert json.loads(ask(running, "/explore/api/state")[1])["runs"] is False
    running.close()
    for arguments in (["-x", str(script)], ["-x", "--run"], ["-x", "-o", str(tmp_path / "page.html"), str(script)]):
        outcome = CliRunner().invoke(cli, ["explore", "-q", *arguments])
        assert outcome.exit_code == 2
        assert "--no-model-execution (-x) contradicts" in outcome.output
    assert not (tmp_path / "ran").exists()


@pytest.fixture
def shared() -> Iterator[Server]:
    running = Server(Session([], "n150"), origin="https://lab.example:8443")
    running.start()
    yield running
    running.close()


def test_pages_of_a_named_origin_may_ask_with_the_token(shared: Server):
    own = {"Origin": shared.origin, "Cookie": ""}
    asked = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization,content-type"}
    status, _, headers = answered(shared, "/explore/api/cancel", method="OPTIONS", **own, **asked)
    assert status == 204
    assert headers["Access-Control-Allow-Origin"] == shared.origin
    assert "POST" in headers["Access-Control-Allow-Methods"]
    assert {"Authorization", "Content-Type"} <= {*headers["Access-Control-Allow-Headers"].split(", ")}
    assert ask(shared, "/explore/api/cancel", {}, **own, Authorization=f"Bearer {shared.token}")[0] == 200
    assert ask(shared, "/explore/api/cancel", {}, **own)[0] == 403
    assert ask(shared, "/explore/api/cancel", {}, **own, Authorization="Bearer guessed")[0] == 403
    other = {"Origin": "https://other.example", "Cookie": ""}
    assert answered(shared, "/explore/api/cancel", method="OPTIONS", **other, **asked)[0] == 403
    assert ask(shared, "/explore/api/cancel", {}, **other, Authorization=f"Bearer {shared.token}")[0] == 403


def test_an_origin_that_is_none_is_refused():
    for origin in ("*", "lab.example", "https://lab.example/page", "https://a; script-src *"):
        outcome = CliRunner().invoke(cli, ["explore", "-q", "-c", origin])
        assert outcome.exit_code == 2
        assert "expected an origin" in outcome.output


def test_the_token_is_in_no_command_line(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("tt_xla.tools.explorer.server.runtime_directory", lambda: tmp_path / "run")
    address = server.write_redirect()
    path = Path(urllib.request.url2pathname(address.removeprefix("file://")))
    assert server.token not in address
    assert html.unescape(path.read_text()).count(server.url) == 2
    assert [stat.S_IMODE(each.stat().st_mode) for each in (path, path.parent)] == [0o600, 0o700]
    path.chmod(0o644)
    assert stat.S_IMODE(Path(server.write_redirect().removeprefix("file://")).stat().st_mode) == 0o600


def test_a_redirect_goes_with_its_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("tt_xla.tools.explorer.server.runtime_directory", lambda: tmp_path / "run")
    running = Server(Session([], "n150"))
    running.start()
    running.write_redirect()
    running.close()
    assert list((tmp_path / "run").iterdir()) == []


LOGARITHM = """
func.func @main(%x: tensor<32x32xf32>) -> tensor<32x32xf32> {
  %0 = stablehlo.log %x : tensor<32x32xf32>
  return %0 : tensor<32x32xf32>
}
"""


def test_states_and_overlays_with_nan_are_json(server: Server, tmp_path: Path):
    def refuse(name: str) -> None:
        raise AssertionError(name)

    number = opened(server, tmp_path / "log.mlir", LOGARITHM)["versions"][-1]["number"]
    assert ask(server, "/explore/api/execute", {"version": number})[0] == 200
    finished(server)
    version = server.session.versions[number]
    assert version.accuracy is not None
    assert math.isnan(version.accuracy.pcc)
    state = json.loads(ask(server, "/explore/api/state")[1], parse_constant=refuse)
    assert state["versions"][-1]["pcc"] == "NaN"
    stage = json.loads(ask(server, f"/explore/api/stage?version={number}&stage=ttnn")[1], parse_constant=refuse)
    for overlay in stage["overlays"]:
        index = overlay["url"].rpartition("/")[2]
        answer = json.loads(ask(server, f"/api/v1/load_node_data?node_data_index={index}")[1], parse_constant=refuse)
        json.loads(answer["content"], parse_constant=refuse)


def test_a_port_that_is_taken_is_an_error(server: Server):
    with pytest.raises(OptionError, match=f"Port {server.port}"):
        Server(Session([], "n150"), server.port)


def test_other_hosts_are_refused():
    outcome = CliRunner().invoke(cli, ["explore", "-q", "-u", "0.0.0.0"])
    assert outcome.exit_code == 2
    assert "localhost alone" in outcome.output


def opened(server: Server, path: Path, text: str | bytes) -> dict[str, Any]:
    """Writes a file, opens it from the page, and returns the state after that."""
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    assert ask(server, "/explore/api/open", {"path": str(path), "run": True})[0] == 200
    return finished(server)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("cut.mlir", MODULE[:150], "is not a well-formed StableHLO module"),
        ("noise.mlir", b"\x93\xf1noise", "is not a well-formed StableHLO module"),
        ("empty.mlir", "", "is empty; a module of StableHLO"),
        ("noise.ttnn", b"\x93\xf1noise", "This is not a .ttnn program"),
        ("raises.py", "raise ValueError('boom')", "compiled no program before it ended with ValueError: boom"),
    ],
    ids=lambda value: value if isinstance(value, str) and len(value) < 12 else "",
)
def test_files_that_are_damaged_are_answered(server: Server, tmp_path: Path, name: str, text: str | bytes, words: str):
    state = opened(server, tmp_path / name, text)
    errors = [state["job"]["error"], *(version["error"] for version in state["versions"][-1:])]
    assert words in "\n".join(errors)


def test_a_path_without_a_file_is_answered(server: Server, tmp_path: Path):
    assert ask(server, "/explore/api/open", {"path": str(tmp_path / "missing.mlir")})[0] == 200
    assert "missing.mlir' cannot be read: No such file or directory." in finished(server)["job"]["error"]
    assert ask(server, "/explore/api/open", {"path": "/dev/zero"})[0] == 200
    assert "'/dev/zero' is no file" in finished(server)["job"]["error"]


def test_requests_that_are_malformed_are_answered(server: Server):
    assert ask(server, "/explore/api/stage?version=one&stage=ttnn")[0] == 400
    assert ask(server, "/explore/api/open", ["no path"])[0] == 400
    for body in ({"version": 0, "ops": [], "options": {}}, {"version": 0, "ops": {}, "options": ["a"]}, {"ops": {}}):
        status, answer = ask(server, "/explore/api/overrides", body)
        assert status == 400
        assert "The request is malformed: " in json.loads(answer)["error"]
    assert ask(server, "/explore/api/overrides", {}, **{"Content-Type": "text/plain"})[0] == 415
    assert "error" in json.loads(ask(server, "/explore/api/nothing")[1])


@pytest.mark.nightly
def test_work_that_is_cancelled_ends_and_the_next_job_runs(server: Server, tmp_path: Path):
    script, mark, session = tmp_path / "endless.py", tmp_path / "began", server.session
    script.write_text(f"import time\nopen({str(mark)!r}, 'w')\ntime.sleep(3600)")
    session.start("opening", session.open, str(script))
    while not mark.exists():
        time.sleep(0.02)
    assert ask(server, "/explore/api/open", {"path": str(tmp_path)})[0] == 400  # another browser's
    assert "busy" in ask(server, "/explore/api/open", {"path": str(tmp_path)})[1]
    assert ask(server, "/explore/api/cancel", {})[0] == 200
    assert finished(server)["job"]["error"] == "Cancelled: opening."
    late = "import os, jax\njax.jit(jax.numpy.tanh)(jax.numpy.ones((32, 32)))\nos.close(0)\n"
    state = opened(server, tmp_path / "late.py", late + "raise ValueError('late')")
    assert "ended with ValueError: late" in state["versions"][-1]["warning"]
    assert state["versions"][-1]["stages"] == ["stablehlo", "ttir", "ttnn"]
    assert opened(server, tmp_path / "model.mlir", MODULE)["versions"][-1]["error"] == ""


def test_the_examples_of_the_page_compile(server: Server):
    for example in json.loads(ask(server, "/explore/api/state")[1])["examples"]:
        assert ask(server, "/explore/api/open", {"example": example})[0] == 200
        state = finished(server)
        assert state["job"]["error"] == state["versions"][-1]["error"] == ""
        assert state["versions"][-1]["stages"][-1] == "ttnn"
