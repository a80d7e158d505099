"""Ops with random numbers in traced calls: compiled, exported and registered. There the seed is one more argument."""

import pytest
import torch
from torch.utils.checkpoint import checkpoint
from torch.fx.experimental.proxy_tensor import make_fx

import ingot


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_compiled(device, backend):
    """Compiled as one opaque operator; the seed is one more value of the graph."""
    op = ingot.op("def noisy(x, p: float): return F.dropout(x, p) * 2")
    compiled = torch.compile(lambda x, p: op(x, p), fullgraph=True, backend=backend)
    x = torch.ones(4000, device=device, requires_grad=True)
    before = ingot.counters()
    y = compiled(x, 0.25)
    assert 800 < (y == 0).sum() < 1200
    (grad,) = torch.autograd.grad(y.sum(), x)
    assert torch.equal(grad, y.detach())
    spent = ingot.counters().since(before)
    assert (spent.launches, spent.eager_fallbacks) == (2, 0)
    assert not torch.equal(y, compiled(x, 0.25))
    for p in (0.0, 0.5, 0.75):  # another number compiles nothing
        assert abs((compiled(x, p) == 0).float().mean() - p) < 0.06
    torch.manual_seed(4)
    first = compiled(x, 0.5)
    torch.manual_seed(4)
    assert torch.equal(first, compiled(x, 0.5))
    if backend == "aot_eager":  # Inductor has random numbers of its own
        torch.manual_seed(4)
        assert torch.equal(first, op(x, 0.5))


def test_compiled_under_checkpoint():
    op = ingot.op("F.dropout(x.exp(), 0.5)")

    def layer(x):
        return checkpoint(lambda x: op(x), x, use_reentrant=False)

    x = torch.rand(500, requires_grad=True)
    y = torch.compile(layer, fullgraph=True, backend="aot_eager")(x)
    assert torch.equal(*torch.autograd.grad(y.sum(), x), y.detach())


def test_compiled_with_a_parameter_named_seed():
    op = ingot.op("def noisy(x, seed): return F.dropout(x, 0.5) + seed")
    y = torch.compile(lambda x: op(x, x), fullgraph=True, backend="aot_eager")(torch.ones(400))
    assert sorted(y.unique().tolist()) == [1.0, 3.0]


def test_registered(device):
    op = ingot.op("def noisy(x, p: float = 0.5): return F.dropout(x, p), torch.rand_like(x)")
    name = f"ingot_test_random::noisy_{device}"
    noisy = ingot.register(name, op)
    seeded = getattr(torch.ops.ingot_test_random, f"noisy_{device}").seeded
    assert str(seeded._schema).endswith("(Tensor x, float p=0.5, *, Tensor seed) -> (Tensor, Tensor)")
    x = torch.ones(400, device=device, requires_grad=True)
    seed = torch.randint(2**63 - 1, (), device=device)
    torch.library.opcheck(noisy, (x, 0.25), test_utils=("test_schema", "test_faketensor"))
    torch.library.opcheck(seeded, (x, 0.25), {"seed": seed})
    for first, second in zip(seeded(x, seed=seed), seeded(x, seed=seed)):
        assert torch.equal(first, second)
    torch.manual_seed(6)
    results = noisy(x)
    torch.manual_seed(6)
    assert all(torch.equal(a, b) for a, b in zip(results, op(x)))
    assert torch.equal(*torch.autograd.grad(results[0].sum(), x), results[0].detach())
    compiled = torch.compile(lambda x: op(x)[0] * 2, fullgraph=True, backend="aot_eager")
    y = compiled(x)
    assert torch.equal(*torch.autograd.grad(y.sum(), x), y.detach())


def test_registered_under_vmap():
    """vmap's `randomness=` says whether all examples have the same numbers, for registered ops too."""
    op = ingot.op("def sampled(x): return F.dropout(x, 0.5)")
    sampled = ingot.register("ingot_test_random::sampled", op)
    x, alone = torch.ones(3, 100), torch.ones(100)
    calls = (sampled, lambda x: sampled(alone) * x.mean(), torch.compile(sampled, backend="aot_eager"))
    for call in calls:
        same = torch.func.vmap(call, randomness="same")(x)
        assert torch.equal(same[0], same[1])
        different = torch.func.vmap(call, randomness="different")(x)
        assert not torch.equal(different[0], different[1])
        with pytest.raises(RuntimeError, match="randomness"):
            torch.func.vmap(call)(x)
    twice = torch.func.vmap(torch.func.vmap(sampled, randomness="different"), randomness="same")(torch.ones(2, 3, 100))
    assert torch.equal(twice[0], twice[1]) and not torch.equal(twice[0, 0], twice[0, 1])


