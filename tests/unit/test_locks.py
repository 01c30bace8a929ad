"""Locks in threads and in forked processes."""

from __future__ import annotations

import os
import threading

import pytest

from tt_xla.locks import Lock

pytestmark = pytest.mark.quick


def exit_code(child) -> int:
    """Returns the exit code of a forked process that runs a function."""
    process = os.fork()
    if not process:
        code = 1
        try:
            code = child()
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def test_a_thread_may_take_a_lock_again_and_no_other_may_meanwhile() -> None:
    lock, others = Lock(), []
    with lock, lock:
        thread = threading.Thread(target=lambda: others.append(lock.acquire(blocking=False)))
        thread.start()
        thread.join()
    assert others == [False]
    assert lock.acquire(blocking=False)
    lock.release()


@pytest.mark.filterwarnings("ignore")  # a fork in a process with threads
def test_a_forked_process_does_not_wait_for_a_thread_that_is_not_there() -> None:
    lock, held, over = Lock(), threading.Event(), threading.Event()

    def hold() -> None:
        with lock:
            held.set()
            over.wait(30)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(30)
    try:
        assert exit_code(lambda: 0 if lock.acquire(blocking=False) else 2) == 0
        assert not lock.acquire(blocking=False)  # here the thread still holds it
    finally:
        over.set()
        thread.join()


@pytest.mark.filterwarnings("ignore")
def test_a_lock_of_the_forking_thread_stays_its_own() -> None:
    lock = Lock()

    def child() -> int:
        lock.release()
        return 0

    with lock:
        assert exit_code(child) == 0
