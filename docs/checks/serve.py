"""Runs a command that serves a page: waits for the address that it prints, asks for the page, and ends it with Ctrl-C.

    python docs/checks/serve.py 'tt-xla explore model.mlir'

The exit status is 0 if the page came and the command then ended within a minute, as a command does on Ctrl-C.
"""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import urllib.request

ADDRESS = re.compile(r"https?://\S+")
STARTED_S = 600
"""Seconds that a command may take to print its address."""

ENDED_S = 60
"""Seconds that a command may take to end."""


def main(command: str) -> int:
    """Returns the exit status."""
    process = subprocess.Popen(
        ["bash", "-c", f"exec {command}"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert process.stdout is not None
    signal.signal(signal.SIGALRM, lambda *_: process.kill())
    signal.alarm(STARTED_S)
    try:
        address = next(filter(None, map(_address, process.stdout)), None)
        if address is None:
            print("no address was printed")
            return 1
        browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())  # a token may become a cookie
        with browser.open(address) as page:
            print(f"{page.status}, {len(page.read())} bytes")
        process.send_signal(signal.SIGINT)
        signal.alarm(ENDED_S)
        print(process.stdout.read(), end="")
        return 0 if process.wait() in (0, 130, -signal.SIGINT) else 1
    finally:
        process.kill()


def _address(line: str) -> str:
    """Prints a line, and returns the address in it, if it has one."""
    print(line, end="", flush=True)
    found = ADDRESS.search(line)
    return found[0].rstrip(".,") if found else ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
