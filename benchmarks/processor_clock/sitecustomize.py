"""Makes ``time.perf_counter`` count the processor time of the process, of all its threads, user and system.

Python imports this module when it starts with this folder on PYTHONPATH. A compiler that measures itself then says how
much processor time it took, which other work on the machine distorts less than the time on the wall.
"""

import time

time.perf_counter = time.process_time
