"""A loop with timm's parts, as in its train.py. Usage: timm_loop.py DEVICE FOLDER, where DEVICE may be xla."""

import json
import sys
from types import SimpleNamespace

DEVICE, FOLDER = sys.argv[1:3]
if DEVICE == "xla":
    import torch_xla  # noqa: F401
import timm  # noqa: E402
import torch  # noqa: E402
from timm.optim import create_optimizer_v2  # noqa: E402
from timm.utils import CheckpointSaver, ModelEmaV3, init_distributed_device  # noqa: E402

device = init_distributed_device(SimpleNamespace(device=DEVICE))
generator = torch.Generator().manual_seed(1)
images, labels = torch.randn(16, 3, 32, 32, generator=generator), torch.arange(16) % 2


def built():
    torch.manual_seed(0)
    model = timm.create_model("test_vit", num_classes=2, img_size=32).to(device)
    return model, create_optimizer_v2(model, opt="adamw", lr=1e-3)


def epoch(model, optimizer, average=None):
    losses = []
    for inputs, targets in zip(images.split(4), labels.split(4), strict=True):
        loss = torch.nn.functional.cross_entropy(model(inputs.to(device)), targets.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if average is not None:
            average.update(model)
        losses.append(loss.item())
    return losses


model, optimizer = built()
average = ModelEmaV3(model, decay=0.9)
losses = epoch(model, optimizer, average)
CheckpointSaver(model, optimizer, checkpoint_dir=FOLDER, recovery_dir=FOLDER, model_ema=average).save_checkpoint(0, 1.0)
losses += epoch(model, optimizer)
other, other_optimizer = built()
timm.models.resume_checkpoint(other, f"{FOLDER}/last.pth.tar", other_optimizer, log_info=False)
report = {"device": str(next(model.parameters()).device), "losses": losses, "resumed": epoch(other, other_optimizer)}
print(json.dumps({**report, "processes": 1}))
