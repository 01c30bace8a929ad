"""The Python code of every page of the documentation runs each night; `make follow-pages` runs the commands too."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("accelerate", reason="the extra torch-examples is not installed")
pytest.importorskip("tt_xla.frontends.jax.pjrt.trampoline", reason="the C part of the plugin is not built")

from docs.checks import follow_pages

ELSEWHERE = {"docs/performance.md"}
"""Pages whose code another test of this folder runs."""

PAGES = [page for page in follow_pages.pages() if page.code and page.path not in ELSEWHERE]
RUNNER = """
import re, runpy, sys
for path in sys.argv[1:]:
    print("==", path, flush=True)
    if re.search("^def test_", open(path).read(), re.MULTILINE):
        import pytest
        assert pytest.main(["-q", "--import-mode=importlib", "-p", "tt_xla.testing.ttnn_fixtures", path]) == 0
    else:
        runpy.run_path(path, run_name="__main__")
"""
"""Runs scripts in one process, which imports torch and JAX once."""


@pytest.mark.nightly
@pytest.mark.parametrize("system", sorted({page.system or "n150" for page in PAGES}))
def test_the_code_of_the_pages_runs(system: str, tmp_path: Path) -> None:
    chosen = {
        f"{re.sub(r'[^a-z]+', '_', page.path.lower())}.py": page for page in PAGES if (page.system or "n150") == system
    }
    for name, page in chosen.items():
        (tmp_path / name).write_text(page.script)
    (tmp_path / "examples").symlink_to(follow_pages.ROOT / "examples")
    environment = os.environ | {
        "TTXLA_SYSTEM": system,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "OMP_NUM_THREADS": "1",  # threads that wait for each other take longer on a busy machine
    }
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", RUNNER, *chosen],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout[-2000:] + run.stderr[-3000:]
    outputs = dict(part.split("\n", 1) for part in run.stdout.split("== ")[1:])
    for name, page in chosen.items():
        assert [text for text in page.expected if text not in outputs[name]] == [], name


def test_marks_leave_out_commands_and_a_fence_without_language_is_refused(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(follow_pages, "ROOT", tmp_path)
    page = tmp_path / "page.md"
    page.write_text(
        '<!-- first: touch a -->\n<!-- not run "rm": it\n  destroys -->\n```sh\nls a \\\n  b  # shows\nrm a\n```\n'
        "\n<!-- not run: a sketch -->\n```python\n...\n```\n\n```text\nshown\n```\n"
    )
    read = follow_pages.read_page(page)
    assert [(command.line, command.text) for command in read.commands] == [(4, "touch a"), (4, "ls a \\\n  b  # shows")]
    assert read.skipped == [
        follow_pages.Skipped(4, "rm a", "it destroys"),
        follow_pages.Skipped(11, "code", "a sketch"),
    ]
    assert read.code == []
    page.write_text("```\nls\n```\n")
    with pytest.raises(ValueError, match=r"page\.md:1"):
        follow_pages.read_page(page)
    page.write_text('<!-- not run "mv": it moves -->\n```sh\nls\n```\n')
    with pytest.raises(ValueError, match="no command has mv"):
        follow_pages.read_page(page)


def test_a_failing_command_and_a_missing_output_are_found(tmp_path: Path) -> None:
    commands = [
        follow_pages.Command(number, text)
        for number, text in enumerate(["export A=1", 'test "$A" = 1', "false && true"])
    ]
    page = follow_pages.Page("page.md", commands, ["print(1)  # 2"])
    first, second = follow_pages.follow(page, tmp_path, dict(os.environ))
    assert first.startswith("page.md:2: false && true: status 1")
    assert second.startswith("page.md: its code does not print '2'")


def test_commands_after_a_prompt_and_commands_that_serve_are_read(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(follow_pages, "ROOT", tmp_path)
    page = tmp_path / "page.md"
    page.write_text('```console\n$ ls a\nb\n```\n\n<!-- serves "open" -->\n```sh\nopen a  # a page\nls\n```\n')
    commands = follow_pages.read_page(page).commands
    assert [(command.text, command.serves) for command in commands] == [
        ("ls a", False),
        ("open a  # a page", True),
        ("ls", False),
    ]
    page.write_text('<!-- serves "open" -->\n```sh\nls\n```\n')
    with pytest.raises(ValueError, match="no command has open"):
        follow_pages.read_page(page)


SERVER = """
import http.server, sys
server = http.server.HTTPServer(("localhost", 0), http.server.SimpleHTTPRequestHandler)
print(f"The page is at http://localhost:{server.server_port}/{sys.argv[1]}.", flush=True)
try:
    server.serve_forever()
except KeyboardInterrupt:
    print("ended")
"""


@pytest.mark.parametrize(("name", "works"), [("server.py", True), ("none.py", False)])
def test_a_page_that_is_served_must_come(tmp_path: Path, name: str, works: bool) -> None:
    (tmp_path / "server.py").write_text(SERVER)
    page = follow_pages.Page("page.md", [follow_pages.Command(1, f"{sys.executable} server.py {name}", serves=True)])
    failures = follow_pages.follow(page, tmp_path, dict(os.environ))
    assert (failures == []) is works


def test_an_empty_list_of_tests_is_found(tmp_path: Path) -> None:
    texts = ["echo --collect-only a.py::test_a", "echo --collect-only"]
    page = follow_pages.Page("page.md", [follow_pages.Command(1, text) for text in texts])
    (failure,) = follow_pages.follow(page, tmp_path, dict(os.environ))
    assert failure.startswith("page.md:1: echo --collect-only: lists no test")
