"""An editor's breakpoint in a compiler pass stops while JAX compiles and while torch compiles.

The test speaks the Debug Adapter Protocol to debugpy as an editor does with the profiles of .vscode/launch.json.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("debugpy")
pytest.importorskip("tt_xla.frontends.jax.pjrt.trampoline", reason="the C part of the plugin is not built")

from tt_xla.compiler.ttir import fold

PROGRAM = """
import jax, jax.numpy as jnp
print(jax.jit(lambda x: x + 1)(jax.device_put(jnp.ones(4), jax.devices("tt")[0])))
import torch, tt_torch
print(torch.compile(lambda x: x + 2, backend="tt")(torch.ones(4, device="tt")).cpu())
"""


class Editor:
    """The client's side of the protocol: messages are JSON behind a header with their length."""

    def __init__(self, port: int) -> None:
        deadline = time.monotonic() + 60
        while True:
            try:
                self.socket = socket.create_connection(("127.0.0.1", port), timeout=90)
                break
            except ConnectionRefusedError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.1)
        self.stream = self.socket.makefile("rb")
        self.sent = 0

    def send(self, command: str, **arguments: Any) -> None:
        self.sent += 1
        message = {"seq": self.sent, "type": "request", "command": command, "arguments": arguments}
        body = json.dumps(message).encode()
        self.socket.sendall(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))

    def wait(self, *names: str) -> dict[str, Any]:
        """Returns the next event, or response to a command, of one of the names."""
        while True:
            length = int(self.stream.readline().split(b":")[1])
            self.stream.readline()
            message = json.loads(self.stream.read(length))
            if message.get("event", message.get("command")) in names:
                return message


@pytest.mark.nightly
def test_a_breakpoint_in_a_pass_stops_for_jax_and_for_torch(tmp_path: Path) -> None:
    script = tmp_path / "model.py"
    script.write_text(PROGRAM)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    source, line = (
        fold.__file__,
        min(line for *_, line in fold.run.__code__.co_lines() if line > fold.run.__code__.co_firstlineno),
    )
    command = [
        sys.executable,
        "-Xfrozen_modules=off",
        "-m",
        "debugpy",
        "--listen",
        f"127.0.0.1:{port}",
        "--wait-for-client",
    ]
    with subprocess.Popen(
        [*command, str(script)],
        env=os.environ | {"TTXLA_CACHE": "off"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        try:
            editor = Editor(port)
            editor.send("initialize", adapterID="test")
            editor.send("attach", justMyCode=False)
            editor.wait("initialized")
            editor.send("setBreakpoints", source={"path": source}, breakpoints=[{"line": line}])
            editor.send("configurationDone")
            callers = []
            while (event := editor.wait("stopped", "terminated"))["event"] == "stopped":
                thread = event["body"]["threadId"]
                editor.send("stackTrace", threadId=thread)
                frames = editor.wait("stackTrace")["body"]["stackFrames"]
                assert Path(frames[0]["source"]["path"]) == Path(source)
                callers.append("pjrt" in {Path(frame["source"]["path"]).parent.name for frame in frames})
                editor.send("continue", threadId=thread)
            editor.send("disconnect")
            output, _ = process.communicate(timeout=120)
            editor.stream.close()
            editor.socket.close()
        finally:
            process.kill()
    assert {*callers} == {True, False}
    assert "[2. 2. 2. 2.]" in output
    assert "3., 3., 3., 3." in output
