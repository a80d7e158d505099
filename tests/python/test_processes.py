"""Ops in other processes and threads: an op is pickled as its source, and a fork finds no lock held."""

import concurrent.futures
import copy
import functools
import itertools
import multiprocessing
import os
import pathlib
import pickle
import signal
import subprocess
import sys
import threading
import time

import pytest
import torch
from torch.utils.data import DataLoader, Dataset

import ingot

CHILD_SECONDS = 180  # a child that takes longer hangs, even on a busy machine

OPS = """
import ingot

SHIFT = 0.375

def shifted(x):
    return x + SHIFT

@ingot.op
def squash(x, scale: float = 2.0):
    return torch.tanh(shifted(x)) * scale
"""

NET = """
import functools, ingot, torch

class Net(torch.nn.Module):
    double = ingot.op("x * 2 + 0.25", name="double")

    def __init__(self, op):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.linspace(0.5, 1, 6))
        self.op, self.ops, self.table = op, [op, ingot.op("x - 1")], {"relu": ingot.op("relu(x)")}
        self.scaled = functools.partial(op, scale=0.5)

    def forward(self, x):
        x = self.double(self.op(x * self.weight))
        for op in self.ops:
            x = op(x)
        return self.table["relu"](self.scaled(x))
"""

LOADS = """
import importlib.util, pickle, sys, torch, ingot

assert importlib.util.find_spec("formulas") is None
folder = sys.argv[1]
x = torch.load(folder + "/x.pt")
for load in (lambda: pickle.load(open(folder + "/net.pickle", "rb")), lambda: torch.load(folder + "/net.pt", weights_only=False)):
    net = load()
    before = ingot.counters()
    result = net(x)
    compiled = ingot.counters().since(before).compiles
    gradient, = torch.autograd.grad(result.sum(), net.weight)
    torch.save((result, gradient, compiled, net.op.text), folder + f"/{load.__code__.co_firstlineno}{compiled}.out")
"""


@pytest.fixture
def net(tmp_path, monkeypatch):
    """A module of ops. The file of its ops is not on the importing process's path; the file of its class is, in
    `classes`."""
    for folder, name, text in (("functions", "formulas", OPS), ("classes", "a_net_of_ops", NET)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / f"{name}.py").write_text(text)
        monkeypatch.syspath_prepend(str(tmp_path / folder))
    formulas, classes = __import__("formulas"), __import__("a_net_of_ops")
    yield classes.Net(formulas.squash)
    for name in ("formulas", "a_net_of_ops"):
        del sys.modules[name]


def test_a_module_is_loaded_without_its_ops_file(net, tmp_path):
    x = torch.randn(3, 6)
    expected = net(x)
    (gradient,) = torch.autograd.grad(expected.sum(), net.weight)
    pickled = pickle.dumps(net)
    assert b"return torch.tanh(shifted(x)) * scale" in pickled and b"\x7fELF" not in pickled
    (tmp_path / "net.pickle").write_bytes(pickled)
    torch.save(net, tmp_path / "net.pt")
    torch.save(x, tmp_path / "x.pt")
    path = os.pathsep.join([str(pathlib.Path(ingot.__file__).parents[1]), str(tmp_path / "classes")])
    environment = {**os.environ, "PYTHONPATH": path, "INGOT_CACHE_DIR": str(tmp_path / "cache")}
    completed = subprocess.run([sys.executable, "-c", LOADS, str(tmp_path)], env=environment, capture_output=True, text=True)
    assert completed.returncode == 0, completed.stderr
    outputs = [torch.load(file, weights_only=True) for file in tmp_path.glob("*.out")]
    assert sorted(compiled for _, _, compiled, _ in outputs) == [0, 5]  # squash, double, x - 1, relu: compiled once each, and a gradient
    for result, of_weight, _, text in outputs:
        assert torch.equal(result, expected) and torch.equal(of_weight, gradient)
        assert text == net.op.text


def test_an_op_is_not_loaded_with_weights_only(net, tmp_path):
    torch.save(net.op, tmp_path / "op.pt")
    with pytest.raises(pickle.UnpicklingError, match="ingot.op._restored"):
        torch.load(tmp_path / "op.pt")


def test_a_copy_of_a_module_trains_by_itself(net):
    x = torch.randn(3, 6)
    copied = copy.deepcopy(net)
    assert copied.op is net.op and copied.weight is not net.weight
    copied(x).sum().backward()
    assert net.weight.grad is None and copied.weight.grad.abs().sum() > 0


def test_ops_are_not_in_the_state_dict(net):
    assert list(net.state_dict()) == ["weight"]
    copied = copy.deepcopy(net)
    with torch.no_grad():
        copied.weight.zero_()
    x = torch.randn(3, 6)
    assert not torch.equal(copied(x), net(x))
    assert str(copied.load_state_dict(net.state_dict())) == "<All keys matched successfully>"
    assert torch.equal(copied(x), net(x))


