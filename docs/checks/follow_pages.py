"""Follows each page of the documentation in a fresh clone with a fresh environment, and writes docs/followed.md.

``make follow-pages`` runs it. Commands are the fences of language ``sh`` and the lines after a prompt ``$`` in those of
language ``console``, and code the fences of language ``python``. The commands of a page run one after another in one
shell, then its code runs as one script; where the code has tests, pytest runs it. A comment ``# TTXLA_SYSTEM=name`` in
the code selects the system of the script, and what a line ``print(...)  # text`` names must be printed. A command that
lists tests must list one.

A page marks what is not to be run, or needs something that a reader has, by comments right before the fence:

- ``<!-- not run: reason -->`` leaves out the fence,
- ``<!-- not run "text": reason -->`` leaves out the commands that contain the text,
- ``<!-- serves "text" -->`` runs the commands that contain the text until they print an address, asks for the page
  there, and ends them with Ctrl-C (:mod:`docs.checks.serve`),
- ``<!-- first: commands -->`` runs commands, or code, before the fence.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

from docs.tables import write_between_marks

ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT / "docs/followed.md"
SERVE = ROOT / "docs/checks/serve.py"
COMMENT = re.compile(
    r'<!--\s*(?:not run(?: "(?P<text>[^"]+)")?:(?P<reason>.*?)|serves "(?P<serves>[^"]+)"\s*|first:(?P<first>.*?))-->',
    re.DOTALL,
)
INCLUDE = re.compile(r'^--8<-- "(.+)"$', re.MULTILINE)
PRINTED = re.compile(r"^\s*print\(.*\)  # (.+)$", re.MULTILINE)
SYSTEM = re.compile(r"# TTXLA_SYSTEM=([\w-]+)")
PROMPT = re.compile(r"^\$ (.+)$", re.MULTILINE)
TEST = re.compile(r"::\w|<\w*Function ")
"""A test in a list of ``pytest --collect-only``."""

OUTPUTS = {"text", "mermaid", "yaml", "cpp", "json"}
"""Languages of fences that show something and are not run."""

PAGE_TIMEOUT = 1800
"""Seconds that the commands of one page may take."""


@dataclass(frozen=True)
class Skipped:
    """Commands or code that are not run.

    Attributes:
        line: line of the fence in the page.
        what: the commands, or the language of the fence.
        reason: why they are not run, as the page says.
    """

    line: int
    what: str
    reason: str


@dataclass(frozen=True)
class Command:
    """A shell command.

    Attributes:
        line: line of its fence in the page.
        text: the command, which may span lines.
        serves: whether it serves a page until it is ended.
    """

    line: int
    text: str
    serves: bool = False

    @property
    def shell(self) -> str:
        """What the shell runs."""
        return shlex.join([sys.executable, str(SERVE), self.text]) if self.serves else self.text

    def fault(self, output: str) -> str:
        """Returns what is wrong with the output of a command that ended with status 0; empty if nothing is."""
        return "lists no test" if "--collect-only" in self.text and not TEST.search(output) else ""


@dataclass
class Page:
    """A page with what is run of it.

    Attributes:
        path: path in the repository.
        commands: shell commands, in the page's order.
        code: the page's Python code, one text per fence.
        skipped: what is not run.
    """

    path: str
    commands: list[Command] = field(default_factory=list)
    code: list[str] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)

    @property
    def script(self) -> str:
        """The code as one script."""
        return "\n".join(self.code)

    @property
    def system(self) -> str | None:
        """The system that the code asks for.

        Raises:
            ValueError: fences of the page ask for several systems.
        """
        systems = {*SYSTEM.findall(self.script)}
        if len(systems) > 1:
            raise ValueError(f"{self.path}: one script cannot run on {', '.join(sorted(systems))}")
        return next(iter(systems), None)

    @property
    def expected(self) -> list[str]:
        """Texts that the script must print."""
        return PRINTED.findall(self.script)


def pages() -> list[Page]:
    """Returns the pages that have commands or code, or say why they are not run."""
    paths = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    read = [read_page(path) for path in paths]
    return [page for page in read if page.commands or page.code or page.skipped]


def read_page(path: Path) -> Page:
    """Reads what is to be run of a page.

    Raises:
        ValueError: a fence has no language, or one that is neither run nor known as output.
    """
    page = Page(path.relative_to(ROOT).as_posix())
    for fence, comments in fences(MarkdownIt("commonmark").parse(path.read_text())):
        language, line = fence.info.strip(), fence.map[0] + 1 if fence.map else 0
        if language in OUTPUTS:
            continue
        if language not in ("sh", "console", "python"):
            raise ValueError(f"{page.path}:{line}: a fence of language {language!r}; `text` is for what is not run")
        left_out: dict[str, str] = {}
        serving: set[str] = set()
        firsts: list[str] = []
        for comment in comments:
            if comment["first"] is not None:
                firsts.append(comment["first"].strip("\n"))
            elif comment["serves"]:
                serving.add(comment["serves"])
            else:
                left_out[comment["text"] or ""] = " ".join(comment["reason"].split())
        content = "\n".join(PROMPT.findall(fence.content)) if language == "console" else fence.content
        if "" in left_out:
            page.skipped.append(Skipped(line, "code" if language == "python" else "commands", left_out[""]))
        elif language != "python":
            read_commands(page, line, "\n".join([*firsts, content]), left_out, serving)
        else:
            page.code.append(
                INCLUDE.sub(lambda found: (ROOT / found[1]).read_text(), "\n".join([*firsts, fence.content]))
            )
    return page


def fences(tokens: Sequence[Token]) -> Iterator[tuple[Token, list[re.Match[str]]]]:
    """Yields each fence with the comments right before it."""
    comments: list[re.Match[str]] = []
    for token in tokens:
        if token.type == "html_block":
            comments += COMMENT.finditer(token.content)
        elif token.type == "fence":
            yield token, comments
            comments = []
        elif token.type == "inline":
            comments = []


def read_commands(page: Page, line: int, text: str, left_out: dict[str, str], serving: set[str]) -> None:
    """Adds the commands of a fence to a page, without those that contain a key of `left_out`.

    Raises:
        ValueError: no command of the fence contains a key, or the text of one that serves pages.
    """
    unused = {*left_out, *serving}
    for command in split_commands(text):
        found = next((key for key in left_out if key in command), None)
        serves = {key for key in serving if key in command}
        unused -= serves
        if found is None:
            page.commands.append(Command(line, command, serves=bool(serves)))
        else:
            unused.discard(found)
            page.skipped.append(Skipped(line, command.split("  #")[0].strip(), left_out[found]))
    if unused:
        raise ValueError(f"{page.path}:{line}: no command has {', '.join(sorted(unused))}, which a comment names")


def split_commands(text: str) -> Iterator[str]:
    """Yields the commands of a shell text; a command ends where bash can read it as a whole."""
    command = ""
    for line in text.splitlines():
        command += line + "\n"
        if not command.strip() or line.lstrip().startswith("#"):
            command = ""
        elif (
            not line.endswith("\\")
            and subprocess.run(["bash", "-n"], input=command, text=True, capture_output=True, check=False).returncode
            == 0
        ):
            yield command.strip()
            command = ""
    if command.strip():
        raise ValueError(f"bash cannot read this command: {command}")


def shell_program(commands: Sequence[Command], logs: Path) -> str:
    """Returns a program that runs commands in one shell and writes status and seconds of each to ``logs/status``."""
    lines = ["set -uo pipefail", "set +u"]
    for number, command in enumerate(commands):
        lines += [
            "SECONDS=0",
            f"{{ eval {shlex.quote(command.shell)}; }} >{logs}/{number} 2>&1 </dev/null",
            f'echo "{number} $? $SECONDS" >>{logs}/status',
        ]
    return "\n".join(lines)


def follow(page: Page, clone: Path, environment: dict[str, str]) -> list[str]:
    """Runs a page and returns what failed."""
    failures: list[str] = []
    with tempfile.TemporaryDirectory(prefix="tt-xla-page-") as scratch:
        logs = Path(scratch)
        shell = [
            "timeout",
            str(PAGE_TIMEOUT),
            "bash",
            "-c",
            shell_program(page.commands, logs),
        ]  # ends its children too
        if subprocess.run(shell, cwd=clone, env=environment, check=False).returncode == 124:
            failures.append(f"{page.path}: its commands took over {PAGE_TIMEOUT} s")
        status = logs / "status"
        ended = (
            {int(number): int(code) for number, code, _ in map(str.split, status.read_text().splitlines())}
            if status.exists()
            else {}
        )
        for number, command in enumerate(page.commands):
            log = logs / str(number)
            output = log.read_text(errors="replace") if log.exists() else ""
            fault = f"status {ended[number]}" if number in ended else "no status"
            if ended.get(number) == 0 and not (fault := command.fault(output)):
                continue
            shown = [f"{page.path}:{command.line}: {command.text}: {fault}", *output.splitlines()[-12:]]
            failures.append("\n    ".join(shown))
        if page.script:
            failures += run_script(page, clone, environment)
    return failures


def run_script(page: Page, folder: Path, environment: dict[str, str]) -> list[str]:
    """Runs a page's code and returns what failed."""
    script = folder / "page.py"
    script.write_text(page.script)
    tests = re.search(r"^def test_", page.script, re.MULTILINE)
    pytest = ["-m", "pytest", "-q", "-p", "tt_xla.testing.ttnn_fixtures"] if tests else []
    if page.system:
        environment = environment | {"TTXLA_SYSTEM": page.system}
    python = shutil.which("python", path=environment["PATH"]) or sys.executable
    run = subprocess.run(
        [python, *pytest, str(script)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    if run.returncode:
        return [
            "\n    ".join(
                [f"{page.path}: its code: status {run.returncode}", *(run.stdout + run.stderr).splitlines()[-25:]]
            )
        ]
    return [
        f"{page.path}: its code does not print {text!r}, but {run.stdout!r}"
        for text in page.expected
        if text not in run.stdout
    ]


def fresh_clone(folder: Path) -> tuple[Path, dict[str, str]]:
    """Clones the last commit, installs as README.md says, and returns the clone and the environment of its commands.

    A folder that has a clone with an environment is brought up to date.
    """
    clone = folder / "clone"
    if (clone / ".venv/.installed").exists():
        subprocess.run(["git", "-C", str(clone), "fetch", "-q", str(ROOT), "HEAD"], check=True)
        subprocess.run(["git", "-C", str(clone), "reset", "-q", "--hard", "FETCH_HEAD"], check=True)
        print(f"The clone and the environment of {clone} are used again.", flush=True)
    else:
        subprocess.run(["git", "clone", "-q", str(ROOT), str(clone)], check=True)
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("TTXLA_", "PYTHON", "VIRTUAL_"))
    }
    environment |= {"TTXLA_CACHE": str(folder / "cache"), "HF_HUB_OFFLINE": "1", "BROWSER": "true"}
    start = time.monotonic()
    subprocess.run(["make", f"PYTHON={sys.executable}", "venv"], cwd=clone, env=environment, check=True)
    print(f"make venv took {time.monotonic() - start:.0f} s.", flush=True)
    environment |= {"PATH": f"{clone}/.venv/bin:{environment['PATH']}", "VIRTUAL_ENV": f"{clone}/.venv"}
    return clone, environment


