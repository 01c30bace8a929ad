"""The graph of a model's calls that ``ttnn.tracer`` records, draws and writes as Python."""
