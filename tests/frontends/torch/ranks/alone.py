"""A rank of torchrun that adds a tensor of the device."""

import torch
import torch.distributed as dist

dist.init_process_group("tt", device_id=torch.device("tt", 0))
dist.all_reduce(torch.ones(2, device="tt"))
dist.destroy_process_group()
