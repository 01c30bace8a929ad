"""The TT-NN runtime: runs Programs in a process whose Python has ``ttnn``, from the source that codegen generates."""
