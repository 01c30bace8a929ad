"""Prints the type of each call's result, or the class of its error. A script for the real ``ttnn`` and for ours."""

import numpy
import ttnn

SHAPES = {"x": (2, 3, 64, 96), "m": (64, 96), "w": (96, 32), "v": (1, 96), "small": (33, 40), "h": (1, 4, 32, 64)}

CALLS = """
ttnn.add(x, m)
ttnn.add(m, v)
ttnn.add(m, 2.0)
ttnn.add(m, f)
ttnn.add(f, m)
ttnn.add(m, f, dtype=ttnn.float32)
ttnn.eq(f, f)
ttnn.divide(i, i)
ttnn.multiply(l1, m)
ttnn.relu(l1)
ttnn.relu(l1, memory_config=ttnn.DRAM_MEMORY_CONFIG)
ttnn.exp(small)
ttnn.isnan(f)
ttnn.pow(m, 2.0)
ttnn.where(m, m, f)
ttnn.clamp(m, min=0.0, max=1.0)
ttnn.matmul(x, w)
ttnn.matmul(l1, w)
ttnn.matmul(m, w, dtype=ttnn.float32)
ttnn.linear(m, w, activation="relu")
ttnn.matmul(m, m, transpose_b=True)
ttnn.sum(x)
ttnn.sum(x, dim=-1)
ttnn.sum(x, dim=[1, 2], keepdim=True)
ttnn.mean(x, dim=1)
ttnn.max(x, dim=-1)
ttnn.prod(x, dim=2)
ttnn.argmax(rm, dim=-1)
ttnn.cumsum(m, dim=0)
ttnn.softmax(small, dim=-1)
ttnn.layer_norm(m, epsilon=1e-5)
ttnn.rms_norm(m)
ttnn.reshape(m, (32, 192))
ttnn.reshape(m, (-1, 32))
ttnn.permute(x, (0, 2, 1, 3))
ttnn.transpose(x, 1, 2)
ttnn.repeat(m, [2, 1])
ttnn.concat([m, m], dim=0)
ttnn.slice(x, [0, 0, 0, 0], [1, 3, 32, 32])
ttnn.slice(m, [0, 0], [64, 32], [2, 1])
ttnn.pad(m, [(0, 32), (0, 32)], 0.0)
ttnn.squeeze(v, 0)
ttnn.unsqueeze(m, 0)
ttnn.embedding(u, rmw)
ttnn.embedding(u, rmw, layout=ttnn.TILE_LAYOUT)
ttnn.sort(m)[1]
ttnn.topk(m, 32)[0]
ttnn.topk(m, 32)[1]
ttnn.typecast(m, ttnn.float32)
ttnn.typecast(m, ttnn.bfloat8_b)
ttnn.to_layout(m, ttnn.ROW_MAJOR_LAYOUT)
ttnn.to_memory_config(m, ttnn.L1_MEMORY_CONFIG)
ttnn.clone(l1)
ttnn.zeros([32, 32], device=device)
ttnn.ones([32, 32], dtype=ttnn.float32, layout=ttnn.TILE_LAYOUT, device=device)
ttnn.full([3, 4], 2, dtype=ttnn.int32, device=device)
ttnn.arange(0, 10, 2, device=device)
ttnn.zeros_like(l1)
ttnn.from_device(m)
ttnn.transformer.scaled_dot_product_attention(h, h, h, is_causal=True)
ttnn.transformer.concatenate_heads(h)
ttnn.square(l1)
ttnn.squared_difference(m, v)
ttnn.addcmul(m, m, m)
ttnn.tril(m)
ttnn.std(m, dim=-1)
ttnn.split(m, 32, dim=1)[1]
ttnn.untilize(m)
ttnn.tilize(rm)
ttnn.add(x, w)
ttnn.matmul(m, v)
ttnn.reshape(m, (5, 5))
ttnn.concat([m, w], dim=0)
ttnn.sum(m, dim=3)
ttnn.relu(m, m)
ttnn.typecast(rm, ttnn.bfloat8_b)
"""


def shown(value):
    """Returns the type of a tensor as text."""
    on_device = value.storage_type() == ttnn.StorageType.DEVICE
    memory = value.memory_config().buffer_type if on_device else None
    return f"{list(value.shape)} {value.dtype} {value.layout} {memory}"


def main():
    device = ttnn.open_device(device_id=0)

    def tensor(name, dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, memory=ttnn.DRAM_MEMORY_CONFIG):
        kind = numpy.float32 if dtype in (ttnn.bfloat16, ttnn.float32) else numpy.uint32
        kind = numpy.int32 if dtype == ttnn.int32 else kind
        host = ttnn.Tensor(numpy.ones(SHAPES[name], kind), data_type=dtype, layout=layout)
        return host if memory is None else ttnn.to_device(host, device, memory_config=memory)

    names = {name: tensor(name) for name in SHAPES}
    names |= {"f": tensor("m", ttnn.float32), "i": tensor("m", ttnn.int32)}
    names |= {"l1": tensor("m", memory=ttnn.L1_MEMORY_CONFIG), "rm": tensor("m", layout=ttnn.ROW_MAJOR_LAYOUT)}
    names |= {"u": tensor("v", ttnn.uint32, ttnn.ROW_MAJOR_LAYOUT), "rmw": tensor("w", layout=ttnn.ROW_MAJOR_LAYOUT)}
    for call in CALLS.strip().splitlines():
        try:
            result = eval(call, {"ttnn": ttnn, "device": device, **names})
            print(f"{call}: {shown(result) if isinstance(result, ttnn.Tensor) else 'ok'}")
        except Exception as error:
            print(f"{call}: {'TypeError' if isinstance(error, TypeError) else 'RuntimeError'}")


if __name__ == "__main__":
    main()
