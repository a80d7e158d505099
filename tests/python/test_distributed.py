"""Calls with DTensors on two ranks. If an op's graph can be sharded as its arguments are, kernels run on the shards
in the forward and backward pass; otherwise the call falls back to eager. test_sharding.py tests which ops can be
sharded."""

import datetime
import time
import traceback

import pytest
import torch
import torch.distributed as distributed
import torch.nn.functional as F
from conftest import ROOT
from test_training import STEPS, check_curves, corners, eager, fused
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor
from torch.distributed.tensor.experimental import implicit_replication
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from full_run import FULL_RUN

import ingot

WHOLE_TENSOR, BATCH, COLUMNS = Replicate(), Shard(0), Shard(1)
CHECKS = {}  # by name, the checks that every rank runs


def on_every_rank(function):
    CHECKS[function.__name__] = function
    return function


def tensors(*shapes, dtype=torch.float64, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(*shape, generator=generator, dtype=dtype) for shape in shapes]


def distributed_over(mesh, whole, shardings):
    """DTensors and whole tensors of the same numbers; float tensors require grad."""
    pairs = []
    for tensor, sharding in zip(whole, shardings):
        placements = [*sharding] if isinstance(sharding, tuple) else [sharding]
        placements += [Replicate()] * (mesh.ndim - len(placements))
        tensor = tensor.to(mesh.device_type)
        grad = tensor.is_floating_point()
        pairs.append((distribute_tensor(tensor.clone(), mesh, placements).requires_grad_(grad), tensor.clone().requires_grad_(grad)))
    return [list(each) for each in zip(*pairs)]


def as_list(results):
    return list(results) if isinstance(results, (tuple, list)) else [results]


def check(op, mesh, whole, shardings, placements, keywords=None):
    """Compares the op on DTensors with its source on the whole tensors, and their gradients. `placements` are those of
    the first result, or None if the call must fall back."""
    parts, wholes = distributed_over(mesh, whole, shardings)
    keywords = keywords or {}
    before = ingot.counters()
    results, references = as_list(op(*parts, **keywords)), as_list(op.reference(*wholes, **keywords))
    assert ingot.counters().since(before).eager_fallbacks == (placements is None)
    if placements is not None:
        assert results[0].placements[: len(placements)] == tuple(placements), results[0].placements
    for result, expected in zip(results, references, strict=True):
        assert isinstance(result, DTensor) and (result.dtype, result.shape) == (expected.dtype, expected.shape)
        if placements is not None:
            assert result.stride() == expected.stride()
        torch.testing.assert_close(result.full_tensor(), expected)
    sum(result.cos().sum() for result in results if result.requires_grad).full_tensor().backward()
    sum(expected.cos().sum() for expected in references if expected.requires_grad).backward()
    spent = ingot.counters().since(before)
    if placements is not None:
        assert spent.eager_fallbacks == 0 and (spent.launches >= 1 or results[0].to_local().numel() == 0), spent
    for part, expected in zip(parts, wholes):
        if expected.requires_grad:
            assert part.grad.shape == expected.grad.shape
            torch.testing.assert_close(part.grad.full_tensor(), expected.grad)
    return parts


GATED = ingot.op("def gated(x, w, b, k: float = 0.5): return F.gelu(x * w) * k + b")
NORMED = ingot.op("def normed(x, w, b): return F.mish(F.layer_norm(x, (x.size(-1),), w, b))")


@on_every_rank
def elements_keep_any_sharding(mesh):
    whole = tensors((6, 8), (8,), (6, 1))
    for shardings, placement in (
        ((BATCH, WHOLE_TENSOR, BATCH), BATCH),
        ((COLUMNS, Shard(0), WHOLE_TENSOR), COLUMNS),
        ((WHOLE_TENSOR, WHOLE_TENSOR, WHOLE_TENSOR), WHOLE_TENSOR),
        # A replicated tensor is sharded if it is read along the sharded dim, which needs no communication.
        ((BATCH, WHOLE_TENSOR, WHOLE_TENSOR), BATCH),
        ((COLUMNS, WHOLE_TENSOR, WHOLE_TENSOR), COLUMNS),
        ((WHOLE_TENSOR, Shard(0), WHOLE_TENSOR), COLUMNS),
    ):
        check(GATED, mesh, whole, shardings, [placement])
        check(GATED, mesh, whole, shardings, [placement], keywords={"k": 2.0})
    check(GATED, mesh, whole, (BATCH, Shard(0), WHOLE_TENSOR), None)  # would need communication


