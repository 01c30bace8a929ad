"""A loop of accelerate. Usage: accelerate_loop.py MODE FOLDER, where MODE is cpu, replicas or auto."""

import json
import sys

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed

MODE, FOLDER = sys.argv[1:3]
generator = torch.Generator().manual_seed(0)
x = torch.randn(32, 8, generator=generator)
data = torch.utils.data.TensorDataset(x, x.sum(1, keepdim=True))


def main(*_):
    accelerator = Accelerator(cpu=MODE == "cpu")
    set_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    loader = torch.utils.data.DataLoader(data, batch_size=8 // accelerator.num_processes)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)

    def epoch():
        losses = []
        for inputs, targets in loader:
            with accelerator.accumulate(model):
                loss = torch.nn.functional.mse_loss(model(inputs), targets)
                accelerator.backward(loss)
                optimizer.step()
                optimizer.zero_grad()
            losses.append(accelerator.gather(loss.detach()[None]).mean().item())
        return losses

    losses = epoch()
    accelerator.save_state(FOLDER)
    losses += epoch()
    accelerator.load_state(FOLDER)
    report = {"device": str(accelerator.device), "losses": losses, "resumed": epoch()}
    report["processes"] = accelerator.num_processes
    accelerator.print(json.dumps(report))


if __name__ == "__main__":
    if MODE == "replicas":
        from accelerate import notebook_launcher

        notebook_launcher(main)
    else:
        main()
