"""The explorer: a model's graphs in the browser, with predicted times, memory and accuracy, and choices to change.

A compilation has stages, each stage functions of :mod:`nodes`, and each function becomes a graph of Model Explorer
(:mod:`graphs`). A :mod:`session` holds the compilations of one model, and :mod:`server` shows them. A :mod:`worker`
process compiles and runs. Model Explorer is the optional package ``ai-edge-model-explorer``.
"""
