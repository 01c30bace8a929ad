"""Draws calls and functions of PyTorch, runs them on the emulated card, and judges them by PyTorch on the CPU."""