@on_every_rank
def replicated_arguments_have_partial_gradients(mesh):
    x, w, b = check(GATED, mesh, tensors((6, 8), (8,), (6, 1)), (BATCH, WHOLE_TENSOR, BATCH), [BATCH])
    assert [t.grad.placements for t in (x, w, b)] == [(BATCH,), (Partial(),), (BATCH,)]
    x, w, b = check(GATED, mesh, tensors((6, 8), (8,), (1,)), (WHOLE_TENSOR, Shard(0), WHOLE_TENSOR), [COLUMNS])
    assert [t.grad.placements for t in (w, b)] == [(Shard(0),), (Partial(),)]
    assert all(t.grad.placements == (WHOLE_TENSOR,) for t in check(GATED, mesh, tensors((6, 8), (8,), (1,)), [WHOLE_TENSOR] * 3, [WHOLE_TENSOR]))


@on_every_rank
def only_whole_rows_are_reduced(mesh):
    whole = tensors((6, 8), (8,), (8,))
    check(NORMED, mesh, whole, (BATCH, WHOLE_TENSOR, WHOLE_TENSOR), [BATCH])
    check(NORMED, mesh, whole, (COLUMNS, WHOLE_TENSOR, WHOLE_TENSOR), None)
    softmax = ingot.op("x.softmax(-1)")
    check(softmax, mesh, whole[:1], (BATCH,), [BATCH])
    check(softmax, mesh, whole[:1], (COLUMNS,), None)
    check(ingot.op("F.mish(F.group_norm(x, 2, w, b))"), mesh, tensors((6, 8, 5), (8,), (8,)), (BATCH, WHOLE_TENSOR, WHOLE_TENSOR), [BATCH])
    for text in ("x.mean(0)", "x - x.mean(0, keepdim=True)", "x.sum()"):
        check(ingot.op(text), mesh, whole[:1], (BATCH,), None)
    check(ingot.op("x - x.mean(0)"), mesh, whole[:1], (COLUMNS,), [COLUMNS])


@on_every_rank
def uneven_shards(mesh):
    for rows in (5, 3, 2, 1):  # three rows are sharded as two and one, one row as one and none
        whole = tensors((rows, 7), (7,), (rows, 1))
        check(GATED, mesh, whole, (BATCH, WHOLE_TENSOR, BATCH), None if rows == 1 else [BATCH])
        check(GATED, mesh, whole, (COLUMNS, Shard(0), WHOLE_TENSOR), [COLUMNS])
        check(NORMED, mesh, [whole[0], whole[1], whole[1]], (BATCH, WHOLE_TENSOR, WHOLE_TENSOR), None if rows == 1 else [BATCH])
    check(ingot.op("(x * 2).t()"), mesh, tensors((5, 3)), (BATCH,), [COLUMNS])
    check(ingot.op("x.transpose(0, 1) + 1"), mesh, tensors((5, 3, 2)), (Shard(2),), [Shard(2)])
    if mesh.size() == 4:
        check(GATED, mesh, tensors((5, 7), (7,), (5, 1)), (BATCH, WHOLE_TENSOR, BATCH), [BATCH])  # shards of 2, 2, 1 and no rows


