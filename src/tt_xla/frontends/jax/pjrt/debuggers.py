"""Lets debuggers stop on the threads on which jaxlib compiles."""

from __future__ import annotations

import sys
import threading


def trace_this_thread() -> None:
    """Makes the debugger of this process, if one is attached, stop at its breakpoints on the calling thread too.

    Python traces each thread separately, and jaxlib's threads were not started by Python, so a debugger does not know
    them. debugpy has a function for such threads. pdb's trace function is taken from the frames of the main thread.
    """
    debugpy = sys.modules.get("debugpy")
    if debugpy is not None and debugpy.is_client_connected():
        debugpy.debug_this_thread()
        return
    main = threading.main_thread().ident
    if main is None or main == threading.get_ident() or sys.gettrace() is not None:
        return
    frame = sys._current_frames().get(main)
    while frame is not None:
        if frame.f_trace is not None:
            sys.settrace(frame.f_trace)
            return
        frame = frame.f_back
