"""Launch lines of kernels: their words, their arguments, and the comments in a kernel's file."""

import math
import re

import pytest
import torch

import ingot
from ingot.tools import cuda_text, launch
from ingot.tools.expressions import no_overlap

X, OUT = torch.zeros(1000, 3), torch.zeros(1000)
MEMORY = torch.zeros(64)
SCOPE = launch.scope_of({"x": X, "bias": 0.5, "k": 3}, [OUT])


@pytest.mark.parametrize("text, value", [
    ("ceil(n / 256)", 4), ("n // 256", 3), ("n / 8", 125), ("x.size(0) * x.shape[-1]", 3000), ("x.stride(0)", 3),
    ("min(ceil(n / 256), 2)", 2), ("1 if n % 8 == 0 else 2", 1), ("-k + 2 ** 3", 5), ("x.numel() << 1", 6000),
    ("ceil((2 ** 62 + 1) / 2)", 2**61 + 1),
])
def test_an_expression_of_a_launch_is_exact(text, value):
    (expression,) = launch.parse(f"grid={text}").fields["grid"]
    assert launch.evaluate(expression, SCOPE, text) == value


@pytest.mark.parametrize("text, message", [
    ("grid=ceil(m / 256), block=256", "`m` in the launch"),
    ("grid=n / 3, block=256", "is 333.3"),
    ("grid=0, block=256", "is 0"),
    ("grid=1, 1, 1, 1, block=256", "has 4 numbers"),
    ("block=256", "has no grid"),
    ("grid=x, block=1", "is a tensor"),
    ("grid=__import__('os'), block=1", "is not a supported call"),
    ("grid=bias.shape, block=1", "not a tensor"),
    ("grid=n / 0, block=1", "divides by zero"),
])
def test_errors_in_a_launch_are_reported(text, message):
    with pytest.raises(ingot.Error, match=re.escape(message)):
        launch.parse(text).extent("grid", SCOPE)


@pytest.mark.parametrize("text, message", [
    ("256, grid=1", "begins with `256`, which has no name"), ("grid=1, grid=2", "twice"), ("grid=1 +", "is not an expression")])
def test_unreadable_launches_are_errors(text, message):
    with pytest.raises(ingot.Error, match=re.escape(message)):
        launch.parse(text)


@pytest.mark.parametrize("value, type, message", [
    (X, "double const*", "points to float64"), (0.5, "float*", "is a pointer, but gets 0.5"), (X, "float", "is not a pointer"),
    (0.5, "int", "is an integer, but gets 0.5"), (2**31, "int", "does not fit"), (-1, "unsigned long", "does not fit"),
    (7, "bool", "is a bool, but gets 7"), (1.5, "bool", "is a bool"), (math.inf, "int", "is an integer, but gets inf"),
    ((2, 3), "int", "is a number, but gets the sizes [2, 3]"), ([X, X], "float*", "is a pointer, but gets 2 tensors"),
    (1.0, "float const&", "is a reference"), (1, "Stride", "has a type that no number can be passed as"), (launch.Typed(1, "int"), "long", "cast to int"),
])
def test_an_argument_of_the_wrong_type_is_rejected(value, type, message):
    with pytest.raises(ingot.Error, match=re.escape(message)):
        launch.pack(value, launch.Parameter(type, "p"))


@pytest.mark.parametrize("value, type, size", [
    (0.5, "float", 4), (0.5, "double", 8), (3, "int", 4), (2**40, "long long", 8), (2**40, "long unsigned int", 8), (True, "bool", 1),
    (3, "float", 4), (X, "float4 const*", 8), (X, "void*", 8), (0.5, "__half", 2), (launch.Typed(3, "int"), "", 4)])
def test_an_argument_has_the_bytes_that_its_parameter_reads(value, type, size):
    assert len(launch.pack(value, launch.Parameter(type))) == size


