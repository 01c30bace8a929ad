"""Finds the compile options and the batch size with which a script or a module is fastest and still accurate.

``trial`` runs one choice in a process of its own. ``search`` decides which choices to try. ``executors`` runs several
trials at a time, on this machine or through Ray. ``page`` writes the results.
"""