# Ops for the workers of data loaders and for pools; the worker processes import this file.
@ingot.op
def normalized(x, mean: float, scale: float):
    return (x - mean) * scale


@ingot.op
def padded_mask(xs):
    return torch.stack(xs) * 2


class Numbers(Dataset):
    def __init__(self):
        self.op = ingot.op("x * x + 0.5")

    def __len__(self):
        return 6

    def __getitem__(self, index):
        return self.op(normalized(torch.full((4,), float(index)), 1.0, 0.25))


def collated(rows):
    return padded_mask(rows), os.getpid()


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_ops_run_in_a_loaders_workers(method):
    data = Numbers()
    collated([data[0], data[1]])  # warm before a fork
    loader = DataLoader(data, batch_size=2, num_workers=2, collate_fn=collated, multiprocessing_context=method, timeout=CHILD_SECONDS)
    batches = list(loader)
    assert len({process for _, process in batches} - {os.getpid()}) == 2
    rows = torch.arange(6.0)[:, None].expand(6, 4)
    assert torch.equal(torch.cat([batch for batch, _ in batches]), 2 * (((rows - 1) * 0.25) ** 2 + 0.5))


def gradient_and_process(op, seed):
    x = torch.randn(5, 7, generator=torch.Generator().manual_seed(seed)).requires_grad_()
    (gradient,) = torch.autograd.grad(op(x).sum(), x)
    return gradient.tolist(), os.getpid()


# With a GPU, autograd has threads from the first backward pass on, and does not run in a forked child.
NO_TRAINING = "explained: PyTorch's autograd does not run in a child of fork where there is a GPU"


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_ops_run_and_are_trained_in_pools(method):
    """An op as the function of a pool, among its arguments, and trained in it."""
    if method == "fork" and torch.cuda.is_available():
        pytest.skip(NO_TRAINING)
    op, x = ingot.op("x.sin() * x", name="waves"), torch.randn(4)
    parent_gradient, parent_process = gradient_and_process(op, 3)
    context = multiprocessing.get_context(method)
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
        op_result, gradient_result = pool.submit(op, x), pool.submit(gradient_and_process, op, 3)
        assert torch.equal(op_result.result(CHILD_SECONDS), op(x))
        child_gradient, child_process = gradient_result.result(CHILD_SECONDS)
    assert child_gradient == parent_gradient and child_process != parent_process
    if method == "fork":
        with context.Pool(2) as pool:
            assert all(torch.equal(r, op(x)) for r in pool.map_async(op, [x] * 4).get(CHILD_SECONDS))


def failure_in_child(function) -> str:
    """Forks, and returns the child's failure: nothing, an error, or that it did not end."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(CHILD_SECONDS)
        failure = ""
        try:
            function()
        except BaseException as error:
            failure = f"{type(error).__name__}: {error}"
        os.write(write, failure.encode()[:4000])
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        failure = pipe.read().decode()
    _, status = os.waitpid(child, 0)
    return failure or ("" if status == 0 else f"ended by signal {os.WTERMSIG(status)}")


def fresh_text() -> str:
    """The source of an op whose kernel is in no cache."""
    return f"x * {time.time_ns() % 10**9}.5 + {next(NUMBER)}"


NUMBER = itertools.count()


def test_a_fork_after_calls_finds_warm_ops():
    warm, x = ingot.op("x * 3 - 0.125", name="warm"), torch.randn(50)
    expected = warm(x)
    fresh = ingot.op(fresh_text())
    before = ingot.counters()

    def child():
        assert torch.equal(warm(x), expected)
        spent = ingot.counters().since(before)
        assert (spent.launches, spent.compiles, spent.loads) == (1, 0, 0), spent
        assert torch.equal(fresh(x), fresh.reference(x))
        assert ingot.counters().since(before).compiles == 1
        if not torch.cuda.is_available():
            leaf = x.clone().requires_grad_()
            warm(leaf).sum().backward()
            assert torch.equal(leaf.grad, torch.full_like(x, 3))
        grandchild = failure_in_child(lambda: warm(x))
        assert not grandchild, grandchild

    assert not failure_in_child(child)
    assert ingot.counters() == before  # a child counts for itself
    assert torch.equal(fresh(x), fresh.reference(x))


def failures_in_forks_during(work, child, seconds: float) -> list[str]:
    """The failures in forked children while another thread repeats `work`."""
    is_done, failures = threading.Event(), []

    def run():
        while not is_done.is_set():
            work()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        until = time.monotonic() + seconds
        while time.monotonic() < until and not failures:
            failures += filter(None, [failure_in_child(child)])
            time.sleep(0.002)
    finally:
        is_done.set()
        thread.join()
    return failures


def test_a_fork_during_a_compilation_does_not_hang():
    x = torch.randn(20)
    shared = ingot.op("x + 1", name="shared")
    shared(x)

    def child():
        assert torch.equal(shared(x), x + 1)
        op = ingot.op(fresh_text())
        assert torch.equal(op(x), op.reference(x))

    assert not failures_in_forks_during(lambda: ingot.op(fresh_text())(x), child, 3)


@pytest.mark.skipif(torch.cuda.is_available(), reason=NO_TRAINING)
def test_a_fork_during_training_does_not_hang():
    """Many ops make their gradients for the first time; a child requests the gradient that is being made."""
    text = "".join(f"def unused{i}(x): return x * {i} + {i}.5\n" for i in range(3000)) + "def f(x): return x * 2"
    ops = [ingot.op(text) for _ in range(250)]  # a long source takes longer
    leaf = torch.ones(3, requires_grad=True)
    losses = [(op, op(leaf).sum()) for op in ops]
    current = ops[0]

    def work():
        nonlocal current
        while losses:
            current, loss = losses.pop()
            loss.backward()

    def child():
        signal.alarm(5)
        current(torch.ones(3, requires_grad=True)).sum().backward()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    while thread.is_alive():
        assert not failure_in_child(child)


@pytest.mark.parametrize("kind", ["call", "prepare_all"])
def test_a_fork_with_a_default_device_does_not_hang(kind):
    """Runs in a separate process, which may hang: a fork that holds the GIL waits for the compiling thread, which
    needs the GIL to query the default device."""
    text = FORKS_BESIDE_A_DEFAULT_DEVICE + f"forks(by_{kind})\n"
    environment = {**os.environ, "PYTHONPATH": str(pathlib.Path(ingot.__file__).parents[1]), "INGOT_CACHE": "off"}
    try:
        completed = subprocess.run([sys.executable, "-c", text], env=environment, capture_output=True, text=True, timeout=CHILD_SECONDS)
    except subprocess.TimeoutExpired:
        pytest.fail("a fork and a call are deadlocked")
    assert completed.stdout == "done\n", completed.stderr


FORKS_BESIDE_A_DEFAULT_DEVICE = """
import os, threading, time, ingot, torch

