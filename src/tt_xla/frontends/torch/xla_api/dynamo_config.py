"""``torch_xla._dynamo.config``."""

skip_input_data_check = False
"""Whether calls of a compiled graph trust that no input waits for recorded ops. Calls here find out in any case."""
