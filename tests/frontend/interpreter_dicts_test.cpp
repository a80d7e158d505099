#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/frontend/evaluating.h"

// Dicts and `:=`. The expected values are CPython's; the messages are Ingot's.

namespace ingot::frontend {
namespace {

using Table = std::vector<std::pair<std::string, std::string>>;

TEST(Interpreter, DictsBehaveAsInPython) {
  const Table table = {
      {R"({'a': 1, 'b': (2, 3)}['b'], {}, {1: 'x', 1.0: 'y', True: 'z'}, len({'a': 1, 'a': 2}))",
       "((2, 3), {}, {1: 'z'}, 1)"},
      {R"('a' in {'a': 1}, 1 in {'a': 1}, 1 in {'a': 1}.values(), ('a', 1) in {'a': 1}.items(), 2.0 in {2: 0}, (1, 2) in {(1, 2): 3}, None in {None: 1})",
       "(True, False, True, True, True, True, True)"},
      {R"({'a': 1}.get('a'), {'a': 1}.get('b'), {'a': 1}.get('b', 7), list({'a': 1, 'b': 2}), list({'a': 1, 'b': 2}.keys()), list({'a': 1, 'b': 2}.values()), list({'a': 1}.items()))",
       "(1, None, 7, ['a', 'b'], ['a', 'b'], [1, 2], [('a', 1)])"},
      {R"({**{'a': 1, 'b': 2}, 'b': 3, **{'c': 4}}, {'a': 1} | {'a': 2, 'b': 3}, {k: v * 2 for k, v in {'a': 1, 'b': 2}.items() if v > 1}, {i: i * i for i in range(3)})",
       "({'a': 1, 'b': 3, 'c': 4}, {'a': 2, 'b': 3}, {'b': 4}, {0: 0, 1: 1, 2: 4})"},
      {R"({'a': 1} == {'a': 1.0}, {'a': 1} == {'b': 1}, {'a': 1, 'b': 2} == {'b': 2, 'a': 1}, {} == [], {'a': 1} != {'a': 1, 'b': 2}, {'a': [1]} == {'a': [1]})",
       "(True, False, True, False, True, True)"},
      {R"(bool({}), bool({0: 0}), {} or 3, not {'a': 0}, isinstance({}, dict), isinstance([], dict), sorted({'b': 1, 'a': 2}), max({1: 5, 3: 0}), [k for k in {'x': 1, 'y': 2}], (*{'p': 0, 'q': 1},))",
       "(False, True, 3, False, True, False, ['a', 'b'], 3, ['x', 'y'], ('p', 'q'))"},
      {R"(dict(), dict(a=1, b=2), dict([('a', 1), ('b', 2)]), dict({'a': 1}, b=3), dict(zip(['a', 'b'], range(2))), list(enumerate({'a': 5}.values())))",
       "({}, {'a': 1, 'b': 2}, {'a': 1, 'b': 2}, {'a': 1, 'b': 3}, {'a': 0, 'b': 1}, [(0, 5)])"},
      {R"((lambda x, y=2, **rest: (x, y, rest))(**{'x': 1, 'z': 3}), (lambda **k: k)(), (lambda *a, **k: (a, k))(1, b=2), (lambda a, b: a - b)(1, **dict(b=5)))",
       "((1, 2, {'z': 3}), {}, ((1,), {'b': 2}), -4)"},
  };
  for (const auto& [text, expected] : table) EXPECT_EQ(result_of("def f(): return " + text), expected) << text;

  const Table programs = {
      {"def f():\n    d = {'a': 1}\n    d['b'] = 2\n    d['a'] += 5\n    e = d\n    e['c'] = 3\n    return d, len(d)",
       "({'a': 6, 'b': 2, 'c': 3}, 3)"},
      {"def f():\n    d = {'a': 1, 'b': 2}\n    k = d.keys()\n    d.update({'c': 3, 'a': 9})\n    p = d.pop('b')\n    "
       "return d, p, d.pop('no', None), list(k), d.setdefault('s', 4), d.setdefault('s', 5), d.copy() is d",
       "({'a': 9, 'c': 3, 's': 4}, 2, None, ['a', 'c'], 4, 4, False)"},
      {"def f():\n    total = 0\n    for name, (a, b) in {'x': (1, 2), 'y': (3, 4)}.items():\n        if name == 'y': "
       "total += a * b\n    x, y = {'p': 1, 'q': 2}\n    return total, x, y",
       "(12, 'p', 'q')"},
      {"def g(x, **options):\n    return (x, options.get('dim', -1), sorted(options.keys()))\ndef f():\n    base = "
       "{'dim': 2}\n    return g(1, **base, keep=True), g(x=5), g(**{'x': 0})",
       "((1, 2, ['dim', 'keep']), (5, -1, []), (0, -1, []))"},
  };
  for (const auto& [text, expected] : programs) EXPECT_EQ(result_of(text), expected) << text;
}

TEST(Interpreter, NamedExpressionsBehaveAsInPython) {
  const Table table = {
      {R"((y := 3) + y, (z := [1, 2])[0] + len(z), [w := 5, w + 1], (lambda: (q := 2) * q)(), {'k': (v := 4), 'l': v}, [(t := i) for i in range(3)][-1] + t, 1 if (n := 7) > n - 1 else 0, (lambda a: a)(b := 3) + b, [1, 2, 3][c := 1] + c)",
       "(6, 3, [5, 6], 4, {'k': 4, 'l': 4}, 4, 1, 6, 3)"},
  };
  for (const auto& [text, expected] : table) EXPECT_EQ(result_of("def f(): return " + text), expected) << text;

  const Table programs = {
      {"def f():\n    xs = [1, 5, 2]\n    big = [m for x in xs if (m := x * 2) > 3]\n    n = 0\n    while (n := n + 1) "
       "< 4: pass\n    if (r := n) == 4: n = r * 10\n    return big, m, n",
       "([10, 4], 4, 40)"},
      {"def f():\n    def g():\n        return (h := 2) + h\n    return [(last := [i + j for j in range(2)]) for i in "
       "range(2)], last, g()",
       "([[0, 1], [1, 2]], [1, 2], 4)"},
  };
  for (const auto& [text, expected] : programs) EXPECT_EQ(result_of(text), expected) << text;
}

TEST(Interpreter, RejectsNamedExpressionsThatPythonRejects) {
  EXPECT_EQ(author_error_of([] { result_of("def f(): return [x := 1 for x in range(2)]"); }).message,
            "`x :=` would rebind the comprehension's loop variable");
  EXPECT_EQ(author_error_of([] { result_of("def f():\n    if 0: (n := 1)\n    return n"); }).message,
            "`n` has no value yet");
}

TEST(Interpreter, RejectsDictOperationsThatPythonRejects) {
  const Table table = {
      {"{'a': 1, 'b': 2}['c']", "the dict has no item 'c'"},
      {"{}.pop('a')", "the dict has no item 'a'"},
      {"{[1]: 2}", "a list cannot be the key of a dict"},
      {"{(1, {}): 2}", "a dict cannot be the key of a dict"},
      {"{'a': 1}[:1]", "a slice cannot be the key of a dict"},
      {"{'a': 1}.a", "a dict has no `a`"},
      {"{'a': 1}.get()", "dict.get takes 1 to 2 arguments, 0 given"},
      {"{'a': 1}.keys()[0]", "a view of a dict cannot be indexed"},
      {"{'a': 1} + {'b': 2}", "`+` does not take dict and dict"},
      {"{**[1]}", "a dict is made from (key, value) pairs, not from a number"},
      {"(lambda a: a)(**[1])", "`**` takes a dict, not a list"},
      {"(lambda a: a)(**{1: 2})", "keywords must be strings, not a number"},
      {"(lambda a: a)(1, **{'a': 2})", "`a` is given twice in this call of `<lambda>`"},
      {"(lambda a: a)(**{'b': 2})", "`<lambda>` has no parameter `b`"},
  };
  for (const auto& [text, expected] : table)
    EXPECT_EQ(author_error_of([&] { result_of("def f(): return " + text); }).message, expected) << text;
  const Table programs = {
      {"    d = {'a': 1}\n    for k in d: d[k + 'b'] = 2\n    return d", "dictionary changed size during iteration"},
      {"    d = {}\n    d['a'] = [d]\n    return d", "a dict cannot contain itself"},
      {"    d = {'a': 1}\n    d['b'] = d.items()\n    return d", "a dict cannot contain itself"},
  };
  for (const auto& [text, expected] : programs)
    EXPECT_EQ(author_error_of([&] { result_of("def f():\n" + text); }).message, expected) << text;
}

TEST(Interpreter, RunTimeKeySpecialises) {
  EXPECT_EQ(result_of("def f(a: int): return {1: 'one', 2: 'two'}[a]"), "static: 'two'");
  EXPECT_EQ(result_of("def f(a): return {'a': a}['a'] + 1"), "a + 1");
}

TEST(Interpreter, DictsHoldTensors) {
  const auto [definition, graph] = lowered(
      "def f(x, y):\n"
      "    named = {'sum': x + y, 'product': x * y}\n"
      "    return {k: relu(v) for k, v in named.items()}['sum'] + (z := named['product']) * z");
  EXPECT_EQ(graph.results.size(), 1u);
}

}  // namespace
}  // namespace ingot::frontend
