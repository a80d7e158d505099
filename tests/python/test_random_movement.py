"""Chains of ops that move elements, with arithmetic around them, on random matrices: the results have
eager's bits."""

import random

import pytest
import torch
import torch.nn.functional as F

import ingot

# Each takes a matrix and returns a matrix.
STEPS = """{}.roll(1, 0)|{}.roll(-2, -1)|{}.flip(0)|{}.rot90()|{}.repeat(2, 1)|{}.tile(1, 2)|{}.repeat_interleave(2, 1)|
F.pad({}, (1, 2))|F.pad({}, (0, 1, 2, 0), value=3.0)|F.pad({}, (-1, 1))|F.pad({}, (1, 1), mode='reflect')|
F.pad({}, (1, 2), mode='replicate')|F.pad({}, (2, 1), mode='circular')|{}.tril()|{}.triu(1)|{}.t()|{}[1:]|{}[:, ::2]|
{}[:, 1:-1]|torch.diag_embed({}.diagonal())|{}.diagonal().unsqueeze(0)|{}.unfold(1, 2, 1).flatten(1)|
torch.kron({}, {}[:1, :2])|torch.hstack([{}, {} * 3])|torch.vstack([{}, {}[:1]])|{}.tensor_split(2, 1)[0]|
{}.unflatten(1, (2, -1)).transpose(0, 1).flatten(1)|{}.reshape(-1, 2)|{}.view(-1).unsqueeze(0)|
F.interpolate({}.unsqueeze(0), scale_factor=2)[0]|torch.meshgrid({}[0], {}[:, 0], indexing='xy')[0]|({} * 2 + 1)|
({} + {}.flip(1))|({} - {}.roll(1, 1))|torch.where({} > 0, {}, {}.roll(2))|{}.select(1, 0).unsqueeze(1)|
{}.expand(3, -1, -1).flatten(0, 1)""".replace("\n", "").split("|")
SHAPES = [(4, 6), (3, 5), (6, 2), (20, 18), (1, 4), (5, 1)]
CASES, MAX_LENGTH, MAX_ELEMENTS = 60, 220, 20_000


def random_chains(seed):
    rng, generator = random.Random(seed), torch.Generator().manual_seed(seed)
    chains = []
    while len(chains) < CASES:
        text = "x"
        for _ in range(rng.randint(2, 4)):
            text = rng.choice(STEPS).replace("{}", text)
        x = torch.randn(rng.choice(SHAPES), generator=generator)
        x = x.t() if rng.random() < 0.3 else x
        if len(text) > MAX_LENGTH:
            continue
        try:
            expected = eval(text, {"torch": torch, "F": F, "x": x})
        except (RuntimeError, IndexError):
            continue
        if expected.numel() <= MAX_ELEMENTS:
            chains.append((text, ingot.op(f"def f(x): return {text}"), x, expected))
    return chains


@pytest.mark.parametrize("seed", range(2))
def test_chains_of_movement_ops_have_eagers_bits(device, seed):
    chains, mismatches = random_chains(seed), []
    ingot.prepare_all((op, (x.to(device),)) for _, op, x, _ in chains)
    for text, op, x, expected in chains:
        result = op(x.to(device)).cpu()
        if result.shape != expected.shape or not torch.equal(result, expected):
            mismatches.append(f"{text} of {list(x.shape)} {list(x.stride())}")
    assert not mismatches, "\n".join(mismatches)
