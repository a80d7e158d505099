"""Training over many steps: a small model of ops compared with the same model of their references."""

import datetime
import gc
import os

import pytest
import torch
import torch.distributed as distributed
import torch.nn.functional as F
from conftest import ROOT
from torch.utils.checkpoint import checkpoint
from full_run import FULL_RUN

import ingot

STEPS, BATCH, CHANNELS, TIME, TIMESTEPS = 20, 8, 4, 16, 10

DENOISE = ingot.op((ROOT / "examples/denoise.py").read_text())
GIOU_LOSS = ingot.op((ROOT / "examples/giou_loss.py").read_text())


@ingot.op
def group_norm_mish(x, weight, bias):
    return F.mish(F.group_norm(x, 4, weight, bias))


@ingot.op
def corners(x):
    """Boxes from a head's output: a corner, and a size of at least 0.1."""
    low, size = x.sigmoid().chunk(2, -1)
    return torch.cat([low, low + size + 0.1], -1)


def fused(op):
    return op


def eager(op):
    return op.reference


class Block(torch.nn.Module):
    def __init__(self, variant, width: int):
        super().__init__()
        self.conv = torch.nn.Conv1d(CHANNELS, width, 5, padding=2)
        self.norm = torch.nn.GroupNorm(4, width)
        self.act = variant(group_norm_mish)

    def forward(self, x):
        return self.act(self.conv(x), self.norm.weight, self.norm.bias)


class Diffusion(torch.nn.Module):
    """Predicts the noise of a sample, runs one step of the sampler, and computes a box from the result."""

    def __init__(self, variant, width: int = 16):
        super().__init__()
        self.block, self.out = Block(variant, width), torch.nn.Conv1d(width, CHANNELS, 1)
        self.head = torch.nn.Linear(CHANNELS * TIME, 4)
        self.denoise, self.corners, self.giou_loss = variant(DENOISE), variant(corners), variant(GIOU_LOSS)
        self.register_buffer("table", torch.rand(5, TIMESTEPS, generator=torch.Generator().manual_seed(1)))

    def forward(self, sample, noise, t, clean, boxes):
        step = self.denoise(self.out(self.block(sample)), sample, noise, self.table, t)
        return F.mse_loss(step, clean) + self.giou_loss(self.corners(self.head(step.flatten(1))), boxes)


def batch_of(step: int, dtype=torch.float64, rank: int = 0):
    generator = torch.Generator().manual_seed(100 * rank + step)
    sample, noise, clean = torch.randn(3, BATCH, CHANNELS, TIME, generator=generator, dtype=dtype)
    low = torch.rand(BATCH, 2, generator=generator, dtype=dtype)
    boxes = torch.cat([low, low + 0.5], -1)
    boxes[step % BATCH] = 0  # padding
    return sample, noise, torch.randint(TIMESTEPS, (BATCH, 1, 1), generator=generator), clean, boxes


def model_of(variant, dtype=torch.float64):
    torch.manual_seed(0)
    return Diffusion(variant).to(dtype)


def curve(model, dtype=torch.float64, rank: int = 0, loss_of=None) -> list[float]:
    optimiser, losses = torch.optim.AdamW(model.parameters(), lr=1e-2), []
    for step in range(STEPS):
        optimiser.zero_grad()
        loss = (loss_of or model)(*batch_of(step % 2, dtype, rank))
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    return losses


def check_curves(actual: list[float], expected: list[float], rtol: float = 1e-9):
    torch.testing.assert_close(torch.tensor(actual), torch.tensor(expected), rtol=rtol, atol=0)
    assert sum(actual[-4:]) < 0.95 * sum(actual[:4])


def test_a_diffusion_model_is_trained_to_eagers_curve():
    models = model_of(fused), model_of(eager)
    before = ingot.counters()
    losses = curve(models[0])
    assert ingot.counters().since(before).launches >= 2 * 4 * STEPS  # four ops, forward and backward
    check_curves(losses, curve(models[1]))
    for (name, a), b in zip(models[0].named_parameters(), models[1].parameters()):
        torch.testing.assert_close(a, b, rtol=1e-7, atol=1e-9, msg=name)


