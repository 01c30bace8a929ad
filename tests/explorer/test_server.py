"""The explorer's server: who may ask it, which files it opens, and how its work is cancelled."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
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
    given = {"Cookie": f"tt_explorer_{server.port}={server.token}", "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{server.port}{path}", data, given | headers)
    try:
        with urllib.request.build_opener(_NoRedirect).open(request, timeout=60) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def finished(server: Server) -> dict[str, Any]:
    """Returns the state of the session once its work has ended."""
    while True:
        state = json.loads(ask(server, "/explore/api/state")[1])
        if not state["job"]["running"]:
            return state
        time.sleep(0.05)


def test_the_token_becomes_a_cookie(server: Server):
    assert ask(server, f"/explore?token={server.token}", Cookie="")[0] == 302
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


def test_a_server_without_execution_runs_no_model():
    running = Server(Session([], "n150"), runs=False)
    running.start()
    status, answer = ask(running, "/explore/api/execute", {"version": 0})
    running.close()
    assert status == 400
    assert "runs no models" in answer


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
        ("empty.mlir", "", "Expected exactly one public function"),
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