def clean(clone: Path) -> None:
    """Removes what the commands of the last page left; the environment and the compiled C file stay."""
    subprocess.run(["git", "-C", str(clone), "reset", "-q", "--hard"], check=True)
    subprocess.run(["git", "-C", str(clone), "clean", "-xdfq", "-e", ".venv", "-e", "*.so"], check=True)


def table(results: Sequence[tuple[Page, list[str], float]]) -> str:
    """Returns the table of docs/followed.md, and the list of what is not run."""
    lines = ["| page | commands | lines of Python | seconds | result |", "|---|--:|--:|--:|---|"]
    for page, failures, seconds in results:
        outcome = "works" if not failures else f"{len(failures)} fail"
        name = page.path.removeprefix("docs/")
        link = f"[{name}]({name})" if page.path.startswith("docs/") else f"[{name}](../{name})"
        lines.append(f"| {link} | {len(page.commands)} | {len(page.script.splitlines())} | {seconds:.0f} | {outcome} |")
    lines += ["", "Not run:", "", "| where | what | why |", "|---|---|---|"]
    for page, _, _ in results:
        for one in page.skipped:
            what = f"`{one.what}`" if one.what not in ("commands", "code") else one.what
            lines.append(f"| {page.path}:{one.line} | {what.replace('|', '&#124;')} | {one.reason} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("pages", nargs="*", help="paths such as docs/tools.md; all pages by default")
    parser.add_argument("--folder", type=Path, help="keep the clone and its environment here, and use them again")
    parser.add_argument("--no-table", action="store_true", help="leave docs/followed.md as it is")
    arguments = parser.parse_args()
    chosen = [page for page in pages() if not arguments.pages or page.path in arguments.pages]
    results: list[tuple[Page, list[str], float]] = []
    with tempfile.TemporaryDirectory(prefix="tt-xla-follow-") as scratch:
        folder = arguments.folder.resolve() if arguments.folder else Path(scratch)
        clone, environment = fresh_clone(folder)
        for page in chosen:
            clean(clone)
            start = time.monotonic()
            failures = follow(page, clone, environment)
            results.append((page, failures, time.monotonic() - start))
            for failure in failures:
                print(failure, flush=True)
            print(f"{page.path}: {'fails' if failures else 'works'} ({results[-1][2]:.0f} s)", flush=True)
    written = table(results)
    print(written)
    if not arguments.no_table and not arguments.pages:
        write_between_marks(TABLE, "followed", written)
    raise SystemExit(any(failures for _, failures, _ in results))


if __name__ == "__main__":
    main()
