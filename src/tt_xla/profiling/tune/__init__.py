"""Finds the compile options and the batch size under which a script or a module is fastest and still right.

``trial`` runs one choice in a process of its own, ``search`` decides which choices are tried, ``executors`` runs
several at a time, here or through Ray, ``page`` draws what came out.
"""
