"""``torch_xla._dynamo.config``."""

skip_input_data_check = False
"""Whether an input of a compiled graph that waits for recorded ops is an error. Otherwise these run first."""
