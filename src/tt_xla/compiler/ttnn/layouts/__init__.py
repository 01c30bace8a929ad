"""The layout optimiser: which memory layout each result has, and the program configs that go with it.

``forms`` says what TT-NN can run, ``search`` chooses among it by predicted time, ``choose_layouts`` is the pass.
"""
