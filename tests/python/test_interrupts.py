"""Signals while a compiler runs, forks while an op is defined, and leftovers of deleted ops. Each test runs in a
separate process, which may hang."""

import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

import ingot

SECONDS = 120  # time limit, long enough for a busy machine

HANGS = """#!/bin/sh
case " $* " in *" --version "*) echo made up; exit;; esac
echo $$ > "$HANGING.new"; mv "$HANGING.new" "$HANGING"
sleep 1000
"""


@pytest.fixture
def start(tmp_path):
    """Starts a script with a compiler that hangs, or with the usual one."""
    started = []

    def run(script, hangs):
        environment = {**os.environ, "PYTHONPATH": str(pathlib.Path(ingot.__file__).parents[1]), "INGOT_CACHE": "off",
                       "TMPDIR": str(tmp_path), "HANGING": str(tmp_path / "process")}
        if hangs:
            (tmp_path / "compiler").write_text(HANGS)
            (tmp_path / "compiler").chmod(0o700)
            environment["INGOT_CXX"] = str(tmp_path / "compiler")
        # A background process of a shell ignores Control-C, and so do its children.
        process = subprocess.Popen([sys.executable, "-c", script], env=environment, text=True, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        started.append(process)
        return process

    yield run
    for process in started:
        process.kill()
        process.wait()


def hanging_compiler(tmp_path) -> int:
    """Waits until the compiler that hangs has started, and returns its process id."""
    until = time.monotonic() + SECONDS
    while not (tmp_path / "process").exists():
        assert time.monotonic() < until
        time.sleep(0.01)
    return int((tmp_path / "process").read_text())


def ends(process: int) -> bool:
    """Whether a process ends within the time limit."""
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.01)
    return False


IMPORTS = "import ingot, torch\n"
CALLS = {
    "call": IMPORTS + "ingot.op('x * 2 + 1')(torch.ones(3))",
    "prepare_all": IMPORTS + "ingot.prepare_all([(ingot.op(f'x * {k}'), (torch.ones(3),)) for k in range(3)])",
    "backward": IMPORTS + "x = torch.ones(3, requires_grad=True); ingot.op('x.sin()')(x).sum().backward()",
}


@pytest.mark.parametrize("call", CALLS)
def test_control_c_ends_the_compiler(start, tmp_path, call):
    process = start(CALLS[call], hangs=True)
    compiler = hanging_compiler(tmp_path)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=SECONDS)
    assert process.returncode == -signal.SIGINT and errors.rstrip().endswith("KeyboardInterrupt"), errors[-2000:]
    assert "lost sys.stderr" not in errors and len(errors) < 5000
    assert ends(compiler)
    assert not list(tmp_path.glob("ingot-compile-*"))


def test_a_handler_runs_while_a_compiler_hangs(start, tmp_path):
    script = IMPORTS + """
import signal, time
def handler(*_):
    print("heard", flush=True)
    raise TimeoutError("too long")
signal.signal(signal.SIGALRM, handler)
op = ingot.op("x * 2 + 1")
for _ in range(2):
    signal.setitimer(signal.ITIMER_REAL, 0.5)
    try:
        op(torch.ones(3))
    except TimeoutError as error:
        print(error, flush=True)
"""
    process = start(script, hangs=True)
    output, errors = process.communicate(timeout=SECONDS)
    assert output == "heard\ntoo long\n" * 2, errors


def test_a_handler_that_returns_lets_the_compiler_go_on(start):
    script = IMPORTS + """
import signal
heard = 0
def handler(*_):
    global heard
    heard += 1
signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
x = torch.randn(5)
assert torch.equal(ingot.op("x * 2 + 1")(x), x * 2 + 1) and heard > 0
signal.setitimer(signal.ITIMER_REAL, 0)  # the alarm must not ring when the process ends and has no handler left
"""
    process = start(script, hangs=False)
    _, errors = process.communicate(timeout=SECONDS)
    assert process.returncode == 0, errors


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_process_that_is_killed_leaves_no_compiler(start, tmp_path, number):
    process = start(CALLS["call"], hangs=True)
    compiler = hanging_compiler(tmp_path)
    process.send_signal(number)
    process.communicate(timeout=SECONDS)
    assert process.returncode == -number and ends(compiler)
    (folder,) = tmp_path.glob("ingot-compile-*")
    os.utime(folder, (time.time() - 60,) * 2)
    start(CALLS["call"], hangs=False).communicate(timeout=SECONDS)  # removes the leftovers of the dead process
    assert not list(tmp_path.glob("ingot-compile-*"))


def test_a_fork_during_a_definition_does_not_hang(start):
    """A garbage collection in the middle of a definition runs Python, which releases the GIL."""
    script = IMPORTS + """
import gc, os, threading, time
class Slow:
    def __del__(self):
        time.sleep(0.001)
def define():
    gc.set_threshold(1)
    k = 0
    while True:
        k += 1
        a = Slow(); a.me = a
        names = ", ".join(f"x{k}_{i}" for i in range(100))
        ingot.op(f"def f({names}):\\n    return x{k}_0 * {k}")
threading.Thread(target=define, daemon=True).start()
until = time.monotonic() + 3
while time.monotonic() < until:
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
print("done", flush=True)
os._exit(0)
"""
    process = start(script, hangs=False)
    try:
        output, errors = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        pytest.fail("a fork and a definition are deadlocked")
    assert output == "done\n", errors


def test_deleted_ops_leave_no_memory_maps(start):
    script = IMPORTS + """
import gc
def maps():
    gc.collect()
    return open("/proc/self/maps").read().count("memfd:ingot")
x = torch.ones(3)
kept = ingot.op("x + 0.5")
kept(x)
one = maps()
for k in range(22):
    ingot.op(f"x * {k}")(x)
newest = 16  # how many kernels are kept after their ops are deleted
assert one > 0 and maps() <= (1 + newest) * one, (one, maps())
assert torch.equal(kept(x), x + 0.5)
"""
    process = start(script, hangs=False)
    _, errors = process.communicate(timeout=SECONDS)
    assert process.returncode == 0, errors
