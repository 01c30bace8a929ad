"""The model runner: finds loaders, reads expected outcomes, runs each model in its own process, and reports."""
