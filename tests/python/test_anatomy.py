"""Figures that are read from a kernel's machine code, and counters of a GPU."""

import json
import pathlib
import re
import subprocess
import sys

import pytest
import torch

import ingot
from comparisons import job, on_a_gpu, run_comparison
from ingot.tools import anatomy, command, candidates, counters, disassembly, profile, steps
from ingot.tools.job import Against
from ingot.tools.workload import Workload

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))
from examples import compare_line, preparation  # noqa: E402

HANDWRITTEN = sorted((ROOT / "examples/handwritten").glob("*.cu"))


def kernels_of(spec: str, op: str, **values) -> tuple[dict, dict]:
    task = job(spec, text=(ROOT / "examples" / op).read_text(), values=values, specials=False)
    results = {}
    steps.run_steps(steps.Steps(task, results), lambda *_: None)
    return results[("profile", spec)]["kernels"], results[("profile", "ingot")]["kernels"]


def test_a_kernel_is_analysed_without_a_gpu():
    (hand_written,), (ingot_kernel,) = kernels_of(f"{ROOT}/examples/handwritten/relu_add.cu", "relu_add.py", x="f32:4096", y="f32:4096", bias="0.5")
    assert hand_written["loads"] == {name: {"widest": 4, "narrowest": 4, "count": 1} for name in ("x", "y")}
    assert ingot_kernel["loads"]["x"]["widest"] == ingot_kernel["stores"]["out"]["widest"] == 16
    assert hand_written["load_widths"] == {4: 2} and hand_written["branches"] == 0 and ingot_kernel["branches"] > 0
    assert hand_written["threads"] == ingot_kernel["threads"] == 256 and hand_written["occupancy"] == 1.0
    assert hand_written["kinds"]["float32"] >= 3 and hand_written["local_bytes"] == 0 and hand_written["registers"] < 32


def test_differences_are_explained():
    document = run_comparison(job(f"{ROOT}/examples/handwritten/relu_add.cu", values={"x": "f32:4096", "y": "f32:4096", "bias": "0.5"}))
    assert "relu_add.cu reads x and y with 4-byte loads, Ingot with 16-byte loads" in document["why"][0]


def test_tensors_have_the_names_of_the_ops_parameters(tmp_path):
    path = tmp_path / "swapped.cu"
    path.write_text("// launch: grid=ceil(n / 128), block=128, args=y, x, out, n\n"
                    "__global__ void k(const float4* x, const float* a, float* res, int n) {\n  int i = blockIdx.x * 128 + threadIdx.x;\n"
                    "  if (i < n / 4) { float4 v = x[i]; res[i] = a[i] + v.x + v.y + v.z + v.w; }\n}\n")
    (kernel,), _ = kernels_of(str(path), "mul.py", x="f32:4096", y="f32:4096")
    assert {name: access["widest"] for name, access in kernel["loads"].items()} == {"x": 4, "y": 16}
    assert [*kernel["stores"]] == ["out"]


@pytest.mark.parametrize("registers, threads, shared, blocks", [
    (32, 256, 0, 8), (33, 256, 0, 6), (64, 256, 0, 4), (255, 256, 0, 1), (16, 32, 0, 32), (32, 1024, 0, 2), (32, 128, 48 << 10, 4),
    (32, 100, 0, 16)])
def test_blocks_that_fit_match_the_occupancy_tables(registers, threads, shared, blocks):
    assert anatomy.blocks_that_fit(registers, threads, shared) == blocks


def test_blocks_that_fit_depend_on_the_architecture():
    assert [anatomy.blocks_that_fit(32, 256, 0, architecture) for architecture in (75, 80, 86, 90)] == [4, 8, 6, 8]


def test_the_systems_shared_memory_is_not_counted(monkeypatch):
    """The size in a cubin for 9.0 or later includes shared memory that the system reserves, 1 KiB per block. A launch may add
    dynamic shared memory."""
    for architecture, bytes_in_cubin in ((80, 2048), (90, 3072)):
        monkeypatch.setattr(anatomy, "resources", lambda cubin, bytes_in_cubin=bytes_in_cubin: {"k": (32, 0, bytes_in_cubin)})
        resources = anatomy.anatomy(b"", "", "k", threads=256, shared_bytes=100, architecture=architecture)
        assert resources.shared_bytes == 2148
    monkeypatch.setattr(anatomy, "resources", lambda cubin: {"k": (32, 0, 0)})
    assert anatomy.anatomy(b"", "", "k", threads=256, architecture=90).shared_bytes == 0


