"""Emitted source files say how their kernels are launched: `ingot emit FILE … > k.cu; ingot compare FILE --against k.cu …`."""

import ast
import functools
import json
import pathlib
import re
import subprocess

import pytest
import torch

import ingot
from comparisons import on_a_gpu
from ingot.tools import cuda_text, launch, launch_comment
from ingot.tools.candidates import CudaKernel
from ingot.tools.expressions import Pointer, Typed, evaluate

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples"
ARCHITECTURE = 90


def boxes(*shape: int) -> tuple[torch.Tensor, torch.Tensor]:
    corner = torch.rand(2, *shape, 2)
    pred, target = torch.cat([corner, corner + 0.1 + torch.rand(2, *shape, 2)], -1)
    return pred, target


def image_step(n: int, size: int):
    return [*(torch.randn(n, 3, size, size) for _ in range(3)), torch.rand(5, 100) + 0.1, torch.randint(0, 100, (n, 1, 1, 1))]


# For each example: the arguments of several calls.
CALLS = {
    "relu_add.py:relu_add": [lambda: [torch.randn(1000, 1000), torch.randn(1000), 0.5], lambda: [torch.randn(30, 1024), torch.randn(1024), -1.0],
                             lambda: [torch.randn(1000, 3), torch.randn(3), 0.5], lambda: [torch.randn(64, 48).T, torch.randn(48, 64), 0.5]],
    "mul.py:mul": [lambda: [torch.randn(1000, 7), torch.randn(1000, 1)], lambda: [torch.randn(70, 8, 9), torch.tensor(2.0)],
                   lambda: [torch.randn(40, 100)[:, :50], torch.randn(40, 50)], lambda: [torch.randn(40, 100).flip(0)[3:], torch.randn(100)]],
    "giou.py:giou": [lambda: boxes(1000), lambda: boxes(8, 100), lambda: (boxes(1000)[0], torch.randint(0, 200, (1000, 4), dtype=torch.uint8))],
    "giou_loss.py:giou_loss": [lambda: boxes(100000), lambda: boxes(90001), lambda: boxes(16, 50)],
    "normalization.py:softmax": [lambda: [torch.randn(100, 4096)], lambda: [torch.randn(64, 3800)], lambda: [torch.randn(10, 100000)],
                                 lambda: [torch.randn(4, 5, 75)], lambda: [torch.randn(500, 300).T]],
    "normalization.py:layer_norm_gelu": [lambda: [torch.randn(300, 1024), torch.randn(1024), torch.randn(1024)],
                                         lambda: [torch.randn(5, 6, 1001), torch.randn(1001), torch.randn(1001)]],
    "normalization.py:rms_norm": [lambda: [torch.randn(50, 512).bfloat16(), torch.randn(50, 512).bfloat16(), torch.randn(512).bfloat16()]],
    "normalization.py:cross_entropy": [lambda: [torch.randn(100, 1000), torch.randint(0, 1000, (100,))]],
    "denoise.py:denoise": [lambda: image_step(8, 64), lambda: image_step(3, 33)],
    "group_norm_mish.py:group_norm_mish": [lambda: [torch.randn(8, 256, 100), torch.randn(256), torch.randn(256), 8],
                                           lambda: [torch.randn(2, 64, 50), torch.randn(64), torch.randn(64), 4]],
    "program.py:gated": [lambda: [torch.randn(100, 1024), torch.randn(1024), 0.5]],
}
CASES = [(example, number) for example, calls in CALLS.items() for number in range(len(calls))]
every_call = pytest.mark.parametrize("example, number", CASES, ids=[f"{e.partition(':')[2]}-{n}" for e, n in CASES])


@functools.cache
def op_of(example: str) -> ingot.Op:
    file, _, name = example.partition(":")
    text = (EXAMPLES / file).read_text()
    if "@ingot.op" in text:  # a program: the functions of the op, without the decorator
        text = re.sub(r"^(import|def main|if __name__).*?(?=^\S)|^if __name__.*", "", text.replace("@ingot.op\n", ""), flags=re.M | re.S)
    return ingot.op(text, name=name)


def arguments_of(example: str, number: int) -> list:
    torch.manual_seed(0)
    return list(CALLS[example][number]())


def emit(tmp_path, op, arguments, device: str) -> pathlib.Path:
    path = tmp_path / ("kernel.cu" if device == "cuda" else "kernel.cpp")
    path.write_text(op.emit("source", *arguments, device=device))
    return path


