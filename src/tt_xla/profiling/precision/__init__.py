"""Finds the format, math fidelity and accumulation of each layer with which a program is fastest and still accurate.

``subject`` records the program and its inputs, ``layer_times`` splits its predicted time by layer, ``measures`` judge
results, ``search`` chooses, and ``report`` writes the precision file and the page.
"""
