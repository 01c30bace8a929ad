#!/usr/bin/env bash
# Upstream builds its fork of PyTorch/XLA with a script of this name.
cat <<'TEXT'
Nothing has to be built: tt-xla serves `import torch_xla` itself, on PyTorch as it is released.
Install with `make venv`, then run `.venv/bin/python -c "import torch_xla; print(torch_xla.device())"`.
TEXT
