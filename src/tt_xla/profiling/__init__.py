"""Records what programs do and predicts how long a card would take; writes CSV files, timelines and pages.

``recording`` observes compiler, runtime and optimizers while a script runs. ``device_time`` places the recorded kernels
on the device's clock. ``steps`` finds the steps of a training or inference loop. ``ops_csv``, ``chrome_trace``,
``bench`` and ``report`` write files from these. ``tune`` runs many trials.
"""
