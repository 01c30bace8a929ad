"""The training of diffusers' tutorial, on a small U-Net. Usage: diffusers_unet.py MODE FOLDER."""

import json
import sys

import torch
from accelerate import Accelerator
from diffusers import DDPMPipeline, DDPMScheduler, UNet2DModel
from diffusers.training_utils import EMAModel

MODE, FOLDER = sys.argv[1:3]
accelerator = Accelerator(cpu=MODE == "cpu")
torch.manual_seed(0)
model = UNet2DModel(
    sample_size=8,
    layers_per_block=1,
    block_out_channels=(8, 16),
    norm_num_groups=4,
    attention_head_dim=8,
    down_block_types=("DownBlock2D", "AttnDownBlock2D"),
    up_block_types=("AttnUpBlock2D", "UpBlock2D"),
)
scheduler = DDPMScheduler(num_train_timesteps=1000)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
loader = torch.utils.data.DataLoader(torch.rand(8, 3, 8, 8) * 2 - 1, batch_size=4)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
average = EMAModel(model.parameters(), decay=0.9)


def epoch():
    losses = []
    torch.manual_seed(1)
    for images in loader:
        noise = torch.randn(images.shape).to(images.device)
        times = torch.randint(0, 1000, (len(images),)).to(images.device)
        predicted = model(scheduler.add_noise(images, noise, times), times).sample
        loss = torch.nn.functional.mse_loss(predicted, noise)
        accelerator.backward(loss)
        accelerator.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        average.step(model.parameters())
        losses.append(loss.item())
    return losses


def image(pipeline):
    pipeline.set_progress_bar_config(disable=True)
    return pipeline(num_inference_steps=2, generator=torch.Generator().manual_seed(0), output_type="np").images


losses = epoch()
accelerator.save_state(f"{FOLDER}/state")
losses += epoch()
accelerator.load_state(f"{FOLDER}/state")
report = {"device": str(accelerator.device), "losses": losses, "resumed": epoch(), "processes": 1}
pipeline = DDPMPipeline(unet=accelerator.unwrap_model(model), scheduler=scheduler)
pipeline.save_pretrained(f"{FOLDER}/pipeline")
loaded = DDPMPipeline.from_pretrained(f"{FOLDER}/pipeline").to(accelerator.device)
print(json.dumps({**report, "difference": float(abs(image(pipeline) - image(loaded)).max())}))
