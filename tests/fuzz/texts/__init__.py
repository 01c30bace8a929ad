"""Programs of TTIR and TTNN text: functions of the file checks, changed a little, and what judges them.

:mod:`corpus` reads the functions, :mod:`changes` changes them, :mod:`judge` compares what stages make of them with the
lowering alone, and :mod:`noise` says how far rounding errors carry their results.
"""
