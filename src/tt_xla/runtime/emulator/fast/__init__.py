"""Faster ways to compute what kernels define, asked first when an instruction is bound.

Whether a way is taken depends on the program, with its shapes, on the CPU and on torch: never on how often a program
ran or on the environment. Fused kernels (:mod:`tt_xla.runtime.emulator.fused`) are another faster way, over
several instructions; they have the bits of the calls that are bound here. A fault in here ends no call: it is
reported once, and the kernel computes the result (:mod:`.fence`).

This package imports none of its modules: two threads that import one of them and the package would wait for each other.
"""
