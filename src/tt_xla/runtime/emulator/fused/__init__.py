"""Fused kernels: runs of instructions compiled to one C++ function each, where a C++ compiler is there.

They change how fast a program runs and nothing else. A fused kernel has the bits of the calls it stands for, is
compared with them on drawn operands before it is used, and is left out where one bit differs. A fault in here ends no
program: it is reported once, and the calls go on (:mod:`.engine`).
"""