@on_every_rank
def ops_that_depend_on_sizes_or_positions_fall_back(mesh):
    for text in ("x * x.size(0)", "x.sum(1) / x.numel()", "torch.cat([x, x * 2])", "x * 2 if x.size(0) > 4 else x"):
        check(ingot.op(text), mesh, tensors((6, 8)), (BATCH,), None)
    with implicit_replication():  # for the tensor that the source makes
        check(ingot.op("x + torch.arange(x.size(0), device=x.device)[:, None]"), mesh, tensors((6, 8)), (BATCH,), None)
    for text in ("x * x.size(1)", "x.sum(1) / x.size(1)", "x + torch.arange(x.size(1), device=x.device)", "x.flip(1) * 2"):
        check(ingot.op(text), mesh, tensors((6, 8)), (BATCH,), [BATCH])
    # A shard of one row has another size than the whole.
    op = ingot.op("x * 3 if x.size(0) == 1 else x * 2")
    check(op, mesh, tensors((mesh.size(), 8)), (BATCH,), None)
    check(op, mesh, tensors((2 * mesh.size(), 8)), (BATCH,), [BATCH])


@on_every_rank
def arguments_and_results_of_any_structure(mesh):
    x, y, w = tensors((6, 8), (6, 8), (8,))
    check(ingot.op("def f(x, w):\n    y = x * w\n    return y, y.amax(1), y > 0"), mesh, [x, w], (BATCH, WHOLE_TENSOR), [BATCH])
    check(ingot.op("def f(x): return [x * 2, x.exp()]"), mesh, [x], (BATCH,), [BATCH])
    check(ingot.op("def f(x, w): return x * 2, w * 3"), mesh, [x, w], (BATCH, WHOLE_TENSOR), None)  # a replicated and a sharded result

    parts, wholes = distributed_over(mesh, [x, y, w], (BATCH, BATCH, WHOLE_TENSOR))
    op = ingot.op("def f(xs, d): return sum(xs) * d['w']")
    before = ingot.counters()
    result = op([*parts[:2]], d={"w": parts[2]})
    torch.testing.assert_close(result.full_tensor(), op.reference([*wholes[:2]], d={"w": wholes[2]}))
    assert ingot.counters().since(before).eager_fallbacks == 0
    op = ingot.op("def f(x, w): return x * w")
    assert torch.equal(op(w=parts[2], x=parts[0]).full_tensor(), wholes[0] * wholes[2])
    assert ingot.counters().since(before).eager_fallbacks == 0

    table, t = torch.randn(5, 9, dtype=torch.float64, generator=torch.Generator().manual_seed(1)), torch.arange(6)[:, None] % 9
    denoise = ingot.op((ROOT / "examples/denoise.py").read_text())
    check(denoise, mesh, [x, y, x + y, table, t], (BATCH, BATCH, BATCH, WHOLE_TENSOR, BATCH), [BATCH])
    check(denoise, mesh, [x, y, x + y, table, t], (COLUMNS, WHOLE_TENSOR, COLUMNS, WHOLE_TENSOR, WHOLE_TENSOR), [COLUMNS])


@on_every_rank
def numbers_that_are_read(mesh):
    op = ingot.op("x.sum(k) * 2")
    (x,) = distributed_over(mesh, tensors((6, 8)), (BATCH,))[0]
    for k, fallbacks in ((1, 0), (0, 1), (1, 0), (0, 1)):
        before = ingot.counters()
        torch.testing.assert_close(op(x, k).full_tensor(), op.reference(x.full_tensor(), k))
        assert ingot.counters().since(before).eager_fallbacks == fallbacks


@on_every_rank
def a_second_call_is_planned(mesh):
    op = ingot.op("x.exp() * k + w")
    parts = distributed_over(mesh, tensors((8, 8), (8,)), (BATCH, WHOLE_TENSOR))[0]
    op(parts[0], k=0.5, w=parts[1])
    with torch.no_grad():
        op(parts[0], k=0.5, w=parts[1])
    before = ingot.counters()
    for k in (0.25, 0.75):
        op(parts[0], k=k, w=parts[1])
        with torch.no_grad():
            op(parts[0], k=k, w=parts[1])
    spent = ingot.counters().since(before)
    assert (spent.lowerings, spent.compiles, spent.eager_fallbacks, spent.launches) == (0, 0, 0, 4)