def test_instructions_have_kinds_and_widths():
    kinds = {"LDGSTS.E.BYPASS.128": ("global load", 16), "LDG.E.ENL2.256": ("global load", 32), "VIADD": ("integer", 4),
             "FFMA2": ("float32", 4)}
    for op, (kind, width) in kinds.items():
        instruction = disassembly.Instruction(0, op, op)
        assert (instruction.kind, instruction.width) == (kind, width), op


# Invalid launch lines of the kernel in k.cu → a part of the error message.
LAUNCHES = {
    "grid=ceil(n / 256), block=256, args=x, out": "gives 2 arguments, but the kernel takes 3",
    "grid=ceil(n / 256), block=256, args=x, out, nn": "`nn` in the launch",
    "grid=n / 256, block=256, args=x, out, n": "is 3.90625",
    "grid=4, args=x, out, n": "has no block",
    "grid=1, block=2048, args=x, out, n": "the block of `grid=1, block=2048, args=x, out, n` is 2048 x 1 x 1",
    "grid=1, block=32, 64, args=x, out, n": "has 2048 threads",
    "grid=1, 70000, block=32, args=x, out, n": "is 1 x 70000 x 1",
    "grid=1, block=32, args=x, out, 0.5": "is an integer, but gets 0.5",
    "grid=1, block=32, shared=-1, args=x, out, n": "the shared memory of `grid=1, block=32, shared=-1, args=x, out, n` is -1",
    "grid=1, block=32, shared=n / 3, args=x, out, n": "is 333.3",
}


def test_a_launch_is_checked_without_a_gpu(tmp_path):
    (tmp_path / "k.cu").write_text("#include <cuda_fp16.h>\n__global__ void k(const float* x, float* out, int n) { out[n] = x[n]; }\n")
    (tmp_path / "d.cu").write_text("// launch: grid=4, block=256, args=x, out\n__global__ void d(const double* x, float* out) { *out = *x; }\n")
    (tmp_path / "h.cu").write_text("// launch: grid=4, block=256, args=x, out\n__global__ void d(float* x, float* out) {}\nint main() {}\n")
    (tmp_path / "t.cu").write_text("template <typename T> __global__ void t(const T* x, T* out) {}\nnamespace a { __global__ void k(const float* x, float* out) {} }\n")
    launch = "grid=4, block=256, args=x, out"
    against = [Against(f"{tmp_path}/k.cu", [line]) for line in LAUNCHES]
    invalid = [(Against(f"{tmp_path}/d.cu"), "points to float64, but gets a tensor of float32"),
               (Against(f"{tmp_path}/h.cu"), "between `#ifndef __CUDACC_RTC__` and `#endif`"),
               (Against(f"{tmp_path}/t.cu:t", [launch]), "is a template"), (Against(f"{tmp_path}/t.cu:k", [launch]), "failed to compile")]
    valid = [Against(f"{tmp_path}/k.cu", ["grid=ceil(n / 256), block=256, args=x, out, n"]), Against(f"{tmp_path}/t.cu:a::k", [launch]),
             Against(f"{tmp_path}/t.cu", [f"entry=t<float>, {launch}"])]
    document = run_comparison(job(*against, *(candidate for candidate, _ in invalid), *valid, text="x * 2", values={"x": "f32:1000"}))
    messages = [*LAUNCHES.values(), *(message for _, message in invalid)]
    for result, message in zip(document["candidates"][1:], messages):
        assert result["state"] == "failed" and message in result["message"], (result["spec"], result["message"])
    assert [c["state"] for c in document["candidates"][1 + len(messages) :]] == ["unchecked"] * 3


def test_analysis_uses_the_compared_gradient():
    op, values = ingot.op("(x * y).sum(-1)"), {"x": torch.randn(4, 8), "y": torch.randn(4, 8), "grad": torch.randn(4)}
    for leaves, count in (({"x"}, 1), ({"x", "y"}, 2), (set(), 2)):
        explained = profile.explain(op, Workload(op, values, is_gradient=True, leaves=frozenset(leaves)), "cuda", 90)
        assert sum(access["is_written"] for access in explained["accesses"]) == count, leaves