x = torch.randn(100)

def by_call(k):
    text = f"def f(x, n: int):\\n    for i in range(n):\\n        x = x + {k}\\n    return x"
    ingot.op(text).prepare(x, 1000)  # lowering needs the value of n, so it begins twice

def by_prepare_all(k):
    ingot.prepare_all([(ingot.op(f"x * {k} + {j}"), (x,)) for j in range(5)])

def forks(way):
    def work():
        k = 0
        while True:
            k += 1
            with torch.device("cpu"):
                way(k)
    threading.Thread(target=work, daemon=True).start()
    until = time.monotonic() + 4
    while time.monotonic() < until:
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
        time.sleep(0.003)
    print("done", flush=True)
    os._exit(0)

"""


def test_threads_compile_a_gradient_once():
    """All threads begin with the first call and the first backward pass of an op. Each kernel is compiled once."""
    op = ingot.op(f"({fresh_text()}).softmax(-1) * y")
    count, barrier = 6, threading.Barrier(6)
    before = ingot.counters()

    def train(seed):
        x, y = torch.randn(2, 4, 6, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
        x.requires_grad_()
        barrier.wait()
        (gradient,) = torch.autograd.grad(op(x, y).square().sum(), x)
        (expected,) = torch.autograd.grad(op.reference(x, y).square().sum(), x)
        return torch.allclose(gradient, expected, rtol=1e-9, atol=1e-12)

    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        assert all(pool.map(train, range(count)))
    assert ingot.counters().since(before).compiles == 2


def test_threads_may_share_a_graph():
    """Several threads read a node's arguments at once, and the last one frees them."""
    op = ingot.op("x.sin() * y", name="shared_node")
    x, y = torch.randn(2, 1000)
    x.requires_grad_()
    loss = op(x, y).sum()
    (expected,) = torch.autograd.grad(op.reference(x, y).sum(), x)
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        again = functools.partial(torch.autograd.grad, loss, x, retain_graph=True)
        for future in [pool.submit(again) for _ in range(60)]:
            torch.testing.assert_close(future.result()[0], expected)
    loss.backward()
    torch.testing.assert_close(x.grad, expected)
    with pytest.raises(RuntimeError, match="second time"):
        loss.backward()


def test_a_fork_after_cuda_was_used_raises_pytorchs_error():
    """Calls and PyTorch's own factories raise PyTorch's own error. On the CPU the child continues."""
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    op, x = ingot.op("x * 2 + 1"), torch.randn(10)
    on_gpu = x.cuda()
    op(on_gpu), op(x)
    torch.cuda.synchronize()

    def child():
        with pytest.raises(RuntimeError, match="Cannot re-initialize CUDA in forked subprocess"):
            torch.ones(3, device="cuda")
        with pytest.raises(RuntimeError, match="re-initialize CUDA|initialization error"):
            op(on_gpu)
            torch.cuda.synchronize()
        assert torch.equal(op(x), x * 2 + 1)

    assert not failure_in_child(child)
    assert torch.equal(op(on_gpu), on_gpu * 2 + 1)
