#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/frontend/evaluating.h"

// Static values behave as in Python. The expected values are CPython's.

namespace ingot::frontend {
namespace {

using Table = std::vector<std::pair<std::string, std::string>>;

TEST(Interpreter, StaticExpressionsMatchPython) {
  const Table table = {
      {R"(1 + 2 * 3)", "7"},
      {R"(7 // 2, -7 // 2, 7 // -2, -7 // -2)", "(3, -4, -4, 3)"},
      {R"(7 % 3, -7 % 3, 7 % -3, -7 % -3)", "(1, 2, -2, -1)"},
      {R"(7.5 // 2, -7.5 // 2, 7.5 % -2, -7.5 % 2)", "(3.0, -4.0, -0.5, 0.5)"},
      {R"(1 / 2, 4 / 2, -1 / 3, 1e308 * 10, 7 / 7)", "(0.5, 2.0, -0.3333333333333333, inf, 1.0)"},
      {R"(2 ** 10, 2 ** -1, (-2) ** 3, 2 ** 0.5, 0 ** 0, 4.0 ** 2, True ** 2)",
       "(1024, 0.5, -8, 1.4142135623730951, 1, 16.0, 1)"},
      {R"(True + True, True * 3, -True, +True, ~True, not 3, not 0.0)", "(2, 3, -1, 1, -2, False, True)"},
      {R"(True & False, True | False, True ^ True, 6 & 3, 6 | 3, 6 ^ 3, True & 3)", "(False, True, False, 2, 7, 5, 1)"},
      {R"(1 << 62, 5 << 0, -5 >> 1, -5 >> 100, 0 << 1000, 5 >> 3)", "(4611686018427387904, 5, -3, -1, 0, 0)"},
      {R"(1 < 2 < 3, 1 < 3 < 2, 1 == 1.0, 1 != 1, 2 > 1 >= 1, True == 1)", "(True, False, True, False, True, True)"},
      {R"(1 is None, None is None, None is not None)", "(False, True, False)"},
      {R"(3 in (1, 2, 3), 4 not in [1, 2], 'b' in 'abc', 2.0 in (1, 2), 3 in range(0, 10, 3), 4 in range(0, 10, 3))",
       "(True, True, True, True, True, False)"},
      {R"(0 and 5, 3 and 5, 0 or 5, 3 or 5, None or 0, [] or 'x', (1,) and 2, 1 and 2 and 3, 0 or '' or None)",
       "(0, 5, 5, 3, 0, 'x', 2, 3, None)"},
      {R"(1 if 0 else 2, 'a' if [1] else 'b', 1 if '' else 2)", "(2, 'a', 2)"},
      {R"((1, 2) + (3,), [1] + [2], (1, 2) * 2, 2 * [0], (1,) * 0, (1,) * -1, 'a' + 'b')",
       "((1, 2, 3), [1, 2], (1, 2, 1, 2), [0, 0], (), (), 'ab')"},
      {R"((1, 2, 3)[0], (1, 2, 3)[-1], [1, 2, 3][1:], (1, 2, 3, 4)[::-1], [1, 2, 3, 4][::2], [1, 2, 3][-2:], [1, 2, 3][10:], [1, 2, 3][:-1], [1,2,3,4,5][4:0:-2], (1,2,3)[5:-9:-1])",
       "(1, 3, [2, 3], (4, 3, 2, 1), [1, 3], [2, 3], [], [1, 2], [5, 3], (3, 2, 1))"},
      {R"(range(5)[1:3], range(3)[-1], range(2, 20, 3)[2], range(10)[-3:])", "(range(1, 3), 2, 8, range(7, 10))"},
      {R"(len([]), len((1, 2)), len(range(10)), len(range(10, 0, -3)), len('abc'), len(range(0)), len(range(5, 1)))",
       "(0, 2, 10, 4, 3, 0, 0)"},
      {R"(list(range(3)), tuple(range(2, 8, 3)), list(range(5, 0, -2)), list((1, 2)), tuple([1]), list(), tuple())",
       "([0, 1, 2], (2, 5), [5, 3, 1], [1, 2], (1,), [], ())"},
      {R"(list(zip([1, 2, 3], (4, 5))), list(zip()), list(enumerate([7, 8])), list(enumerate([7], 3)), list(enumerate([7], start=-1)))",
       "([(1, 4), (2, 5)], [], [(0, 7), (1, 8)], [(3, 7)], [(-1, 7)])"},
      {R"(min(3, 1, 2), max([1, 5, 2]), min((2.5, 1)), max(1, 1.0), max(1.0, 1), min(True, 2), max(range(4)))",
       "(1, 5, 1, 1, 1.0, True, 3)"},
      {R"(sum([1, 2, 3]), sum((0.5, 1)), sum([], 5), sum([1], start=2), sum(x * x for x in range(4)), sum([]))",
       "(6, 1.5, 5, 3, 14, 0)"},
      {R"(abs(-3), abs(2.5), abs(-0.0), abs(True), round(2.5), round(3.5), round(-2.5), round(2.675, 2), round(1.25, 1), round(7, 2), round(0.1 + 0.2, 5))",
       "(3, 2.5, 0.0, 1, 2, 4, -2, 2.67, 1.2, 7, 0.3)"},
      {R"(pow(2, 5), pow(2, -2), any([0, 1]), any([]), all([1, 0]), all([]), any(x > 2 for x in range(4)), all(x for x in (1, 2)))",
       "(32, 0.25, True, False, False, True, True, True)"},
      {R"(int(3.9), int(-3.9), int(True), int(), float(3), float(True), float('inf'), float('-1.5e3'), float(), bool(0), bool([]), bool('a'), bool(None))",
       "(3, -3, 1, 0, 3.0, 1.0, inf, -1500.0, 0.0, False, False, True, False)"},
      {R"(list(reversed([1, 2, 3])), list(reversed(range(3))), sorted([3, 1, 2]), sorted((2, 1), reverse=True), sorted([1.5, 1, True, 0]))",
       "([3, 2, 1], [2, 1, 0], [1, 2, 3], [2, 1], [0, 1, True, 1.5])"},
      {R"(isinstance(3, int), isinstance(True, int), isinstance(3.0, int), isinstance(3, (float, int)), isinstance((), tuple), isinstance([], (tuple, list)), isinstance('a', str), isinstance(1, bool))",
       "(True, True, False, True, True, True, True, False)"},
      {R"(math.sqrt(2), math.exp(1), math.log(8), math.log(8, 2), math.log2(8), math.log10(1000), math.sin(1), math.cos(1), math.tan(1), math.atan2(1, -1), math.hypot(3, 4))",
       "(1.4142135623730951, 2.718281828459045, 2.0794415416798357, 3.0, 3.0, 3.0, 0.8414709848078965, "
       "0.5403023058681398, 1.5574077246549023, 2.356194490192345, 5.0)"},
      {R"(math.floor(-1.5), math.ceil(1.2), math.trunc(-1.7), math.floor(3), math.pi, math.e, math.tau, math.inf, math.fabs(-3), math.pow(2, 3), math.fmod(-7, 3), math.copysign(1, -0.0))",
       "(-2, 2, -1, 3, 3.141592653589793, 2.718281828459045, 6.283185307179586, inf, 3.0, 8.0, -1.0, -1.0)"},
      {R"(math.erf(0.5), math.erfc(0.5), math.gamma(5), math.radians(180), math.degrees(math.pi), math.isnan(math.nan), math.isinf(-math.inf), math.isfinite(1), math.prod([2, 3, 4]), math.prod([], start=2), math.log1p(1e-10), math.expm1(1e-10))",
       "(0.5204998778130465, 0.4795001221869535, 24.0, 3.141592653589793, 180.0, True, True, True, 24, 2, "
       "9.999999999500001e-11, 1.00000000005e-10)"},
      {R"((1, 2) == (1, 2), (1, 2) == (1, 2.0), [1] == (1,), (1, 2) < (1, 3), [1, 2] < [1], 'a' < 'b', (1, 2) != (1, 2), 'a' == 'a', 'a' == 1, None == 0, [] == [], ((1, 2), 3) == ((1, 2), 3), (1, 2) >= (1, 2), range(3) == range(3))",
       "(True, True, False, True, False, True, False, True, False, False, True, True, True, True)"},
      {R"([x + y for x in range(2) for y in range(x, 3) if y != 1], [(i, j) for i, j in zip('' or [1], [2])], [[i * j for i in range(2)] for j in range(2)])",
       "([0, 2, 3], [(1, 2)], [[0, 0], [0, 1]])"},
      {R"((lambda x, y=2, *z, w=3: (x, y, z, w))(1), (lambda x, y=2, *z, w=3: (x, y, z, w))(1, 5, 6, 7, w=8), (lambda *a: a)(), (lambda: 3)())",
       "((1, 2, (), 3), (1, 5, (6, 7), 8), (), 3)"},
      {R"([f(2) for f in [lambda x, i=i: x + i for i in range(3)]], [f(2) for f in [lambda x: x + i for i in range(3)]])",
       "([2, 3, 4], [4, 4, 4])"},
      {R"(9223372036854775807, -9223372036854775808, -9223372036854775807 - 1)",
       "(9223372036854775807, -9223372036854775808, -9223372036854775808)"},
      {R"(1_000, 0xff, 0b101, 0o17, 1e3, .5, 5., 1e-5)", "(1000, 255, 5, 15, 1000.0, 0.5, 5.0, 1e-05)"},
      {R"(0.1 + 0.2, 1e16 + 1, 3.0, -0.0, 1e22, 1.5e-7)", "(0.30000000000000004, 1e+16, 3.0, -0.0, 1e+22, 1.5e-07)"},
      {R"((*range(3), *[7], 8), [*(1, 2), *()], max(*[1, 2], 3))", "((0, 1, 2, 7, 8), [1, 2], 3)"},
      {R"(3 > 2 == True, (3 > 2) == True, not 1 == 2, -2 ** 2, 2 ** 3 ** 2, 1 + 2 if 0 else 3)",
       "(False, True, True, -4, 512, 3)"},
      {R"(float('nan') == float('nan'), float('nan') != float('nan'), 1 < float('nan'))", "(False, True, False)"},
      {R"(10 ** 18, 2 ** 62, 3 ** 39, (-1) ** 1000001, 1 ** 10 ** 10, 0 ** 10 ** 10)",
       "(1000000000000000000, 4611686018427387904, 4052555153018976267, -1, 1, 0)"},
      {R"(9007199254740993 == 9007199254740992.0, 9007199254740993 < 9007199254740992.0, 9007199254740993 / 3)",
       "(False, False, 3002399751580331.0)"},
  };
  for (const auto& [expression, expected] : table)
    EXPECT_EQ(result_of("def f(): return " + expression), expected) << expression;
}

TEST(Interpreter, StaticProgramsMatchPython) {
  const Table table = {
      {"def f():\n"
       "    xs = [1]\n"
       "    ys = xs\n"
       "    ys += [2]\n"
       "    ys.append(3)\n"
       "    xs.extend((4, 5))\n"
       "    xs.insert(0, 9)\n"
       "    p = xs.pop()\n"
       "    xs[1] = 7\n"
       "    xs[-1] += 10\n"
       "    return xs, ys is xs, p, xs.index(2), xs.count(2)\n",
       "([9, 7, 2, 3, 14], True, 5, 2, 1)"},
      {"def f():\n"
       "    x = y = [0]\n"
       "    a, (b, c), [d] = 1, (2, 3), [4]\n"
       "    (a, b) = b, a\n"
       "    for i in range(3):\n"
       "        if i == 1: continue\n"
       "        y.append(i)\n"
       "        if i == 2: break\n"
       "    return x, a, b, c, d, i\n",
       "([0, 0, 2], 2, 1, 3, 4, 2)"},
      {"def f():\n"
       "    n = 0\n"
       "    while True:\n"
       "        n += 3\n"
       "        if n > 10: break\n"
       "        elif n == 6: n *= 2\n"
       "        else: n -= 1\n"
       "    return n\n",
       "11"},
      {"def outer(k):\n"
       "    def inner(x):\n"
       "        return x * k + G\n"
       "    k = k + 1\n"
       "    return inner\n"
       "G = 100\n"
       "def f():\n"
       "    g = outer(2)\n"
       "    h = outer(5)\n"
       "    return g(1), h(1), [i(2) for i in (g, h)]\n",
       "(103, 106, [106, 112])"},
      {"def f():\n"
       "    i = 10\n"
       "    xs = [i for i in range(3)]\n"
       "    return i, xs\n",
       "(10, [0, 1, 2])"},
      {"def f():\n"
       "    r = []\n"
       "    for a, b in zip([1, 2], [3, 4]):\n"
       "        for c in (a, b):\n"
       "            r += [c]\n"
       "    return tuple(r)\n",
       "(1, 3, 2, 4)"},
      {"def g(a, b=2, *args, c, d=4):\n"
       "    return a, b, args, c, d\n"
       "def f():\n"
       "    t = (5, 6)\n"
       "    return g(1, c=3), g(1, *t, 7, c=8), g(b=1, a=2, c=3, d=0)\n",
       "((1, 2, (), 3, 4), (1, 5, (6, 7), 8, 4), (2, 1, (), 3, 0))"},
      {"def f():\n"
       "    m = []\n"
       "    m.append(m is m)\n"
       "    def add(x, to=m):\n"
       "        to.append(x)\n"
       "    add(1)\n"
       "    add(2)\n"
       "    return m\n",
       "[True, 1, 2]"},
      {"K: int = 3\n"
       "T = (K, K + 1)\n"
       "def f():\n"
       "    '''doc'''\n"
       "    x: float = 1.5\n"
       "    pass\n"
       "    assert K == 3 and len(T) == 2, \"never\"\n"
       "    return x * T[1]\n",
       "6.0"},
      {"def f():\n"
       "    total = 0\n"
       "    for i in range(2, 20, 4): total += i if i % 3 else -i\n"
       "    return total\n",
       "2"},
      {"def f():\n"
       "    x = 5\n"
       "    x -= 1; x *= 3; x //= 5; x **= 3; x %= 5; x <<= 2; x |= 1; x ^= 3; x &= 14; x >>= 1\n"
       "    y = 1\n"
       "    y /= 4\n"
       "    return x, y\n",
       "(7, 0.25)"},
      {"def f():\n"
       "    a = {'one': 1}; b = a; b |= {'two': 2}\n"
       "    c = [1]; d = c; d += [2]\n"
       "    return len(a), len(c)\n",
       "(2, 2)"},
  };
  for (const auto& [program, expected] : table) EXPECT_EQ(result_of(program), expected) << program;
}

}  // namespace
}  // namespace ingot::frontend
