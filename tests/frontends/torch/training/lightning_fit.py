"""Trainer of Lightning. Usage: lightning_fit.py OPTIONS FOLDER, where OPTIONS is a JSON object."""

import json
import sys

import lightning
import torch
from torch.utils.data import DataLoader, TensorDataset

OPTIONS, FOLDER = json.loads(sys.argv[1]), sys.argv[2]
generator = torch.Generator().manual_seed(0)
x = torch.randn(64, 8, generator=generator)
losses, seen = [], {}


class Module(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))

    def training_step(self, batch, index):
        output = self.net(batch[0])
        seen.update(device=str(output.device), dtype=str(output.dtype), parameters=str(self.net[0].weight.dtype))
        return torch.nn.functional.mse_loss(output.float(), batch[1].float())

    def on_train_batch_end(self, outputs, batch, index):
        loss = self.all_gather(outputs["loss"]).mean().item()
        if self.global_rank == 0:
            losses.append(loss)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-2)


def fit(epochs, checkpoint=None):
    trainer = lightning.Trainer(
        max_epochs=epochs,
        default_root_dir=FOLDER,
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        **OPTIONS,
    )
    loader = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=8 // trainer.num_devices)
    trainer.fit(Module(), loader, ckpt_path=checkpoint)
    return trainer


if __name__ == "__main__":
    path = fit(1).checkpoint_callback.best_model_path
    losses.clear()
    fit(2, path)
    resumed = losses[:]
    losses.clear()
    trainer = fit(2)
    Module.load_from_checkpoint(path)
    print(json.dumps({**seen, "losses": losses, "resumed": resumed, "processes": trainer.num_devices}))
