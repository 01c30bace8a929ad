"""Programs as calls of the TT-NN library: one table, for generated source and for running it.

Nothing here imports ``ttnn``; what needs it runs in another process.
"""
