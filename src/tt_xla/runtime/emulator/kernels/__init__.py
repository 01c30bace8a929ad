"""One kernel per TTNN op, a file per family; ``registry.FAMILIES`` lists the files."""