def launches_of(text: str, op, arguments) -> list[dict]:
    """The launches that the comments of a source describe, in the form in which `Op._explain` gives those of a call: each pointer
    among the arguments is None."""
    values = dict(zip(op.signature.parameters, arguments))
    values |= {name: p.default for name, p in op.signature.parameters.items() if name not in values}
    returned = op.reference(**values)
    scope = launch.scope_of(values, [r.clone() for r in (returned if isinstance(returned, tuple) else (returned,))])
    entries, launches = {entry.name: entry for entry in cuda_text.kernels(text) or cuda_text.functions(text)}, []
    for each in launch_comment.in_file(text, "kernel"):
        defined = each.define(scope)
        each.check(defined)
        scratch = each.allocate(defined)
        scope |= scratch
        listed = each.launch.fields.get("args", ())
        found = each.launch.arguments(defined | scratch, [launch.Parameter("")] * len(listed))
        is_cuda = "grid" in each.launch.fields
        if is_cuda:
            assert len(found) == len(entries[each.launch.entry].parameters)
        numbers = [None if isinstance(a, (Pointer, torch.Tensor)) else a.value if isinstance(a, Typed) else a for a in found]
        launches.append({"kernel": each.launch.entry, "shared": each.launch.shared(defined), "arguments": numbers,
                         "units": each.launch.extent("grid", defined)[0] if is_cuda else each.launch.units(defined),
                         "block": each.launch.extent("block", defined)[0] if is_cuda else 1})
    return launches


def explained_launches(op, arguments, device: str) -> list[dict]:
    return json.loads(op._explain(False, device, ARCHITECTURE * (device == "cuda"), *arguments))["launches"]


@every_call
@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_the_comments_describe_the_launches_of_a_call(example, number, device):
    op, arguments = op_of(example), arguments_of(example, number)
    text, real = op.emit("source", *arguments, device=device), explained_launches(op, arguments, device)
    assert launches_of(text, op, arguments) == real


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_a_size_that_a_comment_names_is_not_that_of_a_result(device):
    op, x = ingot.op("(x.sum((0, 1)), x / x.amax((0, 1), keepdim=True))"), torch.randn(64, 4097)
    text, real = op.emit("source", x, device=device), explained_launches(op, [x], device)
    assert launches_of(text, op, [x]) == real


@pytest.mark.parametrize("example, sizes", [
    ("relu_add.py:relu_add", [(1000, 1000), (8, 64), (5000, 328)]), ("normalization.py:softmax", [(1000, 4000), (5000, 3600)]),
    ("normalization.py:softmax", [(10, 100000), (12, 98312)])])
def test_the_comments_hold_for_other_sizes(example, sizes):
    def arguments_for(size):
        return [torch.randn(size), torch.randn(size[-1]), 0.5] if "relu" in example else [torch.randn(size)]

    op = op_of(example)
    text = op.emit("source", *arguments_for(sizes[0]), device="cuda")
    for size in sizes[1:]:
        arguments = arguments_for(size)
        assert launches_of(text, op, arguments) == explained_launches(op, arguments, "cuda")


@pytest.mark.parametrize("example", CALLS, ids=[e.partition(":")[2] for e in CALLS])
def test_an_emitted_function_computes_the_op(example, tmp_path):
    check_emitted_kernel(example, tmp_path, "cpu")


@on_a_gpu
@every_call
def test_an_emitted_kernel_computes_the_op(example, number, tmp_path):
    check_emitted_kernel(example, tmp_path, "cuda", number)


def check_emitted_kernel(example: str, tmp_path, device: str, number: int = 0) -> None:
    op = op_of(example)
    arguments = [a.to(device) if isinstance(a, torch.Tensor) else a for a in arguments_of(example, number)]
    path = emit(tmp_path, op, arguments, device)
    found = ingot.compare(op, str(path), *arguments, isolated=False, given_only=True, rounds=1, why=False)
    own, candidate = found.found["candidates"]
    assert candidate["state"] == "correct", candidate
    assert candidate["message"] == own["message"]  # the same bits


@every_call
def test_nvrtc_compiles_an_emitted_kernel(example, number, tmp_path):
    op, arguments = op_of(example), arguments_of(example, number)
    candidate = CudaKernel(emit(tmp_path, op, arguments, "cuda"))
    try:
        candidate.program(ARCHITECTURE)
    except ingot.Error as error:
        if "NVRTC, which compiles" not in str(error):
            raise
        pytest.skip("there is no NVRTC on this machine")
    values = dict(zip(op.signature.parameters, arguments))
    values |= {name: p.default for name, p in op.signature.parameters.items() if name not in values}
    returned = op.reference(**values)
    candidate.check_launches(values, list(returned) if isinstance(returned, tuple) else [returned], ARCHITECTURE)


def test_the_command_line_compares_an_emitted_function(tmp_path):
    root = EXAMPLES.parent
    words = ["examples/relu_add.py", "x=f32:100x64", "y=f32:64", "bias=0.5"]
    program = root / "build/bin/ingot"
    if not program.exists():
        pytest.skip(f"the command line is not built: {program}")
    path = tmp_path / "k.cpp"
    path.write_bytes(subprocess.run([program, "emit", *words], cwd=root, check=True, capture_output=True).stdout)
    compared = subprocess.run([program, "compare", *words, "--against", path, "--device", "cpu", "--rounds", "1"], cwd=root,
                              capture_output=True, text=True)
    assert compared.returncode == 0 and re.search(r"^k.cpp:relu_add +bit for bit", compared.stdout, re.MULTILINE), compared


