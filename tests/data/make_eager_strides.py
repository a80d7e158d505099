"""Writes eager_strides.txt, the strides that PyTorch gives to results, for tests/ir/eager_layout_test.cpp.

    python tests/data/make_eager_strides.py [COUNT] > tests/data/eager_strides.txt

A line is `op ARGUMENT | tensor tensor … | tensor`: the inputs and the result. A tensor is written as sizes@strides
(4x3@3,1); a scalar is @. The argument is the new sizes for reshape, the dim for cat, and the indexed dims for gather;
other ops have none. `preserve` is empty_like, `channels_last` is an empty tensor in that memory format.
"""

import random
import sys

import torch


CHANNELS_LAST = {4: torch.channels_last, 5: torch.channels_last_3d}


def as_text(tensor):
    sizes, strides = "x".join(map(str, tensor.shape)), ",".join(map(str, tensor.stride()))
    return f"{sizes}@{strides}"


def random_layout(rng, shape, dtype=torch.float32):
    """A tensor of the shape in one of the layouts that are usual in programs."""
    rank = len(shape)
    if rng.random() < 0.25:
        return torch.zeros(shape, dtype=dtype)
    if rank in CHANNELS_LAST and rng.random() < 0.4:
        return torch.empty(shape, dtype=dtype, memory_format=CHANNELS_LAST[rank])
    order = rng.sample(range(rank), rank)
    padded = [n + rng.choice([0, 0, 0, 1, 3]) for n in shape]
    tensor = torch.zeros([padded[d] for d in order], dtype=dtype).permute([order.index(d) for d in range(rank)])
    for d, n in enumerate(shape):
        tensor = tensor.narrow(d, 0, n)
    for d, n in enumerate(shape):
        if n == 1 and rng.random() < 0.2:
            tensor = tensor.select(d, 0).unsqueeze(d)
        elif n > 0 and rng.random() < 0.1:
            tensor = tensor.narrow(d, 0, 1).expand(shape)
    return tensor


def sizes_of(rng, rank, largest=4):
    return [rng.choice([1, 1, 2, 3, largest, 0 if rng.random() < 0.1 else 2]) for _ in range(rank)]


def pointwise(rng):
    shape = sizes_of(rng, rng.choice([0, 1, 2, 3, 4, 4, 4, 5]))
    inputs, input_count = [], rng.choice([1, 2, 2, 2, 3])
    for _ in range(input_count):
        input_shape = [1 if rng.random() < 0.25 else n for n in shape][rng.randrange(len(shape) + 1) * (rng.random() < 0.3):]
        inputs.append(random_layout(rng, input_shape, torch.bool if input_count == 3 and not inputs else torch.float32))
    if len(inputs) == 1 and rng.random() < 0.5:
        return "", [inputs[0], torch.tensor(0.0)], inputs[0] + 2.0
    if len(inputs) == 3:
        return "", inputs, torch.where(*inputs)
    return "", inputs, inputs[0] + inputs[1] if len(inputs) == 2 else -inputs[0]


def preserve(rng):
    tensor = random_layout(rng, sizes_of(rng, rng.choice([1, 2, 3, 4, 4, 5, 5])))
    return "", [tensor], torch.empty_like(tensor)


def reshape(rng):
    tensor = random_layout(rng, sizes_of(rng, rng.randrange(5)))
    remaining, shape = tensor.numel(), []
    while remaining > 1:
        n = rng.choice([k for k in range(2, remaining + 1) if remaining % k == 0])
        shape += [1] * (rng.random() < 0.2) + [n]
        remaining //= n
    shape = list(tensor.shape[::-1]) if tensor.numel() == 0 else shape
    return "x".join(map(str, shape)), [tensor], tensor.reshape(shape)


def cat(rng):
    rank = rng.choice([1, 2, 3, 4, 4, 4, 5, 5])
    shape, dim, are_channels_last = sizes_of(rng, rank), rng.randrange(rank), rng.random() < 0.5
    inputs = []
    for _ in range(rng.choice([1, 2, 3])):
        tensor = random_layout(rng, shape)
        if are_channels_last and rank in CHANNELS_LAST:
            tensor = tensor.contiguous(memory_format=CHANNELS_LAST[rank])
        inputs.append(tensor)
    return dim, inputs, torch.cat(inputs, dim)


def gather(rng):
    rank = rng.randrange(1, 5)
    source = random_layout(rng, [rng.choice([1, 2, 3, 4]) for _ in range(rank)])
    dims = sorted(rng.sample(range(rank), rng.choice([k for k in (1, 1, 2, 3) if k <= rank])))
    shape = sizes_of(rng, rng.randrange(4))
    indices = []
    for _ in dims:
        index_shape = [1 if rng.random() < 0.2 else n for n in shape]
        indices.append(random_layout(rng, index_shape, torch.int64))
    position = [slice(None)] * rank
    for d, index in zip(dims, indices):
        position[d] = index
    return ",".join(map(str, dims)), [source, *indices], source[tuple(position)]


def channels_last(rng):
    rank = rng.choice([4, 5])
    tensor = random_layout(rng, sizes_of(rng, rank))
    return "", [tensor], torch.empty(tensor.shape, memory_format=CHANNELS_LAST[rank])


def main(count):
    rng = random.Random(7)
    makers = [pointwise, pointwise, pointwise, preserve, reshape, cat, gather, channels_last]
    seen = set()
    while len(seen) < count:
        maker = makers[len(seen) % len(makers)]
        argument, inputs, result = maker(rng)
        line = f"{maker.__name__} {argument} | {' '.join(map(as_text, inputs))} | {as_text(result)}"
        if line not in seen and (len(result.shape) > 1 or rng.random() < 0.1):
            seen.add(line)
            print(line)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1200)