def test_checkpoints_and_hooks_change_no_loss():
    expected = curve(model_of(fused))
    model = model_of(fused)
    before = ingot.counters().launches
    assert curve(model, loss_of=lambda *batch: checkpoint(model, *batch, use_reentrant=False)) == expected
    launches = ingot.counters().launches - before
    model, before = model_of(fused), ingot.counters().launches
    assert curve(model) == expected
    assert launches - (ingot.counters().launches - before) == 4 * STEPS  # each op once more

    model = model_of(fused)
    with torch.autograd.graph.save_on_cpu():
        assert curve(model) == expected
    model = model_of(fused)
    with torch.autograd.detect_anomaly(check_nan=True):
        assert curve(model) == expected


def test_a_reentrant_checkpoint():
    x, weight, bias = (torch.randn(*shape, dtype=torch.float64, requires_grad=True) for shape in ((2, 8, 6), (8,), (8,)))
    expected = torch.autograd.grad(group_norm_mish(x, weight, bias).square().sum(), (x, weight, bias))
    checkpoint(group_norm_mish, x, weight, bias, use_reentrant=True).square().sum().backward()
    for gradient, leaf in zip(expected, (x, weight, bias)):
        assert torch.equal(gradient, leaf.grad)


def test_hooks_see_eagers_gradients():
    seen = {fused: [], eager: []}
    for variant, gradients in seen.items():
        model = model_of(variant)
        model.block.register_full_backward_hook(lambda module, grad_input, grad_output: gradients.append(grad_output[0]))
        model.block.norm.weight.register_post_accumulate_grad_hook(lambda p: gradients.append(p.grad.clone()))
        h = model.block(batch_of(0)[0].requires_grad_())
        h.register_hook(lambda g: gradients.append(g) or g * 2)
        h.square().sum().backward()
    assert len(seen[fused]) == len(seen[eager]) == 3
    torch.testing.assert_close(seen[fused], seen[eager])


def test_anomaly_mode_names_the_op_and_its_call():
    root = ingot.op("x.sqrt()", name="root")
    with torch.autograd.detect_anomaly(), pytest.warns(UserWarning, match="test_anomaly_mode_names"):
        with pytest.raises(RuntimeError, match="'rootBackward' returned nan values in its 0th output"):
            (root(torch.zeros(2, requires_grad=True)) * 0).sum().backward()


def train_with_scaler(variant):
    """Losses, and the scale after each step; the gradients of one step are infinite."""
    model, scaler = model_of(variant, torch.float32), torch.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=4)
    optimiser, losses, scales = torch.optim.SGD(model.parameters(), lr=0.02), [], []
    for step in range(STEPS):
        optimiser.zero_grad()
        loss = model(*batch_of(step, torch.float32))
        before = model.head.weight.detach().clone()
        scaler.scale(loss * (float("inf") if step == 6 else 1.0)).backward()
        scaler.step(optimiser)
        scaler.update()
        losses.append(loss.item()), scales.append(scaler.get_scale())
        assert torch.equal(before, model.head.weight) == (step == 6)  # such a step is skipped
    return losses, scales


def test_a_grad_scaler_sees_infinite_gradients():
    (actual, actual_scales), (expected, expected_scales) = train_with_scaler(fused), train_with_scaler(eager)
    assert actual_scales == expected_scales and actual_scales[6] == actual_scales[5] / 2
    torch.testing.assert_close(torch.tensor(actual), torch.tensor(expected), rtol=1e-4, atol=0)


def test_gradients_are_accumulated():
    model, reference = model_of(fused), model_of(eager)
    for each in (model, reference):
        for step in range(3):
            each(*batch_of(step)).backward()
    for a, b in zip(model.parameters(), reference.parameters()):
        torch.testing.assert_close(a.grad, b.grad, rtol=1e-9, atol=1e-12)
        assert a.grad.stride() == b.grad.stride()