@pytest.mark.parametrize("change, message", [
    (lambda x: x[:, :63], r"requires `x.size\(1\) == y.size\(0\)` \(kernel:\d+\); x.size\(1\) is 63; y.size\(0\) is 64"),
    (lambda x: x.double(), r"requires `x.dtype == f32`"), (lambda x: x[None], r"requires `x.dim\(\) == 2`"),
    (lambda x: x.T.contiguous().T, r"requires `x.is_contiguous\(\)`"),
    (lambda x: torch.empty(64 * 64 + 1)[1:].view(64, 64), r"requires `aligned\(x, 16\)`"),
])
def test_a_broken_requirement_is_reported(change, message):
    op, x, y = op_of("relu_add.py:relu_add"), torch.randn(64, 64), torch.randn(64)
    (first,) = launch_comment.in_file(op.emit("source", x, y, 0.5, device="cuda"), "kernel")
    scope = launch.scope_of({"x": change(x), "y": y, "bias": 0.5}, [torch.empty(64, 64)])
    with pytest.raises(ingot.Error, match=message):
        first.check(first.define(scope))


@pytest.mark.parametrize("text, message", [
    ("// where: rows\n// launch: grid=1, block=1", "k.cu:1: `rows` is not a definition"),
    ("\n// scratch: a = empty(f32,\n// launch: grid=1, block=1", "`empty(f32,` in k.cu:2 is not an expression"),
    ("// requires: n ==\n// launch: grid=1, block=1", "`n ==` in k.cu:1 is not an expression"),
    ("// launch: 256", "k.cu:1: the launch `256` begins with `256`, which has no name"),
    ("// requires: n == 1\nvoid f();", "k.cu: no launch follows the last `requires`"),
    ("// incomplete: values are added", "k.cu:1: the kernels of this file do not compute the op's results: values are added"),
])
def test_an_unreadable_comment_is_an_error(text, message):
    with pytest.raises(ingot.Error) as error:
        launch_comment.in_file(text, "k.cu")
    assert message in str(error.value)


def test_the_source_of_a_scattered_sum_is_incomplete():
    op = ingot.op("def pick(x, i): return x[i]")
    text = op.emit("backward-source", torch.randn(100000, requires_grad=True), torch.zeros(100000).long(), device="cuda")
    assert "// incomplete: scattered values are added to `out` after the kernels" in text


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_the_source_of_random_numbers_is_incomplete(device):
    text = ingot.op("F.dropout(x, 0.5)").emit("source", torch.ones(8), device=device)
    assert "// incomplete: the seed of the random numbers comes from PyTorch's generator" in text


def test_lines_of_the_op_are_not_in_launch_comments():
    source = ingot.op('def f(x):\n    """\n    requires: a positive x\n    options: none\n    """\n    return x + 1').emit("source", torch.ones(4))
    assert "requires : a positive x" in source and "options : none" in source
    assert all("positive" not in line.text and line.text != "none" for line in cuda_text.comment_lines(source))


def test_a_call_without_elements_needs_no_launch():
    assert "launch:" not in ingot.op("x + y").emit("source", torch.empty(3, 0, 5), torch.empty(5), device="cuda")


def test_an_error_of_the_call_is_the_authors():
    with pytest.raises(ingot.Error, match="math domain error"):
        ingot.op("def f(x, k): return x * math.sqrt(k)").emit("schedule", torch.ones(4), -1.0)


def test_elements_of_arguments_have_names():
    source = ingot.op("def f(d): return d['a'] + d['b']").emit("source", {"a": torch.ones(4), "b": torch.ones(4)}, device="cuda")
    scope = {"d": {"a": torch.ones(4), "b": torch.ones(5)}}
    (equal,) = [line.text for line in cuda_text.comment_lines(source)
                if line.kind == "requires" and line.text.count("size") == 2 and "out" not in line.text]
    assert not evaluate(ast.parse(equal, mode="eval").body, scope, equal)


def test_long_sums_are_evaluated_once():
    assert evaluate(ast.parse("+".join(["a"] * 100), mode="eval").body, {"a": 2}, "sum") == 200


def test_values_that_rows_share_may_be_neighbours():
    """A schedule may load them together beside vectors of the rows' own elements."""
    op = ingot.op("(x * b[..., 0, None] + b[..., 1, None]).sum()")
    kernel = op.emit("kernel", torch.ones(8, 64, 256), torch.ones(8, 64, 2), device="cuda")
    assert "b_row" in kernel or "b2" in kernel, kernel
