"""What a program did and what a card would have taken for it: recorded once, told as CSV, timelines and pages.

``recording`` listens to compiler, runtime and optimizers while a script runs; ``device_time`` lays the recorded kernels
on the device's clock; ``steps`` finds the steps of a training or inference loop. What people read is made of those:
``ops_csv``, ``chrome_trace``, ``bench``, ``report``. ``tune`` runs many of them.
"""