@pytest.mark.parametrize("text, operations", [
    ("relu(x) + y + 0.5", 3 * 32), ("x.softmax(-1)", 32 + 32 + 32 * 10 + 32 + 32 * 10), ("(x * y).sum(-1)", 2 * 32), ("x.int() + 1", 0)])
def test_operations_are_counted_from_the_formula(text, operations):
    """Operations of a softmax of 4 rows of 8: a maximum, a difference, an exponential, a sum and a quotient, for
    example."""
    op = ingot.op(text)
    values = {name: torch.randn(4, 8) for name in op.signature.parameters}
    assert profile.explain(op, Workload(op, values), "cpu", 90)["operations"] == operations


def test_scattered_additions_are_counted():
    op, weight = ingot.op("F.embedding(i, w)"), torch.zeros(10000, 64)
    values = {"i": torch.zeros(50000, dtype=torch.int64), "w": weight, "grad": torch.zeros(50000, 64)}
    assert profile.explain(op, Workload(op, values, is_gradient=True), "cpu", 90)["operations"] == 50000 * 64


def test_untimed_candidates_miss_the_required_speed(tmp_path, capsys):
    (tmp_path / "k.cu").write_text("// launch: grid=4, block=256, args=x, out\n__global__ void k(const float* x, float* out) {}\n")
    words = ["compare", "-e", "x * 2", "x=f32:1000", "--against", f"{tmp_path}/k.cu", "--at-least", "0.5", "--device", "cpu", "--rounds", "3"]
    assert command.main(words) == 3
    assert "no candidate was timed beside Ingot" in capsys.readouterr().err


@pytest.mark.parametrize("path", HANDWRITTEN, ids=lambda path: path.stem)
def test_every_example_compiles_and_has_a_compare_line(path):
    kernel = candidates.CudaKernel(path)
    program = kernel.program(90)
    assert all(program.parameters[entry] is not None for entry in kernel.entries) and not program.warnings
    assert str(path.relative_to(ROOT)) in compare_line(path)


@on_a_gpu
@pytest.mark.parametrize("path", HANDWRITTEN, ids=lambda path: path.stem)
def test_every_example_is_correct_on_a_gpu(path, monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(ROOT)
    boxes = str(tmp_path / "boxes.pt")
    if script := preparation(path):
        small = [{"build/boxes.pt": boxes, "160000": "41"}.get(word, word) for word in script]
        subprocess.run([sys.executable, *small], check=True)
    words = [re.sub(r"^n=\d+", "n=32" if "denoise" in path.stem or "norm" in path.stem else "n=4096", w) for w in compare_line(path)]
    words = [w.replace("build/boxes.pt", boxes) for w in words]
    status = command.main(["compare", *words, "--rounds", "3", "--json"])
    document = json.loads(capsys.readouterr().out)
    assert status == 0, [(c["name"], c["message"]) for c in document["candidates"]]
    assert not any("aligned" not in limit for c in document["candidates"] for limit in c["limits"]), document["candidates"]
    assert all(c["state"] == "correct" and c["us"] > 0 and c["launched"] for c in document["candidates"])


NCU = '''==PROF== Connected to process 1
"ID","Process ID","Kernel Name","Block Size","dram__bytes_read.sum","gpu__time_duration.sum","lts__t_sector_hit_rate.pct"
"","","","","byte","nsecond","%"
"0","1","relu_add","(256, 1, 1)","1,024,000","2,500","33.5"
'''


def test_counters_of_ncu_are_parsed():
    (kernel,) = counters.table(NCU)
    assert kernel["name"] == "relu_add" and kernel["us"] == 2.5 and kernel["bytes_read"] == 1024000
    assert kernel["l2_hit_rate"] == pytest.approx(0.335) and kernel["memory_busy"] is None
    assert counters.table("==ERROR== nothing") == []


@on_a_gpu
def test_counters_or_an_error_are_reported():
    document = run_comparison(job("eager", text="x * 2", values={"x": "f32:1000000"}, device="cuda:0", ncu=True))
    for candidate in document["candidates"]:
        counted, error = candidate["counted"], candidate["count_error"]
        assert error or counted and all(k["bytes_read"] > 3e6 for k in counted), candidate