@on_every_rank
def two_dims_of_a_mesh(mesh):
    mesh = distributed.device_mesh.init_device_mesh(mesh.device_type, (2, mesh.size() // 2))
    whole = tensors((6, 8), (8,), (6, 1))
    for shardings, placements in (
        (((BATCH, COLUMNS), (WHOLE_TENSOR, Shard(0)), (BATCH, WHOLE_TENSOR)), (BATCH, COLUMNS)),
        (((BATCH, COLUMNS), WHOLE_TENSOR, WHOLE_TENSOR), (BATCH, COLUMNS)),
        (((BATCH, WHOLE_TENSOR), WHOLE_TENSOR, WHOLE_TENSOR), (BATCH, WHOLE_TENSOR)),
        (((WHOLE_TENSOR, BATCH), WHOLE_TENSOR, WHOLE_TENSOR), (WHOLE_TENSOR, BATCH)),
        (((BATCH, BATCH), WHOLE_TENSOR, WHOLE_TENSOR), None),
        (((BATCH, WHOLE_TENSOR), (WHOLE_TENSOR, Shard(0)), WHOLE_TENSOR), (BATCH, COLUMNS)),
    ):
        check(GATED, mesh, whole, shardings, placements)
    check(NORMED, mesh, tensors((6, 8), (8,), (8,)), ((BATCH, WHOLE_TENSOR), WHOLE_TENSOR, WHOLE_TENSOR), (BATCH, WHOLE_TENSOR))
    check(NORMED, mesh, tensors((6, 8), (8,), (8,)), ((BATCH, COLUMNS), WHOLE_TENSOR, WHOLE_TENSOR), None)


@on_every_rank
def asynchronous_tensors(mesh):
    """Parallel styles redistribute asynchronously in the forward pass, and therefore in the backward pass."""
    parts, wholes = distributed_over(mesh, tensors((6, 8), (8,), (8,)), (BATCH, WHOLE_TENSOR, WHOLE_TENSOR))
    before = ingot.counters()
    x = parts[0].redistribute(placements=[COLUMNS], async_op=True)
    y = GATED(x, parts[1], parts[2]).redistribute(placements=[BATCH], async_op=True)
    (y * y).sum().full_tensor().backward()
    assert ingot.counters().since(before).eager_fallbacks == 0
    assert ingot.counters().since(before).launches == 2
    expected = GATED.reference(*wholes)
    (expected * expected).sum().backward()
    for part, whole in zip(parts, wholes):
        torch.testing.assert_close(part.grad.full_tensor(), whole.grad)


@on_every_rank
def gradients_of_gradients(mesh):
    op = ingot.op("x.tanh() * w")
    for shardings in ((BATCH, WHOLE_TENSOR), (COLUMNS, WHOLE_TENSOR), (WHOLE_TENSOR, Shard(0)), (WHOLE_TENSOR, WHOLE_TENSOR)):
        parts, wholes = distributed_over(mesh, tensors((6, 8), (8,)), shardings)
        before, gradients = ingot.counters(), []
        for x, w, f in ((*parts, op), (*wholes, op.reference)):
            of_x, of_w = torch.autograd.grad(f(x, w).square().sum(), (x, w), create_graph=True)
            (of_x.square().sum() + of_w.cos().sum()).backward()
            gradients.append((of_x, of_w, x.grad, w.grad))
        assert ingot.counters().since(before).eager_fallbacks == 0
        for part, whole in zip(*gradients, strict=True):
            torch.testing.assert_close(part.full_tensor(), whole)


@on_every_rank
def arguments_without_kernels(mesh):
    x, y = tensors((6, 8), (6, 8))
    custom = ingot.op("def f(x): return x * 2\ndef f_backward(grad, x): return grad * x.size(0)", name="f")
    (part,) = distributed_over(mesh, [x], (BATCH,))[0]
    before = ingot.counters()
    assert torch.equal(custom(part.detach()).full_tensor().cpu(), x * 2) and ingot.counters().since(before).eager_fallbacks == 0
    custom(part).sum().full_tensor().backward()
    assert torch.equal(part.grad.full_tensor().cpu(), torch.full_like(x, 6)) and ingot.counters().since(before).eager_fallbacks == 1

    written, added = (distribute_tensor(t.to(mesh.device_type), mesh, [BATCH]) for t in (x.clone(), y))
    assert ingot.op("def f(x, y):\n    x.add_(y)\n    return y * 2")(written, added).placements == (BATCH,)
    torch.testing.assert_close(written.full_tensor().cpu(), x + y)
    partial = DTensor.from_local(added.full_tensor(), mesh, [Partial()])
    torch.testing.assert_close(ingot.op("x.exp() + 1")(partial).full_tensor().cpu(), (y * mesh.size()).exp() + 1)
    op = ingot.op("x + y")
    for f in (op, op.reference):
        with pytest.raises(RuntimeError, match="mixed torch.Tensor and DTensor"):
            f(added, y.to(mesh.device_type))
    with pytest.raises((ingot.Error, RuntimeError), match="must match|broadcast"):
        op(added, distribute_tensor(y[:, :3].contiguous().to(mesh.device_type), mesh, [BATCH]))


@on_every_rank
def autocast_applies(mesh):
    op = ingot.op("F.linear(x, w) + 1")
    x, w = (t.float() for t in tensors((6, 8), (4, 8)))
    parts, wholes = distributed_over(mesh, [x, w], (BATCH, WHOLE_TENSOR))
    before = ingot.counters()
    for enabled in (True, False):
        with torch.autocast(mesh.device_type, torch.bfloat16, enabled=enabled):
            result, expected = op(*parts), op(*wholes)
        assert result.dtype == expected.dtype == (torch.bfloat16 if enabled else torch.float32)
        assert torch.equal(result.full_tensor(), expected)
    assert ingot.counters().since(before).eager_fallbacks == 0


# Training

CHANNELS, TIME, WIDTH, TIMESTEPS = 4, 6, 16, 10


@ingot.op
def norm_mish(x, weight, bias):
    """Normalises each channel over time; x is [batch, time, channels]."""
    mean = x.mean(1, keepdim=True)
    var = (x - mean).square().mean(1, keepdim=True)
    return F.mish((x - mean) * (var + 1e-5).rsqrt() * weight + bias)


class Diffusion(torch.nn.Module):
    """Predicts the noise of a sample, runs one step of the sampler, and computes a box from the result. The convolution is
    a linear layer over windows, for which PyTorch has sharding rules. The batch is replicated, and the channels in
    between are sharded."""

    def __init__(self, variant):
        super().__init__()
        self.conv, self.out = torch.nn.Linear(5 * CHANNELS, WIDTH), torch.nn.Linear(WIDTH, CHANNELS)
        self.weight, self.bias = torch.nn.Parameter(torch.ones(WIDTH)), torch.nn.Parameter(torch.zeros(WIDTH))
        self.head = torch.nn.Linear(CHANNELS * TIME, 4)
        self.norm_mish, self.corners = variant(norm_mish), variant(corners)
        self.denoise = variant(ingot.op((ROOT / "examples/denoise.py").read_text()))
        self.giou = variant(ingot.op((ROOT / "examples/giou.py").read_text()))

    def forward(self, windows, sample, noise, table, t, clean, boxes):
        h = self.norm_mish(self.conv(windows), self.weight, self.bias)
        step = self.denoise(self.out(h), sample, noise, table, t)
        losses = self.giou(self.corners(self.head(step.flatten(1))), boxes)
        return (step - clean).square().sum() / 200 + losses.sum() / 8


def batch_of(step: int) -> list:
    sample, noise, clean, low = tensors((8, TIME, CHANNELS), (8, TIME, CHANNELS), (8, TIME, CHANNELS), (8, 2), seed=step)
    windows = F.pad(sample, (0, 0, 2, 2)).unfold(1, 5, 1).flatten(2)
    generator = torch.Generator().manual_seed(step)
    table = torch.rand(5, TIMESTEPS, generator=generator, dtype=torch.float64)
    t = torch.randint(TIMESTEPS, (8, 1, 1), generator=generator)
    return [windows, sample, noise, table, t, clean, torch.cat([low.sigmoid(), low.sigmoid() + 0.5], -1)]


def tensor_parallel(model, mesh):
    for name in ("weight", "bias"):
        setattr(model, name, torch.nn.Parameter(distribute_tensor(getattr(model, name).data, mesh, [Shard(0)])))
    return parallelize_module(model, mesh, {
        "conv": ColwiseParallel(use_local_output=False),
        "out": RowwiseParallel(output_layouts=Replicate(), use_local_output=False),
        "head": ColwiseParallel(output_layouts=Replicate(), use_local_output=False),
    })  # fmt: skip


def data_parallel(model, mesh):
    """Every parameter is replicated, the batch is sharded."""
    return torch.distributed.tensor.distribute_module(model, mesh)


def curve(variant, mesh, wrapped=None, placement=None) -> list[float]:
    torch.manual_seed(0)
    model = Diffusion(variant).double().to(mesh.device_type)
    model = wrapped(model, mesh) if wrapped else model
    optimiser, losses = torch.optim.AdamW(model.parameters(), lr=1e-2, foreach=False), []
    for step in range(STEPS):
        batch = [t.to(mesh.device_type) for t in batch_of(step % 2)]
        if placement:
            batch = [distribute_tensor(t, mesh, [placement if t.size(0) == 8 else Replicate()]) for t in batch]
        optimiser.zero_grad()
        loss = model(*batch)
        loss.backward()
        optimiser.step()
        losses.append((loss.full_tensor() if placement else loss).item())
    return losses


@on_every_rank
def a_tensor_parallel_model_has_eagers_curve(mesh):
    before = ingot.counters()
    actual = curve(fused, mesh, tensor_parallel, Replicate())
    spent = ingot.counters().since(before)
    assert spent.eager_fallbacks == 0 and spent.launches >= 2 * 4 * STEPS, spent
    check_curves(actual, curve(eager, mesh))


@on_every_rank
def a_data_parallel_model_has_eagers_curve(mesh):
    before = ingot.counters()
    actual = curve(fused, mesh, data_parallel, Shard(0))
    spent = ingot.counters().since(before)
    assert spent.eager_fallbacks == 0 and spent.launches >= 2 * 4 * STEPS, spent
    check_curves(actual, curve(eager, mesh))


# Ranks


def run_checks(rank: int, folder: str, backend: str, size: int):
    torch.set_num_threads(1)
    if backend == "nccl":
        torch.cuda.set_device(rank)
    distributed.init_process_group(backend, init_method=f"file://{folder}/store", rank=rank, world_size=size,
                                   timeout=datetime.timedelta(minutes=2))  # fmt: skip
    mesh = distributed.device_mesh.init_device_mesh("cuda" if backend == "nccl" else "cpu", (size,))
    failures = {}
    for name, function in CHECKS.items():
        began = time.monotonic()
        try:
            function(mesh)
            failures[name] = ""
        except Exception:  # noqa: BLE001 the other ranks raise it too, or wait for this rank until their timeout
            failures[name] = traceback.format_exc()
        print(f"rank {rank}: {time.monotonic() - began:4.1f} s {name}")
    torch.save(failures, f"{folder}/{rank}.pt")
    distributed.destroy_process_group()


@pytest.mark.parametrize("backend", ("gloo", "nccl"))
def test_on_every_rank(backend, tmp_path):
    """One test for all checks, because starting the processes takes longer than the checks."""
    size = 4 if FULL_RUN else 2
    if backend == "gloo" and not distributed.is_gloo_available():
        pytest.skip("explained: this PyTorch has no gloo")
    if backend == "nccl" and torch.cuda.device_count() < 2:
        pytest.skip("explained: NCCL needs two GPUs")
    if backend == "nccl":
        size = min(size, torch.cuda.device_count() // 2 * 2)
    torch.multiprocessing.spawn(run_checks, (str(tmp_path), backend, size), nprocs=size)
    ranks = [torch.load(tmp_path / f"{rank}.pt") for rank in range(size)]
    assert all(failures_of_rank.keys() == CHECKS.keys() for failures_of_rank in ranks)
    failures = [f"rank {rank}, {name}: {error}" for rank, failures_of_rank in enumerate(ranks) for name, error in failures_of_rank.items() if error]
    assert not failures, "\n".join(failures)
