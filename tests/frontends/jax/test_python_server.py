"""Scripts in forks of a prepared process behave as scripts of a new interpreter."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys

import pytest


@pytest.fixture
def run(python_server, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(script: str, *arguments: str, timeout: float = 60, **more: str) -> subprocess.CompletedProcess[str]:
        return python_server.run(
            script, environment={"PATH": os.environ["PATH"], **more}, timeout=timeout, arguments=arguments
        )

    return run


SCRIPTS = {
    "output": "import sys; print(sys.argv, __name__); print('to stderr', file=sys.stderr)",
    "exit": "import sys; sys.exit(3)",
    "message": "import sys; sys.exit('a reason')",
    "exception": "def f():\n    raise ValueError('wrong')\nf()",
    "environment": "import os; print(sorted(os.environ.items()))",
    "folder": "import os, sys; print(os.getcwd(), sys.path[0])",
    "main": "class A: pass\nimport pickle; print(type(pickle.loads(pickle.dumps(A()))) is A)",
    "finalization": "import atexit, threading as t; atexit.register(print, 'end'); t.Timer(0.1, print, [1]).start()",
    "unflushed": "import sys; sys.stdout.write('half a line')",
    "signal": "import os, signal; os.kill(os.getpid(), signal.SIGTERM)",
    "no input": "import os; print(os.readlink('/proc/self/fd/0'))",
}


@pytest.mark.parametrize("script", SCRIPTS.values(), ids=SCRIPTS)
def test_a_fork_does_what_a_new_interpreter_does(run, script):
    environment = {"PATH": os.environ["PATH"], "LC_CTYPE": "C.UTF-8"}
    new = subprocess.run(
        [sys.executable, "-c", script, "one", "two"],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    fork = run(script, "one", "two", LC_CTYPE="C.UTF-8")
    # From Python 3.13 on a new interpreter shows the lines of a script without a file.
    fork_error, new_error = (re.sub(r"^    .*\n", "", each.stderr, flags=re.M) for each in (fork, new))
    assert (fork.returncode, fork.stdout, fork_error) == (new.returncode, new.stdout, new_error)


def test_a_script_that_takes_too_long_is_killed_with_its_children(run, tmp_path):
    script = (
        "import os, time\nif not os.fork():\n    time.sleep(2); open('late', 'w')\nprint(1, flush=True)\ntime.sleep(60)"
    )
    with pytest.raises(subprocess.TimeoutExpired) as raised:
        run(script, timeout=0.5)
    assert raised.value.stdout == "1\n"
    assert run("import time; time.sleep(2)").returncode == 0
    assert not (tmp_path / "late").exists()


def test_scripts_find_no_backend_and_no_state_of_earlier_ones(run):
    script = (
        "import sys, jax, torch\nfrom jax._src import xla_bridge\n"
        "assert not xla_bridge.backends_are_initialized() and not hasattr(jax, 'mark')\n"
        "jax.mark = 1; torch.manual_seed(7); print(len(jax.devices('cpu')))"
    )
    assert [run(script).stdout for _ in range(2)] == ["1\n", "1\n"]


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", ["JAX_PLATFORMS", "PYTHONOPTIMIZE", "OMP_NUM_THREADS"])
def test_settings_that_are_read_at_import_need_a_new_interpreter(python_server, run_python, name):
    assert not python_server.serves({name: "1"})
    assert run_python(f"import os; print(os.environ['{name}'])", register_first=False, **{name: "1"}).stdout == "1\n"


def test_a_signal_ends_a_script_and_not_the_server(run):
    assert run("import os, signal; os.kill(0, signal.SIGKILL)").returncode == -signal.SIGKILL
    assert run("print(1)").stdout == "1\n"
