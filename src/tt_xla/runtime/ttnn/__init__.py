"""TT-NN as a runtime: Programs run in a process whose Python has ``ttnn``, from the source that codegen writes."""