@pytest.mark.parametrize("a, b, expected", [
    (MEMORY[:10], MEMORY[10:], True), (MEMORY[:10], MEMORY[9:], False), (MEMORY[:0], MEMORY, True),
    (MEMORY[::2], MEMORY[1::2], True), (MEMORY[::2], MEMORY[::3], False), (MEMORY[:1].expand(5), MEMORY[1:], True),
    (MEMORY.view(8, 8)[:, :4], MEMORY.view(8, 8)[:, 4:], True), (MEMORY.view(8, 8)[:, :5], MEMORY.view(8, 8).T[4:], False),
    (MEMORY.view(torch.int16)[::2], MEMORY.view(torch.int16)[1::2], True), (MEMORY.view(torch.int16)[1::2], MEMORY, False),
])
def test_tensors_overlap_if_elements_do(a, b, expected):
    assert no_overlap(a, b) == no_overlap(b, a) == expected


def test_code_and_launch_comments_under_if_0_are_skipped():
    text = ("#if 0\n// launch: grid=1, block=1, args=x\n#ifdef A\n#endif\n__global__ void old(int n) {}\n#else\n"
            "// launch: grid=2, block=2, args=x\n__global__ void now(int n) {}\n#endif\n#if 01\n__global__ void too(int n) {}\n#endif\n"
            'extern "C" {\nstruct A { int a; };\nint declared(int a);\nvoid first(const float* x, long n) { if (n) { n = 0; } }\n'
            "void second(float* out) {}\n}\nvoid third(int n) {}\n")
    assert [k.name for k in cuda_text.kernels(text)] == ["now", "too"]
    assert [line.text for line in cuda_text.comment_lines(text)] == ["grid=2, block=2, args=x"]
    assert cuda_text.functions(text) == [cuda_text.Entry("first", ("x", "n")), cuda_text.Entry("second", ("out",))]


@pytest.mark.parametrize("before, is_template", [
    ("#include <cuda_runtime.h>\n// launch: …\n", False), ("template <typename T>\n", True), ("template <int N> static ", True),
    ("template <typename T> struct A {};\n", False), ("using V = Vec<float>; ", False)])
def test_template_kernels_are_recognised(before, is_template):
    assert cuda_text.kernels(before + "__global__ void k(int n) {}") == [cuda_text.Entry("k", ("n",), is_template)]


def test_an_entry_may_have_a_namespace_and_template_arguments():
    parsed = launch.parse("entry=mine::scale<float, 2>, grid=1, block=32, args=x")
    assert parsed.entry == "mine::scale<float, 2>" and parsed.extent("block", SCOPE) == (32, 1, 1)


def test_a_grid_may_be_in_brackets():
    for text in ("grid=(ceil(n / 256), 2), block=(16, 16, 1), args=x", "grid=[ceil(n / 256), 2], block=[16, 16, 1], args=x"):
        parsed = launch.parse(text)
        assert parsed.extent("grid", {"n": 1000}) == (4, 2, 1) and parsed.extent("block", {}) == (16, 16, 1)


def test_n_of_an_in_place_op_is_the_size_of_its_first_tensor():
    assert launch.scope_of({"x": X}, [])["n"] == X.numel()


def test_kernel_parameters_are_read_from_the_source():
    text = """
    // launch: grid=1, block=32,
    //   args=x
    /* options: -DA=1 -I"with space" */
    // __global__ void commented(int a);
    template <typename T, int N>
    __global__ void __launch_bounds__(max(256, 128)) scale(const T* __restrict__ x, float (by), T out[], int = 3) {}
    __global__ static void nothing(void) {}
    """
    assert cuda_text.kernels(text) == [cuda_text.Entry("scale", ("x", "by", "out", ""), True), cuda_text.Entry("nothing", ())]
    assert cuda_text.comment_lines(text)[0] == cuda_text.CommentLine("launch", "grid=1, block=32, args=x", 2)
    assert cuda_text.options(text) == ["-DA=1", "-Iwith space"]
    assert cuda_text.as_nvrtc(["-Xptxas=-v,-O1"]) == ["--ptxas-options=-v", "--ptxas-options=-O1"]
    nvcc_options = "-O3 -lineinfo -Xptxas -v -gencode arch=compute_90,code=sm_90 -fmad=false -I inc -Xcompiler -fopenmp --use_fast_math -lcuda"
    assert cuda_text.as_nvrtc(nvcc_options.split()) == ["-lineinfo", "--ptxas-options=-v", "-fmad=false", "-Iinc", "--use_fast_math"]