def test_a_retained_graph_is_used_again():
    model = model_of(fused)
    loss, weight = model(*batch_of(0)), model.block.norm.weight
    loss.backward(retain_graph=True)
    once = weight.grad.clone()
    loss.backward()
    assert torch.equal(weight.grad, once + once)
    with pytest.raises(RuntimeError, match="second time"):
        loss.backward()


def test_inference_tensors():
    op = ingot.op("x * w")
    with torch.inference_mode():
        x = torch.randn(3)
        assert op(x, x).is_inference()
    weight = torch.randn(3, requires_grad=True)
    for function in (op, torch.mul):  # eager's own error
        with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
            function(x, weight)
    with torch.no_grad():
        assert torch.equal(op(x, weight), x * weight)
    op(x.clone(), weight).sum().backward()
    assert torch.equal(weight.grad, x)


def live_tensors() -> int:
    gc.collect()
    return sum(issubclass(type(o), torch.Tensor) for o in gc.get_objects())


def resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_no_memory_leaks():
    """If each step leaked one tensor, 2000 steps would leak 32 MB. With INGOT_TEST_EXTENT=full, 10⁵ steps also show a
    leaked node without tensors."""
    op = ingot.op("def step(x, w, k: float):\n    y = x * w + k\n    return y, y.square().mean()")
    weight = torch.randn(4096, requires_grad=True)
    tensors = memory = 0
    for step in range(10**5 if FULL_RUN else 2000):
        x = torch.randn(1 + step % 2, 4096)
        y, loss = op(x, weight, step / 7)
        (loss if step % 3 else y.sum() + loss).backward()
        weight.grad = None
        if step % 5 == 0:
            op(x, weight, 0.5)  # a graph without a backward pass
        del x, y, loss
        if step == 200:
            tensors, memory = live_tensors(), resident()
    assert live_tensors() <= tensors
    assert resident() - memory < 8 << 20


def fully_sharded(model):
    from torch.distributed.fsdp import fully_shard

    mesh = torch.distributed.device_mesh.init_device_mesh("cpu", (2,))
    fully_shard(model.block, mesh=mesh)
    return fully_shard(model, mesh=mesh)


WRAPPERS = {"DDP": torch.nn.parallel.DistributedDataParallel, "FSDP2": fully_sharded}


def train_in_parallel(rank: int, folder: str):
    distributed.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2,
                                   timeout=datetime.timedelta(minutes=3))  # fmt: skip
    torch.set_num_threads(1)
    curves = {}
    for name, wrapped in WRAPPERS.items():
        for variant in (fused, eager):
            before = ingot.counters().launches
            losses = curve(wrapped(model_of(variant)), rank=rank)
            curves[name, variant.__name__] = losses, ingot.counters().launches - before
    torch.save(curves, f"{folder}/{rank}.pt")
    distributed.destroy_process_group()


def test_two_processes_train_one_model(tmp_path):
    """Each process has its own data. With DDP and with FSDP2, the losses equal eager's."""
    if not distributed.is_gloo_available():
        pytest.skip("explained: this PyTorch has no gloo")
    torch.multiprocessing.spawn(train_in_parallel, (str(tmp_path),), nprocs=2)
    curves = [torch.load(tmp_path / f"{rank}.pt") for rank in (0, 1)]
    for curves_of_rank in curves:
        for name in WRAPPERS:
            (actual, launches), (expected, eager_launches) = curves_of_rank[name, "fused"], curves_of_rank[name, "eager"]
            check_curves(actual, expected)
            assert launches >= 2 * 4 * STEPS and eager_launches == 0
        torch.testing.assert_close(curves_of_rank["DDP", "fused"][0], curves_of_rank["FSDP2", "fused"][0], rtol=1e-9, atol=0)
    assert curves[0]["DDP", "fused"] != curves[1]["DDP", "fused"]
