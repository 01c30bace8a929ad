"""Programs drawn at random from the registries of compiler and front ends, judged by XLA's CPU client and torch.

:mod:`tests.fuzz.kinds` draws programs, :mod:`tests.fuzz.judge` runs them and says what is wrong,
:mod:`tests.fuzz.running` gives them to processes, and :mod:`tests.fuzz.reached` counts what they reach.
"""