def test_seeded_is_a_function_of_its_arguments():
    op = ingot.op("def drops(x): return [F.dropout(x, 0.5) * x, torch.randn_like(x)]")
    ingot.register("ingot_test_random::drops", op)
    drops = torch.ops.ingot_test_random.drops.seeded
    x, seeds = torch.rand(100), torch.tensor([7, 8])
    (y, noise), (other, _) = drops(x, seed=seeds[0]), drops(x, seed=seeds[1])
    grad = torch.func.grad(lambda x: drops(x, seed=seeds[0])[0].sum())(x)
    torch.testing.assert_close(grad * x / 2, y)
    value, tangent = torch.func.jvp(lambda x: drops(x, seed=seeds[0])[0], (x,), (x,))
    torch.testing.assert_close((value, tangent), (y, 2 * y))
    values, noises = torch.func.vmap(lambda seed: drops(x, seed=seed))(seeds)
    torch.testing.assert_close(values, torch.stack([y, other]))
    torch.testing.assert_close(noises[0], noise)
    torch.library.opcheck(drops, (x.requires_grad_(),), {"seed": seeds[0]})


@pytest.mark.parametrize("mode", ["real", "fake", "symbolic"])
def test_gradients_traced_with_their_graph(mode):
    op = ingot.op("F.dropout(x, 0.5) * x")

    def both(x):
        y = op(x)
        return y, *torch.autograd.grad(y.sum(), x, create_graph=True)

    x = torch.rand(100, requires_grad=True)
    y, grad = make_fx(both, tracing_mode=mode)(x)(x)
    torch.testing.assert_close(grad * x / 2, y)


def test_registered_with_a_schema_without_spaces():
    op = ingot.op("def close(x): return torch.rand_like(x)")
    assert ingot.register("ingot_test_random::close", op, "(Tensor x)->Tensor")(torch.zeros(4)).max() > 0


def test_registered_and_exported():
    op = ingot.op("def noise(x): return x + torch.randn_like(x)")
    ingot.register("ingot_test_random::noise", op)

    class Noise(torch.nn.Module):
        def forward(self, x):
            return op(x)

    program = torch.export.export(Noise(), (torch.zeros(300),)).run_decompositions()
    names = [str(node.target) for node in program.graph.nodes if node.op == "call_function"]
    assert names == ["aten.randint.default", "ingot_test_random.noise.seeded"]
    x = torch.zeros(300)
    torch.manual_seed(1)
    result = program.module()(x)
    torch.manual_seed(1)
    assert torch.equal(result, op(x))


def test_registered_with_out():
    op = ingot.op("def sampled_like(x): return torch.rand_like(x)")
    sample_into = ingot.register("ingot_test_random::sampled_like.out", op, "(Tensor x, *, Tensor(a!) out) -> ()")
    x, out = torch.zeros(50), torch.full((50,), -1.0)
    torch.manual_seed(2)
    sample_into(x, out=out)
    torch.manual_seed(2)
    assert torch.equal(out, op(x))


def test_registered_ops_reject_invalid_seeds():
    op = ingot.op("def sampled_like(x): return torch.rand_like(x)")
    ingot.register("ingot_test_random::sampled_like", op)
    seeded, x = torch.ops.ingot_test_random.sampled_like.seeded, torch.zeros(5)
    for seed in (torch.zeros(()), torch.zeros(1, dtype=torch.int64)):
        with pytest.raises((ingot.Error, RuntimeError), match="0-dim int64 tensor"):
            seeded(x, seed=seed)
    if torch.cuda.is_available():
        with pytest.raises((ingot.Error, RuntimeError), match="the op runs on cuda"):
            seeded(x.cuda(), seed=torch.zeros((), dtype=torch.int64))
    with pytest.raises(ingot.Error, match="rename the parameter"):
        ingot.register("ingot_test_random::named", ingot.op("def named(x, seed): return torch.rand_like(x) * seed"))
    with pytest.raises(ingot.Error, match="registered already|a registration cannot be undone"):
        ingot.register("ingot_test_random::sampled_like", op)


def test_a_failed_registration_leaves_no_overload():
    ingot.register("ingot_test_random::taken", ingot.op("x + 1"))
    with pytest.raises(ingot.Error, match="registered already"):
        ingot.register("ingot_test_random::taken", ingot.op("torch.rand_like(x)"))
    assert torch.ops.ingot_test_random.taken.overloads() == ["default"]


def test_registered_op_without_random_numbers_has_no_seed():
    quiet = ingot.register("ingot_test_random::quiet", ingot.op("def quiet(x): return F.dropout(x, 0.5, training=False) * 2"))
    assert torch.equal(quiet(torch.ones(3)), torch.full((3,), 2.0))
    assert quiet._schema.name == "ingot_test_random::quiet" and len(quiet._schema.arguments) == 1


def test_traced_by_modes(device):
    op = ingot.op("def noisy(x): return F.dropout(x, 0.5) * 2")
    x = torch.ones(400, device=device)
    for mode in ("real", "symbolic"):
        graph = make_fx(lambda x: op(x), tracing_mode=mode)(x).graph
        names = [str(node.target) for node in graph.nodes if node.op == "call_function"]
        assert names[0] == "aten.randint.default" and names[1].startswith("ingot.noisy_") and len(names) == 2
