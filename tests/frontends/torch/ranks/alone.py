"""A rank of torchrun that begins and ends."""

import torch.distributed as dist

dist.init_process_group("tt")
dist.destroy_process_group()
