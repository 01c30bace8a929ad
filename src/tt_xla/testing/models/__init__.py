"""The model runner: finds loaders, reads what is expected of them, runs each in a process of its own, and reports."""
