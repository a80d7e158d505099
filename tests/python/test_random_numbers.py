"""Random numbers in an op: their distribution and their values. The reference in eager, and a repetition with the same
seed, give the same numbers."""

import ast
import math

import pytest
import torch
import torch.nn.functional as F
from seeds import seeded

import ingot
from ingot import random as random_numbers

FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
MANY = 1 << 20


def both(text: str, *args):
    """The results of an op and of its reference with the same seed."""
    op = ingot.op(text)
    return seeded(op, *args), seeded(op.reference, *args)


def assert_same_as_reference(text: str, *args):
    actual_results, expected_results = both(text, *args)
    for actual, expected in zip(*(value if isinstance(value, tuple) else (value,) for value in (actual_results, expected_results))):
        assert actual.dtype == expected.dtype and actual.shape == expected.shape and actual.stride() == expected.stride()
        torch.testing.assert_close(actual, expected, rtol=0, atol=0, equal_nan=True)
    return actual_results


# Values


def test_philox_gives_the_known_answers():
    """The values published with Random123, the library of Philox's authors."""
    ones = [0xFFFFFFFF] * 4
    published = [([0] * 4, 0, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
                 (ones, -1, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
                 ([0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344], 0x299F31D0A4093822,
                  [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1])]  # fmt: skip
    for counter, key, words in published:
        output = random_numbers._philox([torch.tensor([word]) for word in counter], torch.tensor(key))
        assert [word.item() for word in output] == words


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("text", [
    "torch.rand_like(x)",
    "x + torch.rand(x.shape, dtype=x.dtype, device=x.device)",
    "torch.bernoulli(x.abs().clamp(max=1))",
    "x.bernoulli(0.3)",
    "torch.randint_like(x, 10)",
    "torch.randint_like(x, -3, 5)",
    "torch.randint(7, x.shape, device=x.device)",
    "torch.randint(low=-(2 ** 40), high=2 ** 40, size=(3, 5), device=x.device) + x.long().sum()",
    "F.dropout(x, 0.3)",
    "F.dropout(x)",
    "F.dropout1d(x, 0.3)",
    "F.dropout2d(x[None], 0.3)",
    "F.dropout3d(x[None, None], 0.3)",
    "F.dropout3d(x[None, None, None], 0.3)",
    "torch.feature_dropout(x, 0.3, True)",
    "F.rrelu(x, training=True)",
    "F.rrelu(x, 0.1, 0.9, True)",
    "torch.rand_like(x) - torch.rand_like(x)",
])  # fmt: skip
def test_the_reference_gives_the_kernels_numbers(device, dtype, text):
    x = torch.randn(37, 29, generator=torch.Generator().manual_seed(1)).to(device, dtype)
    assert_same_as_reference(text, x)


@pytest.mark.parametrize("text", ["F.alpha_dropout(x, 0.3, True)", "F.feature_alpha_dropout(x, 0.3, True)",
                                  "torch.randn_like(x)", "torch.randn(x.shape, dtype=x.dtype, device=x.device) * x"])
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_the_reference_gives_the_kernels_numbers_up_to_rounding(device, dtype, text):
    """Sines and logarithms on the CPU differ from eager's, and sums of products are rounded differently."""
    x = torch.randn(37, 29, generator=torch.Generator().manual_seed(1)).to(device, dtype)
    actual, expected = both(text, x)
    eps = torch.finfo(dtype).eps
    torch.testing.assert_close(actual, expected, rtol=8 * eps, atol=8 * eps)


def test_calls_of_one_op_have_different_numbers(device):
    x = torch.ones(1000, device=device)
    op = ingot.op("F.dropout(x, 0.5)")
    assert not torch.equal(op(x), op(x))


def test_samples_of_one_call_are_different(device):
    x = torch.ones(1000, device=device)
    op = ingot.op("def f(x): return F.dropout(x, 0.5), F.dropout(x, 0.5), torch.rand_like(x), torch.rand_like(x)")
    a, b, u, v = op(x)
    assert not torch.equal(a, b) and not torch.equal(u, v)
    assert abs(torch.corrcoef(torch.stack([u, v]))[0, 1].item()) < 0.15


def test_a_sample_is_the_same_wherever_it_is_read(device):
    """Views, reductions and several results read the sample, in several kernels."""
    x = torch.zeros(64, 48, device=device)
    op = ingot.op("""def f(x):
        u = torch.rand_like(x)
        return u, u.t() + 0.0, u.flatten()[5:100], u[3], u.sum(1), u.amax(0), torch.cat([u, u * 2]), u.view(4, 16, 48).transpose(0, 2) * 1.0, u[u[:, 0].long()]""")
    u, transposed, range_of_u, row, sums, largest, twice, split, gathered = op(x)
    assert torch.equal(transposed, u.t()) and torch.equal(range_of_u, u.flatten()[5:100]) and torch.equal(row, u[3])
    torch.testing.assert_close(sums, u.sum(1))
    assert torch.equal(largest, u.amax(0)) and torch.equal(twice, torch.cat([u, u * 2]))
    assert torch.equal(split, u.view(4, 16, 48).transpose(0, 2))
    assert torch.equal(gathered, u[:1].expand(64, 48))


def test_numbers_do_not_depend_on_layout(device):
    op = ingot.op("def f(x, y): return torch.rand_like(x, memory_format=torch.contiguous_format) + 0 * y + 0 * x")
    shape = (6, 10, 14, 18)
    x, y = torch.zeros(2, *shape, device=device)
    expected = seeded(op, x, y)
    others = [x.permute(3, 1, 0, 2).contiguous().permute(2, 1, 3, 0), x.contiguous(memory_format=torch.channels_last),
              torch.zeros(6, 10, 14, 36, device=device)[..., ::2], torch.zeros(6, 10, 14, 19, device=device)[..., 1:],
              torch.zeros(10, 14, 1, device=device).expand(shape), torch.zeros(1, device=device).expand(shape)]  # fmt: skip
    for other in others:
        assert torch.equal(seeded(op, other, y), expected)
        assert torch.equal(seeded(op, x, other), expected)


@pytest.mark.parametrize("shape", [(), (1,), (3,), (5, 1), (1, 7), (2, 0), (129,), (3, 1, 5)], ids=str)
def test_shapes(device, shape):
    x = torch.zeros(shape, device=device)
    assert_same_as_reference("torch.rand_like(x)", x)
    assert_same_as_reference("torch.rand_like(x) + torch.zeros(4, *x.shape, device=x.device)", x)


def test_a_sample_is_broadcast(device):
    x = torch.zeros(7, 1, 5, device=device)
    y = torch.zeros(7, 6, 5, device=device)
    op = ingot.op("torch.rand_like(x) + y")
    assert torch.equal(seeded(op, x, y), seeded(op.reference, x, y))
    assert torch.equal(seeded(op, x, y), seeded(op, x, x).expand_as(y))


def test_a_new_size_compiles_nothing(device):
    op = ingot.op("torch.rand_like(x) * x")
    op(torch.ones(8, 12, device=device))
    before = ingot.counters()
    x = torch.ones(11, 16, device=device)
    assert torch.equal(seeded(op, x), seeded(op.reference, x))
    assert ingot.counters().since(before).lowerings == 0


def test_an_op_without_random_numbers_does_not_advance_the_generator(device):
    x = torch.randn(10, device=device)
    for text in ("relu(x)", "F.dropout(x, 0.5, training=False)", "F.rrelu(x)", "F.alpha_dropout(x, 0.5)"):
        op = ingot.op(text)
        torch.manual_seed(3)
        op(x), op.reference(x)
        next_numbers = torch.rand(4, device=device)
        assert torch.equal(next_numbers, seeded(torch.rand, 4, device=device, seed=3))


def test_out(device):
    x = torch.ones(100, device=device)
    out = torch.empty_like(x)
    op = ingot.op("F.dropout(x, 0.5)")
    seeded(op, x, out=out)
    assert torch.equal(out, seeded(op, x))


def test_in_place(device):
    x = torch.randn(50, 4, device=device)
    op = ingot.op("def f(x):\n    F.dropout(x, 0.5, inplace=True)\n    x += torch.rand_like(x)")
    a, b = x.clone(), x.clone()
    seeded(op, a), seeded(op.reference, b)
    assert torch.equal(a, b) and not torch.equal(a, x)


# Distributions


@pytest.mark.parametrize("dtype, bits", list(zip(FLOATS, (24, 53, 11, 8))), ids=str)
def test_uniform(device, dtype, bits):
    u = ingot.op("torch.rand_like(x)")(torch.empty(MANY, dtype=dtype, device=device)).double()
    assert 0 <= u.min() and u.max() < 1
    assert abs(u.mean().item() - 0.5 + 2.0 ** -(bits + 1)) < 5 / math.sqrt(12 * MANY)
    assert abs(u.var().item() - 1 / 12) < 2e-3
    counts = torch.histc(u.float(), 64, 0, 1)
    assert ((counts - MANY / 64) ** 2 / (MANY / 64)).sum() < 150  # for 63 degrees of freedom, the probability of more is 1e-8
    scaled = u * 2.0**bits
    assert torch.equal(scaled, scaled.round())
    assert (scaled.long() % 2 == 1).double().mean().item() == pytest.approx(0.5, abs=5e-3)  # the share of odd numbers


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_normal(device, dtype):
    z = ingot.op("torch.randn_like(x)")(torch.empty(MANY, dtype=dtype, device=device)).double()
    assert z.isfinite().all()
    assert abs(z.mean().item()) < 5 / math.sqrt(MANY)
    assert z.var().item() == pytest.approx(1, abs=1e-2)
    assert (z**3).mean().item() == pytest.approx(0, abs=2e-2) and (z**4).mean().item() == pytest.approx(3, abs=6e-2)
    assert 4.5 < z.abs().max() < 7
    assert abs((z[1:] * z[:-1]).mean().item()) < 6 / math.sqrt(MANY)


def test_normal_of_float64_has_full_precision(device):
    z = ingot.op("torch.randn_like(x)")(torch.empty(1000, dtype=torch.float64, device=device))
    assert (z != z.float().double()).double().mean() > 0.99


def test_integers(device):
    x = torch.empty(MANY, dtype=torch.int64, device=device)
    k = ingot.op("torch.randint_like(x, -5, 8)")(x)
    counts = torch.bincount(k + 5, minlength=13)
    assert k.min() == -5 and k.max() == 7 and len(counts) == 13
    assert ((counts - MANY / 13) ** 2 / (MANY / 13)).sum() < 70


@pytest.mark.parametrize("p", [0.0, 0.1, 0.5, 0.9, 1.0])
def test_dropout_keeps_the_expected_share(device, p):
    x = torch.ones(MANY, device=device)
    y = ingot.op("F.dropout(x, p)")(x, p)
    kept_share = (y != 0).double().mean().item()
    assert abs(kept_share - (1 - p)) <= 6 * math.sqrt(p * (1 - p) / MANY)
    values = ([0.0] if p > 0 else []) + ([1 / (1 - p)] if p < 1 else [])
    assert torch.equal(y.unique(), torch.tensor(values, device=device))


def test_bernoulli_takes_the_probability_of_each_element(device):
    p = torch.tensor([0.0, 0.2, 0.7, 1.0], device=device).expand(MANY // 4, 4)
    shares = ingot.op("torch.bernoulli(p)")(p).mean(0)
    torch.testing.assert_close(shares, p[0], rtol=0, atol=8e-3)


def test_alpha_dropout_keeps_mean_and_variance(device):
    x = torch.randn(MANY, device=device)
    y = ingot.op("F.alpha_dropout(x, 0.2, True)")(x)
    assert y.mean().item() == pytest.approx(0, abs=1e-2) and y.var().item() == pytest.approx(1, abs=2e-2)


@pytest.mark.parametrize("text", ["F.dropout1d(x, 0.5)", "F.dropout2d(x, 0.5)", "torch.feature_dropout(x, 0.5, True)",
                                  "F.feature_alpha_dropout(x, 0.5, True)"])
def test_whole_channels_are_dropped(device, text):
    y = ingot.op(text)(torch.ones(20, 30, 8, device=device))
    assert torch.equal(y, y[..., :1].expand_as(y))
    assert 200 < (y[..., 0] == y[..., 0].max()).sum() < 400


# PyTorch's rules


@pytest.mark.parametrize("text", [
    "F.dropout(x, 0.3)", "F.dropout1d(x, 0.3)", "F.alpha_dropout(x, 0.3, True)", "F.feature_alpha_dropout(x, 0.3, True)",
    "torch.rand_like(x)", "torch.randn_like(x)", "torch.bernoulli(x.sigmoid())", "x.bernoulli(0.3)", "F.rrelu(x, training=True)",
    "torch.rand(3, 4)", "torch.randn((3, 4))", "torch.rand(3, dtype=torch.float64)", "torch.randint(5, (3,))",
    "torch.randint(1, 5, (3,), dtype=torch.uint8)", "torch.randint_like(x, 5)", "torch.rand_like(x, dtype=torch.float16)",
])  # fmt: skip
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_dtypes_and_strides_are_eagers(dtype, text):
    for x in (torch.randn(6, 5, 4), torch.randn(4, 5, 6).permute(2, 1, 0)):
        x = x.to(dtype)
        if "rrelu" in text and dtype == torch.float16:
            continue  # eager has that kernel on CUDA only
        actual, expected = ingot.op(f"def f(x): return {text}")(x), eval(text, {"torch": torch, "F": F, "x": x})
        assert (actual.dtype, actual.shape, actual.stride()) == (expected.dtype, expected.shape, expected.stride())


@pytest.mark.parametrize("text", ["F.dropout(x, 1.5)", "F.dropout(x, -0.1)", "F.dropout2d(x, 2.0)", "F.alpha_dropout(x, 1.5)",
                                  "torch.bernoulli(x, 2.0)", "torch.randint(3, 3, (2,))", "torch.rand(3, dtype=torch.int64)",
                                  "torch.rand_like(x.long())", "torch.randint(0, 300, (2,), dtype=torch.uint8)",
                                  "F.dropout1d(x[0, 0], 0.5)", "torch.rand(-1)"])
def test_rejects_what_pytorch_rejects(text):
    x = torch.rand(4, 5, 6)
    with pytest.raises((RuntimeError, ValueError)):
        eval(text, {"torch": torch, "F": F, "x": x})
    op = ingot.op(f"def f(x): return {text}")
    with pytest.raises(ingot.Error):
        op(x)
    with pytest.raises((RuntimeError, ValueError)):
        op.reference(x)


@pytest.mark.parametrize("text, message", [
    ("torch.rand(3, generator=x)", "default generator"), ("x.uniform_()", "rand_like"), ("x.normal_()", "randn_like"),
    ("x.bernoulli_(0.5)", r"rand_like\(x\) < p"), ("x.exponential_()", "compute with torch.rand_like"), ("torch.normal(x, 1.0)", "randn_like"), ("torch.randperm(4)", "before the op"),
])  # fmt: skip
def test_unsupported_random_functions_have_a_hint(text, message):
    with pytest.raises(ingot.Error, match=message):
        ingot.op(f"def f(x): return {text}")(torch.rand(4))


def test_a_probability_out_of_range_at_run_time():
    op = ingot.op("F.dropout(x, p)")
    op(torch.ones(3), 0.5)
    with pytest.raises(ingot.Error, match="between 0 and 1"):
        op(torch.ones(3), 1.5)


def test_another_probability_compiles_nothing(device):
    op = ingot.op("F.dropout(x, p)")
    x = torch.ones(40, device=device)
    op(x, 0.5)
    before = ingot.counters()
    for p in (0.25, 0.75, 0.1):
        assert torch.equal(seeded(op, x, p), seeded(op.reference, x, p))
    spent = ingot.counters().since(before)
    assert spent.lowerings == 0 and spent.compiles == 0


# Features around a call


def test_fork_rng_and_inference_mode(device):
    op = ingot.op("torch.rand_like(x)")
    x = torch.empty(100, device=device)
    with torch.random.fork_rng():
        first = op(x)
    with torch.inference_mode():
        assert torch.equal(op(x), first)


def test_vmap_follows_its_randomness_option():
    op = ingot.op("F.dropout(x, 0.5)")
    x = torch.ones(8, 200)
    with pytest.raises(RuntimeError, match="randomness"):
        torch.vmap(op)(x)
    rows = torch.vmap(op, randomness="different")(x)
    assert not torch.equal(rows[0], rows[1])
    rows = torch.vmap(op, randomness="same")(x)
    assert torch.equal(rows[0], rows[1])


@pytest.mark.parametrize("text, is_random", [
    ("relu(x)", False), ("F.dropout(x)", True), ("F.dropout(x, 0.5, False)", False), ("F.dropout(x, training=False)", False),
    ("F.dropout(x, training=t)", True), ("F.rrelu(x)", False), ("x.dropout(0.5, False)", False), ("torch.rand(3)", True),
    ("x.bernoulli()", True), ("lambda dropout: relu(x) * dropout", False), ("d = F.dropout", True), ("list(map(F.dropout, [x]))", True), ("F.dropout(x, **options)", True),
])  # fmt: skip
def test_sources_with_random_numbers_are_detected(text, is_random):
    assert random_numbers.uses_random(ast.parse(text)) is is_random


def test_emit_shows_the_generator():
    x = torch.empty(64, 32, device="meta")
    op = ingot.op("F.dropout(x, 0.5)")
    assert "seed: i64[]" in op.emit("ir", x, device="cpu") and "random_word" in op.emit("ir", x, device="cpu")
    for device in ("cpu", "cuda"):
        source = op.emit("source", x, device=device)
        assert "philox_round" in source and "seed" in source


def test_trace_shows_the_same_numbers(capsys):
    op = ingot.op("def f(x):\n    y = F.dropout(x, 0.5)\n    z = torch.rand_like(x)\n    return y + z")
    op.trace(torch.rand(10), at=3)
    lines = capsys.readouterr().out.splitlines()[2:]
    assert lines and all(line.split()[-1] == "0" for line in lines)


def test_a_parameter_may_be_named_seed(device):
    assert_same_as_reference("def f(seed, x): return torch.rand_like(x) * seed", torch.rand(9, device=device), torch.rand(9, device=device))


# CUDA graphs


def test_a_replay_has_new_numbers():
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    op = ingot.op("F.dropout(x, 0.5)")
    x = torch.rand(1000, device="cuda", requires_grad=True)
    torch.autograd.grad(op(x).sum(), x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = op(x)
        (grad,) = torch.autograd.grad(y.sum(), x)
    seen = []
    for _ in range(3):
        graph.replay()
        torch.testing.assert_close(grad * x.detach(), y.detach())
        seen.append(y.detach().clone())
    assert not torch.equal(seen[0], seen[1]) and not torch.equal(seen[1], seen[2])
    torch.manual_seed(5)
    graph.replay()
    first = y.detach().clone()
    torch.manual_seed(5)
    graph.replay()
    assert torch.equal(first, y)
