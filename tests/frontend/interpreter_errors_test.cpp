#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/frontend/evaluating.h"

// Errors of evaluation: for each source, the exact location, the message and the hint.

namespace ingot::frontend {
namespace {

struct ErrorCase {
  std::string text, location, message, help;
};

void expect_errors(const std::vector<ErrorCase>& table) {
  for (const ErrorCase& row : table) {
    SCOPED_TRACE(row.text);
    const AuthorError error = author_error_of([&] { result_of(row.text); });
    EXPECT_EQ(error.location, row.location);
    EXPECT_EQ(error.message, row.message);
    EXPECT_EQ(error.help, row.help);
  }
}

constexpr const char* kTooManyItems = "the op makes tuples and lists of more than 2000000 items";
constexpr const char* kUnrolled = "loops are unrolled when the op is compiled, so their bounds must be small";

TEST(InterpreterErrors, Names) {
  expect_errors({
      {"def f(): return y", "1:17", "unknown name `y`", ""},
      {"def f(): return mat.pi", "1:17", "unknown name `mat`", "did you mean `cat`, `math` or `max`?"},
      {"def f(): return pi", "1:17", "unknown name `pi`", "write `math.pi`"},
      {"def f(): return true", "1:17", "there is no `true`", "Python's is `True`"},
      {"def f(): return print(1)", "1:17", "`print` is outside the language",
       "remove it; f.trace prints the values of one element"},
      {"def f(): return map(abs, [1])", "1:17", "`map` is outside the language",
       "write a comprehension: `[f(x) for x in xs]`"},
      {"def f():\n    y = z\n    z = 1\n    return y", "2:9", "`z` has no value yet",
       "it is assigned in this function, so it is local here: assign it on every path to this line"},
      {"def f():\n    if 0: y = 1\n    return y", "3:12", "`y` has no value yet",
       "it is assigned in this function, so it is local here: assign it on every path to this line"},
      {"def f():\n    def g(): return y\n    g()\n    y = 1\n    return y", "2:21", "`y` has no value yet",
       "it is assigned in this function, so it is local here: assign it on every path to this line"},
      {"def f(): return [i for i in range(3)] + [i]", "1:42", "unknown name `i`", ""},
      {"import numpy as np\ndef f(): return np.pi", "2:17", "`np` comes from `numpy`, which is outside the language",
       "an op uses torch, torch.nn, torch.nn.functional, torch.special, torch.linalg and math"},
      {"def f():\n    import numpy\n    return numpy.pi", "3:12",
       "`numpy` comes from `numpy`, which is outside the language",
       "an op uses torch, torch.nn, torch.nn.functional, torch.special, torch.linalg and math"},
      {"from scipy import special\ndef f(): return special.erf(1)", "2:17",
       "`special` comes from `scipy`, which is outside the language",
       "an op uses torch, torch.nn, torch.nn.functional, torch.special, torch.linalg and math"},
      {"def f(): return _private(1)", "1:17", "unknown name `_private`", ""},
      {"def f(): return lenn([1])", "1:17", "unknown name `lenn`", "did you mean `len`?"},
  });
}

TEST(InterpreterErrors, Attributes) {
  expect_errors({
      {"def f(): return math.sqroot(1)", "1:22", "`math.sqroot` is not in the language", "did you mean `sqrt`?"},
      {"def f(): return torch.rleu(1)", "1:23", "`torch.rleu` is not in the language", "did you mean `relu`?"},
      {"def f(): return torch.nn.ReLU()", "1:26", "`torch.nn.ReLU` is not in the language",
       "modules are outside the language: use the functions of torch.nn.functional"},
      {"def f(): return (1).real", "1:21", "a number has no `real`",
       "it is a Python number: use functions such as `float(x)` or `math.exp(x)`"},
      {"def f(): return [1].sort()", "1:21", "a list has no `sort`", "if an item has it, index the item first"},
      {"def f(): return (1, 2).count(1)", "1:24", "a tuple has no `count`", "if an item has it, index the item first"},
      {"def f(): return 'a'.upper()", "1:21", "a string has no `upper`", ""},
      {"def f(): return None.shape", "1:22", "None has no `shape`", "test for it with `is None`"},
      {"def f(): return len.name", "1:21", "a function has no `name`", ""},
      {"def f(): return F.foo", "1:19", "`torch.nn.functional.foo` is not in the language", ""},
      {"def f(): return torch.float32.foo", "1:31", "a dtype has no `foo`", ""},
  });
}

TEST(InterpreterErrors, Calls) {
  expect_errors({
      {"def f(): return 3(4)", "1:17", "a number cannot be called", ""},
      {"def f(): return [1](0)", "1:17", "a list cannot be called", "an index is written in `[…]`"},
      {"def f(): return None()", "1:17", "None cannot be called", ""},
      {"def f(): return 'a'()", "1:17", "a string cannot be called", ""},
      {"def f(): return torch(1)", "1:17", "a module cannot be called", ""},
      {"def g(a, b=2): return a\ndef f(): return g()", "2:17", "this call of `g` lacks `a`",
       "its parameters are `g(a, b=2)`"},
      {"def g(a, b=2): return a\ndef f(): return g(1, 2, 3)", "2:17",
       "`g` takes 2 positional arguments, but 3 are given", "its parameters are `g(a, b=2)`"},
      {"def g(a, b=2): return a\ndef f(): return g(1, c=3)", "2:17", "`g` has no parameter `c`",
       "its parameters are `g(a, b=2)`"},
      {"def g(alpha, b=2): return alpha\ndef f(): return g(1, alpa=3)", "2:17", "`g` has no parameter `alpa`",
       "did you mean `alpha`? its parameters are `g(alpha, b=2)`"},
      {"def g(a, b=2): return a\ndef f(): return g(1, a=3)", "2:17", "`a` is given twice in this call of `g`",
       "its parameters are `g(a, b=2)`"},
      {"def g(a, *, b): return a\ndef f(): return g(1)", "2:17", "this call of `g` lacks `b`",
       "its parameters are `g(a, *, b)`"},
      {"def g(a, *, b): return a\ndef f(): return g(1, 2)", "2:17", "`g` takes 1 positional argument, but 2 are given",
       "its parameters are `g(a, *, b)`"},
      {"def g(): return 1\ndef f(): return g(1)", "2:17", "`g` takes 0 positional arguments, but 1 is given",
       "its parameters are `g()`"},
      {"def g(a, b, c): return 1\ndef f(): return g()", "2:17", "this call of `g` lacks `a`, `b` and `c`",
       "its parameters are `g(a, b, c)`"},
      {"def f(): return (lambda x: x)()", "1:17", "this call of `<lambda>` lacks `x`",
       "its parameters are `<lambda>(x)`"},
      {"def f(): return len(1)", "1:17", "a number has no len()", ""},
      {"def f(x): return torch.dropout(x, 0.5)", "1:18", "this call of `torch.dropout` lacks `train`",
       "its parameters are `torch.dropout(input, p, train)`"},
      {"def f(x): return torch.linalg.norm(x, of=1)", "1:18", "`torch.linalg.norm` has no parameter `of`",
       "its parameters are `torch.linalg.norm(A, ord=None, dim=None, keepdim=False, *, dtype=None)`"},
      {"def f(): return len()", "1:17", "this call of `len` lacks `obj`", "its parameters are `len(obj)`"},
      {"def f(): return len([1], [2])", "1:17", "`len` takes 1 positional argument, but 2 are given",
       "its parameters are `len(obj)`"},
      {"def f(): return range()", "1:17", "range takes 1 to 3 arguments, but 0 are given",
       "write `range(stop)`, `range(start, stop)` or `range(start, stop, step)`"},
      {"def f(): return range(1.5)", "1:17", "the bound of a range must be an integer, not a float", ""},
      {"def f(): return range(1, 2, 0)", "1:17", "the step of a range cannot be zero", ""},
      {"def f(): return int('3')", "1:17", "int() takes numbers, not a string", ""},
      {"def f(): return float('abc')", "1:17", "float() cannot read \"abc\"", ""},
      {"def f(): return abs('a')", "1:17", "abs() takes numbers, not a string", ""},
      {"def f(): return round(1.5, -1)", "1:17", "round() to negative digits is not in the language",
       "divide, round and multiply"},
      {"def f(): return round(1.5, 1.0)", "1:17", "the digits of round() must be an integer, not a float", ""},
      {"def f(): return min()", "1:17", "min() of an empty sequence", ""},
      {"def f(): return max([])", "1:17", "max() of an empty sequence", ""},
      {"def f(): return min('a', 'b')", "1:17", "min() takes numbers, not a string", ""},
      {"def f(): return sum(3)", "1:17", "sum() cannot iterate over a number", ""},
      {"def f(): return sum([[1]])", "1:17", "`+` does not take int and list", ""},
      {"def f(): return zip(3)", "1:17", "zip() cannot iterate over a number", ""},
      {"def f(): return sorted([1, 'a'])", "1:17", "`<` does not take str and int", ""},
      {"def f(): return sorted([1], key=abs)", "1:17", "`sorted` has no parameter `key`",
       "its parameters are `sorted(iterable, *, reverse=False)`"},
      {"def f(): return isinstance(1, 3)", "1:17",
       "isinstance() supports int, float, bool, tuple, list, dict, str and torch.Tensor", "use one of them"},
      {"def f(): return str(3)", "1:17", "str() cannot be called",
       "it is only a type for annotations and isinstance()"},
      {"def f(): return math.sqrt(-1)", "1:17", "math domain error", ""},
      {"def f(): return math.log(0)", "1:17", "math domain error", ""},
      {"def f(): return math.sqrt('a')", "1:17", "math.sqrt takes numbers, not a string", ""},
      {"def f(): return math.exp(1000)", "1:17", "math range error", ""},
      {"def f(): return min([1, 2], key=abs)", "1:17", "`min` has no parameter `key`",
       "its parameters are `min(*values)`"},
      {"def f(): return list(3)", "1:17", "list() cannot iterate over a number", ""},
      {"def f(): return [1].append()", "1:17", "list.append takes 1 argument, 0 given", ""},
      {"def f(): return [1].append(1, 2)", "1:17", "list.append takes 1 argument, 2 given", ""},
      {"def f(): return [1].append(x=1)", "1:17", "the methods of a list take no keyword arguments", "remove the name"},
      {"def f(): return [].pop()", "1:17", "pop from an empty list", ""},
      {"def f(): return [1].index(2)", "1:17", "list.index(x): x is not in the list", ""},
      {"def f(): return [1].pop(5)", "1:17", "index 5 is out of range for a list of 1 items", ""},
      {"def f(): return list(range(10**9))", "1:17", kTooManyItems, kUnrolled},
      {"def f(): return enumerate(3)", "1:17", "enumerate() cannot iterate over a number", ""},
      {"def f(): return max(*3)", "1:21", "`*` cannot iterate over a number", ""},
  });
}

TEST(InterpreterErrors, EndlessRecursion) {
  expect_errors({
      {"def f(): return f()", "1:17", "`f` calls itself more than 32 deep", "write a `for` over a range"},
      {"def g(): return h()\ndef h(): return g()\ndef f(): return g()", "2:17",
       "`g` calls itself through `h` more than 32 deep", "write a `for` over a range"},
      {"def f():\n    def g(n): return n * g(n - 1)\n    return g(3)", "2:26", "`g` calls itself more than 32 deep",
       "write a `for` over a range"},
      {"def f(): return (lambda s: s(s))(lambda s: s(s))", "1:44", "`<lambda>` calls itself more than 32 deep",
       "write a `for` over a range"},
  });
}

TEST(InterpreterErrors, AcceptsRecursionThatEnds) {
  EXPECT_EQ(result_of("def ap(g, y): return g(y)\ndef f(): return ap(lambda y: ap(lambda z: z + 1, y), 2)"), "3");
  EXPECT_EQ(result_of("def f():\n    def g(n): return 1 if n == 0 else n * g(n - 1)\n    return g(5)"), "120");
}

TEST(InterpreterErrors, Returns) {
  expect_errors({
      {"def f(): pass", "1:5", "`f` returns nothing, and writes none of its arguments", "end it with `return …`"},
      {"def f():\n    if 0: return 1", "1:5", "`f` returns nothing, and writes none of its arguments",
       "end every path through it with `return …`"},
      {"def f(): return", "1:5", "`f` returns nothing, and writes none of its arguments", "end it with `return …`"},
      {"def f(): return None", "1:5", "`f` returns nothing, and writes none of its arguments",
       "end every path through it with `return …`"},
      {"def g(): pass\ndef f():\n    y = g()\n    return y", "3:9", "`g` has no `return`, so its call has no value",
       "end `g` with `return …`"},
      {"def g(x): x.append(1)\ndef f():\n    y = []\n    g(y)\n    return g(y)", "5:12",
       "`g` has no `return`, so its call has no value", "end `g` with `return …`"},
  });
}

TEST(InterpreterErrors, Operators) {
  expect_errors({
      {"def f(): return 1 + 'a'", "1:17", "`+` does not take int and str", ""},
      {"def f(): return (1,) + [1]", "1:17", "`+` does not take tuple and list", ""},
      {"def f(): return None + 1", "1:17", "`+` does not take None and int",
       "`None` is not a number: give it a value, or test for it with `is None`"},
      {"def f(): return len + 1", "1:17", "`+` does not take a function and int",
       "this is a function: call it with `(…)`"},
      {"def f(): return -'a'", "1:17", "`-` does not take str", ""},
      {"def f(): return ~1.5", "1:17", "`~` does not take float", ""},
      {"def f(): return 1.5 & 1", "1:17", "`&` does not take float and int", ""},
      {"def f(): return 1 << -1", "1:17", "negative shift count", "shift the other way"},
      {"def f(): return 1 << 64", "1:17", "the integer does not fit in 64 bits",
       "integers range from -2**63 to 2**63 - 1; use a float"},
      {"def f(): return 1 << 10 ** 12", "1:17", "the integer does not fit in 64 bits",
       "integers range from -2**63 to 2**63 - 1; use a float"},
      {"def f(): return 10 ** 10 ** 10", "1:17", "the integer does not fit in 64 bits", ""},
      {"def f(): return 2 ** 63", "1:17", "the integer does not fit in 64 bits", ""},
      {"def f(): return 9223372036854775807 + 1", "1:17", "the integer does not fit in 64 bits", ""},
      {"def f(): return -(-9223372036854775807 - 1)", "1:17", "the integer does not fit in 64 bits", ""},
      {"def f(): return 1 / 0", "1:17", "division by zero", ""},
      {"def f(): return 1 // 0", "1:17", "integer division or modulo by zero", ""},
      {"def f(): return 1 % 0", "1:17", "integer modulo by zero", ""},
      {"def f(): return 1.0 / 0", "1:17", "float division by zero", ""},
      {"def f(): return 0 ** -1", "1:17", "0.0 cannot be raised to a negative power", ""},
      {"def f(): return (-8) ** 0.5", "1:17", "a negative number raised to a fractional power is complex", ""},
      {"def f(): return 'a' * 'b'", "1:17", "`*` does not take str and str", ""},
      {"def f(): return 'a' % 3", "1:17", "`%` does not take str and int", ""},
      {"def f(): return [1] < (1,)", "1:17", "`<` does not take list and tuple", ""},
      {"def f(): return 1 < 'a'", "1:17", "`<` does not take int and str", ""},
      {"def f(): return None < 1", "1:17", "`<` does not take None and int",
       "`None` is not a number: give it a value, or test for it with `is None`"},
      {"def f(): return 1 in 3", "1:17", "`in` cannot iterate over a number", ""},
      {"def f(): return [0] * 10 ** 9", "1:17", kTooManyItems, kUnrolled},
      {"def f(): return 1 + 2 + 3 + 'a' + 5", "1:17", "`+` does not take int and str", ""},
  });
}

TEST(InterpreterErrors, Indices) {
  expect_errors({
      {"def f(): return [1][1]", "1:17", "index 1 is out of range for a list of 1 items", ""},
      {"def f(): return (1, 2)[-3]", "1:17", "index -3 is out of range for a tuple of 2 items", ""},
      {"def f(): return [1]['a']", "1:17", "the index of a list must be an integer or a slice, not a string", ""},
      {"def f(): return [1][1.0]", "1:17", "the index of a sequence must be an integer, not a float", ""},
      {"def f(): return 3[0]", "1:17", "a number cannot be indexed", ""},
      {"def f(): return None[0]", "1:17", "None cannot be indexed", ""},
      {"def f(): return [1][::0]", "1:17", "the step of a slice cannot be zero", ""},
      {"def f(): return [1][0, 0]", "1:17", "the index of a list must be an integer or a slice, not a tuple", ""},
      {"def f(): return 'abc'[0]", "1:17", "a string cannot be indexed", ""},
      {"def f(): return range(3)[5]", "1:17", "index 5 is out of range for a range of 3 items", ""},
      {"def f():\n    t = (1, 2)\n    t[0] = 3\n    return t", "3:5", "a tuple cannot be changed", "use a list"},
      {"def f():\n    t = [1, 2]\n    t[5] = 3\n    return t", "3:5", "index 5 is out of range for a list of 2 items",
       ""},
      {"def f():\n    t = [1, 2]\n    t[0:1] = [3]\n    return t", "3:5",
       "an item is assigned by an integer index, not by a slice", ""},
      {"def f():\n    t = [1]\n    t['a'] += 1\n    return t", "3:5",
       "the index of a list must be an integer or a slice, not a string", ""},
  });
}

TEST(InterpreterErrors, Statements) {
  expect_errors({
      {"def f():\n    a, b = 1\n    return a", "2:5", "a number cannot be unpacked into 2 targets", ""},
      {"def f():\n    a, b = 1, 2, 3\n    return a", "2:5", "3 values cannot be unpacked into 2 targets", ""},
      {"def f():\n    a, = ()\n    return a", "2:5", "0 values cannot be unpacked into 1 target", ""},
      {"def f():\n    for i in 3: pass\n    return 1", "2:5", "a `for` cannot iterate over a number",
       "write `range(n)` to count"},
      {"def f():\n    for a, b in [(1, 2), 3]: pass\n    return 1", "2:9", "a number cannot be unpacked into 2 targets",
       ""},
      {"def f():\n    assert 1 > 2\n    return 1", "2:12", "`1 > 2` does not hold", ""},
      {"def f():\n    assert 1 < 2 and 3 < 2, 'no ' 'way'\n    return 1", "2:22", "no way", ""},
      {"def f():\n    raise ValueError('too', f'bad {x}')", "2:5", "too, bad {x}", ""},
      {"def f():\n    raise NotImplementedError", "2:5", "NotImplementedError", ""},
      {"def f():\n    raise ValueError('x is %d' % 3 + ' bad')", "2:5", "x is %d bad", ""},
      {"def f():\n    raise ValueError('{} is bad'.format(3))", "2:5", "{} is bad", ""},
      {"def f():\n    for i in range(10**9): pass\n    return 1", "2:5", "the op did not finish in 500000 steps",
       "loops are unrolled when the op is compiled, so their bounds must be small"},
      {"def f():\n    while 1: pass", "2:11", "the op did not finish in 500000 steps",
       "loops are unrolled when the op is compiled, so their bounds must be small"},
      {"def f():\n    xs = [1]\n    for x in xs: xs.append(x)\n    return xs", "3:28",
       "the op did not finish in 500000 steps",
       "loops are unrolled when the op is compiled, so their bounds must be small"},
      {"def f():\n    xs = [0]\n    while 1: xs += xs\n    return xs", "3:14", kTooManyItems, kUnrolled},
      {"def f(): return [0 for a in range(10**5) for b in range(10**5)]", "1:51",
       "the op did not finish in 500000 steps",
       "loops are unrolled when the op is compiled, so their bounds must be small"},
      {"def g(x):\n    return x + 'a'\ndef h(x):\n    return g(x)\ndef f():\n    return h(1)", "2:12",
       "`+` does not take int and str", ""},
      {"def f(*a): return 1", "1:8", "an op cannot have a `*` parameter",
       "name each parameter; helper functions may have one"},
      {"def f(x, **k): return x", "1:12", "an op cannot have a `**` parameter",
       "name each parameter; helper functions may have one"},
      {"def f(): return 1\nf = 3", "1:5", "`f` is bound to something else at the end of the source",
       "assign to another name below"},
      {"import torch.foo\nfrom torch import foo\ndef f(): return foo(1)", "3:17",
       "`foo` comes from `torch`, which is outside the language",
       "an op uses torch, torch.nn, torch.nn.functional, torch.special, torch.linalg and math"},
      {"def f():\n    l = [1]\n    l.append((0, l))\n    return l", "3:5", "a list cannot contain itself",
       "insert a copy: `list(xs)`"},
      {"def f():\n    l = [1]\n    m = [l]\n    l[0] = m\n    return l", "4:5", "a list cannot contain itself",
       "insert a copy: `list(xs)`"},
      {"def f():\n    l = m = []\n    for i in range(200): l, m = [l], [m]\n    return l == [m][0]", "4:12",
       "the tuples or lists are nested too deeply to compare", ""},
      {"K = 1 / 0\ndef f(): return K", "1:5", "division by zero", ""},
      {"K = y\ndef f(): return K", "1:5", "unknown name `y`", ""},
  });
}

TEST(InterpreterErrors, NotesNameEveryActiveCall) {
  const AuthorError error = author_error_of([] {
    result_of(
        "def inner(x):\n"
        "    return x + 'a'\n"
        "def outer(x):\n"
        "    return inner(x)\n"
        "def f(): return outer(1)\n");
  });
  EXPECT_EQ(error.rendered,
            "error: `+` does not take int and str\n"
            " --> <text>:2:12\n"
            "  |\n"
            "2 |     return x + 'a'\n"
            "  |            ^^^^^^^\n"
            "note: in `inner`, called here\n"
            " --> <text>:4:12\n"
            "  |\n"
            "4 |     return inner(x)\n"
            "  |            ^^^^^^^^\n"
            "note: in `outer`, called here\n"
            " --> <text>:5:17\n"
            "  |\n"
            "5 | def f(): return outer(1)\n"
            "  |                 ^^^^^^^^");
}

TEST(InterpreterErrors, EvaluationNestedTooDeeply) {
  std::string chain = "def f0(x): return x\n", indices = "def f(): return [1]";
  for (int i = 1; i < 1000; ++i) {
    chain += "def f" + std::to_string(i) + "(x): return f" + std::to_string(i - 1) + "(x) + 1\n";
    indices += "[0:1]";
  }
  chain += "def f(): return f999(1)\n";
  EXPECT_EQ(author_error_of([&] { result_of(chain); }).message, "the evaluation is nested too deeply");
  EXPECT_EQ(author_error_of([&] { result_of(indices); }).message, "the evaluation is nested too deeply");
}

TEST(InterpreterErrors, UnknownOpName) {
  const std::string text = "def relu_add(x): return x\ndef mul(x): return x\n";
  EXPECT_EQ(define(text, "<text>", "mul")->name(), "mul");
  EXPECT_EQ(define(text)->name(), "mul");
  const AuthorError error = author_error_of([&] { define(text, "<text>", "relu_ad"); });
  EXPECT_EQ(error.message, "the source has no `def relu_ad`");
  EXPECT_EQ(error.help, "did you mean `relu_add`?");
  EXPECT_EQ(author_error_of([&] { define(text, "<text>", "giou"); }).help, "it defines relu_add, mul");
}

}  // namespace
}  // namespace ingot::frontend
